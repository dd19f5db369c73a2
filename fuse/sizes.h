/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sizes.h - sizes of frames: as shown, and remembered by the stamps of indexes
 *
 * For st_size the daemon has to open and read an index, which takes longer than
 * all its other work for a name of a listing.  While an index keeps its stamp
 * (device, inode, size, mtime, ctime), its sizes are the same: a rename puts
 * another inode there, and a write in place changes a time.  Only within one
 * tick of the filesystem's clock can a stamp stay the same, so an index younger
 * than that is not kept.
 *
 * A damaged index is not kept either: whether its file counts as a frame
 * depends on its name and other files, too.
 *
 * Memory: 72 bytes for each of FS_SIZES indexes, of which only those take some
 * that were looked at.
 *
 * Layer: fuse.  Threads: any.  fs->state_lock is taken.
 */
#ifndef B2F_FUSE_SIZES_H
#define B2F_FUSE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/error.h"
#include "b2frame/frame.h"

struct fs_tree;

#define FS_SIZES (1 << 18)

/* The facts that the index with @stamp gave. */
struct fs_sizes {
	struct b2f_frame_stamp stamp;
	/* Both 0 if the header of the frame is invalid. */
	uint64_t nbytes;
	uint64_t cbytes;
	/* Length of the header that its view shows; 0: not looked at. */
	uint32_t head_len;
	/* A .npy header can describe the frame; it is shown with one. */
	bool has_npy_header;
	bool is_npy;
	/* It has a b2f_frame_obstacle(). */
	bool read_only;
	/* It is known that the index has no ACL. */
	bool no_acl;
};

struct fs_sizes_table {
	/*
	 * FS_SIZES of them, by inode number.  NULL: no memory, nothing is kept.
	 */
	struct fs_sizes *all;
	/* The next entry to give up; as @all, under fs->state_lock. */
	size_t hand;
};

/*
 * Gets what the last look at @index has told.  Returns false if none is kept.
 */
bool fs_sizes_get(struct fs_tree *tree, const struct stat *index,
		  struct fs_sizes *out);

/*
 * Keeps @sizes, whose stamp is settled (cache_state.h), in the place of others.
 */
void fs_sizes_keep(struct fs_tree *tree, const struct fs_sizes *sizes);

/* Sizes that the index tells; zeros if the frame is damaged. */
struct fs_sizes_shown {
	bool known;
	/* Bytes as shown, and as stored. */
	uint64_t nbytes;
	uint64_t cbytes;
	/* Length of the header of its .npy view; 0: it has no view. */
	uint64_t head_len;
};

/* Reads the sizes from @frame.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_sizes_read(const struct b2f_frame *frame, struct fs_sizes_shown *out);

/* Sets the sizes in @out, for the frame or its view. */
void fs_sizes_show(const struct fs_sizes_shown *sizes, bool is_view,
		   struct stat *out);

/* st_blocks for @nbytes that take @cbytes on disk. */
blkcnt_t fs_sizes_blocks(uint64_t nbytes, uint64_t cbytes);

#endif
