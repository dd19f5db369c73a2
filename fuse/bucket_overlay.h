/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_overlay.h - names that this mount has made or removed since they were
 * listed
 *
 * A listing is kept for a while.  This table has the changes that this mount
 * has made since, and names that are not in the store:
 *
 *   made      by us, and stored; forgotten with a listing that began later
 *   pinned    a new file before its first commit, which no listing has; or a
 *             directory from which we have removed a name: it may be empty now
 *   removed   by us; forgotten with a listing that began later and lacks it
 *   doubted   removed, but a later listing has it: chunks are left, or another
 *             client has made it again
 *
 * Layer: fuse.  Threads: any; no request is made.
 */
#ifndef B2F_FUSE_BUCKET_OVERLAY_H
#define B2F_FUSE_BUCKET_OVERLAY_H

#include "bucket_node.h"
#include "suffix.h"

enum fs_bucket_change {
	/* The name is as the listing says. */
	FS_BUCKET_UNCHANGED,
	FS_BUCKET_MADE,
	FS_BUCKET_PINNED,
	FS_BUCKET_REMOVED,
	/* Only the server knows whether the listed name is a file. */
	FS_BUCKET_DOUBTED,
};

/* The stored file that a new name leads to. */
struct fs_bucket_made {
	char stored[FS_NAME_SIZE];
	bool is_dir;
};

/* Returns the change of @shown in @dir; @out->stored is "" if it is not new. */
enum fs_bucket_change fs_bucket_overlay_find(struct fs_bucket *bucket,
					     const char *dir, const char *shown,
					     struct fs_bucket_made *out);

/*
 * Notes that the entry stored as @stored (@is_dir as in struct fs_bucket_name)
 * is shown as @shown in @dir; _removed: that it is shown no more.  Replaces an
 * earlier note for @shown.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_bucket_overlay_note(struct fs_bucket *bucket, const char *dir,
			   const char *shown, const char *stored, bool is_dir,
			   enum fs_bucket_change what);

/* Notes that the new file @path, which was pinned, is stored now. */
void fs_bucket_overlay_settle(struct fs_bucket *bucket, const char *path);

/*
 * Pins the directory @dir and its parents: they are shown until they are
 * removed, or the mount ends.
 */
void fs_bucket_overlay_pin(struct fs_bucket *bucket, const char *dir);

/*
 * Forgets the changes that the listing @names of @dir, begun at @ms, includes.
 */
void fs_bucket_overlay_listed(struct fs_bucket *bucket, const char *dir,
			      const struct fs_bucket_names *names, uint64_t ms);

/*
 * Copies the first @max doubted names of @dir to @shown; the caller frees them.
 * Returns how many there are.
 */
size_t fs_bucket_overlay_doubts(struct fs_bucket *bucket, const char *dir,
				char *shown[], size_t max);

/* Ends the doubt about the name @shown in @dir: it @is_there, or removed. */
void fs_bucket_overlay_judge(struct fs_bucket *bucket, const char *dir,
			     const char *shown, bool is_there);

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
