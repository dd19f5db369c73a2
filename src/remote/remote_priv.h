/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_priv.h - a remote, as the files of remote/ see it
 *
 * From below: http (requests), url and s3_* (what to ask, what is answered), fetch
 * (ranges of versions), remote (a place, single objects), window (one open object),
 * remote_store (the objects of a frame), remote_list, remote_open.
 *
 * Layer: remote.  May include: base/ store/ frame/ pack/.
 *
 * Threads: constant once made.
 */
#ifndef B2F_REMOTE_REMOTE_PRIV_H
#define B2F_REMOTE_REMOTE_PRIV_H

#include <stdatomic.h>

#include "remote/http.h"
#include "remote/url.h"

struct b2f_remote {
	/* Of its maker, and of each store in it. */
	atomic_uint refs;
	struct b2f_url url;
	struct b2f_http *http;
	/* With a key all requests are signed. */
	struct b2f_http_auth auth;
	const struct b2f_log *log;
	unsigned int refresh_ms;
};

/* What signs the requests of @remote, or NULL. */
static inline const struct b2f_http_auth *
b2f_remote_auth(const struct b2f_remote *remote)
{
	return remote->auth.access_key ? &remote->auth : NULL;
}

struct b2f_remote *b2f_remote_ref(struct b2f_remote *remote);

/* @a, and @b behind it as a part of its own; malloc'ed, or NULL. */
char *b2f_remote_join(const char *a, const char *b);

/*
 * Asks for the version of @path as it is now (HEAD), without a message.
 * Returns as b2f_remote_look().
 */
B2F_MUST_CHECK
int b2f_remote_head(struct b2f_remote *remote, const char *path,
		    struct b2f_remote_stat *out, struct b2f_why *why);

/* Logs the error @err about @path, but for -ENOENT; returns it. */
int b2f_remote_report(const struct b2f_remote *remote, const char *path, int err,
		      const struct b2f_why *why);

#endif
