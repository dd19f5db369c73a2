/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.h - the name that an open file has
 *
 * Other programs rename files at any moment, and a daemon may be mounted over the
 * directory that it shows: names are looked up one at a time, below a descriptor,
 * without symbolic links, and no file is asked for that a mount would have to
 * answer for.
 *
 * Layer: store.  May include: base/.  Threads: any.
 */
#ifndef B2F_STORE_PLACE_H
#define B2F_STORE_PLACE_H

#include <stdbool.h>

#include "base/attr.h"

/* @name below the directory @dir, which it owns unless it is AT_FDCWD. */
struct b2f_place {
	int dir;
	/* malloc'ed */
	char *name;
};

/* A copy of @name below @dir.  Returns 0, -ENOMEM or an errno. */
B2F_MUST_CHECK
int b2f_place_init(struct b2f_place *place, int dir, const char *name);
void b2f_place_fini(struct b2f_place *place);

/* Is the open file @fd there? */
bool b2f_place_has(const struct b2f_place *place, int fd);

/*
 * Finds where @fd is now, on the way from @before.  End *@out with
 * b2f_place_fini().  Returns 0, -ENOENT (it cannot be told), -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_place_find(const struct b2f_place *before, int fd,
		   struct b2f_place *out);

#endif
