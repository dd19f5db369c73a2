/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resources.h - how many descriptors, how much heap and which of root's powers the
 * process has
 *
 * A mount of root's works for all users.  Rights of root alone (blocks that a
 * filesystem reserves, data beyond a quota, other processes) would reach all of
 * them through the daemon, so it keeps only the capabilities that requests
 * need.
 *
 * Layer: fuse.  Threads: from the only one, at the start; _powers_get and _set from any.
 */
#ifndef B2F_FUSE_RESOURCES_H
#define B2F_FUSE_RESOURCES_H

#include <linux/capability.h>
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

/* The capabilities of a thread; glibc has no wrappers for these calls. */
struct fs_powers {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

/* Returns 0, or -1 with errno. */
int fs_powers_get(struct fs_powers *powers);

/* Gives @powers to this thread.  Returns 0, or -1 with errno. */
int fs_powers_set(struct fs_powers *powers);

/*
 * Drops what no request needs, for good: for this thread and those that it starts.
 * Returns 0, or -1 with errno.
 */
int fs_powers_drop(void);

#endif
