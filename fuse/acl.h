/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * acl.h - the mode to show of a file with a POSIX ACL
 *
 * In a mount the kernel checks modes alone, but the group bits of a file with
 * an ACL are the maximum of all users and groups that it names.  So each class
 * of the shown mode gets only the bits that the ACL gives every user of the
 * class.  No user gets more than on the backing filesystem; users and groups
 * that the ACL allows more get no more than others.
 *
 * Layer: fuse.  Threads: any; may block on I/O.
 */
#ifndef B2F_FUSE_ACL_H
#define B2F_FUSE_ACL_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Narrows @mode, the mode of @name in the directory @fd, or of @fd itself if
 * @name is NULL, by its ACL.  @fd may be O_PATH; @proc_fd is /proc/self/fd.  If
 * the ACL cannot be read, only the owner's bits are left.
 */
mode_t fs_acl_narrow(int proc_fd, int fd, const char *name, mode_t mode);

/* Has the regular file no ACL?  Returns false if that is unknown. */
bool fs_acl_is_none(int proc_fd, int fd, const char *name);

#endif
