/* SPDX-License-Identifier: BSD-3-Clause */
/* conditions.c - does the server honour conditional requests? */
#include "remote/conditions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/object_sum.h"
#include "remote/put.h"

/* The mark follows, in hexadecimal digits. */
#define PROBE_NAME ".b2frame-probe-"

/* An ETag that no object has. */
#define NO_ETAG "\"00000000000000000000000000000000\""

/* After so many seconds a probe object is a leftover of a killed program. */
#define LEFT_S 3600

/* Contents of the probe object; each PUT sends one byte more. */
static const char content[] = "b2f";

struct probe {
	struct b2f_remote *remote;
	char *path;
	char note[B2F_HTTP_NOTE_SIZE];
	uint64_t mark;
	struct b2f_remote_stat st;
	struct b2f_why *why;
	int last_err;
	/* PUTs carry a checksum. */
	bool sums;
};

static int refuse(const struct probe *p, const char *text)
{
	return b2f_why_set(p->why, -EROFS,
			   "the server %s, so nothing is written to it", text);
}

static int start(const struct probe *p, const char *if_match, size_t size,
		 struct b2f_http_request **out)
{
	char sum[B2F_OBJECT_SUM_TEXT];
	struct b2f_http_spec ask = {
		.method = B2F_HTTP_PUT,
		.data = content,
		.size = size,
		.note = p->note,
		.if_match = if_match,
		.if_none_match = if_match ? NULL : "*",
		/*
		 * A repeated request would be refused because of the first one.
		 */
		.once = true,
	};

	b2f_object_sum_write(b2f_object_sum(0, content, size), sum);
	ask.sum = p->sums ? sum : NULL;
	return b2f_remote_start(p->remote, &ask,
				b2f_url_of(&p->remote->url, p->path), out);
}

/*
 * Waits for @request and drops it. Returns 0, -EEXIST, -ESTALE, -EAGAIN (begin
 * again), or another error.
 */
static int take(struct probe *p, struct b2f_http_request *request)
{
	const struct b2f_http_reply *reply = b2f_http_wait(request);
	int err = reply->err;

	/* The other of the two simultaneous PUTs is under way. */
	if (err == -EBUSY)
		err = -EEXIST;
	if (err && err != -EEXIST && err != -ESTALE) {
		*p->why = reply->why;
		p->last_err = err;
		/* Another object may succeed. */
		err = reply->may_pass ? -EAGAIN : err;
	}
	b2f_http_drop(request);
	return err;
}

/* Sends two PUTs that create the same object at once. */
static int create_twice(struct probe *p)
{
	struct b2f_http_request *requests[2] = {NULL, NULL};
	int errs[2] = {-ENOMEM, -ENOMEM}, err = 0;

	for (int i = 0; i < 2; i++)
		if (start(p, NULL, 1, &requests[i]))
			requests[i] = NULL;
	for (int i = 0; i < 2; i++)
		if (requests[i])
			errs[i] = take(p, requests[i]);
	for (int i = 0; i < 2 && !err; i++)
		if (errs[i] && errs[i] != -EEXIST)
			err = errs[i];
	if (!err && !errs[0] && !errs[1])
		err = refuse(p, "ignores the condition If-None-Match");
	if (err || !errs[0] || !errs[1])
		return err;
	/* Each was in the other's way. */
	p->last_err = -EBUSY;
	return -EAGAIN;
}

static int look(struct probe *p)
{
	struct b2f_note note;
	int err = b2f_remote_head(p->remote, p->path, &p->st, &note, p->why);

	if (!err && !*p->st.etag)
		err = refuse(p, "sends no ETags");
	if (!err && !b2f_note_has(&note, p->mark))
		err = refuse(p, "drops the metadata of objects (x-amz-meta)");
	atomic_store(&p->remote->keeps_sums,
		     !err && p->st.has_crc32 &&
			     p->st.crc32 == b2f_object_sum(0, content, 1));
	return err;
}

