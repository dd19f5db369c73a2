/* SPDX-License-Identifier: BSD-3-Clause */
/* sizes.c - remembers the sizes of frames by the stamps of their indexes */
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
	pthread_mutex_lock(&tree->volume.fs->state_lock);
	places = places_of(tree, stamp.ino);
	for (size_t i = 0; i < WAYS && !known; i++) {
		known = b2f_frame_stamp_equal(&places[i].stamp, &stamp);
		if (known)
			*out = places[i];
	}
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
	return known;
}

void fs_sizes_keep(struct fs_tree *tree, const struct fs_sizes *sizes)
{
	const struct b2f_frame_stamp *stamp = &sizes->stamp;
	struct fs_sizes *places;
	size_t i;

	if (!tree->sizes.all)
		return;
	pthread_mutex_lock(&tree->volume.fs->state_lock);
	places = places_of(tree, stamp->ino);
	for (i = 0; i < WAYS; i++)
		if (!places[i].stamp.ino ||
		    (places[i].stamp.ino == stamp->ino &&
		     places[i].stamp.dev == stamp->dev))
			break;
	if (i == WAYS)
		i = tree->sizes.hand++ % WAYS;
	places[i] = *sizes;
	pthread_mutex_unlock(&tree->volume.fs->state_lock);
}
