/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * powers.h - which of root's powers the daemon keeps
 *
 * A mount of root's works for all users.  Rights of root alone (blocks that a
 * filesystem reserves, data beyond a quota, other processes) would reach all of
 * them through the daemon, so it keeps only the capabilities that requests
 * need.
 *
 * Layer: fuse.
 */
#ifndef B2F_FUSE_POWERS_H
#define B2F_FUSE_POWERS_H

#include <linux/capability.h>
#include <sys/types.h>

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
