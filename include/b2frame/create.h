/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * create.h - new frames
 *
 * Layer: public (made by frame/).  Threads: any.
 */
#ifndef B2FRAME_CREATE_H
#define B2FRAME_CREATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "b2frame/api.h"
#include "b2frame/frame.h"

B2F_BEGIN_API

/* The file name of an index, in the directory of a sparse frame. */
#define B2F_INDEX_NAME "chunks.b2frame"

/*
 * Name of the lock file of C-Blosc2 in a sparse frame; beside a contiguous one
 * it is behind that one's name.
 */
#define B2F_LOCK_NAME ".b2lock"

/*
 * The directory of a frame with several names has a symbolic link B2F_SLOT_NAME
 * and a number, from 0 on, to each of them; they go with the frame.
 */
#define B2F_SLOT_NAME ".link."

/* The settings for new chunks in the header of a frame. */
struct b2f_settings {
	/* Item size in bytes, at least 1. */
	uint32_t typesize;
	/* Decoded bytes of a block; 0 automatic. */
	uint32_t blocksize;
	/* Decoded bytes of a chunk; -1: the size of the first chunk. */
	int32_t chunksize;
	/* A built-in codec; see names.h. */
	uint8_t codec;
	uint8_t codec_meta;
	/* 0 (stored as it is) to 9. */
	uint8_t clevel;
	/* 1 always, 2 never, 3 auto, 4 forward-compatible. */
	uint8_t splitmode;
	/* Applied in order, like the slots of a frame; 0 is none. */
	uint8_t filters[B2F_SLOTS];
	uint8_t filters_meta[B2F_SLOTS];
};

/* The level of b2f_settings_default(). */
#define B2F_CLEVEL_DEFAULT 3

/*
 * zstd at B2F_CLEVEL_DEFAULT, shuffle, typesize 1, blocks of 64 KiB, no chunk
 * size yet.
 */
struct b2f_settings b2f_settings_default(void);

/*
 * Sets the type size for data that begin with the @size bytes at @data: the
 * item size in a .npy header, 1 for up to 16 KiB of text in ASCII, or whichever
 * of 1, 2, 4, 8 and 16 makes a sample smallest.  A chunk size above it becomes
 * a whole number of items.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_settings_guess(struct b2f_settings *settings, const void *data,
		       size_t size);

/* No header of a .npy file is longer. */
#define B2F_NPY_HEADER_MAX 40012

/*
 * Can a file that begins with the @size bytes at @data (all of it, or
 * B2F_NPY_HEADER_MAX) be kept as an array with chunks of @settings?  Only if it
 * has exactly *@nbytes bytes, header and items.
 *
 * Returns 0; B2F_EUNSUPPORTED (not a .npy file, or it is in Fortran order, has
 * Python objects, or is too large for an array) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_npy_look(const struct b2f_settings *settings, const void *data,
		 size_t size, uint64_t *nbytes);

/* Returns the settings in the header of @frame. */
struct b2f_settings b2f_settings_of(const struct b2f_frame *frame);

/*
 * Makes the empty sparse frame @name below @dirfd: a directory with an index of
 * @mode.  Only the owner may enter the directory while it is being made; then
 * it gets the permissions of @mode, x where @mode has r or w, and all
 * permissions for the owner.  With @durable it is on disk on return, except for
 * its name in @dirfd.
 *
 * Returns 0; -EINVAL (invalid settings; logged to @log), -EEXIST,
 * -ENAMETOOLONG, or another errno of the filesystem; then nothing is left.
 */
B2F_MUST_CHECK
int b2f_frame_create(const struct b2f_settings *settings, int dirfd,
		     const char *name, mode_t mode, bool durable,
		     const struct b2f_log *log);

/* A frame that was just made. */
struct b2f_frame_made {
	/* Close it with b2f_frame_close(). */
	struct b2f_frame *frame;
	/* Status of the directory (its ctime may be older) and of the index. */
	struct stat dir;
	struct stat index;
};

/*
 * Like b2f_frame_create(), but not durable, and opens the frame as
 * b2f_frame_open() does with @options (which have no offset), without reading
 * it again.
 */
B2F_MUST_CHECK
int b2f_frame_make(const struct b2f_settings *settings, int dirfd,
		   const char *name, mode_t mode,
		   const struct b2f_frame_options *options,
		   struct b2f_frame_made *out);

/*
 * Like b2f_frame_make(), for a contiguous frame: one file @name with @mode,
 * less the bits that a default ACL of its directory, or else the umask, takes
 * away.  @out->dir and @out->index are both the file.  A mount may make a
 * sparse frame of it when it grows.  Also returns -ESTALE (another program has
 * begun to write to the new file).
 */
B2F_MUST_CHECK
int b2f_frame_make_small(const struct b2f_settings *settings, int dirfd,
			 const char *name, mode_t mode,
			 const struct b2f_frame_options *options,
			 struct b2f_frame_made *out);

/*
 * Gives the chunk files in the directory @dirfd of a sparse frame the owner,
 * the group and the permissions of its index, @index: without x, and always r
 * for the owner.  Leaves chunk files of another owner than @owner unchanged
 * ((uid_t)-1: only those with several hard links), and entries that are no
 * plain files.
 *
 * Returns 0 or an errno of the disk; missing rights are no error.
 */
B2F_MUST_CHECK
int b2f_frame_permit_chunks(int dirfd, const struct stat *index, uid_t owner);

/*
 * Deletes the sparse frame @name below @dirfd: its index first, so that it is
 * either whole or no frame, then chunk files and other files of bloscfs and
 * C-Blosc2, then the directory.  If it holds any other file, that file and the
 * directory stay.
 *
 * Returns 0, -ENOENT (it has no index), -ENOTEMPTY (other files are in it), or
 * another errno; if the caller may not delete the directory, all stays.
 */
B2F_MUST_CHECK
int b2f_frame_remove(int dirfd, const char *name);

B2F_END_API

#endif
