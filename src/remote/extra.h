/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extra.h - headers that a bucket may require: requester pays, encryption
 *
 *   requester pays             all requests
 *   the user's key (SSE-C)     requests that read or write an object or a part
 *   the server's key (SSE)     requests that make an object
 *
 * Layer: remote.  May include: base/.  Threads: constant once made.
 */
#ifndef B2F_REMOTE_EXTRA_H
#define B2F_REMOTE_EXTRA_H

#include <stddef.h>

#include "b2frame/remote.h"
#include "base/attr.h"
#include "base/why.h"

/* Kinds of requests, for extra headers. */
enum b2f_extra_on {
	B2F_EXTRA_ANY = 1,
	/* Reads an object, or writes an object or a part. */
	B2F_EXTRA_OBJECT = 2,
	/* Makes an object. */
	B2F_EXTRA_NEW = 4,
	/* Makes an object from another one (copy). */
	B2F_EXTRA_COPY = 8,
};

#define B2F_EXTRA_MAX 9

struct b2f_extra {
	/* "Name: value", malloc'ed; SSE-C headers are secret. */
	struct {
		char *line;
		enum b2f_extra_on on;
	} headers[B2F_EXTRA_MAX];
	size_t n;
};

/*
 * Makes the headers that @options ask for, for the server at @origin.  Returns
 * 0, -EINVAL with @why (a malformed value, or a key that would go over plain
 * HTTP to another host) or -ENOMEM.  End with b2f_extra_fini(), also after an
 * error.
 */
B2F_MUST_CHECK
int b2f_extra_make(const struct b2f_remote_options *options, const char *origin,
		   struct b2f_extra *out, struct b2f_why *why);

/* Wipes the keys from memory. */
void b2f_extra_fini(struct b2f_extra *extra);

#endif
