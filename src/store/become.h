/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * become.h - replaces a file by a directory
 *
 * For a new frame that needs a directory after all.  Both hold an empty frame.
 *
 *   1. The directory is made beside the file, under a hidden name.
 *   2. It gets the owner, the mode, the xattrs and the times of the file.
 *   3. Both exchange their names, in one step (RENAME_EXCHANGE).
 *   4. The file is deleted.
 *
 * A crash before 3 leaves the file as it was; after 3 the directory has its
 * name.  Whatever has the hidden name is a leftover, which a writable mount
 * deletes (fuse/unlinked.h).
 *
 * Layer: store.  May include: base/.  Threads: any; all functions block on I/O.
 */
#ifndef B2F_STORE_BECOME_H
#define B2F_STORE_BECOME_H

#include "store/make.h"

struct b2f_become {
	/*
	 * The directory that holds the file @name; the caller's.  May be
	 * O_PATH.
	 */
	int dirfd;
	const char *name;
	/* Set by _begin(): the file, and the directory that replaces it. */
	struct stat old;
	struct stat dir;
	char hidden[B2F_HIDDEN_SIZE];
	/* The directory has the name although the exchange had to be undone. */
	bool is_astray;
};

/*
 * Does 1 and 2 for the file of @old; @plan is for the index, with any mode.
 * Free *@out with b2f_store_free().
 *
 * Returns 0; -EMLINK (the file has several names), -ESTALE (it has another
 * name), -EBUSY (NAME.b2lock is there, or another mount deletes the directory),
 * -EPERM (it cannot be given the owner, the mode or the ACL of the file),
 * -ENOMEM or an errno; then nothing is left.
 */
B2F_MUST_CHECK
int b2f_become_begin(struct b2f_become *b, struct b2f_store *old,
		     const struct b2f_store_plan *plan, struct b2f_store **out,
		     struct b2f_why *why);

/*
 * Does 3.  Returns 0; -ESTALE (another file has the name), -EMLINK or -EBUSY as
 * above, -EINVAL (the filesystem cannot exchange names) or an errno; then both
 * keep their names, unless @b->is_astray.
 */
B2F_MUST_CHECK
int b2f_become_exchange(struct b2f_become *b, struct b2f_why *why);

/* Undoes 3.  Returns 0 or an errno; then @b->is_astray is set. */
B2F_MUST_CHECK
int b2f_become_exchange_back(struct b2f_become *b, struct b2f_why *why);

/* Does 4.  Files that cannot be deleted stay as leftovers. */
void b2f_become_end(const struct b2f_become *b);

/* Deletes what 1 made, after an error, if it still has the hidden name. */
void b2f_become_undo(const struct b2f_become *b);

#endif
