/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_blocks.c - the blocks of a chunk in the making, one after the other */
#include "chunk/encode_blocks.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"

/* Writes one stream of @n (> 0) bytes: as a run, encoded, or as it is. */
static int put_stream(struct b2f_encode_blocks *b, const uint8_t *data,
		      size_t n)
{
	const struct b2f_encode_plan *plan = b->plan;
	uint32_t left = b->limit - b->at;
	uint8_t *head = b->dst + b->at;
	int64_t size;

	if (left < 5)
		return 0;
	if (!plan->blosc1 && !memcmp(data, data + 1, n - 1)) {
		b2f_store_le32(head, -(uint32_t)data[0]);
		b->at += 4;
		if (data[0])
			b->dst[b->at++] = 1;
		return 1;
	}
	left -= 4;
	/* A stream that takes @n bytes counts as stored as it is. */
	size = b2f_codec_states_encode(
		&b->enc->codecs, plan->code, plan->clevel,
		b2f_bytes_at(data, n),
		b2f_room_at(head + 4, b2f_min_u64(left, n - 1)));
	if (size < 0)
		return (int)size;
	if (!size) {
		if (left < n)
			return 0;
		memcpy(head + 4, data, n);
		size = (int64_t)n;
	}
	b2f_store_le32(head, (uint32_t)size);
	b->at += 4 + (uint32_t)size;
	return 1;
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

int b2f_encode_blocks_begin(struct b2f_encode_blocks *b,
			    struct b2f_encoder *enc,
			    const struct b2f_encode_plan *plan, uint8_t *dst)
{
	int err;

	*b = (struct b2f_encode_blocks){
		.enc = enc,
		.plan = plan,
		.dst = dst,
		.at = b2f_encode_plan_head(plan),
		.limit = b2f_encode_plan_head(plan) + plan->nbytes,
		.nblocks =
			(uint32_t)b2f_div_up_u64(plan->nbytes, plan->blocksize),
	};
	if (4 * (uint64_t)b->nblocks > plan->nbytes)
		return 0;
	err = reserve_filters(enc, plan);
	if (err)
		return err;
	b->at += 4 * b->nblocks;
	return 1;
}

uint32_t b2f_encode_blocks_nbytes(const struct b2f_encode_blocks *b,
				  uint32_t block)
{
	const struct b2f_encode_plan *plan = b->plan;
	uint64_t off = (uint64_t)block * plan->blocksize;

	return (uint32_t)b2f_min_u64(plan->blocksize, plan->nbytes - off);
}

/* The short last block is never split. */
static uint32_t count_streams(const struct b2f_encode_plan *plan, uint32_t n)
{
	return plan->split && n == plan->blocksize ? plan->typesize : 1;
}

static void begin_block(struct b2f_encode_blocks *b, uint32_t block)
{
	b2f_store_le32(b->dst + b2f_encode_plan_head(b->plan) +
			       4 * (size_t)block,
		       b->at);
}

/* Notes whether a block of @n bytes that takes @size is more than zeros. */
static void note_data(struct b2f_encode_blocks *b, uint32_t n, uint32_t size)
{
	if (size != 4 * count_streams(b->plan, n))
		b->has_data = true;
}

int b2f_encode_blocks_put(struct b2f_encode_blocks *b, uint32_t block,
			  const uint8_t *src)
{
	const struct b2f_encode_plan *plan = b->plan;
	const struct b2f_filter_block fb = {
		.typesize = plan->typesize,
		.chunk_version = plan->blosc1 ? 2 : 5,
	};
	uint32_t n = b2f_encode_blocks_nbytes(b, block), begin = b->at;
	uint32_t nstreams = count_streams(plan, n), each = n / nstreams;
	int ret = 1;

	begin_block(b, block);
	src = b2f_pipeline_encode(&plan->pipeline, &fb, src,
				  b->enc->filter[0].data,
				  b->enc->filter[1].data, n);
	for (uint32_t i = 0; i < nstreams && ret > 0; i++)
		ret = put_stream(b, src + (size_t)i * each, each);
	note_data(b, n, b->at - begin);
	return ret;
}

uint32_t b2f_encode_blocks_none(const struct b2f_encode_plan *plan,
				const uint8_t *src, uint8_t *dst)
{
	uint32_t head = b2f_encode_plan_head(plan);

	b2f_encode_plan_header(plan, B2F_ENCODE_AS_IS, head + plan->nbytes,
			       dst);
	if (plan->nbytes && src)
		memcpy(dst + head, src, plan->nbytes);
	else
		memset(dst + head, 0, plan->nbytes);
	return head + plan->nbytes;
}

int b2f_encode_blocks_all(struct b2f_encoder *enc,
			  const struct b2f_encode_plan *plan,
			  const uint8_t *src, uint8_t *dst, uint32_t *cbytes,
			  struct b2f_why *why)
{
	struct b2f_encode_blocks b = {.nblocks = 0};
	int ret = plan->as_is ? 0 : b2f_encode_blocks_begin(&b, enc, plan, dst);

	for (uint32_t i = 0; i < b.nblocks && ret > 0; i++)
		ret = b2f_encode_blocks_put(&b, i,
					    src + (size_t)i * plan->blocksize);
	if (ret < 0)
		return b2f_why_set(why, ret, "no memory for %s",
				   plan->codec->name);
	if (ret)
		b2f_encode_plan_header(plan, B2F_ENCODE_BLOCKS, b.at, dst);
	*cbytes = ret ? b.at : b2f_encode_blocks_none(plan, src, dst);
	return 0;
}

int b2f_encode_blocks_copy(struct b2f_encode_blocks *b, uint32_t block,
			   const uint8_t *stored, size_t size)
{
	if (size > b->limit - b->at)
		return 0;
	begin_block(b, block);
	memcpy(b->dst + b->at, stored, size);
	b->at += (uint32_t)size;
	note_data(b, b2f_encode_blocks_nbytes(b, block), (uint32_t)size);
	return 1;
}
