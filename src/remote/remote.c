/* SPDX-License-Identifier: BSD-3-Clause */
/* remote.c - a place on a server, and single objects in it */
#include "b2frame/remote.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "b2frame/frame.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "programs/curl.h"
#include "remote/fetch.h"
#include "remote/gone.h"

/* Default size of the cache on disk; and the least. */
#define CACHE_BYTES (UINT64_C(10) << 30)
#define CACHE_MIN   (UINT64_C(1) << 20)

/* Default limit of bytes that are prefetched. */
#define AHEAD_BYTES (UINT64_C(128) << 20)

/* By default a longer object is sent in parts. */
#define PUT_BYTES (UINT64_C(64) << 20)

/* All stamps of remote files have this device. */
#define REMOTE_DEV UINT64_C(0x62326672)

static unsigned int or_default(unsigned int value, unsigned int other)
{
	return value ? value : other;
}

static int start_http(struct b2f_remote *remote,
		      const struct b2f_remote_options *o)
{
	const struct b2f_http_options http = {
		.proxy = o->proxy,
		.no_proxy = o->no_proxy,
		.ca_file = o->ca_file,
		.unsigned_why = o->unsigned_why,
		.connect_ms = or_default(o->connect_ms, 10000),
		.stall_ms = or_default(o->stall_ms, 30000),
		.answer_ms = or_default(o->answer_ms, 60000),
		.retry_ms = o->retry_ms == UINT_MAX
				    ? 0
				    : or_default(o->retry_ms, 180000),
		.backoff_ms = or_default(o->backoff_ms, 100),
		.connections = or_default(o->connections, 32),
		.ends = o->ends,
		.ends_arg = o->ends_arg,
	};

	return b2f_http_new(&http, &remote->http);
}

/* Without its cache, a remote is only slower. */
static void open_cache(struct b2f_remote *remote,
		       const struct b2f_remote_options *o)
{
	uint64_t max_bytes = o->cache_bytes ? o->cache_bytes : CACHE_BYTES;

	if (o->cache_dir)
		(void)!b2f_cachedir_open(o->cache_dir,
					 b2f_max_u64(max_bytes, CACHE_MIN),
					 remote->refresh_ms,
					 o->log, &remote->cache);
}

static int report_new(const struct b2f_remote_options *options, const char *url,
		      int err, const struct b2f_why *why)
{
	/* The query may be a signature, and the part before '@' a key. */
	const char *name = strchr(url, '@') ? "the URL" : url;

	b2f_log(options->log, B2F_LOG_ERROR, "%.*s: %s",
		(int)strcspn(name, "?#"), name, b2f_why_text(why, err));
	return err;
}

static int set_up(struct b2f_remote *remote,
		  const struct b2f_remote_options *options, const char *url,
		  struct b2f_why *why)
{
	int err;

	if (!b2f_curl())
		return b2f_why_set(why, -ELIBACC, "%s", b2f_curl_error());
	err = b2f_url_parse(url, options, &remote->url, why);
	if (err)
		return err;
	if (!options->access_key != !options->secret_key)
		return b2f_why_set(why, -EINVAL,
				   "an access key without its secret key, or "
				   "the reverse");
	if (remote->url.s3)
		err = b2f_auth_new(options, &remote->auth);
	if (!err && remote->url.s3)
		err = b2f_extra_make(options, remote->url.origin,
				     &remote->extra, why);
	return err ? err : start_http(remote, options);
}

int b2f_remote_new(const struct b2f_remote_options *options, const char *url,
		   struct b2f_remote **out)
{
	struct b2f_remote *remote = calloc(1, sizeof(*remote));
	struct b2f_why why = {""};
	int err;

	if (!remote)
		return -ENOMEM;
	atomic_init(&remote->refs, 1);
	remote->log = options->log;
	remote->ahead_bytes =
		options->ahead_bytes ? options->ahead_bytes : AHEAD_BYTES;
	remote->refresh_ms = or_default(options->refresh_ms, 5000);
	remote->put_bytes = options->put_bytes ? options->put_bytes : PUT_BYTES;
	remote->keep_s = or_default(options->keep_s, 60);
	pthread_mutex_init(&remote->probe_lock, NULL);
	err = set_up(remote, options, url, &why);
	if (err) {
		b2f_remote_free(remote);
		return report_new(options, url, err, &why);
	}
	open_cache(remote, options);
	*out = remote;
	return 0;
}

