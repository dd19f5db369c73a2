/* SPDX-License-Identifier: BSD-3-Clause */
/* put.c - one conditional PUT, whose outcome is found out */
#include "remote/put.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/waiting.h"
#include "remote/conditions.h"
#include "remote/object_sum.h"

/* The pause doubles up to this many times. */
#define TWICE_MAX 6

/* The values of If-Match and If-None-Match, one of which is NULL. */
static void find_conditions(const struct b2f_put *put, const char **if_match,
			    const char **if_none_match,
			    char etag[B2F_REMOTE_ETAG_SIZE])
{
	const struct b2f_remote_stat *before = put->spec.replaces;

	*if_match = NULL;
	*if_none_match = before ? NULL : "*";
	if (before && atomic_load(&put->remote->bare_etags))
		*if_match = b2f_remote_bare_etag(before->etag, etag);
	else if (before)
		*if_match = before->etag;
}

static void write_note(const struct b2f_put_spec *spec,
		       char out[B2F_HTTP_NOTE_SIZE])
{
	b2f_note_write(&spec->note, out, B2F_HTTP_NOTE_SIZE);
	/* B2F_GONE_SIZE leaves room for it. */
	if (spec->gone)
		strcat(out, spec->gone);
}

static bool is_large(const struct b2f_put *put)
{
	return put->spec.size > put->remote->put_bytes;
}

/* Sends the parts that were not sent, and the request that makes the object. */
static int send_parts(struct b2f_put *put, struct b2f_why *why)
{
	char etag[B2F_REMOTE_ETAG_SIZE], note[B2F_HTTP_NOTE_SIZE];
	const char *if_match, *if_none_match;
	int err = 0;

	write_note(&put->spec, note);
	if (!put->parts)
		err = b2f_parts_send(put->remote, &put->spec, note, &put->parts,
				     why);
	if (err)
		return err;
	find_conditions(put, &if_match, &if_none_match, etag);
	return b2f_parts_complete(put->parts, if_match, if_none_match,
				  &put->request);
}

static int send_whole(struct b2f_put *put)
{
	const struct b2f_put_spec *spec = &put->spec;
	char etag[B2F_REMOTE_ETAG_SIZE], note[B2F_HTTP_NOTE_SIZE];
	char sum[B2F_OBJECT_SUM_TEXT];
	struct b2f_http_spec ask = {
		.method = B2F_HTTP_PUT,
		.data = spec->data,
		.size = spec->size,
		.source = spec->source,
		.note = note,
		/* The outcome is found out before the PUT is repeated. */
		.once = true,
	};

	find_conditions(put, &ask.if_match, &ask.if_none_match, etag);
	write_note(spec, note);
	if (!spec->source && atomic_load(&put->remote->keeps_sums)) {
		b2f_object_sum_write(b2f_object_sum(0, spec->data, spec->size),
				     sum);
		ask.sum = sum;
	}
	return b2f_remote_start(put->remote, &ask,
				b2f_url_of(&put->remote->url, spec->path),
				&put->request);
}

/* If the server supports no parts, send a large object as a whole. */
static int send(struct b2f_put *put, struct b2f_why *why)
{
	int err = B2F_EUNSUPPORTED;

	if (is_large(put))
		err = b2f_remote_probe_parts(put->remote, put->path, why);
	if (!err)
		err = send_parts(put, why);
	if (err != B2F_EUNSUPPORTED)
		return err;
	if (put->spec.size > B2F_REMOTE_PIECE_MAX)
		return b2f_why_set(why, B2F_ETOOBIG,
				   "larger than 5 GiB, and the server has no "
				   "conditional multipart uploads; 'bloscctl "
				   "convert --sparse' makes a frame that is "
				   "sent chunk by chunk");
	*why = (struct b2f_why){""};
	return send_whole(put);
}

int b2f_put_start(struct b2f_remote *remote, const struct b2f_put_spec *spec,
		  struct b2f_put *out)
{
	int err;

