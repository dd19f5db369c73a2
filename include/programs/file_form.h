/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_form.h - the form of a new file: one file, or a directory
 *
 * A frame of b2f_frame_make_small() is one file.  Until data are stored, at its
 * first commit or before, it is empty on disk, and its caller may turn it into
 * a sparse frame of the same name.  Afterwards its form is fixed.
 *
 * Layer: for bloscfs and bloscctl alone (made by file/).  Threads: any.
 */
#ifndef B2F_PROGRAMS_FILE_FORM_H
#define B2F_PROGRAMS_FILE_FORM_H

#include <sys/types.h>

#include "b2frame/file.h"

struct b2f_form {
	/* The directory (it may be O_PATH) in which the file is @name. */
	int dirfd;
	const char *name;
	/*
	 * Called with the directory @fd, of inode @ino, which has taken the
	 * name of the file; the file still exists.  No commit is under way.
	 */
	void (*done)(void *arg, int fd, ino_t ino);
	void *arg;
};

/*
 * Is the form of @file open, and will it have more than @limit bytes once the
 * @size bytes at @buf are written to @off?  For the beginning of a .npy file
 * the size that its header announces counts.  @buf may be NULL.
 */
bool b2f_file_outgrows(struct b2f_file *file, const void *buf, uint64_t size,
		       uint64_t off, uint64_t limit);

/*
 * Turns @file, whose form is open, into a sparse frame.  If that fails, it
 * stays one file, which does no harm.
 *
 * Returns 0; -EBUSY (its form is not open any more, or other programs use it);
 * -ESTALE, -EMLINK (its name is another file's; it has several); -EINVAL (the
 * filesystem cannot exchange names); -ENOMEM, or another errno of the
 * filesystem.
 */
B2F_MUST_CHECK
int b2f_file_become_sparse(struct b2f_file *file, const struct b2f_form *form);

#endif
