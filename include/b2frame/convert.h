/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert.h - makes frames from other frames, arrays or plain data
 *
 * Layer: public (made by make/).  Threads: any.
 */
#ifndef B2FRAME_CONVERT_H
#define B2FRAME_CONVERT_H

#include "b2frame/api.h"
#include "b2frame/create.h"
#include "b2frame/file.h"

B2F_BEGIN_API

/* Zero is the default of every field. */
struct b2f_convert_options {
	/* Permissions; its owner may always read and write. */
	mode_t mode;
	/*
	 * Called now and then, by any thread, one call at a time, with the
	 * decoded bytes of the chunks that are done.  @total is 0 if the end
	 * of the data is not known.  May be NULL.
	 */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	/*
	 * Encode all data anew like this; NULL: chunks are copied as they are
	 * stored, but a Bloscpack file takes the settings of the frame, or of
	 * @before.  In any case an array keeps its type, chunk and block size,
	 * and serialized objects keep their chunks; other chunks of different
	 * sizes become chunks of one size, 1 MiB by default.  Filters that lose
	 * data are not applied.
	 */
	const struct b2f_settings *settings;

	/* b2f_convert_frame() and b2f_convert_array() alone: */

	/* One file, instead of a directory of chunk files. */
	bool contiguous;
	/* Guess the type size from the data, unless it is kept. */
	bool guess_typesize;
	/* Copy chunks without decoding them to see whether they are sound. */
	bool no_verify;
	/* Write chunk files without checksums. */
	bool no_seal;
	/* Name for messages; NULL: the new frame's own name. */
	const char *label;

	/* b2f_convert_bloscpack() alone: */

	/*
	 * Checksum of each chunk and of the metadata: "none", "adler32"
	 * (default), "crc32", "md5", "sha1", "sha224", "sha256", "sha384" or
	 * "sha512".
	 */
	const char *checksum;
	/*
	 * A Bloscpack file that the new one begins with: the data of the frame
	 * are appended.  Its full chunks, metadata and checksums stay as they
	 * are; an array becomes longer along its first axis (the last one in
	 * Fortran order).  NULL: none.
	 */
	struct b2f_frame *before;
};

/*
 * Makes the frame @name below @dirfd, with the data and all metadata of @frame,
 * on all workers of @runtime.  On return the frame is on disk, except for its
 * name in @dirfd.
 *
 * Returns 0; -EEXIST; -EINVAL (invalid settings), B2F_ECORRUPT,
 * B2F_EUNSUPPORTED (a codec that is not built in; with settings also blocks of
 * different lengths), -ESTALE (@frame was changed meanwhile; so do the other
 * functions below), -ENOMEM or an errno of the filesystem.  The cause is logged
 * to the log of @frame, and nothing is left.
 */
B2F_MUST_CHECK
int b2f_convert_frame(struct b2f_runtime *runtime, struct b2f_frame *frame,
		      const struct b2f_convert_options *options, int dirfd,
		      const char *name);

/* A source of plain data for a new frame; called by one thread at a time. */
struct b2f_data {
	/*
	 * Reads up to @size bytes from @off on, fewer only at the end; or
	 * returns a negative errno.  Without @is_npy it is called in order, for
	 * each byte once.
	 */
	ssize_t (*read)(void *arg, void *buf, size_t size, uint64_t off);
	/*
	 * Returns the position of the first data at or behind @off, or the end.
	 * Bytes before it are zeros, and are not read.  May be NULL.
	 */
	uint64_t (*find)(void *arg, uint64_t off);
	void *arg;
	/* In: bytes to take at most; 0: all.  Out: bytes that were taken. */
	uint64_t nbytes;
	/* The data are a .npy file of @nbytes bytes by b2f_npy_look(). */
	bool is_npy;
	/* Log for errors, except errors of @read. */
	const struct b2f_log *log;
};

/*
 * Makes the frame @name below @dirfd from @data, with chunks of @settings, on
 * all workers of @runtime; an array, if @data is a .npy file.  Whole chunks of
 * zeros take no room.  Uses mode, progress, contiguous, no_seal and label of
 * @options.  On return the frame is on disk, except for its name in @dirfd.
 *
 * Returns 0; -EEXIST; -EINVAL (invalid settings), B2F_EUNSUPPORTED (the .npy
 * file cannot become an array), B2F_ETOOBIG, -ESTALE (a .npy file became
 * shorter),
 * -ENOMEM, an errno of the filesystem, or the error of @data->read.  Nothing is
 * left then.
 */
B2F_MUST_CHECK
int b2f_convert_data(struct b2f_runtime *runtime,
		     const struct b2f_settings *settings, struct b2f_data *data,
		     const struct b2f_convert_options *options, int dirfd,
		     const char *name);

/*
 * Makes the Bloscpack file @name below @dirfd with the data of @frame (the
 * items of an array, without the header of a .npy file), encoded for Blosc 1 by
 * the settings of @frame.  Its metadata come from an earlier Bloscpack file, or
 * describe the array.  On return it is on disk, except for its name in @dirfd.
 *
 * Returns 0; -EEXIST; -EINVAL (an unknown checksum; invalid settings; data that
 * are no whole rows of the array in @before), B2F_ECORRUPT, B2F_EUNSUPPORTED
 * (b2f_frame_shown_error(); a checksum or codec that is not built in; chunks of
 * @before differ in size), -ENOMEM or an errno of the filesystem.  The cause is
 * logged, and nothing is left.
 */
B2F_MUST_CHECK
int b2f_convert_bloscpack(struct b2f_runtime *runtime, struct b2f_frame *frame,
			  const struct b2f_convert_options *options, int dirfd,
			  const char *name);

/*
 * Makes the sparse frame @name below @dirfd, a b2nd array, from @frame, whose
 * plain data are an array (b2f_frame_tensor()), such as a NumPy array in a
 * Bloscpack file.  The new array is in C order, whatever order @frame has; 256
 * MiB of it, or one row, are in memory at a time.  Ignores settings, contiguous
 * and no_verify of @options; other metadata are left out.  On return the array
 * is on disk, except for its name in @dirfd.
 *
 * Returns 0; -EEXIST; B2F_EUNSUPPORTED (no such array, or b2nd has no such type
 * or shape), B2F_ECORRUPT, -ENOMEM or an errno of the filesystem.  Nothing is
 * left then.
 */
B2F_MUST_CHECK
int b2f_convert_array(struct b2f_runtime *runtime, struct b2f_frame *frame,
		      const struct b2f_convert_options *options, int dirfd,
		      const char *name);

/*
 * Until @frame is closed, keeps other processes with bloscfs, and programs that
 * use the locks of C-Blosc2, from writing to it; waits ten seconds for such a
 * lock.  With the locks taken, checks that the frame on disk is the opened one;
 * a second call only does this check.
 *
 * Returns 0, -EBUSY (another process with bloscfs writes to it), -EAGAIN (a
 * program has the lock), -ESTALE (it was changed since the open), or an errno
 * of the filesystem; the cause is logged.
 */
B2F_MUST_CHECK
int b2f_frame_hold(struct b2f_frame *frame);

B2F_END_API

#endif
