/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair.h - repairs frames
 *
 * See also b2f_editor_zero() in b2frame/editor.h.
 *
 * Layer: for bloscfs and bloscctl alone (made by frame/, txn/
 * and make/).  Threads: any.
 */
#ifndef B2F_PROGRAMS_REPAIR_H
#define B2F_PROGRAMS_REPAIR_H

#include "b2frame/create.h"

/* Leftovers in the directory, by writers that did not end properly. */
struct b2f_leftovers {
	/* An index that was never installed: 0 or 1. */
	uint64_t nindexes;
	/* Chunk files that no index names, and that surely no program needs. */
	uint64_t nsure;
	/* Young ones; C-Blosc2 writes a chunk before it names it. */
	uint64_t nyoung;
	/* Bytes of all of them. */
	uint64_t nbytes;
};

enum b2f_sweep {
	/* Only look. */
	B2F_SWEEP_LOOK,
	/* Remove sure leftovers. */
	B2F_SWEEP_SURE,
	/* Remove young chunk files, too. */
	B2F_SWEEP_ALL,
};

/*
 * Looks for leftovers in the directory of @frame, and removes some.  @out
 * counts the leftovers before that.
 *
 * Returns 0; -EROFS (it is contiguous), -EBUSY (another process writes to it),
 * -ESTALE (it was changed since it was opened), -ENOMEM or an errno; logged.
 */
B2F_MUST_CHECK
int b2f_frame_sweep(struct b2f_frame *frame, enum b2f_sweep how,
		    struct b2f_leftovers *out);

/*
 * Would C-Blosc2 open the sparse @frame?  It refuses chunk ids above the stored
 * bytes of all chunks, by the index, less 32; it makes such frames itself, when
 * smaller chunks replace larger ones.
 */
bool b2f_frame_suits_stock(const struct b2f_frame *frame);

/*
 * If the heads of all chunks of @frame tell sizes with another sum than its
 * index says, which has no checksum, sets *@done, and @frame has that sum from
 * now on; the next commit puts it into the index.  Call this before anything is
 * read of @frame.
 *
 * Returns 0, -ENOMEM, -EMFILE, -ENFILE or -EINTR.
 */
B2F_MUST_CHECK
int b2f_frame_add_up(struct b2f_frame *frame, bool *done);

struct b2f_rebuild_options {
	/* Must outlive the call.  NULL: no messages. */
	const struct b2f_log *log;
	/* Name of the old frame for messages; NULL: its path. */
	const char *label;
	/* Permissions of the new one; its owner may always read and write. */
	mode_t mode;
	bool no_seal;
	/*
	 * Replace a damaged chunk with a sound head by zeros; if false, leave
	 * it out, or, in an array, fail.
	 */
	bool zero_damaged;
};

struct b2f_rebuild_result {
	/* Size of the new frame. */
	uint64_t nchunks;
	uint64_t nbytes;
	/* Chunk files that are damaged: left out, or zeros now. */
	uint64_t nbad;
	/* Parts of the old index that could be read. */
	bool kept_settings;
	bool kept_metalayers;
	bool kept_vlmetalayers;
	/* Chunks have different sizes. */
	bool is_variable;
};

/*
 * Makes the new frame @name below @to of the chunk files in the directory @path
 * below @dirfd, whose index need not be readable, in the order of their
 * numbers.  A short chunk comes last.  The facts that only an index has are
 * lost: another order of the chunks, special chunks, and whether a file
 * belonged to the frame at all.
 *
 * Returns 0; -ENODATA (there is no chunk that could be read), -EEXIST, -ENOMEM
 * or an errno; logged, and no new frame is left.
 */
B2F_MUST_CHECK
int b2f_frame_rebuild(const struct b2f_rebuild_options *options, int dirfd,
		      const char *path, int to, const char *name,
		      struct b2f_rebuild_result *out);

/*
 * Replaces the unreadable index of the sparse frame @name below @dirfd by a
 * durable index without data, with the mode, owner and xattrs of the old one.
 * The next writer deletes the chunk files, as leftovers of a crash.  A
 * contiguous frame becomes a frame like that of b2f_frame_make_small(), in the
 * same file.
 *
 * Returns 0, -EINVAL (settings that cannot be), -EBUSY (it has a writer),
 * -EAGAIN (another program holds .b2lock), -EROFS (a file that does not begin
 * as a frame), or an errno; the cause is logged.
 */
B2F_MUST_CHECK
int b2f_frame_reset(const struct b2f_settings *settings, int dirfd,
		    const char *name, const struct b2f_frame_options *options);

#endif
