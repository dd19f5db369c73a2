/* SPDX-License-Identifier: BSD-3-Clause */
/* copier.c - objects that the server copies itself, many at a time */
#include "remote/copier.h"

#include <stdlib.h>
#include <string.h>

#include "remote/s3_error.h"

static void fail(struct b2f_copier *copier, int err, const struct b2f_why *why)
{
	if (copier->err)
		return;
	copier->err = err;
	if (why)
		copier->why = *why;
}

/* A copy that fails late is answered by 200, and an error in the body. */
static void judge(struct b2f_copier *copier, const struct b2f_http_reply *reply)
{
	char code[B2F_S3_CODE_SIZE];
	struct b2f_why why = {""};

	if (reply->err) {
		fail(copier, reply->err, &reply->why);
		return;
	}
	b2f_s3_error_code((const char *)reply->body, reply->size, code);
	if (*code)
		fail(copier,
		     b2f_why_set(&why, -EIO, "the server answers %s", code),
		     &why);
}

static void wait_first(struct b2f_copier *copier)
{
	struct b2f_http_request *request = copier->running[0];

	copier->n--;
	memmove(copier->running, copier->running + 1,
		copier->n * sizeof(copier->running[0]));
	judge(copier, b2f_http_wait(request));
	b2f_http_drop(request);
}

void b2f_copier_add(struct b2f_copier *copier, const char *from,
		    const char *to)
{
	struct b2f_remote *remote = copier->remote;
	char *source = b2f_url_source(&remote->url, from);
	struct b2f_http_spec ask = {
		.method = B2F_HTTP_PUT,
		.copy_from = source,
		.room = B2F_HTTP_ERROR_ROOM,
	};
	int err = -ENOMEM;

	if (copier->n == B2F_COPIES_MAX)
		wait_first(copier);
	if (source)
		err = b2f_remote_start(remote, &ask,
				       b2f_url_of(&remote->url, to),
				       &copier->running[copier->n]);
	free(source);
	if (err)
		fail(copier, err, NULL);
	else
		copier->n++;
}

int b2f_copier_finish(struct b2f_copier *copier, struct b2f_why *why)
{
	while (copier->n)
		wait_first(copier);
	if (copier->err && why)
		*why = copier->why;
	return copier->err;
}
