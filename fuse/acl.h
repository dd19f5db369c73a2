/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * acl.h - what a POSIX ACL leaves of a mode
 *
 * The kernel checks modes alone in our mount, and the mode of a file with an
 * ACL says less than that: its group bits are the most that anybody named in it
 * may do.  So the mode shown is narrowed to what the ACL gives everyone of a
 * class.  Nobody gets more than on the backing filesystem; users and groups
 * that an ACL names for more than others get no more than these.
 *
 * Layer: fuse.  Threads: any; may block on I/O.
 */
#ifndef B2F_FUSE_ACL_H
#define B2F_FUSE_ACL_H

#include <sys/stat.h>

/*
 * What the ACL leaves of @mode, the mode of @name in the directory @dirfd, or
 * of @dirfd itself if @name is NULL; both may be O_PATH.  If the ACL cannot be
 * read, only the owner's bits are left.
 */
mode_t fs_acl_narrow(int dirfd, const char *name, mode_t mode);

#endif
