/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listing.h - lists an open directory of SOURCE
 *
 * Positions are ordinals.  Views are not listed here.
 *
 * Layer: fuse.
 *
 * Threads: the caller serializes the calls for one listing.
 */
#ifndef B2F_FUSE_LISTING_H
#define B2F_FUSE_LISTING_H

#include "resolve.h"

struct fs;
struct fs_listing;

struct fs_listed {
	/* The name as shown. */
	char name[FS_NAME_SIZE];
	/*
	 * The shown inode number; the type is DT_UNKNOWN for a directory that
	 * may be a frame.
	 */
	uint64_t ino;
	unsigned char type;
	/* The position of the next entry. */
	int64_t next_pos;
	/*
	 * For a frame that was looked at: the result of fs_probe_kind() or
	 * fs_probe_remembered(), which the caller of fs_listing_get() closes,
	 * and its backing name.  Other entries, and listings with
	 * @names_only, leave it unset.
	 */
	struct fs_found frame;
};

/*
 * Opens the directory @node of SOURCE.  Free *@out with fs_listing_free().
 * Returns 0, -ENOMEM, -ESTALE or an errno.
 */
B2F_MUST_CHECK
int fs_listing_new(struct fs *fs, struct fs_backed *node,
		   struct fs_listing **out);

/* NULL does nothing. */
void fs_listing_free(struct fs_listing *listing);

/* Call this at the begin of a request: the directory may have changed. */
void fs_listing_begin(struct fs_listing *listing);

/*
 * Gets the entry at @pos: 0, or a next_pos.  The same position gives the same
 * entry again; 0 after others reads the directory again.  Returns 1, 0 (no more
 * entries) or an errno.  Only with 1 the caller closes @out->found.
 * @names_only: only the name is needed, so a known file is not looked at
 * (known.h).
 */
B2F_MUST_CHECK
int fs_listing_get(struct fs *fs, struct fs_listing *listing, int64_t pos,
		   bool names_only, struct fs_listed *out);

/*
 * The index of the last entry had to be read: looks at the frames behind it,
 * several at once, so that their sizes become known (sizes.h).
 */
void fs_listing_look_ahead(struct fs *fs, struct fs_listing *listing);

#endif
