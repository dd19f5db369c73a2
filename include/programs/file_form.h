/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_form.h - a file that takes another form: a directory, or a new array
 *
 * A frame of b2f_frame_make_small() is one file.  Until data are stored, at its
 * first commit or before, it is empty on disk, and its caller may turn it into
 * a sparse frame of the same name.  Afterwards its form is fixed.  An array can
 * be replaced by one that is written from the beginning.
 *
 * Layer: for bloscfs and bloscctl alone (made by file/ and frame/).  Threads:
 * every function may be called from any thread, also at the same time.
 */
#ifndef B2F_PROGRAMS_FILE_FORM_H
#define B2F_PROGRAMS_FILE_FORM_H

#include <sys/types.h>

#include "b2frame/create.h"
#include "b2frame/write.h"

/*
 * b2f_frame_make_small() for a caller that is about to write: the file stays
 * locked until b2f_file_allow_write() takes over, or @out->frame is closed.  So
 * no other mount begins to write to it meanwhile.
 *
 * @spare may be NULL, or point to a descriptor of b2f_frame_spare(), whose file
 * becomes the new one; the function sets it to -1 when it has taken it over.
 */
B2F_MUST_CHECK
int b2f_frame_make_locked(const struct b2f_settings *settings, int dirfd,
			  const char *name, mode_t mode, int *spare,
			  const struct b2f_frame_options *options,
			  struct b2f_frame_made *out);

/*
 * Makes an empty file without a name, for a later b2f_frame_make_locked() with
 * the same @dirfd and @mode.  From now on it has its owner, its group and what
 * the directory hands down; its times are those of the later call.  Returns a
 * descriptor to close, or an errno of openat(2) with O_TMPFILE.
 */
B2F_MUST_CHECK
int b2f_frame_spare(int dirfd, mode_t mode);

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

/*
 * Does the writable @file show an array that keeps its size?  A program can
 * change its items in place, or replace the whole array.
 */
bool b2f_file_keeps_size(struct b2f_file *file);

/*
 * Replaces the array of @file by a new one, which the .npy header in the @size
 * bytes at @head describes; NULL: an array of the same shape and type.  The new
 * array is not written yet: its items are zeros.  Metalayers stay, except those
 * that describe the shape.  The old array stays on disk until
 * b2f_file_end_anew() and a commit; b2f_file_revert() restores it.  Commit
 * earlier changes to it first if they are to be kept.
 *
 * Plain data with a description of their array (b2f_frame_tensor()) can be
 * replaced, too, but only with the same header.
 *
 * Returns the length of the header; -EAGAIN (@head is too short); -EPERM
 * (@file cannot become such an array; nothing has changed; logged); or as
 * b2f_file_pwrite(): then call b2f_file_revert().
 */
B2F_MUST_CHECK
ssize_t b2f_file_begin_anew(struct b2f_file *file, const void *head,
			    size_t size);

/*
 * Ends the replacement; commits are possible again.  @may_be_zeros: an array to
 * which nothing was written is complete, and all zeros.  Returns 0; -EPERM (the
 * array is not complete, and nothing has changed); or as b2f_file_truncate().
 */
B2F_MUST_CHECK
int b2f_file_end_anew(struct b2f_file *file, bool may_be_zeros);

#endif
