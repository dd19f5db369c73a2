/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_still.c - is a frame still the one on disk? */
#include "frame/frame_still.h"

#include <stdlib.h>
#include <string.h>

#include "frame/frame_chunk.h"
#include "index/fingerprint.h"

/* Are @object's header, and the end of its trailer, those of @frame? */
static int compare(const struct b2f_frame *frame,
		   const struct b2f_object *object, uint8_t *head, bool *same)
{
	const struct b2f_frame_header *h = &frame->header;
	const uint8_t *known = frame->trailer_bytes + frame->trailer_len;
	uint8_t tail[B2F_FINGERPRINT_TAIL];
	int err;

	err = b2f_object_read(object, frame->offset, head, h->header_len, NULL);
	if (!err)
		err = b2f_object_read(object,
				      frame->offset + h->frame_len -
					      sizeof(tail),
				      tail, sizeof(tail), NULL);
	if (err)
		return err;
	/* A writer that has but claimed the frame has changed nothing. */
	if (tail[0] == B2F_FINGERPRINT_CLAIMED)
		tail[0] = known[-(ptrdiff_t)sizeof(tail)];
	*same = !memcmp(head, frame->header_bytes, h->header_len) &&
		!memcmp(tail, known - sizeof(tail), sizeof(tail));
	return 0;
}

static int is_same(const struct b2f_frame *frame, bool *same,
		   struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	uint8_t *head = malloc(frame->header.header_len);
	int err;

	if (!head)
		return -ENOMEM;
	err = b2f_object_open(frame->store, B2F_OBJECT_INDEX, &object, why);
	if (!err)
		err = compare(frame, &object, head, same);
	b2f_object_close(&object);
	free(head);
	/* The file has been cut. */
	return err == B2F_ECORRUPT ? 0 : err;
}

int b2f_frame_check_still(const struct b2f_frame *frame, uint64_t raw, int err,
			  struct b2f_why *why)
{
	struct b2f_frame_stamp now;
	bool same = false;

	/* A writer of this process waits for its readers. */
	if (frame->store->sparse || (b2f_entry_tag(raw) && !err) ||
	    b2f_ranges_has_writer(frame->store->ranges))
		return 0;
	err = b2f_store_stamp_index(frame->store, &now);
	if (err)
		return b2f_why_set(why, err, "stat: %s", strerror(-err));
	if (b2f_frame_stamp_equal(&now, &frame->stamp))
		return 0;
	err = is_same(frame, &same, why);
	if (!err && !same)
		err = b2f_why_set(why, -ESTALE,
				  "another program has changed the frame");
	return err;
}

int b2f_frame_check_file(const struct b2f_frame *frame,
			 const struct b2f_loaded *loaded, struct b2f_why *why)
{
	struct b2f_frame_stamp now;
	int err;

	if (!frame->store->sparse || b2f_entry_tag(loaded->raw) ||
	    !loaded->seal.tag ||
	    loaded->identity.mtime_ns <= frame->stamp.ctime_ns)
		return 0;
	err = b2f_store_stamp_index(frame->store, &now);
	if (err)
		return b2f_why_set(why, err == -ENOENT ? -ESTALE : err,
				   "stat: %s", strerror(-err));
	/* A file from a clock that was ahead. */
	if (b2f_frame_stamp_equal(&now, &frame->stamp))
		return 0;
	return b2f_why_set(why, -ESTALE,
			   "another program has changed the frame");
}