/* Replaces the object with ETag @etag. Returns 0, -ESTALE, or another error. */
static int replace(struct probe *p, const char *etag)
{
	struct b2f_http_request *request = NULL;
	int err = start(p, etag, 2, &request);

	if (!err)
		err = take(p, request);
	if (err != -EEXIST)
		return err;
	/* A conflict without another program: the server is busy. */
	p->last_err = -EBUSY;
	return -EAGAIN;
}

/* Tries with a wrong ETag, then with the right one, with quotes or without. */
static int replace_twice(struct probe *p)
{
	char bare[B2F_REMOTE_ETAG_SIZE];
	int err = replace(p, NO_ETAG);

	if (!err)
		return refuse(p, "ignores the condition If-Match");
	if (err == -ESTALE)
		err = replace(p, p->st.etag);
	if (err != -ESTALE)
		return err;
	err = replace(p, b2f_remote_bare_etag(p->st.etag, bare));
	if (!err)
		atomic_store(&p->remote->bare_etags, true);
	return err == -ESTALE ? refuse(p, "refuses its own ETags (If-Match)")
			      : err;
}

/*
 * Deletes the object on the condition of a wrong ETag: does the server refuse?
 * Some check only PUT.
 */
static void remove_other(struct probe *p)
{
	struct b2f_http_spec ask = {.method = B2F_HTTP_DELETE,
				    .if_match = NO_ETAG};
	struct b2f_http_request *request = NULL;
	int err = b2f_remote_ask(p->remote, &ask,
				 b2f_url_of(&p->remote->url, p->path), &request,
				 NULL);

	b2f_http_drop(request);
	/* A server that wants no quotes may have compared the quotes. */
	atomic_store(&p->remote->deletes_match,
		     err == -ESTALE && !atomic_load(&p->remote->bare_etags));
}

static int run(struct probe *p)
{
	int err = create_twice(p);

	if (!err)
		err = look(p);
	if (!err)
		err = replace_twice(p);
	if (!err)
		remove_other(p);
	/* A leftover is not a chunk; a later probe deletes it. */
	b2f_remote_tidy(p->remote, b2f_url_of(&p->remote->url, p->path));
	return err;
}

bool b2f_remote_is_probe(const char *name)
{
	return strncmp(name, PROBE_NAME, strlen(PROBE_NAME)) == 0;
}

/* A directory in which killed programs may have left probe objects. */
struct attic {
	struct b2f_remote *remote;
	const char *path;
	/* The server's clock. */
	int64_t now_s;
};

static int remove_left(void *arg, const struct b2f_remote_entry *entry)
{
	const struct attic *attic = arg;
	B2F_OWN char *path = NULL;

	/* Names come in order: there are no more probes. */
	if (!b2f_remote_is_probe(entry->name))
		return 1;
	if (entry->is_dir || entry->st.mtime + LEFT_S > attic->now_s)
		return 0;
	path = b2f_remote_join(attic->path, entry->name);
	b2f_remote_tidy(attic->remote, b2f_url_of(&attic->remote->url, path));
	return 0;
}

/* Makes the object @parts on a false condition: does the server refuse? */
static bool is_refused(const struct b2f_parts *parts, const char *if_match)
{
	struct b2f_http_request *request = NULL;
	int err = b2f_parts_complete(parts, if_match, if_match ? NULL : "*",
				     &request);

	if (!err)
		err = b2f_http_wait(request)->err;
	b2f_http_drop(request);
	return err == (if_match ? -ESTALE : -EEXIST);
}

/* Probes conditions of multipart uploads, with the existing object. */
static int try_parts(struct probe *p)
{
	const struct b2f_put_spec spec = {
		.path = p->path, .data = content, .size = 1};
	struct b2f_http_request *request = NULL;
	struct b2f_parts *parts = NULL;
	int err = start(p, NULL, 1, &request);

	if (!err)
		err = take(p, request);
	if (!err)
		err = b2f_parts_send(p->remote, &spec, p->note, &parts, p->why);
	if (!err &&
	    (!is_refused(parts, NULL) || !is_refused(parts, NO_ETAG)))
		err = B2F_EUNSUPPORTED;
	b2f_parts_end(parts, false);
	b2f_remote_tidy(p->remote, b2f_url_of(&p->remote->url, p->path));
	return err;
}

