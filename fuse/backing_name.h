/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backing_name.h - the backing name of something that shall be shown as NAME
 *
 * The rule of resolve.h read backwards.  What is new must come back as NAME, at
 * every later mount, and must not change the name that anything else is shown
 * by.  So a new frame becomes, whatever is possible first:
 *
 *   NAME.b2frame   unless that exists, or is what another frame is shown by
 *   NAME.b2f ...   likewise, with the other suffixes
 *   NAME           a frame without suffix, if NAME does not end in one itself
 *   -EEXIST        if all of these are taken
 *
 * So x.b2frame beside a frame x that is stored so becomes x.b2frame.b2frame.
 * Anything else becomes NAME, or -EEXIST if that is a frame that is shown by
 * another name.  Nothing gets the name of an index: it would turn its folder
 * into a frame.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.  What others do
 * in the folder meanwhile is not seen; for that there is EEXIST of the call
 * that makes the entry.
 */
#ifndef B2F_FUSE_BACKING_NAME_H
#define B2F_FUSE_BACKING_NAME_H

#include "resolve.h"

/* A backing folder, and what in it does not count. */
struct fs_backing_dir {
	struct fs_tree *tree;
	int dirfd;
	/* Backing names that are about to go; NULL: none. */
	const char *leaving;
	const char *replaced;
};

/*
 * The backing name of a new frame @name, with suffix @suffix if that is free.
 * Returns 0 (then nothing that stays is shown as @name), -EEXIST, -ENAMETOOLONG
 * or an errno.
 */
B2F_MUST_CHECK
int fs_backing_name_of_frame(const struct fs_backing_dir *dir, const char *name,
			     size_t suffix, char out[FS_NAME_SIZE]);

/*
 * Checks whether anything but a frame can be called @name.
 * Returns 0, -EEXIST, -ENAMETOOLONG, -EPERM (an index) or an errno.
 */
B2F_MUST_CHECK
int fs_backing_name_check(const struct fs_backing_dir *dir, const char *name);

#endif
