/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * single.h - a new file that becomes a contiguous frame
 *
 * Layer: store.  May include: base/.  Threads: any; b2f_single_write() from any
 * number of threads.
 */
#ifndef B2F_STORE_SINGLE_H
#define B2F_STORE_SINGLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/why.h"
#include "store/make.h"

/*
 * Creates the file @name below @dirfd, closed to other users while it is being
 * made.  The caller closes *@fd.  Returns 0, -EEXIST or an errno.
 */
B2F_MUST_CHECK
int b2f_single_create(int dirfd, const char *name, int *fd,
		      struct b2f_why *why);

/* Writes all @n bytes at @buf to @off.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_single_write(int fd, uint64_t off, const void *buf, size_t n,
		     struct b2f_why *why);

/*
 * Makes the file @name below @dirfd with the @plan->size bytes at @plan->index,
 * and opens it as a store.  The kernel narrows @plan->mode by a default ACL or
 * the umask.  Where the filesystem has files without a name, the name appears
 * when the file is complete; elsewhere a kill may leave it without content.
 * Returns as b2f_store_make_open(), or -ESTALE: another mount has begun to
 * write to it.
 */
B2F_MUST_CHECK
int b2f_single_make_open(int dirfd, const char *name,
			 const struct b2f_store_plan *plan,
			 struct b2f_store_made *out);

/*
 * Makes an empty file without a name, locked, for a later
 * b2f_single_make_open() with the same @dirfd and mode.  Returns a descriptor
 * or an errno.
 */
B2F_MUST_CHECK
int b2f_single_spare(int dirfd, mode_t mode);

/* Sets the permissions @mode, and makes the file durable. 0 or an errno. */
B2F_MUST_CHECK
int b2f_single_finish(int fd, mode_t mode, struct b2f_why *why);

/* Removes the file.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_single_remove(int dirfd, const char *name);

#endif
