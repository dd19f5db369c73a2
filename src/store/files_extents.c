/* SPDX-License-Identifier: BSD-3-Clause */
/* files_extents.c - the state of a file's bytes on the disk */
#include "store/files_extents.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A new file has no more extents. */
#define NEXTENTS 32

union extents {
	struct fiemap map;
	uint8_t room[sizeof(struct fiemap) +
		     NEXTENTS * sizeof(struct fiemap_extent)];
};

/* Reads the extents of the first @size bytes of @fd; false: not known. */
static bool get_extents(int fd, uint64_t size, union extents *out)
{
	out->map = (struct fiemap){.fm_length = size,
				   .fm_extent_count = NEXTENTS};
	return ioctl(fd, FS_IOC_FIEMAP, &out->map) == 0;
}

bool b2f_files_is_delayed(int fd)
{
	union extents u;

	return get_extents(fd, 1, &u) && u.map.fm_mapped_extents == 1 &&
	       u.map.fm_extents[0].fe_flags & FIEMAP_EXTENT_DELALLOC;
}

bool b2f_files_reserve(int fd, uint64_t size)
{
	const uint32_t mask = FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNWRITTEN;
	const struct fiemap_extent *first;
	union extents u;

	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) ||
	    !get_extents(fd, size, &u))
		return false;
	first = u.map.fm_extents;
	return u.map.fm_mapped_extents == 1 && first->fe_length >= size &&
	       (first->fe_flags & mask) == FIEMAP_EXTENT_UNWRITTEN;
}

bool b2f_files_was_written(int fd, uint64_t size)
{
	union extents u;

	if (size == 0)
		return false;
	/*
	 * SEEK_DATA reports reserved room as data once it was read, so ask it
	 * only if the extents are not known.
	 */
	if (!get_extents(fd, size, &u))
		return lseek(fd, 0, SEEK_DATA) >= 0 || errno != ENXIO;
	for (uint32_t i = 0; i < u.map.fm_mapped_extents; i++)
		if (!(u.map.fm_extents[i].fe_flags & FIEMAP_EXTENT_UNWRITTEN))
			return true;
	return u.map.fm_mapped_extents == NEXTENTS;
}
