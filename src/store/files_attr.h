/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files_attr.h - new files get the attributes of the index
 *
 * Layer: store.  May include: base/.  Threads: as store.h.
 */
#ifndef B2F_STORE_FILES_ATTR_H
#define B2F_STORE_FILES_ATTR_H

#include <time.h>

#include "base/attr.h"
#include "base/why.h"

/*
 * Gives the new file @fd the owner, the permissions (not x, and its owner can
 * always read it) and the ACL of the index in the directory @dir.  Without an
 * index it does nothing.  If the process may not set all of these, no user gets
 * more rights than the index gives.
 *
 * Returns 0 or an errno that is about the disk, not about permissions.
 */
B2F_MUST_CHECK
int b2f_files_permit(int dir, int fd, struct b2f_why *why);

/* Like b2f_files_permit(), if owner or mode of the index has changed since. */
B2F_MUST_CHECK
int b2f_files_permit_again(int dir, int fd, struct b2f_why *why);

/*
 * Gives @fd the mode, owner, xattrs and times of the file @like_fd.  Returns as
 * b2f_object_inherit().
 */
B2F_MUST_CHECK
int b2f_files_inherit_file(int like_fd, int fd, struct b2f_why *why);

/*
 * Gives the directory @dirfd an ACL that lets those enter whom the ACL of the
 * file @like_fd lets read or write; without one removes that of the directory.
 * Set the mode afterwards.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_files_inherit_entry(int like_fd, int dirfd);

/* Like b2f_object_inherit(). */
B2F_MUST_CHECK
int b2f_files_inherit(int dir, int fd, const struct timespec *mtime,
		      struct b2f_why *why);

#endif
