/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * acl.h - what a POSIX ACL leaves of a mode
 *
 * In our mount the kernel checks modes alone, and the group bits of a file with
 * an ACL are the most that any user named in it may do.  So the mode shown is
 * narrowed to what the ACL gives every user of a class.  No user gets more than
 * on the backing filesystem; users and groups that an ACL names for more get no
 * more than others.
 *
 * Layer: fuse.  Threads: any; may block on I/O.
 */
#ifndef B2F_FUSE_ACL_H
#define B2F_FUSE_ACL_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Narrows @mode, the mode of @name in the directory @dirfd, or of @dirfd itself
 * if @name is NULL, by its ACL; both may be O_PATH.  If the ACL cannot be read,
 * only the owner's bits are left.
 */
mode_t fs_acl_narrow(int dirfd, const char *name, mode_t mode);

/* Has that file no ACL?  False if that cannot be told. */
bool fs_acl_is_none(int dirfd, const char *name);

#endif
