/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listing.h - the names in an open folder, one after the other
 *
 * Positions are those of the backing folder, so that telldir(3) and seekdir(3)
 * are as good as there, a folder that changes is listed as well as there, and
 * nothing but one buffer is kept, however large the folder is.
 *
 * Layer: fuse.
 *
 * Threads: the caller serializes the calls for one listing.
 */
#ifndef B2F_FUSE_LISTING_H
#define B2F_FUSE_LISTING_H

#include "suffix.h"
#include "tree.h"

struct fs;
struct fs_listing;

struct fs_listed {
	/* As shown. */
	char name[FS_NAME_SIZE];
	/* Number as shown, and DT_UNKNOWN for what might be a frame. */
	uint64_t ino;
	unsigned char type;
	/* Of the entry behind it. */
	int64_t next_pos;
};

/*
 * Opens the folder @node.  Free *@out with fs_listing_free().
 * Returns 0, -ENOMEM, -ESTALE or an errno.
 */
B2F_MUST_CHECK
int fs_listing_new(struct fs *fs, struct fs_node *node,
		   struct fs_listing **out);

/* NULL does nothing. */
void fs_listing_free(struct fs_listing *listing);

/* For those who serialize: one lock of each listing. */
void fs_listing_lock(struct fs_listing *listing);
void fs_listing_unlock(struct fs_listing *listing);

/*
 * The entry at @pos: 0, or a next_pos.  Asked for the same position again, it
 * gives the same entry.  Position 0 after others reads the folder anew.
 * Returns 1, 0 (there are no more) or an errno.
 */
B2F_MUST_CHECK
int fs_listing_get(struct fs *fs, struct fs_listing *listing, int64_t pos,
		   struct fs_listed *out);

#endif
