/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entry.h - a name in a folder that is about to change
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_ENTRY_H
#define B2F_FUSE_ENTRY_H

#include "backing_name.h"
#include "fs.h"

/* Zero-initialize it. */
struct fs_entry {
	struct fs *fs;
	/* The folder, and its descriptor. */
	struct fs_node *dir;
	struct fs_pin pin;
	/* As shown. */
	const char *name;
};

/*
 * Goes to @name in the folder @parent.  Leave it with fs_entry_leave(), also
 * after an error.
 *
 * Returns 0; -EPERM (the folder around a single frame, which has one name only,
 * or a name that is kept for deleted files), -ESTALE or an errno.
 */
B2F_MUST_CHECK
int fs_entry_enter(struct fs *fs, fuse_ino_t parent, const char *name,
		   struct fs_entry *out);

void fs_entry_leave(struct fs_entry *entry);

/* Finds what is there; close @out->probe.  Returns as fs_lookup_find(). */
B2F_MUST_CHECK
int fs_entry_find(const struct fs_entry *entry, struct fs_found *out);

/*
 * Is its name, which nothing has, that of the .npy view of an array?  Such a
 * name may be taken, but there is nothing to delete or to rename.
 */
bool fs_entry_has_view(const struct fs_entry *entry);

/* Returns 0 if nothing is there, -EEXIST, -ENAMETOOLONG or an errno. */
B2F_MUST_CHECK
int fs_entry_check_free(const struct fs_entry *entry);

/* The folder as a place where nothing goes away. */
struct fs_backing_dir fs_entry_dir(const struct fs_entry *entry);

/*
 * Deletes what is there, which was found as @found, and is no folder.  What is
 * open stays readable until its last close.  If it has several names
 * (@found->probe.home), fs_links_lock() is held.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_entry_delete(const struct fs_entry *entry, const struct fs_found *found);

/*
 * Deletes the empty folder there, which was found as @found.
 * Returns 0, -ENOTEMPTY or an errno.
 */
B2F_MUST_CHECK
int fs_entry_delete_folder(const struct fs_entry *entry,
			   const struct fs_found *found);

/* What the node of @found would be found by. */
struct fs_node fs_entry_like(const struct fs_found *found);

/*
 * The node of @found, with a reference, held since its name is about to go; or
 * NULL, if the kernel does not know it.
 */
struct fs_node *fs_entry_hold(struct fs *fs, const struct fs_found *found);

/*
 * Gives back @node, of fs_entry_hold(); NULL does nothing.  @err: its name has
 * not gone.
 */
void fs_entry_let_go(struct fs *fs, struct fs_node *node, int err);

/* Nobody finds @node, that of @found, any more, if its last name has gone. */
void fs_entry_retire(struct fs *fs, struct fs_node *node,
		     const struct fs_found *found);

#endif
