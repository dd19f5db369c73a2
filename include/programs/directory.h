/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directory.h - the entries of a directory
 *
 * Layer: for bloscfs and bloscctl alone (made by store/).  Threads: any; blocks
 * on I/O.
 */
#ifndef B2F_PROGRAMS_DIRECTORY_H
#define B2F_PROGRAMS_DIRECTORY_H

#include <dirent.h>

#include "b2frame/error.h"

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

#endif
