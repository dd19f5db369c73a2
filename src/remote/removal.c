/* SPDX-License-Identifier: BSD-3-Clause */
/* removal.c - one object that goes, of which the outcome is known in the end */
#include "remote/removal.h"

#include <string.h>

#include "remote/put.h"

/* Asks once; @sent is set if it may have happened in spite of an error. */
static int ask(struct b2f_remote *remote, const struct b2f_removal *removal,
	       bool *sent, struct b2f_why *why)
{
	struct b2f_http_spec ask = {.method = B2F_HTTP_DELETE,
				    .room = B2F_HTTP_ERROR_ROOM};
	struct b2f_http_request *request = NULL;
	int err;

	if (atomic_load(&remote->deletes_match) && *removal->version.etag)
		ask.if_match = removal->version.etag;
	err = b2f_remote_ask(remote, &ask,
			     b2f_url_of(&remote->url, removal->path), &request,
			     why);
	if (request)
		*sent |= b2f_http_wait(request)->sent;
	b2f_http_drop(request);
	return err == -ENOENT ? 0 : err;
}

/* Two objects of equal bytes have equal ETags. */
static bool is_same(const struct b2f_removal *a, const struct b2f_removal *b)
{
	return strcmp(a->version.etag, b->version.etag) == 0 &&
	       a->version.mtime == b->version.mtime &&
	       a->note.nmarks == b->note.nmarks &&
	       (!a->note.nmarks || a->note.marks[0] == b->note.marks[0]);
}

/*
 * Looks at what is there after an attempt of unknown outcome, which failed with @err.
 * Returns as b2f_removal_run(), or -EINPROGRESS: it is as it was.
 */
static int settle(struct b2f_remote *remote, const struct b2f_removal *removal,
		  int err, struct b2f_why *why)
{
	struct b2f_removal now = {.path = removal->path};
	struct b2f_why other = {""};
	int looked = b2f_remote_head(remote, now.path, &now.version, &now.note,
				     &other);

	if (looked == -ENOENT)
		return 0;
	/* The first error tells more. */
	if (looked)
		return err;
	if (is_same(removal, &now))
		return -EINPROGRESS;
	/* An object that follows ours has not come after its removal. */
	if (removal->note.nmarks &&
	    b2f_note_has(&now.note, removal->note.marks[0]))
		return -EAGAIN;
	return b2f_why_set(why, -ESTALE,
			   "another program has put something else there");
}

int b2f_removal_run(struct b2f_remote *remote, const struct b2f_removal *removal,
		    struct b2f_why *why)
{
	struct b2f_http_tries tries = {.n = 0};
	bool sent = false;
	int err, now;

	do {
		err = ask(remote, removal, &sent, why);
		if (!err || !sent)
			return err;
		now = settle(remote, removal, err, why);
		if (now != -EINPROGRESS)
			return now;
		/* It is the version that the server says it is not. */
		if (err == -ESTALE)
			return -EAGAIN;
	} while (b2f_http_try_again(remote->http, &tries));
	return err;
}
