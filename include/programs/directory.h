/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directory.h - the entries of a directory, and the attributes of new ones
 *
 * Layer: for bloscfs and bloscctl alone (made by store/).  Threads: any; blocks
 * on I/O.
 */
#ifndef B2F_PROGRAMS_DIRECTORY_H
#define B2F_PROGRAMS_DIRECTORY_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "b2frame/error.h"

/* May an entry of @type (DT_...) be a symbolic link? */
static inline bool b2f_directory_may_be_link(unsigned char type)
{
	return type == DT_LNK || type == DT_UNKNOWN;
}

/* Receives the entry @d of @dirfd.  A result other than 0 ends the walk. */
typedef int b2f_directory_fn(void *arg, int dirfd, const struct dirent *d);

/*
 * Calls @fn with @arg for each entry of the directory @name in @dirfd, which
 * may be O_PATH, except "." and ".."; follows no link @name.  Returns the last
 * result of @fn, or an errno if the directory cannot be opened or read.
 */
B2F_MUST_CHECK
int b2f_directory_each(int dirfd, const char *name, b2f_directory_fn *fn,
		       void *arg);

/*
 * Gives the new file or directory @fd, which no other user can reach yet, owner
 * and times of @like, @mode and, unless @from is -1, the ACL and the attributes
 * user.* of the open file @from, except the attribute @except.  Leaves out what
 * the process may not set or the filesystem does not have; if that is the group
 * or the ACL, the group gets no more rights than others.
 *
 * Returns 0 or an errno that is about the disk, not about permissions.
 */
B2F_MUST_CHECK
int b2f_attributes_take(int fd, mode_t mode, const struct stat *like, int from,
			const char *except);

/*
 * Gives the files of the sparse frame in the directory @dir owner, permissions
 * and ACL of its @index; and the directory, too, with @mode.  Returns as
 * b2f_attributes_take().
 */
B2F_MUST_CHECK
int b2f_attributes_spread(int dir, int index, mode_t mode);

#endif