const char *b2f_remote_bare_etag(const char *etag,
				 char out[B2F_REMOTE_ETAG_SIZE])
{
	size_t n = strlen(etag);

	if (n < 3 || *etag != '"' || etag[n - 1] != '"')
		return etag;
	snprintf(out, B2F_REMOTE_ETAG_SIZE, "%.*s", (int)n - 2, etag + 1);
	return out;
}

struct b2f_remote *b2f_remote_ref(struct b2f_remote *remote)
{
	atomic_fetch_add_explicit(&remote->refs, 1, memory_order_relaxed);
	return remote;
}

void b2f_remote_free(struct b2f_remote *remote)
{
	if (!remote || atomic_fetch_sub_explicit(&remote->refs, 1,
						 memory_order_acq_rel) != 1)
		return;
	b2f_http_free(remote->http);
	b2f_cachedir_close(remote->cache);
	b2f_url_fini(&remote->url);
	b2f_auth_free(remote->auth);
	b2f_extra_fini(&remote->extra);
	pthread_mutex_destroy(&remote->probe_lock);
	free(remote);
}

void b2f_remote_hurry(struct b2f_remote *remote, bool at_once)
{
	b2f_http_hurry(remote->http,
		       at_once ? B2F_HTTP_ENDED : B2F_HTTP_HURRIED);
}

bool b2f_remote_has_list(const struct b2f_remote *remote)
{
	return remote->url.s3;
}

unsigned int b2f_remote_keep_s(const struct b2f_remote *remote)
{
	/* Times are rounded down to the step. */
	return remote->keep_s + B2F_GONE_STEP_S + 1;
}

const char *b2f_remote_label(const struct b2f_remote *remote)
{
	return remote->url.label;
}

struct b2f_remote_counts b2f_remote_counts_get(const struct b2f_remote *remote)
{
	return b2f_http_counts(remote->http);
}

char *b2f_remote_join(const char *a, const char *b)
{
	return b2f_io_text("%s%s%s", a, *a && *b ? "/" : "", b);
}

void b2f_remote_attributes(const struct b2f_remote_stat *st, struct stat *out)
{
	uint64_t tag = XXH3_64bits(st->etag, strlen(st->etag));

	*out = (struct stat){
		.st_dev = REMOTE_DEV,
		.st_ino = tag ? tag : 1,
		.st_mode = S_IFREG | 0444,
		.st_nlink = 1,
		.st_size = (off_t)st->size,
		.st_blksize = 4096,
		.st_blocks = (blkcnt_t)(st->size / 512),
		.st_mtim = {.tv_sec = st->mtime},
		.st_ctim = {.tv_sec = st->mtime},
		.st_atim = {.tv_sec = st->mtime},
	};
}

struct b2f_frame_stamp b2f_remote_stamp(const struct b2f_remote_stat *st)
{
	struct b2f_frame_stamp stamp;
	struct stat attributes;

	b2f_remote_attributes(st, &attributes);
	stamp = b2f_frame_stamp_of(&attributes);
	/* A writer knows the ETag of its object, but not its time. */
	if (*st->etag)
		stamp.ctime_ns = 0;
	return stamp;
}

int b2f_remote_tell(const struct b2f_remote *remote, const char *path, int err,
		    const struct b2f_why *why)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;
	size_t n = strlen(path);

	/* The URL of an index stands for its frame. */
	if (strcmp(last, B2F_INDEX_NAME) == 0)
		n = slash ? (size_t)(slash - path) : 0;
	if (err)
		b2f_log(remote->log, B2F_LOG_ERROR, "%s%s%.*s: %s",
			remote->url.label, n ? "/" : "", (int)n, path,
			b2f_why_text(why, err));
	return err;
}

int b2f_remote_report(const struct b2f_remote *remote, const char *path, int err,
		      const struct b2f_why *why)
{
	return err == -ENOENT ? err : b2f_remote_tell(remote, path, err, why);
}

