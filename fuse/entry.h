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
 * Goes to @name in the directory @parent.  Leave it with fs_entry_leave(), also
 * after an error.  Returns 0, -ESTALE or an errno.
 */
B2F_MUST_CHECK
int fs_entry_enter(struct fs *fs, fuse_ino_t parent, const char *name,
		   struct fs_entry *out);

/*
 * The same to change what is there.  Returns also -EROFS, or -EPERM (the
 * directory around a single frame, which has one name only, or a name that is
 * kept for deleted files).
 */
B2F_MUST_CHECK
int fs_entry_enter_to_change(struct fs *fs, fuse_ino_t parent, const char *name,
			     struct fs_entry *out);

void fs_entry_leave(struct fs_entry *entry);

/* The folder as a place where nothing goes away. */
struct fs_backing_dir fs_entry_dir(const struct fs_entry *entry);

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

/* entry_delete.c */

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

#endif
