/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spot.h - a name in a folder that is about to change
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_SPOT_H
#define B2F_FUSE_SPOT_H

#include "fs.h"
#include "place.h"

/* Zero-initialize it. */
struct fs_spot {
	struct fs *fs;
	/* The folder, and its descriptor. */
	struct fs_node *dir;
	struct fs_pin pin;
	/* As shown. */
	const char *name;
};

/*
 * Goes to @name in the folder @parent.  Leave it with fs_spot_leave(), also
 * after an error.
 *
 * Returns 0; -EPERM (the folder around a single frame, which has one name only,
 * or a name that is kept for deleted files), -ESTALE or an errno.
 */
B2F_MUST_CHECK
int fs_spot_enter(struct fs *fs, fuse_ino_t parent, const char *name,
		  struct fs_spot *out);

void fs_spot_leave(struct fs_spot *spot);

/* Finds what is there; close @out->probe.  Returns as fs_lookup_find(). */
B2F_MUST_CHECK
int fs_spot_find(const struct fs_spot *spot, struct fs_found *out);

/*
 * Is its name, which nothing has, that of the .npy view of an array?  Such a
 * name may be taken, but there is nothing to delete or to rename.
 */
bool fs_spot_has_view(const struct fs_spot *spot);

/* Returns 0 if nothing is there, -EEXIST, -ENAMETOOLONG or an errno. */
B2F_MUST_CHECK
int fs_spot_check_free(const struct fs_spot *spot);

/* The folder as a place where nothing goes away. */
struct fs_place fs_spot_place(const struct fs_spot *spot);

/*
 * Deletes what is there, which was found as @found, and is no folder.  What is
 * open stays readable until its last close.  If it has several names
 * (@found->probe.home), fs_links_lock() is held.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_spot_delete(const struct fs_spot *spot, const struct fs_found *found);

/*
 * Deletes the empty folder there, which was found as @found.
 * Returns 0, -ENOTEMPTY or an errno.
 */
B2F_MUST_CHECK
int fs_spot_delete_folder(const struct fs_spot *spot,
			  const struct fs_found *found);

/* What the node of @found would be found by. */
struct fs_node fs_spot_like(const struct fs_found *found);

/*
 * The node of @found, with a reference, held since its name is about to go; or
 * NULL, if the kernel does not know it.
 */
struct fs_node *fs_spot_hold(struct fs *fs, const struct fs_found *found);

/*
 * Gives back @node, of fs_spot_hold(); NULL does nothing.  @err: its name has
 * not gone.
 */
void fs_spot_let_go(struct fs *fs, struct fs_node *node, int err);

/* Nobody finds @node, that of @found, any more, if its last name has gone. */
void fs_spot_retire(struct fs *fs, struct fs_node *node,
		    const struct fs_found *found);

#endif
