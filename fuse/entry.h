/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entry.h - looks up, changes and deletes names in directories
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_ENTRY_H
#define B2F_FUSE_ENTRY_H

#include "fs.h"
#include "fuse_api.h"
#include "resolve.h"

/* Zero-initialize it; see FS_ENTRY(). */
struct fs_entry {
	struct fs *fs;
	/* The directory. */
	struct fs_pin pin;
	/* The name as shown. */
	const char *name;
	/* The request may change the name. */
	bool changes;
};

/*
 * Enters the name @name in the directory @parent.  Leave it with
 * fs_entry_leave(), also after an error.  Returns 0, -ESTALE or an errno.
 */
B2F_MUST_CHECK
int fs_entry_enter(struct fs *fs, struct fs_node *parent, const char *name,
		   struct fs_entry *out);

/*
 * Like fs_entry_enter(), for a request that changes the name.  Returns also
 * -EPERM (the directory around a single frame, or a name reserved for deleted
 * files).
 */
B2F_MUST_CHECK
int fs_entry_enter_to_change(struct fs *fs, struct fs_node *parent,
			     const char *name, struct fs_entry *out);

static inline void fs_entry_leave(struct fs_entry *entry)
{
	fs_tree_unpin(&entry->pin);
}

/* A zeroed entry, which is left at the end of the block. */
#define FS_ENTRY(name)                                                         \
	__attribute__((cleanup(fs_entry_leave))) struct fs_entry name = {0}

/*
 * May the caller of @req remove or replace @found at @entry?  In a directory
 * with the sticky bit only the owner of either may.  The kernel has checked
 * that, but perhaps for an older file of that name.  Returns 0, -EPERM or an
 * errno.
 */
B2F_MUST_CHECK
int fs_entry_check_sticky(fuse_req_t req, const struct fs_entry *entry,
			  const struct fs_found *found);

/*
 * The directory of @entry with its pending changes, in which other functions
 * look for names.
 */
static inline struct fs_place fs_entry_place(const struct fs_entry *entry)
{
	const struct fs_backed *dir = entry->pin.node;

	fs_known_enter(&entry->fs->known, dir->dev, dir->ino, entry->pin.fd,
		       false);
	return (struct fs_place){
		.tree = entry->fs->tree,
		.dirfd = entry->pin.fd,
		.known = &entry->fs->known,
		.dev = dir->dev,
		.ino = dir->ino,
	};
}

/*
 * Gets the node of @found with a reference, and holds it, because its name is
 * about to be removed.  NULL: the kernel does not know it.
 */
struct fs_backed *fs_entry_hold(struct fs *fs, const struct fs_found *found);

/*
 * Gives back @node of fs_entry_hold(); NULL does nothing.  @err: the name was
 * not removed, so the hold ends, too.
 */
void fs_entry_let_go(struct fs *fs, struct fs_backed *node, int err);

/*
 * Retires @node, the node of @found, after its name was removed; if it has
 * other names, only ends the hold.
 */
void fs_entry_retire(struct fs *fs, struct fs_backed *node,
		     const struct fs_found *found);

/*
 * Deletes @found, which is at @entry and no directory.  Open handles can read
 * it until the last close.  If it has several names (@found->probe.home), the
 * caller holds fs->named_homes.lock.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_entry_delete(const struct fs_entry *entry, const struct fs_found *found);

/*
 * Deletes the hidden files in the directory @found at @entry: leftovers of
 * crashed mounts, and files that this mount is deleting.
 */
void fs_entry_clear_dir(const struct fs_entry *entry,
			const struct fs_found *found);

/* Deletes the empty directory @found.  0, -ENOTEMPTY or an errno. */
B2F_MUST_CHECK
int fs_entry_delete_dir(const struct fs_entry *entry,
			const struct fs_found *found);

/* lookup.c: finds the node of a name in a directory. */

/*
 * Finds the file that is shown as @entry.  Close @out->probe.
 *
 * Returns 0, -ENOENT, -ENAMETOOLONG (no file can have this name) or an errno.
 */
B2F_MUST_CHECK
int fs_lookup_find(const struct fs_entry *entry, struct fs_found *out);

/* Returns 0 if no file is shown as @entry, -EEXIST or an errno. */
B2F_MUST_CHECK
int fs_lookup_check_free(const struct fs_entry *entry);

/*
 * No file is at @entry: is it the name of the .npy view of an array?  A new
 * file may take such a name, but a view cannot be deleted or renamed.
 */
bool fs_lookup_has_view(const struct fs_entry *entry);

/*
 * With writeback_cache the kernel takes the size of @inode (volume.h) from the
 * answer that created its inode.  If that was an answer from before the last
 * close, the size may be too small: then the file gets another node.
 */
void fs_lookup_made_again(struct fs_node *inode);

/*
 * Answers with the node of @found at @entry; the kernel gets a reference.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_lookup_node(const struct fs_entry *entry, const struct fs_found *found,
		   struct fuse_entry_param *answer);

/*
 * The same for @found of a listing at @entry, if it is a frame; otherwise as
 * fs_lookup_answer().
 */
B2F_MUST_CHECK
int fs_lookup_listed(const struct fs_entry *entry, struct fs_found *found,
		     struct fuse_entry_param *answer);

/* Finds the file shown as @entry, or its view, and its attributes. */
B2F_MUST_CHECK
int fs_lookup_answer(const struct fs_entry *entry,
		     struct fuse_entry_param *answer);

#endif
