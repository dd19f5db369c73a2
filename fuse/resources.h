/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resources.h - how many descriptors and how much heap the process may use
 *
 * Layer: fuse.  Threads: from the only one, at the start.
 */
#ifndef B2F_FUSE_RESOURCES_H
#define B2F_FUSE_RESOURCES_H

#include <stddef.h>

/* How many descriptors there are, and for what. */
struct fs_descriptors {
	/* How many the tree may keep open without need; at least 16. */
	size_t max_idle;
	/*
	 * Descriptors from this number on are left to reads, each of which
	 * opens a chunk file for a moment: an open file can be read, whatever
	 * else is open.
	 */
	int reserved_from;
};

/* Raises RLIMIT_NOFILE as far as it goes, and divides that. */
struct fs_descriptors fs_resources_raise_files(void);

/* Keeps the heap close to what is allocated from it. */
void fs_resources_tune_heap(void);

/* Loads a library that would otherwise be loaded too late. */
void fs_resources_load_early(void);

#endif
