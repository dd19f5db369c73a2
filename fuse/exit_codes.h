/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exit_codes.h - what the exit status of bloscfs means
 *
 * Scripts rely on these numbers: one that is retired is never used again.
 *
 * Layer: fuse.  Threads: -
 */
#ifndef B2F_FUSE_EXIT_CODES_H
#define B2F_FUSE_EXIT_CODES_H

enum fs_exit {
	FS_EXIT_OK = 0,
	/* A wrong option or operand. */
	FS_EXIT_USAGE = 1,
	/* MOUNTPOINT is missing, of the wrong kind, or not accessible. */
	FS_EXIT_MOUNTPOINT = 2,
	/* SOURCE is missing, no frame and no directory, or cannot be read. */
	FS_EXIT_SOURCE = 3,
	/* The kernel, or fusermount3, did not mount. */
	FS_EXIT_MOUNT = 4,
	/* No background process, log or memory to run in. */
	FS_EXIT_DAEMON = 5,
	FS_EXIT_SIGNALS = 6,
	/* The connection to the kernel broke while mounted. */
	FS_EXIT_LOOP = 7,
	/* Something that was written could not be stored; see the log. */
	FS_EXIT_LOST = 8,
};

#endif
