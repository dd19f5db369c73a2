/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_sizes.h - sizes of a frame, or of its .npy view, in stat(2)
 *
 * Layer: fuse.  Threads: pure functions.
 */
#ifndef B2F_FUSE_FRAME_SIZES_H
#define B2F_FUSE_FRAME_SIZES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/frame.h"

/* Sizes that the index tells; zeros if the frame is damaged. */
struct fs_frame_sizes {
	bool known;
	/* Bytes as shown, and as stored. */
	uint64_t nbytes;
	uint64_t cbytes;
	/* Length of the header of its .npy view; 0: it has no view. */
	uint64_t head_len;
};

/* Reads the sizes from @frame.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_frame_sizes_read(const struct b2f_frame *frame,
		      struct fs_frame_sizes *out);

/* Sets the sizes in @out, for the frame or its view. */
void fs_frame_sizes_show(const struct fs_frame_sizes *sizes, bool is_view,
			 struct stat *out);

/* st_blocks for @nbytes that take @cbytes on disk. */
blkcnt_t fs_frame_sizes_blocks(uint64_t nbytes, uint64_t cbytes);

#endif
