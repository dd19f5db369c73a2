/* SPDX-License-Identifier: BSD-3-Clause */
/* shown.c - what stat(2) says of the sizes of a frame, or of its .npy view */
#include <errno.h>
#include <stdlib.h>

#include "shown.h"

/* As of frames elsewhere: 0 blocks would be a hole for tar and cp. */
#define BLOCKS_MIN 8

/* What a view has before the data; 0: there can be none. */
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

int fs_shown_sizes_of(const struct b2f_frame *frame, struct fs_shown_sizes *out)
{
	struct fs_shown_sizes sizes = {
		.known = true,
		.nbytes = b2f_frame_shown_nbytes(frame),
		.cbytes = b2f_frame_info_get(frame)->cbytes,
	};
	int err = find_head_len(frame, &sizes.head_len);

	if (!err)
		*out = sizes;
	return err;
}

void fs_shown_attributes(const struct fs_shown_sizes *sizes, bool is_view,
			 struct stat *out)
{
	out->st_size = (off_t)sizes->nbytes;
	if (is_view)
		out->st_size += (off_t)sizes->head_len;
	out->st_blocks = (blkcnt_t)(sizes->cbytes / 512 + 1);
	if (out->st_blocks < BLOCKS_MIN)
		out->st_blocks = sizes->nbytes ? BLOCKS_MIN : 0;
}
