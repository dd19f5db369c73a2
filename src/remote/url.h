/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * url.h - what a remote's URL says, and the URLs of what is below it
 *
 * Layer: remote.  May include: base/.  Threads: a struct is constant once made.
 */
#ifndef B2F_REMOTE_URL_H
#define B2F_REMOTE_URL_H

#include <stdbool.h>

#include "b2frame/remote.h"
#include "base/attr.h"
#include "base/why.h"

/* All strings malloc'ed. */
struct b2f_url {
	/* In an object store; else a web server. */
	bool s3;
	/* The bucket of s3, or NULL. */
	char *bucket;
	/* "https://HOST:PORT", with the bucket if that is in the path. */
	char *origin;
	/*
	 * For s3 a key, not encoded; otherwise the encoded path with its first
	 * slash.
	 */
	char *base;
	/* The query ("?..."), or "". */
	char *query;
	/* For messages: without the query. */
	char *label;
};

/*
 * Takes @text apart.  Returns 0, -EINVAL with @why, or -ENOMEM.  End with
 * b2f_url_fini(), also after an error.
 */
B2F_MUST_CHECK
int b2f_url_parse(const char *text, const struct b2f_remote_options *options,
		  struct b2f_url *out, struct b2f_why *why);
void b2f_url_fini(struct b2f_url *url);

/* @text with all encoded that has a meaning in a URL; malloc'ed, or NULL. */
char *b2f_url_encode(const char *text);

/* The key of @path, which is @base itself for ""; malloc'ed, or NULL. */
char *b2f_url_key(const struct b2f_url *url, const char *path);

/* The URL to ask for the object @path; malloc'ed, or NULL. */
char *b2f_url_of(const struct b2f_url *url, const char *path);

/*
 * Returns the name of the object @path of s3 as the source of a copy;
 * malloc'ed, or NULL.
 */
char *b2f_url_source(const struct b2f_url *url, const char *path);

/*
 * The URL to ask for one page of the names below @prefix (a key): all but the
 * first begin behind @token, and are greater than the key @after ("": all).
 * For s3 only; malloc'ed, or NULL.
 */
char *b2f_url_of_list(const struct b2f_url *url, const char *prefix,
		      const char *token, const char *after);

#endif
