/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_grow.h - a small file that becomes a large one
 *
 * A frame of b2f_frame_make_small() is one file: cheap to make, but each change
 * of a chunk leaves dead bytes in it.  When it gets more data than it is good for,
 * its caller has it become a sparse frame of the same name.
 *
 * Layer: public (made by file/).  Threads: any.
 */
#ifndef B2FRAME_FILE_GROW_H
#define B2FRAME_FILE_GROW_H

#include <sys/stat.h>

#include "b2frame/api.h"
#include "b2frame/file.h"

B2F_BEGIN_API

struct b2f_grow {
	/* The directory (it may be O_PATH) in which the file is @name. */
	int dirfd;
	const char *name;
	/*
	 * Called with the directory @fd, which is @dir and about to take the name;
	 * anything but 0 keeps it from that.  NULL: not called.
	 */
	int (*before)(void *arg, int fd, const struct stat *dir);
	/*
	 * Called after @before: @fd is the directory that has the name, or -1 if
	 * the file has kept it.  @unsynced: a loss of power may undo the exchange.
	 * Until it returns no commit is under way.
	 */
	void (*after)(void *arg, int fd, bool unsynced);
	void *arg;
};

/*
 * Is @file small, and will it have more than @limit bytes once the @size bytes at
 * @buf are written to @off?  Of a .npy file that begins, all that its header tells
 * counts.  @buf may be NULL.
 */
bool b2f_file_outgrows(struct b2f_file *file, const void *buf, uint64_t size,
		       uint64_t off, uint64_t limit);

/*
 * Makes @file a sparse frame, after a commit of what it has to commit.  If that
 * cannot be, it stays what it is, which is no harm, and is not tried again soon.
 *
 * Returns 0; -EBUSY (other programs use it, or it is written to all the time);
 * -ESTALE, -EMLINK (its name is another file's; it has several); -EINVAL (the
 * filesystem cannot exchange names); or as b2f_file_commit(), or another errno of
 * the filesystem.
 */
B2F_MUST_CHECK
int b2f_file_grow(struct b2f_file *file, const struct b2f_grow *grow);

B2F_END_API

#endif
