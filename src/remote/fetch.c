/* SPDX-License-Identifier: BSD-3-Clause */
/* fetch.c - a range of one version of an object */
#include "remote/fetch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "remote/cachedir.h"

/*
 * A fetch is one request; or, if the bytes are likely to be in the cache, a
 * cache read by the first thread that waits, and a request if the cache does
 * not have them.
 */
struct b2f_fetch {
	struct b2f_remote *remote;
	struct b2f_fetch_spec spec;
	/* The required version. */
	struct b2f_remote_stat version;
	/* For a request that may begin later; else NULL. */
	char *path;
	/* Name of the object in the cache; NULL: not cached. */
	char *name;
	pthread_mutex_t lock;
	/* Everything below: under lock. */
	bool in_cache;
	/*
	 * The server's bytes are in the cache, or another thread is putting
	 * them there.
	 */
	bool kept;
	struct b2f_http_request *request;
	/* From the cache. */
	uint8_t *bytes;
	struct b2f_fetched cached;
};

/* A weak ETag does not promise equal bytes. */
static bool is_strong(const struct b2f_remote_stat *v)
{
	return *v->etag ? strncmp(v->etag, "W/", 2) != 0 : v->mtime != 0;
}

/*
 * Returns the name of @spec in the cache, malloc'ed; or NULL.  Leaves out the
 * query of a URL, which may be a signature.
 */
static char *name_of(struct b2f_remote *remote,
		     const struct b2f_fetch_spec *spec)
{
	const struct b2f_remote_stat *fixed =
		spec->part_of ? spec->part_of : spec->version;
	B2F_OWN char *url = NULL;
	uint64_t query;
	size_t n;

	if (!remote->cache || !fixed || !is_strong(fixed))
		return NULL;
	url = b2f_url_of(&remote->url, spec->path);
	if (!url)
		return NULL;
	n = strcspn(url, "?");
	query = XXH3_64bits(url + n, strlen(url + n));
	/* An object that gets an earlier ETag again has the same bytes. */
	return b2f_io_text(
		"%.*s?%" PRIx64 " %s %s %" PRIu64 " %" PRId64, (int)n, url,
		query, spec->part_of ? "in" : "is", fixed->etag, fixed->size,
		spec->part_of || !*fixed->etag ? fixed->mtime : INT64_C(0));
}

static int start_request(struct b2f_fetch *fetch, const char *path)
{
	const struct b2f_fetch_spec *spec = &fetch->spec;
	const struct b2f_remote_stat *v = spec->version;
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

	return b2f_remote_start(fetch->remote, &ask,
				b2f_url_of(&fetch->remote->url, path),
				&fetch->request);
}

static struct b2f_cachedir_range range_of(const struct b2f_fetch *fetch,
					  size_t n)
{
	return (struct b2f_cachedir_range){
		.name = fetch->name, .off = fetch->spec.off, .n = n};
}

static int begin(struct b2f_fetch *fetch)
{
	const char *path = fetch->spec.path;
	const struct b2f_cachedir_range range = range_of(fetch, fetch->spec.n);

	if (!fetch->name ||
	    !b2f_cachedir_may_have(fetch->remote->cache, &range))
		return start_request(fetch, path);
	fetch->in_cache = true;
	fetch->path = strdup(path);
	return fetch->path ? 0 : -ENOMEM;
}

int b2f_fetch_start(struct b2f_remote *remote, const struct b2f_fetch_spec *spec,
		    struct b2f_fetch **out)
{
	struct b2f_fetch *fetch = calloc(1, sizeof(*fetch));
	int err;

	if (!fetch)
		return -ENOMEM;
	pthread_mutex_init(&fetch->lock, NULL);
	fetch->remote = remote;
	fetch->spec = *spec;
	if (spec->version) {
		fetch->version = *spec->version;
		fetch->spec.version = &fetch->version;
	}
	fetch->name = name_of(remote, spec);
	err = begin(fetch);
	/* @path and @part_of belong to the caller. */
	fetch->spec.path = NULL;
	fetch->spec.part_of = NULL;
	if (err) {
		b2f_fetch_drop(fetch);
		return err;
	}
	*out = fetch;
	return 0;
}

