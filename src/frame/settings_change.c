/* SPDX-License-Identifier: BSD-3-Clause */
/* settings_change.c - gives a frame another codec, level or filters */
#include "frame/settings_change.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frame/frame_report.h"
#include "index/index_write.h"

static int set_filters(struct b2f_pipeline *pipeline, const uint8_t *filters)
{
	for (int i = 0; i < B2F_SLOTS; i++)
		if (filters[i] && !b2f_filter_by_id(filters[i]))
			return -EINVAL;
	/* The parameters belong to the old filters. */
	if (memcmp(pipeline->filter, filters, B2F_SLOTS))
		memset(pipeline->meta, 0, B2F_SLOTS);
	memcpy(pipeline->filter, filters, B2F_SLOTS);
	return 0;
}

static int set_codec(struct b2f_frame_header *h, int codec)
{
	if (codec > UINT8_MAX || !b2f_codec_by_code((unsigned int)codec))
		return -EINVAL;
	if (h->codec == codec)
		return 0;
	h->codec = (uint8_t)codec;
	/* These belong to the old codec. */
	h->codec_meta = 0;
	h->use_dict = false;
	return 0;
}

static int apply(const struct b2f_encoding *change, struct b2f_frame_header *h)
{
	int err = 0;

	/* Only -1 stands for no change. */
	if (change->clevel > B2F_CLEVEL_MAX || change->clevel < -1 ||
	    change->codec < -1)
		return -EINVAL;
	if (change->clevel >= 0)
		h->clevel = (uint8_t)change->clevel;
	if (change->codec >= 0)
		err = set_codec(h, change->codec);
	if (!err && change->filters)
		err = set_filters(&h->pipeline, change->filters);
	return err;
}

static bool is_same(const struct b2f_frame_header *a,
		    const struct b2f_frame_header *b)
{
	return a->codec == b->codec && a->clevel == b->clevel &&
	       !memcmp(&a->pipeline, &b->pipeline, sizeof(a->pipeline));
}

/*
 * The whole index of @frame with the header @h.  Its entries are zeros; the
 * transaction has the real ones.
 */
static int write_index(const struct b2f_frame *frame,
		       const struct b2f_frame_header *h, uint8_t **out,
		       size_t *size)
{
	struct b2f_index_parts parts = {
		.header = *h,
		.nentries = h->nbytes
				    ? b2f_div_up_u64(h->nbytes,
						     (uint32_t)h->chunksize)
				    : 0,
		.trailer_bytes = frame->trailer_bytes,
		.trailer_len = frame->trailer_len,
		.sealed = true,
	};
	B2F_OWN uint8_t *header = malloc(h->header_len);
	struct b2f_why why = {""};
	int err = header ? 0 : -ENOMEM;

	if (!err) {
		memcpy(header, frame->header_bytes, h->header_len);
		b2f_frame_header_set(h, header);
		parts.header_bytes = header;
		err = b2f_index_write(&parts, out, size, &why);
	}
	return err ? b2f_frame_report(frame, err, &why) : 0;
}

int b2f_settings_change(const struct b2f_frame *frame,
			const struct b2f_frame_header *now,
			const struct b2f_encoding *change,
			struct b2f_frame **out)
{
	struct b2f_frame_header h = *now;
	B2F_OWN uint8_t *index = NULL;
	size_t size = 0;
	int err = apply(change, &h);

	*out = NULL;
	if (err || is_same(&h, now))
		return err;
	/* Entries of zeros have no length where chunks have different sizes. */
	if (h.chunksize == 0)
		h.nbytes = 0;
	h.cbytes = h.frame_len = 0;
	err = write_index(frame, &h, &index, &size);
	return err ? err : b2f_frame_derive(frame, index, size, out);
}
