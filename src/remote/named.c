/* SPDX-License-Identifier: BSD-3-Clause */
/* named.c - the chunks that the index on the server names, now */
#include "remote/named.h"

#include <stdlib.h>

#include "frame/frame.h"
#include "frame/txn_ids.h"
#include "store/store.h"

/* No more of an index is read. */
#define INDEX_MAX ((size_t)256 << 20)

static int list_ids(const char *path, const void *index, size_t size,
		    struct b2f_ids *out)
{
	const struct b2f_frame_options options = {.log = NULL};
	struct b2f_store *store = NULL;
	struct b2f_frame *frame = NULL;
	int err = b2f_store_new_memory(index, size, &store);

	if (err)
		return err;
	store->sparse = true;
	err = b2f_frame_open_store(&options, store, path, &frame);
	if (!err)
		err = b2f_txn_frame_ids(frame, out);
	b2f_frame_close(frame);
	return err;
}

int b2f_named_list(struct b2f_remote *remote, const char *path,
		   struct b2f_ids *out, struct b2f_note *note,
		   struct b2f_why *why)
{
	struct b2f_http_spec ask = {.method = B2F_HTTP_GET, .room = INDEX_MAX};
	struct b2f_http_request *request = NULL;
	const struct b2f_http_reply *reply;
	int err;

	*note = (struct b2f_note){.nmarks = 0};
	err = b2f_remote_ask(remote, &ask, b2f_url_of(&remote->url, path),
			     &request, why);
	if (!err) {
		reply = b2f_http_wait(request);
		b2f_note_read(reply->note, note);
		err = list_ids(path, reply->body, reply->size, out);
	}
	b2f_http_drop(request);
	return err == -ENOENT ? 0 : err;
}
