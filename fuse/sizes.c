/* SPDX-License-Identifier: BSD-3-Clause */
/* sizes.c - sizes of frames: as shown, and remembered */
#include <errno.h>
#include <stdlib.h>

#include "fs.h"

/* In how many places of the table one index may be. */
#define WAYS 4

/*
 * The places of an index.  The multiplier spreads neighbouring numbers, and the
 * first numbers of a disk's inode groups, which differ by powers of two.
 */
static struct fs_sizes *places_of(struct fs_tree *tree, uint64_t ino)
{
	uint64_t h = ino * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return &tree->sizes.all[h % (FS_SIZES / WAYS) * WAYS];
}

bool fs_sizes_get(struct fs_tree *tree, const struct stat *index,
		  struct fs_sizes *out)
{
	const struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	const struct fs_sizes *places;
	bool known = false;

	/* An inode number of 0 marks an empty place. */
	if (!tree->sizes.all || !stamp.ino)
		return false;
	B2F_HOLD(&tree->volume.fs->state_lock);
	places = places_of(tree, stamp.ino);
	for (size_t i = 0; i < WAYS && !known; i++) {
		known = b2f_frame_stamp_equal(&places[i].stamp, &stamp);
		if (known)
			*out = places[i];
	}
	return known;
}

void fs_sizes_keep(struct fs_tree *tree, const struct fs_sizes *sizes)
{
	const struct b2f_frame_stamp *stamp = &sizes->stamp;
	struct fs_sizes *places;
	size_t i;

	if (!tree->sizes.all)
		return;
	B2F_HOLD(&tree->volume.fs->state_lock);
	places = places_of(tree, stamp->ino);
	for (i = 0; i < WAYS; i++)
		if (!places[i].stamp.ino ||
		    (places[i].stamp.ino == stamp->ino &&
		     places[i].stamp.dev == stamp->dev))
			break;
	if (i == WAYS)
		i = tree->sizes.hand++ % WAYS;
	places[i] = *sizes;
}

/* With st_blocks 0, tar -S and cp would write zeros without reading. */
#define BLOCKS_MIN 8

blkcnt_t fs_sizes_blocks(uint64_t nbytes, uint64_t cbytes)
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
	B2F_OWN uint8_t *head = NULL;
	size_t n = 0;
	int err = b2f_frame_is_npy(frame)
			  ? B2F_EUNSUPPORTED
			  : b2f_frame_npy_header(frame, &head, &n);

	*len = err ? 0 : n;
	return err == -ENOMEM ? err : 0;
}

int fs_sizes_read(const struct b2f_frame *frame, struct fs_sizes_shown *out)
{
	struct fs_sizes_shown sizes = {
		.known = true,
		.nbytes = b2f_frame_shown_nbytes(frame),
		.cbytes = b2f_frame_info_get(frame)->cbytes,
	};
	int err = find_head_len(frame, &sizes.head_len);

	if (!err)
		*out = sizes;
	return err;
}

void fs_sizes_show(const struct fs_sizes_shown *sizes, bool is_view,
		   struct stat *out)
{
	out->st_size = (off_t)sizes->nbytes;
	if (is_view)
		out->st_size += (off_t)sizes->head_len;
	out->st_blocks = fs_sizes_blocks(sizes->nbytes, sizes->cbytes);
}