	/*
	 * libcurl omits an empty If-Match: the server would replace anything.
	 */
	if (spec->replaces && !*spec->replaces->etag)
		return -EROFS;
	*out = (struct b2f_put){.remote = remote, .spec = *spec};
	out->path = spec->path ? strdup(spec->path) : NULL;
	if (!out->path)
		return -ENOMEM;
	out->spec.path = out->path;
	err = is_large(out) ? 0 : send_whole(out);
	if (err)
		b2f_put_fini(out);
	return err;
}

static int refuse(const struct b2f_put *put, struct b2f_why *why)
{
	if (put->spec.replaces)
		return b2f_why_set(why, -ESTALE, "it is another version now");
	return b2f_why_set(why, -EEXIST, "it exists already");
}

/*
 * The object is unchanged. -EAGAIN: send again.  If the answer was no refusal,
 * the server may still be working on the PUT.
 */
static int judge_same(struct b2f_put *put, struct b2f_why *why)
{
	if (put->may_pass)
		return -EAGAIN;
	if (put->err == -ESTALE || put->err == -EEXIST) {
		put->err = b2f_why_set(why, -EIO,
				       "the server refuses the condition, and "
				       "shows the same version");
		return -EAGAIN;
	}
	return put->err == -ENOENT && put->spec.replaces ? -EIO : put->err;
}

/* Do the marks of @note after its first one include that again? */
static bool is_repeated(const struct b2f_note *note)
{
	for (size_t i = 1; i < note->nmarks; i++)
		if (note->marks[i] == note->marks[0])
			return true;
	return false;
}

/*
 * Is the current object ours, or does it follow ours?  A copy that is made
 * again has the mark that it had before: then the mark behind it counts, too.
 */
static bool is_ours(const struct b2f_put *put)
{
	const struct b2f_note *ours = &put->spec.note, *now = &put->now_note;

	if (!is_repeated(ours))
		return b2f_note_has(now, ours->marks[0]);
	for (size_t i = 0; i + 1 < now->nmarks; i++)
		if (now->marks[i] == ours->marks[0] &&
		    now->marks[i + 1] == ours->marks[1])
			return true;
	return false;
}

/*
 * Looks at the object after an attempt was sent.  Returns 0 if it is ours,
 * -EAGAIN, or the error.
 */
static int settle(struct b2f_put *put, struct b2f_why *why)
{
	const struct b2f_remote_stat *before = put->spec.replaces;
	struct b2f_why other = {""};
	bool refused;
	int err = b2f_remote_head(put->remote, put->path, &put->now,
				  &put->now_note, &other);

	if (!err && is_ours(put))
		return 0;
	if (err == -ENOENT && before)
		return b2f_why_set(why, -ESTALE,
				   "another program has deleted it");
	if (err == -ENOENT)
		return judge_same(put, why);
	/* A proxy may have refused a request that it had passed on before. */
	if (err) {
		put->in_doubt = true;
		refused = put->err == -EEXIST || put->err == -ESTALE;
		return refused ? -EIO : put->err;
	}
	if (before && strcmp(before->etag, put->now.etag) == 0)
		return judge_same(put, why);
	return refuse(put, why);
}

/* A multipart upload has its result in the body. */
static void judge_parts(struct b2f_put *put, const struct b2f_http_reply *reply,
			struct b2f_why *why)
{
	*put->now.etag = '\0';
	put->err = b2f_parts_judge(reply, &put->now, why);
	if (!put->err)
		return;
	put->sent = true;
	put->may_pass = put->err == -EIO;
}

static void take_reply(struct b2f_put *put, struct b2f_why *why)
{
	const struct b2f_http_reply *reply = b2f_http_wait(put->request);

	put->err = reply->err;
	put->sent = reply->sent;
	put->may_pass = reply->may_pass;
	if (reply->err) {
		*why = reply->why;
	} else {
		put->now = reply->st;
		put->now.size = put->spec.size;
		put->now.mtime = time(NULL);
		put->now_note = put->spec.note;
		if (put->parts)
			judge_parts(put, reply, why);
	}
	/* Some servers answer a PUT without the ETag. */
	if (!put->err && !*put->now.etag) {
		put->err = -EIO;
		put->sent = put->may_pass = true;
	}
	b2f_http_drop(put->request);
	put->request = NULL;
}

