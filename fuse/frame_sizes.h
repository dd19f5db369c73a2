/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_sizes.h - what stat(2) says of the sizes of a frame, or of its .npy view
 *
 * Layer: fuse.  Threads: pure functions.
 */
#ifndef B2F_FUSE_FRAME_SIZES_H
#define B2F_FUSE_FRAME_SIZES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/frame.h"

/* Facts about a frame without its data; zeros if it is broken. */
struct fs_frame_sizes {
	bool known;
	/* As shown, and stored. */
	uint64_t nbytes;
	uint64_t cbytes;
	/* Length of the header of its.npy view; 0: it has none. */
	uint64_t head_len;
};

/* Reads them from @frame.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_frame_sizes_read(const struct b2f_frame *frame,
		      struct fs_frame_sizes *out);

/* Sets what stat(2) says of sizes, for the frame or its view. */
void fs_frame_sizes_show(const struct fs_frame_sizes *sizes, bool is_view,
			 struct stat *out);

/* st_blocks of @nbytes that are stored in @cbytes. */
blkcnt_t fs_frame_sizes_blocks(uint64_t nbytes, uint64_t cbytes);

#endif
