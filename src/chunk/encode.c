/* SPDX-License-Identifier: BSD-3-Clause */
/* encode.c - data into the stored bytes of a chunk, block by block */
#include "chunk/encode.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "chunk/encode_plan.h"

/* A chunk in the making. */
struct writer {
	struct b2f_encoder *enc;
	const struct b2f_encode_plan *plan;
	const uint8_t *src;
	uint8_t *dst;
	/* Next byte to write, and the end: what the data take as they are. */
	uint32_t at;
	uint32_t limit;
};

static bool all_same(const uint8_t *data, size_t n)
{
	return !memcmp(data, data + 1, n - 1);
}

/*
 * One stream of @n (> 0) bytes: a run, or what the codec gives, or as it is.
 * Returns 1, 0 if the chunk gets too long, or -ENOMEM.
 */
static int put_stream(struct writer *w, const uint8_t *data, size_t n)
{
	const struct b2f_encode_plan *plan = w->plan;
	uint32_t left = w->limit - w->at;
	uint8_t *head = w->dst + w->at;
	int64_t size;

	if (left < 5)
		return 0;
	if (all_same(data, n)) {
		b2f_store_le32(head, -(uint32_t)data[0]);
		w->at += 4;
		if (data[0])
			w->dst[w->at++] = 1;
		return 1;
	}
	left -= 4;
	/* A stream of @n bytes would be taken for one stored as it is. */
	size = b2f_codec_encoders_encode(&w->enc->codecs, plan->code,
					 plan->clevel, data, n, head + 4,
					 b2f_min_u64(left, n - 1));
	if (size < 0)
		return (int)size;
	if (!size) {
		if (left < n)
			return 0;
		memcpy(head + 4, data, n);
		size = (int64_t)n;
	}
	b2f_store_le32(head, (uint32_t)size);
	w->at += 4 + (uint32_t)size;
	return 1;
}

/* The block of @n bytes at @off.  Returns as put_stream(). */
static int put_block(struct writer *w, uint32_t off, uint32_t n)
{
	const struct b2f_encode_plan *plan = w->plan;
	const struct b2f_filter_block block = {
		.typesize = plan->typesize,
		.chunk_version = 5,
		.ref = off ? w->src : NULL,
	};
	/* The short last block is never split. */
	uint32_t nstreams =
		plan->split && n == plan->blocksize ? plan->typesize : 1;
	uint32_t each = n / nstreams;
	const uint8_t *data = w->src + off;
	int ret = 1;

	data = b2f_pipeline_encode(&plan->pipeline, &block, data,
				   w->enc->filter[0].data,
				   w->enc->filter[1].data, n);
	for (uint32_t i = 0; i < nstreams && ret > 0; i++)
		ret = put_stream(w, data + (size_t)i * each, each);
	return ret;
}

static int reserve_filters(struct b2f_encoder *enc,
			   const struct b2f_encode_plan *plan)
{
	unsigned int active = 0;
	int err = 0;

	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS; slot++)
		active += plan->pipeline.filter[slot] != B2F_FILTER_NONE;
	for (unsigned int i = 0; i < 2 && i < active && !err; i++)
		err = b2f_scratch_reserve(&enc->filter[i], plan->blocksize);
	return err;
}

/* Block table and blocks.  Returns as put_stream(). */
static int put_blocks(struct writer *w)
{
	const struct b2f_encode_plan *plan = w->plan;
	uint32_t nblocks =
		(uint32_t)b2f_div_up_u64(plan->nbytes, plan->blocksize);
	uint8_t *table = w->dst + w->at;
	uint32_t off = 0, n;
	int ret;

	if (4 * (uint64_t)nblocks > w->limit - w->at)
		return 0;
	ret = reserve_filters(w->enc, plan);
	if (ret)
		return ret;
	w->at += 4 * nblocks;
	ret = 1;
	for (uint32_t i = 0; i < nblocks && ret > 0; i++, off += n) {
		n = (uint32_t)b2f_min_u64(plan->blocksize, plan->nbytes - off);
		b2f_store_le32(table + 4 * (size_t)i, w->at);
		ret = put_block(w, off, n);
	}
	return ret;
}

