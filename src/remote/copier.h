/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copier.h - objects that the server copies itself, many at a time
 *
 * Layer: remote.  May include: base/.  Threads: one at a time.
 */
#ifndef B2F_REMOTE_COPIER_H
#define B2F_REMOTE_COPIER_H

#include "remote/remote_priv.h"

/* Maximal number of copies on their way. */
#define B2F_COPIES_MAX 16

struct b2f_copier {
	struct b2f_remote *remote;
	struct b2f_http_request *running[B2F_COPIES_MAX];
	unsigned int n;
	/* The first error, and why. */
	int err;
	struct b2f_why why;
};

/* Begins to make @to, which is replaced, a copy of @from.  Errors show at the end. */
void b2f_copier_add(struct b2f_copier *copier, const char *from,
		    const char *to);

/* Waits for all.  Returns 0 or an error of requests. */
B2F_MUST_CHECK
int b2f_copier_finish(struct b2f_copier *copier, struct b2f_why *why);

#endif
