/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_peek.c - is this name a frame, and how large? */
#include <string.h>

#include "frame/frame.h"

/* Looks at an open store.  Returns 0, or an errno that is no answer. */
static int peek_store(struct b2f_store *store, struct b2f_frame_peek *peek)
{
	uint8_t fixed[B2F_FRAME_HEADER_FIXED] = {0};
	struct b2f_object object = {.fd = -1};
	struct b2f_frame_header h;
	size_t n = sizeof(fixed);
	int err;

	err = b2f_store_stat_index(store, &peek->index);
	if (err)
		return err == -ENOENT ? 0 : err;
	peek->sparse = store->sparse;
	/* A directory with an index is a frame, whatever is in that. */
	peek->is_frame = store->sparse;
	peek->broken = true;
	err = b2f_object_open(store, B2F_OBJECT_INDEX, &object, NULL);
	if (err)
		return err == B2F_ECORRUPT ? 0 : err;
	if (object.size < n)
		n = (size_t)object.size;
	err = b2f_object_read(&object, 0, fixed, n, NULL);
	if (!err && b2f_frame_magic(fixed, n))
		peek->is_frame = true;
	if (!err && !b2f_frame_header_parse(fixed, n, object.size, &h, NULL) &&
	    h.sparse == store->sparse) {
		peek->broken = false;
		peek->nbytes = h.nbytes;
		peek->cbytes = h.cbytes;
	}
	b2f_object_close(&object);
	return 0;
}

int b2f_frame_peek(int dirfd, const char *name, struct b2f_frame_peek *out)
{
	struct b2f_frame_peek peek;
	struct b2f_store *store = NULL;
	int err;

	memset(&peek, 0, sizeof(peek));
	err = b2f_store_open(dirfd, name, false, &store, NULL);
	if (err == B2F_ENOTFRAME || err == -ELOOP || err == -ENXIO) {
		*out = peek;
		return 0;
	}
	if (err)
		return err;
	err = peek_store(store, &peek);
	b2f_store_free(store);
	if (!err)
		*out = peek;
	return err;
}