static int begin_probe(struct probe *p, const char *dir)
{
	struct b2f_note note = {.marks = {b2f_note_draw()}, .nmarks = 1};
	char name[sizeof(PROBE_NAME) + 16];

	p->mark = note.marks[0];
	b2f_note_write(&note, p->note, sizeof(p->note));
	snprintf(name, sizeof(name), PROBE_NAME "%016" PRIx64, p->mark);
	p->path = b2f_remote_join(dir, name);
	return p->path ? 0 : -ENOMEM;
}

int b2f_remote_probe_parts(struct b2f_remote *remote, const char *path,
			   struct b2f_why *why)
{
	struct probe p = {.remote = remote, .why = why};
	const char *slash = strrchr(path, '/');
	B2F_OWN char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);
	int err = dir ? 0 : -ENOMEM;

	pthread_mutex_lock(&remote->probe_lock);
	if (!err && !remote->takes_parts) {
		err = begin_probe(&p, dir);
		if (!err)
			err = try_parts(&p);
		/*
		 * After a temporary error, ask again before the next large
		 * object.
		 */
		if (!err || err == B2F_EUNSUPPORTED)
			remote->takes_parts = err ? -1 : 1;
	} else if (!err && remote->takes_parts < 0) {
		err = B2F_EUNSUPPORTED;
	}
	pthread_mutex_unlock(&remote->probe_lock);
	free(p.path);
	return err && err != -ENOMEM ? B2F_EUNSUPPORTED : err;
}

static int try_once(struct b2f_remote *remote, const char *path,
		    struct b2f_why *why, int *last_err)
{
	struct probe p = {.remote = remote, .why = why};
	struct attic attic = {.remote = remote, .path = path};
	int err = begin_probe(&p, path);

	p.sums = !remote->refuses_sums;
	if (!err)
		err = run(&p);
	/* The server may accept it without a checksum. */
	if (p.sums && (err == B2F_EUNSUPPORTED || err == -EIO))
		remote->refuses_sums = true;
	free(p.path);
	*last_err = p.last_err;
	attic.now_s = p.st.mtime;
	/* Leftovers only take space: ignore errors. */
	if (!err)
		(void)!b2f_remote_list_after(remote, path, PROBE_NAME,
					     remove_left, &attic, NULL);
	return err;
}

/* Each attempt uses a new object. */
static int probe(struct b2f_remote *remote, const char *path,
		 struct b2f_why *why)
{
	struct b2f_http_tries tries = {.n = 0};
	int err, last_err = 0;
	bool refused = remote->refuses_sums;

	do {
		*why = (struct b2f_why){""};
		err = try_once(remote, path, why, &last_err);
		/* Checksums turned out to be refused: try once more without. */
		if (remote->refuses_sums && !refused)
			err = -EAGAIN;
		refused = remote->refuses_sums;
	} while (err == -EAGAIN && b2f_http_try_again(remote->http, &tries));
	return err == -EAGAIN ? last_err : err;
}

int b2f_remote_probe(struct b2f_remote *remote, const char *path,
		     struct b2f_why *why)
{
	int err;

	if (!remote->url.s3)
		return b2f_why_set(why, -EROFS, "it is on a web server, which is not "
				   "written to");
	B2F_HOLD(&remote->probe_lock);
	if (!remote->probed) {
		remote->probe_why = (struct b2f_why){""};
		remote->probe_err = probe(remote, path, &remote->probe_why);
		remote->probed = !remote->probe_err ||
				 remote->probe_err == -EROFS;
	}
	err = remote->probe_err;
	if (err && why)
		*why = remote->probe_why;
	return err;
}

bool b2f_remote_is_written(struct b2f_remote *remote)
{
	B2F_HOLD(&remote->probe_lock);

	return remote->probed && !remote->probe_err;
}