static uint32_t put_as_is(const struct b2f_encode_plan *plan,
			  const uint8_t *src, uint8_t *dst)
{
	uint32_t cbytes = B2F_CHUNK_HEADER_MAX + plan->nbytes;

	b2f_encode_plan_header(plan, B2F_ENCODE_AS_IS, cbytes, dst);
	if (plan->nbytes)
		memcpy(dst + B2F_CHUNK_HEADER_MAX, src, plan->nbytes);
	return cbytes;
}

/* Writes a chunk of data that are not all zeros. */
static int put_chunk(struct b2f_encoder *enc,
		     const struct b2f_encode_plan *plan, const uint8_t *src,
		     uint8_t *dst, uint32_t *cbytes)
{
	struct writer w = {
		.enc = enc,
		.plan = plan,
		.src = src,
		.dst = dst,
		.at = B2F_CHUNK_HEADER_MAX,
		.limit = B2F_CHUNK_HEADER_MAX + plan->nbytes,
	};
	int ret = 0;

	if (!plan->as_is)
		ret = put_blocks(&w);
	if (ret < 0)
		return ret;
	if (ret) {
		b2f_encode_plan_header(plan, B2F_ENCODE_BLOCKS, w.at, dst);
		*cbytes = w.at;
	} else {
		*cbytes = put_as_is(plan, src, dst);
	}
	return 0;
}

int b2f_chunk_encode(struct b2f_encoder *enc,
		     const struct b2f_encode_options *options,
		     const uint8_t *src, uint32_t nbytes, uint8_t *dst,
		     size_t room, struct b2f_encoded *out, struct b2f_why *why)
{
	struct b2f_encoded made = {0};
	struct b2f_encode_plan plan;
	int err;

	err = b2f_encode_plan_make(options, nbytes, &plan, why);
	if (err)
		return err;
	if (room < b2f_chunk_encode_bound(nbytes))
		return b2f_why_set(why, -EINVAL,
				   "room of %zu bytes for a chunk of %u", room,
				   nbytes);
	made.substituted = plan.substituted;
	if (nbytes && !src[0] && all_same(src, nbytes)) {
		made.zeros = true;
	} else {
		err = put_chunk(enc, &plan, src, dst, &made.cbytes);
		if (err)
			return b2f_why_set(why, err, "no memory for %s",
					   plan.codec->name);
	}
	*out = made;
	return 0;
}

bool b2f_chunk_is_value(const uint8_t *src, uint32_t nbytes, uint32_t width)
{
	return width && nbytes >= width && nbytes % width == 0 &&
	       !memcmp(src, src + width, nbytes - width);
}

int b2f_chunk_encode_value(const struct b2f_encode_options *options,
			   uint32_t nbytes, const uint8_t *value,
			   uint32_t width, uint8_t *dst, uint32_t *cbytes,
			   struct b2f_why *why)
{
	struct b2f_encode_plan plan;
	int err;

	err = b2f_encode_plan_make(options, nbytes, &plan, why);
	if (err)
		return err;
	if (!value)
		/* Zeros of any width will do, also for a part of an item. */
		width = nbytes % plan.typesize ? 1 : plan.typesize;
	if (!width || width > nbytes || nbytes % width)
		return b2f_why_set(why, -EINVAL,
				   "a value of %u bytes repeated over %u",
				   width, nbytes);
	*cbytes = B2F_CHUNK_HEADER_MAX + width;
	b2f_encode_plan_header(&plan, B2F_ENCODE_VALUE, *cbytes, dst);
	if (value)
		memcpy(dst + B2F_CHUNK_HEADER_MAX, value, width);
	else
		memset(dst + B2F_CHUNK_HEADER_MAX, 0, width);
	return 0;
}
