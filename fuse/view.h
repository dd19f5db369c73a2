/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view.h - the view NAME.npy beside an array NAME: a header, then its bytes
 *
 * A lookup of NAME.npy finds the view unless a file is shown by that name; with
 * npy=list it is listed too.  It has a node of its own, because the kernel
 * caches other bytes for it; attributes, open frame and data are the frame's.
 * The node has no reference to the frame: the kernel may remember the view long
 * after the frame was deleted, and the frame's space has to be freed.
 *
 * A write to one of the two makes the kernel's cache of the other stale; the
 * ticker has it dropped.
 *
 * Layer: fuse.  Threads: any; those of heads may block on I/O.
 */
#ifndef B2F_FUSE_VIEW_H
#define B2F_FUSE_VIEW_H

#include "fs.h"
#include "resolve.h"

/*
 * Gets the node of the data of @node: for a view, the node of its frame.  Give
 * its reference back with fs_tree_forget().  Returns 0, -ESTALE (deleted) or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int fs_view_enter(struct fs *fs, struct fs_backed *node,
		  struct fs_backed **out);

/* Retires the view of the frame @found, which was deleted. */
void fs_view_retire(struct fs *fs, const struct fs_found *found);

/*
 * Gets the node of the view @name, in @parent, of @frame, with a reference.
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_view_get(struct fs *fs, struct fs_backed *parent, const char *name,
		const struct fs_backed *frame, struct fs_backed **out);

/* The inode number of the view of a frame that is shown as @ino. */
uint64_t fs_view_ino(uint64_t ino);

/*
 * Copies the name of the frame whose view would be @name; false: no view can
 * have this name, or the mount shows none.
 */
bool fs_view_stem(const struct fs *fs, const char *name,
		  char stem[FS_NAME_SIZE]);

/* Makes the name of the view of @name; false: the name is too long. */
bool fs_view_name(const char *name, char out[FS_NAME_SIZE]);

/* Turns the frame's attributes @st into its view's.  0 or an errno. */
B2F_MUST_CHECK
int fs_view_head_attr(struct fs *fs, struct fs_backed *frame, struct stat *st);

/* Call this after each change of the data by @handle, before answering it. */
void fs_view_head_note_change(struct fs *fs, struct fs_handle *handle);

/*
 * Drops the marked pages of the frame or other file @node; @which: its own or
 * those of its view (cache_state.h).  The ticker calls it, and the first open
 * of the file or view.
 */
void fs_view_drop_cached(struct fs *fs, struct fs_backed *node,
			 unsigned int which);

/*
 * Waits until no page of @which is to be dropped; not forever, because the
 * ticker may be busy.  Returns whether the answer to an open keeps the pages.
 */
bool fs_view_wait_dropped(struct fs *fs, struct fs_backed *node,
			  unsigned int which);

#endif
