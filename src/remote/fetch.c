/* SPDX-License-Identifier: BSD-3-Clause */
/* fetch.c - a range of one version of an object */
#include "remote/fetch.h"

#include <stdlib.h>

struct b2f_fetch {
	struct b2f_http_request *request;
	/* What is wanted has a version, of so many bytes. */
	bool pinned;
	uint64_t size;
};

int b2f_fetch_start(struct b2f_remote *remote, const struct b2f_fetch_spec *spec,
		    struct b2f_fetch **out)
{
	const struct b2f_remote_stat *v = spec->version;
	struct b2f_fetch *fetch = calloc(1, sizeof(*fetch));
	struct b2f_http_spec ask = {
		.method = B2F_HTTP_GET,
		.etag = v && *v->etag ? v->etag : NULL,
		.mtime = v && !*v->etag ? v->mtime : 0,
		.ranged = true,
		.off = spec->off,
		.n = spec->n,
		.room = spec->n,
		.into = spec->into,
	};
	int err;

	if (!fetch)
		return -ENOMEM;
	err = b2f_remote_start(remote, &ask,
			       b2f_url_of(&remote->url, spec->path),
			       &fetch->request);
	if (err) {
		free(fetch);
		return err;
	}
	fetch->pinned = v != NULL;
	fetch->size = v ? v->size : 0;
	*out = fetch;
	return 0;
}

int b2f_fetch_wait(struct b2f_fetch *fetch, struct b2f_fetched *out,
		   struct b2f_why *why)
{
	const struct b2f_http_reply *reply = b2f_http_wait(fetch->request);
	const struct b2f_remote_stat *st = &reply->st;

	if (reply->err) {
		if (why)
			*why = reply->why;
		return reply->err;
	}
	if (fetch->pinned && st->size != fetch->size)
		return b2f_why_set(why, -ESTALE, "it is another version now");
	if (st->size > 0 && !*st->etag && !st->mtime)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "the server does not tell one version of a "
				   "file from another");
	*out = (struct b2f_fetched){
		.bytes = reply->body, .n = reply->size, .version = *st};
	return 0;
}

void b2f_fetch_drop(struct b2f_fetch *fetch)
{
	if (!fetch)
		return;
	b2f_http_drop(fetch->request);
	free(fetch);
}