int b2f_remote_start(struct b2f_remote *remote, struct b2f_http_spec *ask,
		     char *url, struct b2f_http_request **out)
{
	int err = -ENOMEM;

	ask->auth = remote->auth;
	if (!ask->room)
		ask->room = B2F_HTTP_ERROR_ROOM;
	ask->extra = remote->url.s3 ? &remote->extra : NULL;
	if (ask->auth)
		b2f_auth_renew(ask->auth);
	ask->url = url;
	if (url)
		err = b2f_http_start(remote->http, ask, out);
	free(url);
	ask->url = NULL;
	return err;
}

int b2f_remote_ask(struct b2f_remote *remote, struct b2f_http_spec *ask, char *url,
		   struct b2f_http_request **out, struct b2f_why *why)
{
	const struct b2f_http_reply *reply;
	int err = b2f_remote_start(remote, ask, url, out);

	if (err)
		return err;
	reply = b2f_http_wait(*out);
	if (reply->err && why)
		*why = reply->why;
	return reply->err;
}

int b2f_remote_head_url(struct b2f_remote *remote, char *url,
			struct b2f_remote_stat *out,
			char text[B2F_HTTP_NOTE_SIZE], struct b2f_why *why)
{
	struct b2f_http_spec ask = {.method = B2F_HTTP_HEAD};
	struct b2f_http_request *request = NULL;
	int err = b2f_remote_ask(remote, &ask, url, &request, why);

	if (!err)
		*out = b2f_http_wait(request)->st;
	if (!err && text)
		strcpy(text, b2f_http_wait(request)->note);
	b2f_http_drop(request);
	return err;
}

int b2f_remote_head(struct b2f_remote *remote, const char *path,
		    struct b2f_remote_stat *out, struct b2f_note *note,
		    struct b2f_why *why)
{
	char text[B2F_HTTP_NOTE_SIZE];
	int err = b2f_remote_head_url(remote, b2f_url_of(&remote->url, path),
				      out, text, why);

	if (!err && note)
		b2f_note_read(text, note);
	return err;
}

int b2f_remote_head_index(struct b2f_remote *remote, const char *path,
			  struct b2f_remote_stat *out, struct b2f_why *why)
{
	B2F_OWN char *index = b2f_remote_join(path, B2F_INDEX_NAME);

	return b2f_remote_head(remote, index, out, NULL, why);
}

void b2f_remote_tidy(struct b2f_remote *remote, char *url)
{
	struct b2f_http_spec ask = {.method = B2F_HTTP_DELETE};
	struct b2f_http_request *request = NULL;

	(void)!b2f_remote_ask(remote, &ask, url, &request, NULL);
	b2f_http_drop(request);
}

int b2f_remote_look(struct b2f_remote *remote, const char *path,
		    struct b2f_remote_stat *out)
{
	struct b2f_why why = {""};
	int err = b2f_remote_head(remote, path, out, NULL, &why);

	return b2f_remote_report(remote, path, err, &why);
}

int b2f_remote_find(struct b2f_remote *remote, const char *path, bool *sparse,
		    struct b2f_remote_stat *out)
{
	struct b2f_why why = {""}, other = {""};
	int first = b2f_remote_head_index(remote, path, out, &why);
	int err = first;

	*sparse = !first;
	/* A bucket is not an object. */
	if ((first == -ENOENT || first == -EACCES) &&
	    (!remote->url.s3 || *remote->url.base || *path))
		err = b2f_remote_head(remote, path, out, NULL, &other);
	/* Access to everything is denied: the frame may exist. */
	if (first == -EACCES && err == -ENOENT)
		err = first;
	return b2f_remote_report(remote, path, err,
				 err == first ? &why : &other);
}

ssize_t b2f_remote_read(struct b2f_remote *remote, const char *path,
			const struct b2f_remote_stat *st, uint64_t off, void *buf,
			size_t n)
{
	struct b2f_fetch_spec spec = {
		.path = path, .version = st, .off = off, .n = n, .into = buf};
	struct b2f_fetched got = {.n = 0};
	struct b2f_fetch *fetch = NULL;
	struct b2f_why why = {""};
	int err;

	if (off >= st->size || n == 0)
		return 0;
	if (n > st->size - off)
		spec.n = (size_t)(st->size - off);
	err = b2f_fetch_start(remote, &spec, &fetch);
	if (!err)
		err = b2f_fetch_wait(fetch, &got, &why);
	b2f_fetch_drop(fetch);
	return err ? b2f_remote_report(remote, path, err, &why) : (ssize_t)got.n;
}