/* Spread the retries of writers that failed together. */
void b2f_put_pause(const struct b2f_remote *remote, unsigned int try)
{
	uint64_t ms = (uint64_t)b2f_http_options_of(remote->http)->backoff_ms
			      << (try < TWICE_MAX ? try : TWICE_MAX) >>
		      1;

	(void)b2f_waiting_sleep(ms / 2 + b2f_note_draw() % (ms / 2 + 1));
}

/* Makes one attempt; -EAGAIN: another one may follow. */
static int attempt(struct b2f_put *put, struct b2f_why *why)
{
	int err = put->request ? 0 : send(put, why);

	if (err)
		return err;
	take_reply(put, why);
	put->is_done = !put->err;
	if (put->is_done)
		return 0;
	if (put->sent) {
		put->in_doubt |= put->may_pass;
		err = settle(put, why);
		put->is_done = !err;
		return err;
	}
	return put->may_pass ? -EAGAIN : put->err;
}

/*
 * Have so many other writers followed an attempt of unknown outcome that the
 * current note no longer has its mark?
 */
static bool is_buried(const struct b2f_put *put)
{
	const struct b2f_note *ours = &put->spec.note;

	return (put->in_doubt || put->spec.replaces) &&
	       put->now_note.nmarks == B2F_NOTE_MARKS &&
	       !(ours->nmarks > 1 &&
		 b2f_note_has(&put->now_note, ours->marks[1]));
}

/* Chooses the final error and message after @err. */
static int conclude(const struct b2f_put *put, int err, struct b2f_why *why)
{
	struct b2f_why first = *why;
	bool refused = err == -EEXIST || err == -ESTALE;

	if (!err || (refused ? !is_buried(put) : !put->in_doubt))
		return err;
	return b2f_why_set(why, B2F_EINDOUBT,
			   "%s%sthe server may have done it, or not",
			   first.text, first.text[0] ? "; " : "");
}

int b2f_put_wait(struct b2f_put *put, struct b2f_why *why)
{
	struct b2f_http_tries tries = {.n = 0};
	struct b2f_why last = {""};
	int err;

	do
		err = attempt(put, &last);
	while (err == -EAGAIN &&
	       b2f_http_try_again(put->remote->http, &tries));
	err = conclude(put, err == -EAGAIN ? put->err : err, &last);
	if (err && why)
		*why = last;
	return err;
}

void b2f_put_fini(struct b2f_put *put)
{
	b2f_http_drop(put->request);
	b2f_parts_end(put->parts, put->is_done);
	free(put->path);
	*put = (struct b2f_put){.request = NULL};
}

int b2f_put_run(struct b2f_remote *remote, const struct b2f_put_spec *spec,
		struct b2f_remote_stat *now, struct b2f_why *why)
{
	struct b2f_put put;
	int err = b2f_put_start(remote, spec, &put);

	if (err)
		return err;
	err = b2f_put_wait(&put, why);
	if (!err && now)
		*now = put.now;
	b2f_put_fini(&put);
	return err;
}

int b2f_put_sign(struct b2f_remote *remote, const char *path,
		 struct b2f_why *why)
{
	const struct b2f_put_spec spec = {
		.path = path,
		.data = "",
		.size = 1,
		.note = {.marks = {b2f_note_draw()}, .nmarks = 1},
	};
	int err = b2f_put_run(remote, &spec, NULL, why);

	/* Nothing depends on a sign that may be there. */
	return err == B2F_EINDOUBT ? b2f_why_set(why, -EIO,
						 "the server does not confirm "
						 "that it stores objects")
				   : err;
}
