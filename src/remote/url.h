/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * url.h - the parts of a remote's URL, and the URLs of objects below it
 *
 * Layer: remote.  May include: base/.  Threads: a struct is constant once made.
 */
#ifndef B2F_REMOTE_URL_H
#define B2F_REMOTE_URL_H

#include <stdbool.h>

#include "b2frame/remote.h"
#include "base/attr.h"
#include "base/why.h"

/* The longest key that an object store has. */
#define B2F_URL_KEY_MAX 1024

/* All strings are malloc'ed. */
struct b2f_url {
	/* True: an object store; false: a web server. */
	bool s3;
	/* The bucket of s3, or NULL. */
	char *bucket;
	/* "https://HOST:PORT", with the bucket for path-style requests. */
	char *origin;
	/*
	 * For s3 a key, not encoded; otherwise the encoded path with its
	 * leading slash.
	 */
	char *base;
	/* The query ("?..."), or "". */
	char *query;
	/* For messages: without the query. */
	char *label;
};

/*
 * Parses @text.  Returns 0, -EINVAL with @why, or -ENOMEM.  End with
 * b2f_url_fini(), also after an error.
 */
B2F_MUST_CHECK
int b2f_url_parse(const char *text, const struct b2f_remote_options *options,
		  struct b2f_url *out, struct b2f_why *why);
void b2f_url_fini(struct b2f_url *url);

/* Returns the key of @path; for "" that is @base; malloc'ed, or NULL. */
char *b2f_url_key(const struct b2f_url *url, const char *path);

/* Returns the URL of the object @path; malloc'ed, or NULL, as for NULL. */
char *b2f_url_of(const struct b2f_url *url, const char *path);

/*
 * Returns the name of the object @path of s3 as the source of a copy;
 * malloc'ed, or NULL.
 */
char *b2f_url_source(const struct b2f_url *url, const char *path);

/*
 * Returns the URL of one page of the listing below @prefix (a key): @token
 * continues after the page before; names are greater than the key @after ("":
 * all).  For s3 only; malloc'ed, or NULL.
 */
char *b2f_url_of_list(const struct b2f_url *url, const char *prefix,
		      const char *token, const char *after);

#endif
