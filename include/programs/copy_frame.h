/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_frame.h - copies sparse frames, chunk by chunk as they are stored
 *
 * A *target* is where a copy is made: a directory, or a prefix in an object
 * store.  A copy that is repeated after an interruption keeps the chunks that
 * the first attempt left, if they are of the same version of the same frame.
 * The index comes last: before it, there is no frame.
 *
 * Layer: for bloscfs and bloscctl alone (made by make/ and remote/).
 *
 * Threads: one at a time per target.
 */
#ifndef B2F_PROGRAMS_COPY_FRAME_H
#define B2F_PROGRAMS_COPY_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "b2frame/error.h"
#include "b2frame/frame.h"
#include "b2frame/remote.h"
#include "b2frame/runtime.h"

struct b2f_copy_target;

/* Zero is the default of every field. */
struct b2f_copy_options {
	/*
	 * Called now and then, by any thread, one call at a time, with the
	 * stored bytes that are there, and all of them as the index counts.
	 * May be NULL.
	 */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/* Counts of one copy. */
struct b2f_copied {
	/* Chunks that have an object, and how many of them existed before. */
	uint64_t nchunks;
	uint64_t nkept;
	/* Bytes of the others, with their seals. */
	uint64_t nbytes;
};

/* Returns a number that identifies the part @name of the version @version. */
uint64_t b2f_copy_key(const struct b2f_frame_stamp *version, const char *name);

/*
 * Makes the directory @name below @dirfd the target; it may exist, but only
 * with leftovers of an earlier copy of the same version.  The index gets the
 * permissions @mode.  Messages call the target @label; @log must outlive it.
 * Free *@out with b2f_copy_target_free().
 *
 * Returns 0, -EBUSY (another copy is being made there), -EEXIST (it is another
 * user's), -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_copy_to_directory(int dirfd, const char *name, mode_t mode,
			  const char *label, const struct b2f_log *log,
			  struct b2f_copy_target **out);

/*
 * Makes the path @path of @remote the target.  With @replace, one PUT of the
 * index replaces an existing sparse frame, and its chunks go; without,
 * b2f_copy_frame() returns -EEXIST, unless the existing frame is the same copy.
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_copy_to_remote(struct b2f_remote *remote, const char *path,
		       bool replace, struct b2f_copy_target **out);

/* NULL does nothing. */
void b2f_copy_target_free(struct b2f_copy_target *target);

/*
 * Copies the sparse @frame to @target; so many chunks at a time as @runtime has
 * workers, and each of them in memory as a whole.  Checks the length of each
 * chunk, and its seal if there is one, but does not decode it.
 *
 * Returns 0; -EEXIST (@target exists and is not to be replaced); -ESTALE
 * (@frame or @target has changed meanwhile); -EINVAL (@frame is not sparse);
 * -ENOTDIR (an object has the name); B2F_ECORRUPT; -EROFS; -ENOMEM; an errno of
 * the filesystem, or of requests.  All but -EEXIST are logged.  On an error
 * there is no new frame; a later copy may go on where this one ended.
 */
B2F_MUST_CHECK
int b2f_copy_frame(struct b2f_runtime *runtime, struct b2f_frame *frame,
		   struct b2f_copy_target *target,
		   const struct b2f_copy_options *options,
		   struct b2f_copied *out);

#endif
