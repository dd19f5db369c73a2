/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make.h - making and removing sparse frames in directories
 *
 * The caller provides the contents of the index.
 *
 * Layer: store.  May include: base/.  Threads: any.
 */
#ifndef B2F_STORE_MAKE_H
#define B2F_STORE_MAKE_H

#include "store/store.h"

/* A frame to make: a directory with an index. */
struct b2f_store_plan {
	/* See b2f_frame_create(). */
	mode_t mode;
	/* The @size bytes of the index. */
	const void *index;
	size_t size;
	/* Sync everything except the frame's own name. */
	bool durable;
	/* Make one file instead, for b2f_single_make_open(). */
	bool single;
	/* Keep the new file locked, as by b2f_store_lock(). */
	bool stays_locked;
	/*
	 * A file of b2f_single_spare() that becomes the new file; it is set to
	 * -1 when it has another owner.  NULL: none.
	 */
	int *spare;
	/*
	 * For b2f_store_make_hidden(): inode of the file that will get that
	 * name.
	 */
	ino_t replaces;
};

/*
 * Makes the directory @name below @dirfd as @plan says.  Other users can enter
 * it only when it is complete.  Returns 0, -EEXIST, or another errno; then
 * nothing is left.
 */
B2F_MUST_CHECK
int b2f_store_make(int dirfd, const char *name,
		   const struct b2f_store_plan *plan, struct b2f_why *why);

/* The new frame, with facts that need not be read back. */
struct b2f_store_made {
	/* Free it with b2f_store_free(). */
	struct b2f_store *store;
	/* Its descriptor, owned by @store. */
	int fd;
	/* Attributes, except for the ctime, which the rename has changed. */
	struct stat dir;
	struct stat index;
};

/* Like b2f_store_make(), and opens the new frame.  Also returns -ENOMEM. */
B2F_MUST_CHECK
int b2f_store_make_open(int dirfd, const char *name,
			const struct b2f_store_plan *plan,
			struct b2f_store_made *out, struct b2f_why *why);

/* Room for a name that no mount shows. */
#define B2F_HIDDEN_SIZE 55

/*
 * Like b2f_store_make_open(), under a hidden name, which it stores in @name.
 * The directory stays locked (flock) as long as the store is open, so that a
 * program that clears leftovers away passes it over.  The name ends in the
 * inode number of the one file that is a leftover by that name.
 */
B2F_MUST_CHECK
int b2f_store_make_hidden(int dirfd, const struct b2f_store_plan *plan,
			  char name[B2F_HIDDEN_SIZE],
			  struct b2f_store_made *out, struct b2f_why *why);

/* The mode of the directory of a frame with @mode. */
mode_t b2f_store_dir_mode(mode_t mode);

/*
 * True once, for a store of b2f_store_make_open(): its first writer need not
 * look for leftovers of other writers.
 */
bool b2f_store_begin_new(struct b2f_store *store);

/* Like b2f_frame_permit_chunks(). */
B2F_MUST_CHECK
int b2f_store_permit_chunks(int dirfd, const struct stat *index, uid_t owner);

/*
 * Deletes the directory @name below @dirfd as b2f_frame_remove() says.
 *
 * Returns 0; -ENOENT (it has no index), -ENOTEMPTY (other files are in it), or
 * an errno: if the directory may not be deleted, nothing is.
 */
B2F_MUST_CHECK
int b2f_store_unmake(int dirfd, const char *name);

#endif