/* Takes the bytes from the cache; false: it does not have them. */
static bool take_cached(struct b2f_fetch *fetch)
{
	const struct b2f_cachedir_range range = range_of(fetch, fetch->spec.n);
	uint8_t *to = fetch->spec.into;
	struct b2f_remote_stat st;
	ssize_t n;

	if (!to)
		to = fetch->bytes = malloc(range.n);
	n = to ? b2f_cachedir_get(fetch->remote->cache, &range, to, &st) : -1;
	if (n < 0 || (fetch->spec.version && st.size != fetch->version.size) ||
	    (fetch->spec.version && strcmp(st.etag, fetch->version.etag) != 0)) {
		free(fetch->bytes);
		fetch->bytes = NULL;
		return false;
	}
	fetch->cached = (struct b2f_fetched){
		.bytes = to, .n = (size_t)n, .version = st, .note = ""};
	return true;
}

/* Looks into the cache, once: sets fetch->cached, or starts a request. */
static int look_into_cache(struct b2f_fetch *fetch)
{
	int err = 0;
	B2F_HOLD(&fetch->lock);

	if (fetch->in_cache && !fetch->cached.bytes && !fetch->request &&
	    !take_cached(fetch))
		err = start_request(fetch, fetch->path);
	return err;
}

/* Puts the bytes into the cache, once. */
static void keep(struct b2f_fetch *fetch, const struct b2f_fetched *got)
{
	const struct b2f_cachedir_range range = range_of(fetch, got->n);
	bool first;

	if (!fetch->name || got->n == 0)
		return;
	pthread_mutex_lock(&fetch->lock);
	first = !fetch->kept;
	fetch->kept = true;
	pthread_mutex_unlock(&fetch->lock);
	if (first)
		b2f_cachedir_put(fetch->remote->cache, &range, &got->version,
				 got->bytes);
}

static int wait_for_server(struct b2f_fetch *fetch, struct b2f_fetched *out,
			   struct b2f_why *why)
{
	const struct b2f_http_reply *reply = b2f_http_wait(fetch->request);
	const struct b2f_remote_stat *st = &reply->st;

	if (reply->err) {
		if (why)
			*why = reply->why;
		return reply->err;
	}
	if (fetch->spec.version && st->size != fetch->version.size)
		return b2f_why_set(why, -ESTALE, "it is another version now");
	if (st->size > 0 && !*st->etag && !st->mtime)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "the server identifies no version of a file "
				   "(ETag or Last-Modified)");
	*out = (struct b2f_fetched){
		.bytes = reply->body, .n = reply->size, .version = *st,
		.age_s = reply->age_s, .note = reply->note};
	keep(fetch, out);
	return 0;
}

int b2f_fetch_wait(struct b2f_fetch *fetch, struct b2f_fetched *out,
		   struct b2f_why *why)
{
	int err = look_into_cache(fetch);

	if (err)
		return err;
	if (!fetch->request) {
		*out = fetch->cached;
		return 0;
	}
	return wait_for_server(fetch, out, why);
}

void b2f_fetch_drop(struct b2f_fetch *fetch)
{
	if (!fetch)
		return;
	b2f_http_drop(fetch->request);
	pthread_mutex_destroy(&fetch->lock);
	free(fetch->bytes);
	free(fetch->path);
	free(fetch->name);
	free(fetch);
}

bool b2f_fetch_distrust(struct b2f_remote *remote,
			const struct b2f_fetch_spec *spec)
{
	B2F_OWN char *name = name_of(remote, spec);
	const struct b2f_cachedir_range range = {
		.name = name, .off = spec->off, .n = spec->n};

	return name && spec->n && b2f_cachedir_drop(remote->cache, &range);
}
