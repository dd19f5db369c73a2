/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backing_name.h - the backing name of a file that is to be shown as NAME
 *
 * The rule of resolve.h read backwards.  A new file must come back as NAME at
 * every later mount, and must not change how other files are shown.  So a new
 * frame becomes the first of these that is possible:
 *
 *   NAME.b2frame   unless that exists, or is the name of another frame
 *   NAME.b2f ...   likewise, with the other suffixes
 *   NAME           a frame without suffix, if NAME does not end in one itself
 *   -EEXIST        if all of these are taken
 *
 * So x.b2frame beside a frame x that is stored so becomes x.b2frame.b2frame.
 * Any other file becomes NAME, or -EEXIST if that is a frame that is shown by
 * another name.  No file gets the name of an index: it would turn its directory
 * into a frame.
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.  If another
 * program takes the name meanwhile, the call that makes the file gives EEXIST.
 */
#ifndef B2F_FUSE_BACKING_NAME_H
#define B2F_FUSE_BACKING_NAME_H

#include "resolve.h"

/* A backing directory, and the names in it that are about to go. */
struct fs_backing_dir {
	struct fs_place place;
	/* NULL: none. */
	const char *leaving;
	const char *replaced;
};

/*
 * Finds the backing name of a new frame @name, with suffix @suffix if
 * possible.  Returns 0 (nothing that stays is shown as @name), -EEXIST,
 * -ENAMETOOLONG or an errno.
 */
B2F_MUST_CHECK
int fs_backing_name_of_frame(const struct fs_backing_dir *dir, const char *name,
			     enum b2f_suffix suffix, char out[FS_NAME_SIZE]);

/*
 * Checks whether @name can be given to a new file that is no frame.  Returns 0,
 * -EEXIST, -ENAMETOOLONG, -EPERM (it is the name of an index) or an errno.
 */
B2F_MUST_CHECK
int fs_backing_name_check(const struct fs_backing_dir *dir, const char *name);

#endif
