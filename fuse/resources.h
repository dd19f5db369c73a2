/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resources.h - descriptors, heap and capabilities of the process
 *
 * A mount of root works for all users.  Through the daemon they would all get
 * root's privileges (reserved blocks, data beyond a quota, other processes), so
 * it keeps only the capabilities that requests need.
 *
 * Layer: fuse.  Threads: from the only one, at the start; _powers_get and _set
 * from any.
 */
#ifndef B2F_FUSE_RESOURCES_H
#define B2F_FUSE_RESOURCES_H

#include <linux/capability.h>
#include <stddef.h>

/* How the descriptors are divided. */
struct fs_descriptors {
	/* How many idle descriptors the tree may keep; at least 16. */
	size_t max_idle;
	/*
	 * Descriptors from this number on are reserved for reads, each of which
	 * opens a chunk file for a moment: so an open file can always be read.
	 */
	int reserved_from;
};

/* Raises RLIMIT_NOFILE as far as possible, and divides the descriptors. */
struct fs_descriptors fs_resources_raise_files(void);

/* Has glibc keep the heap close to the bytes in use, and abort less. */
void fs_resources_tune(void);

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
 * Drops all capabilities that no request needs, for good: of this thread and of
 * threads that it starts.  Returns 0, or -1 with errno.
 */
int fs_powers_drop(void);

#endif
