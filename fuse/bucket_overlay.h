/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_overlay.h - names that this mount has made or removed since they were listed
 *
 * A listing is kept for a while, and what was changed from here is not in it.  Nor is
 * what the store does not have yet, or cannot have:
 *
 *   made      by us, and there; forgotten with a listing that began later
 *   pinned    a new file before its first commit, which is nowhere else; a directory
 *             out of which we have removed a name, and which may be empty by now
 *   removed   by us; forgotten as what was made
 *
 * Layer: fuse.  Threads: any; no request is made.
 */
#ifndef B2F_FUSE_BUCKET_OVERLAY_H
#define B2F_FUSE_BUCKET_OVERLAY_H

#include "bucket_node.h"
#include "suffix.h"

enum fs_bucket_change {
	/* The listing tells. */
	FS_BUCKET_UNCHANGED,
	FS_BUCKET_MADE,
	FS_BUCKET_PINNED,
	FS_BUCKET_REMOVED,
};

/* Where a name that was made leads to. */
struct fs_bucket_made {
	char stored[FS_NAME_SIZE];
	/* Without suffix; "": it is not called like a frame. */
	char stem[FS_NAME_SIZE];
	bool is_dir;
};

/*
 * Returns the change of @shown in the directory @dir; sets *@out only for new
 * names.
 */
enum fs_bucket_change fs_bucket_overlay_find(struct fs_bucket *bucket,
					     const char *dir, const char *shown,
					     struct fs_bucket_made *out);

/*
 * Notes that what is stored as @stored, of which @is_dir is as in struct
 * fs_bucket_name, is shown as @shown in @dir, or (_removed) no more; that replaces
 * what was noted before.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_bucket_overlay_note(struct fs_bucket *bucket, const char *dir,
			   const char *shown, const char *stored, bool is_dir,
			   enum fs_bucket_change what);

/* Notes that the new file @path, which was pinned, is there now. */
void fs_bucket_overlay_settle(struct fs_bucket *bucket, const char *path);

/*
 * Pins the directory @dir and those above it: they are shown as long as the mount
 * stands, or until they are removed.
 */
void fs_bucket_overlay_pin(struct fs_bucket *bucket, const char *dir);

/* Forgets what a listing of @dir that began at @ms tells. */
void fs_bucket_overlay_listed(struct fs_bucket *bucket, const char *dir,
			      uint64_t ms);

/*
 * The names @listed of @dir with all changes; give *@out back with
 * fs_bucket_names_put().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_bucket_overlay_apply(struct fs_bucket *bucket, const char *dir,
			    struct fs_bucket_names *listed,
			    struct fs_bucket_names **out);

void fs_bucket_overlay_fini(struct fs_bucket *bucket);

#endif
