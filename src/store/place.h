/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.h - the current name of an open file
 *
 * Other programs rename files at any moment, and a daemon may be mounted over
 * the directory that it shows.  So names are looked up one at a time, below a
 * descriptor, without symbolic links, and never through a mount.
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

/* Is the open file @fd at @place? */
bool b2f_place_has(const struct b2f_place *place, int fd);

/*
 * Finds the current place of @fd, starting at @before.  End *@out with
 * b2f_place_fini().  Returns 0, -ENOENT (not found), -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_place_find(const struct b2f_place *before, int fd,
		   struct b2f_place *out);

#endif
