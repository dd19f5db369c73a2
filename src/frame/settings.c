/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.c - settings for new chunks, from and to headers of frames */
#include "frame/settings.h"

#include <string.h>

#include "array/npy.h"
#include "b2frame/create.h"
#include "b2frame/names.h"
#include "chunk/encoder.h"
#include "frame/frame.h"
#include "index/index_write.h"

struct b2f_settings b2f_settings_default(void)
{
	return (struct b2f_settings){
		.typesize = 1,
		.blocksize = 64u << 10,
		.chunksize = -1,
		.codec = B2F_CODEC_ZSTD,
		.clevel = B2F_CLEVEL_DEFAULT,
		.splitmode = B2F_SPLIT_AUTO,
		.filters = {[B2F_SLOTS - 1] = B2F_FILTER_SHUFFLE},
	};
}

struct b2f_settings b2f_settings_of(const struct b2f_frame *frame)
{
	const struct b2f_frame_header *h = &frame->header;
	struct b2f_settings s = {
		.typesize = h->typesize,
		.blocksize = h->blocksize,
		.chunksize = h->chunksize,
		.codec = h->codec,
		.codec_meta = h->codec_meta,
		.clevel = h->clevel,
		.splitmode = h->splitmode,
	};

	memcpy(s.filters, h->pipeline.filter, B2F_SLOTS);
	memcpy(s.filters_meta, h->pipeline.meta, B2F_SLOTS);
	return s;
}

static int check_sizes(const struct b2f_settings *s, struct b2f_why *why)
{
	if (s->typesize == 0 || s->typesize > B2F_BLOCKSIZE_MAX)
		return b2f_why_set(why, -EINVAL, "type size %u", s->typesize);
	if (s->blocksize > B2F_BLOCKSIZE_MAX)
		return b2f_why_set(why, -EINVAL, "block size %u", s->blocksize);
	if (s->chunksize != -1 &&
	    (s->chunksize <= 0 ||
	     (uint32_t)s->chunksize > B2F_CHUNK_NBYTES_MAX))
		return b2f_why_set(why, -EINVAL, "chunk size %d", s->chunksize);
	return 0;
}

int b2f_settings_header(const struct b2f_settings *s,
			struct b2f_frame_header *h, struct b2f_why *why)
{
	int err;

	*h = (struct b2f_frame_header){
		.header_len = B2F_FRAME_HEADER_PLAIN,
		.typesize = s->typesize,
		.blocksize = s->blocksize,
		.chunksize = s->chunksize,
		.sparse = true,
		.codec = s->codec,
		.codec_meta = s->codec_meta,
		.clevel = s->clevel,
		.splitmode = s->splitmode,
	};
	memcpy(h->pipeline.filter, s->filters, B2F_SLOTS);
	memcpy(h->pipeline.meta, s->filters_meta, B2F_SLOTS);
	err = check_sizes(s, why);
	if (err)
		return err;
	if (!b2f_codec_by_code(s->codec))
		return b2f_why_set(why, -EINVAL, "codec %u (%s)", s->codec,
				   b2f_codec_code_name(s->codec));
	if (s->clevel > B2F_CLEVEL_MAX)
		return b2f_why_set(why, -EINVAL, "compression level %u",
				   s->clevel);
	if (s->splitmode < B2F_SPLIT_ALWAYS || s->splitmode > B2F_SPLIT_FORWARD)
		return b2f_why_set(why, -EINVAL, "split mode %u", s->splitmode);
	for (int i = 0; i < B2F_SLOTS; i++)
		if (s->filters[i] && !b2f_filter_by_id(s->filters[i]))
			return b2f_why_set(why, -EINVAL, "filter %u",
					   s->filters[i]);
	return 0;
}

void b2f_encode_options_of(const struct b2f_frame *frame,
			   const struct b2f_frame_header *h,
			   struct b2f_encode_options *out)
{
	const struct b2f_array *a = frame ? b2f_frame_array(frame) : NULL;

	*out = (struct b2f_encode_options){
		.typesize = h->typesize,
		.codec = h->codec,
		.clevel = h->clevel,
		.codec_meta = h->codec_meta,
		.split = (enum b2f_split)h->splitmode,
		.blocksize = h->blocksize,
		.pipeline = h->pipeline,
	};
	/* A reader of a part of an array needs the block size of the array. */
	if (a)
		out->blocksize = (uint32_t)(a->block_items * a->itemsize);
}

int b2f_settings_index(const struct b2f_settings *settings, bool small,
		       uint8_t **out, size_t *size, struct b2f_why *why)
{
	uint8_t head[B2F_FRAME_HEADER_PLAIN], trailer[B2F_FRAME_TRAILER_PLAIN];
	struct b2f_index_parts parts = {
		.header_bytes = head,
		.trailer_bytes = trailer,
		.trailer_len = sizeof(trailer),
		.sealed = true,
		.small = small,
	};
	int err = b2f_settings_header(settings, &parts.header, why);

	if (err)
		return err;
	parts.header.sparse = !small;
	b2f_frame_header_write(&parts.header, head);
	b2f_trailer_write(trailer);
	return b2f_index_write(&parts, out, size, why);
}

/* Wider items hardly resemble each other. */
#define NPY_ITEM_MAX 65536

/* The item size in the header of a .npy file; 0 without a header. */
static uint32_t npy_itemsize(const uint8_t *data, size_t size)
{
	struct b2f_npy npy;
	uint32_t itemsize;

	if (b2f_npy_parse(data, size, &npy))
		return 0;
	itemsize = npy.itemsize;
	b2f_npy_fini(&npy);
	return itemsize <= NPY_ITEM_MAX ? itemsize : 0;
}

int b2f_settings_guess_by(struct b2f_settings *settings,
			  struct b2f_encoder *enc, const void *data,
			  size_t size)
{
	uint32_t typesize = npy_itemsize(data, size);
	int err = 0;

	if (typesize == 0)
		err = b2f_encode_guess_typesize(enc, data, size, &typesize);
	if (err)
		return err;
	settings->typesize = typesize;
	if (settings->chunksize > (int32_t)typesize)
		settings->chunksize -= settings->chunksize % (int32_t)typesize;
	return 0;
}

int b2f_settings_guess(struct b2f_settings *settings, const void *data,
		       size_t size)
{
	struct b2f_encoder *enc;
	int err = b2f_encoder_new(&enc);

	if (err)
		return err;
	err = b2f_settings_guess_by(settings, enc, data, size);
	b2f_encoder_free(enc);
	return err;
}
