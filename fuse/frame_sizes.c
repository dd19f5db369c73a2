/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_sizes.c - sizes of a frame, or of its .npy view, in stat(2) */
#include <errno.h>
#include <stdlib.h>

#include "frame_sizes.h"

/* With st_blocks 0, tar -S and cp would write zeros without reading. */
#define BLOCKS_MIN 8

blkcnt_t fs_frame_sizes_blocks(uint64_t nbytes, uint64_t cbytes)
{
	uint64_t n = cbytes / 512 + (cbytes % 512 > 0);

	if (nbytes == 0)
		return 0;
	if (n < BLOCKS_MIN)
		return BLOCKS_MIN;
	return n > INT64_MAX ? INT64_MAX : (blkcnt_t)n;
}

/* Finds the length of the header of a view; 0: the frame has no view. */
static int find_head_len(const struct b2f_frame *frame, uint64_t *len)
{
	uint8_t *head = NULL;
	size_t n = 0;
	int err = b2f_frame_is_npy(frame)
			  ? B2F_EUNSUPPORTED
			  : b2f_frame_npy_header(frame, &head, &n);

	free(head);
	*len = err ? 0 : n;
	return err == -ENOMEM ? err : 0;
}

int fs_frame_sizes_read(const struct b2f_frame *frame, struct fs_frame_sizes *out)
{
	struct fs_frame_sizes sizes = {
		.known = true,
		.nbytes = b2f_frame_shown_nbytes(frame),
		.cbytes = b2f_frame_info_get(frame)->cbytes,
	};
	int err = find_head_len(frame, &sizes.head_len);

	if (!err)
		*out = sizes;
	return err;
}

void fs_frame_sizes_show(const struct fs_frame_sizes *sizes, bool is_view,
			 struct stat *out)
{
	out->st_size = (off_t)sizes->nbytes;
	if (is_view)
		out->st_size += (off_t)sizes->head_len;
	out->st_blocks = fs_frame_sizes_blocks(sizes->nbytes, sizes->cbytes);
}
