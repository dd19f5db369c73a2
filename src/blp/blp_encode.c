/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp_encode.c - chunks that Blosc 1 reads
 *
 * The choices are those for any chunk (chunk/encode_plan.h).  What Blosc 1 lacks is
 * left out: runs, repeated values, more than one filter, and the flags of a longer
 * header.
 */
#include "blp/blp_encode.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "chunk/encode_plan.h"
#include "filter/pipeline.h"

enum {
	VERSION = 2,
	VERSION_LZ = 1,
	FLAG_SHUFFLE = 0x01,
	FLAG_MEMCPYED = 0x02,
	FLAG_BITSHUFFLE = 0x04,
	FLAG_NO_SPLIT = 0x10,

	LAST = B2F_FILTER_SLOTS - 1,
};

/* Blosc 1 splits a block in no more streams, of no fewer bytes each. */
#define STREAMS_MAX  16
#define STREAM_LEAST 128

/* A chunk in the making. */
struct making {
	struct b2f_encoder *enc;
	struct b2f_encode_plan plan;
	const uint8_t *src;
	uint8_t *dst;
	/* Where the next stream goes, and where the chunk has to end. */
	uint32_t at;
	uint32_t limit;
};

/* The last shuffle that @wanted has. */
static struct b2f_pipeline shuffle_of(const struct b2f_pipeline *wanted,
				      uint32_t typesize)
{
	struct b2f_pipeline one = {{0}, {0}};

	for (int i = 0; i < B2F_FILTER_SLOTS; i++) {
		uint8_t id = wanted->filter[i];

		if (id == B2F_FILTER_BITSHUFFLE ||
		    (id == B2F_FILTER_SHUFFLE && typesize > 1))
			one.filter[LAST] = id;
	}
	return one;
}

static int make_plan(const struct b2f_encode_options *options, uint32_t nbytes,
		     struct b2f_encode_plan *plan, struct b2f_why *why)
{
	struct b2f_encode_options o = *options;
	int err;

	o.codec_meta = 0;
	o.typesize = o.typesize > UINT8_MAX ? 1 : o.typesize;
	o.pipeline = shuffle_of(&options->pipeline, o.typesize);
	o.split = B2F_SPLIT_FORWARD;
	err = b2f_encode_plan_make(&o, nbytes, plan, why);
	if (err)
		return err;
	if (plan->typesize > STREAMS_MAX ||
	    plan->blocksize / plan->typesize < STREAM_LEAST)
		plan->split = false;
	/* A codec was replaced, which does not bring another filter here. */
	plan->pipeline = o.pipeline;
	return 0;
}

/* Returns 1, 0 (the chunk would be no shorter than the data) or -ENOMEM. */
static int put_stream(struct making *m, const uint8_t *data, size_t n)
{
	uint32_t left = m->limit - m->at;
	uint8_t *head = m->dst + m->at;
	int64_t size;

	if (left < 5)
		return 0;
	left -= 4;
	size = b2f_codec_encoders_encode(&m->enc->codecs, m->plan.code,
					 m->plan.clevel, data, n, head + 4,
					 b2f_min_u64(left, n - 1));
	if (size < 0)
		return (int)size;
	if (size == 0) {
		if (left < n)
			return 0;
		memcpy(head + 4, data, n);
		size = (int64_t)n;
	}
	b2f_store_le32(head, (uint32_t)size);
	m->at += 4 + (uint32_t)size;
	return 1;
}

static int put_block(struct making *m, uint32_t block)
{
	const struct b2f_encode_plan *plan = &m->plan;
	const struct b2f_filter_block fb = {.typesize = plan->typesize,
					    .chunk_version = VERSION};
	uint64_t off = (uint64_t)block * plan->blocksize;
	uint32_t n = (uint32_t)b2f_min_u64(plan->blocksize, plan->nbytes - off);
	uint32_t nstreams =
		plan->split && n == plan->blocksize ? plan->typesize : 1;
	const uint8_t *data;
	int ret = 1;

	b2f_store_le32(m->dst + B2F_CHUNK_HEADER_MIN + 4 * (size_t)block,
		       m->at);
	data = b2f_pipeline_encode(&plan->pipeline, &fb, m->src + off,
				   m->enc->filter[0].data,
				   m->enc->filter[1].data, n);
	for (uint32_t i = 0; i < nstreams && ret > 0; i++)
		ret = put_stream(m, data + (size_t)i * (n / nstreams),
				 n / nstreams);
	return ret;
}

/* Returns as put_stream(). */
static int put_blocks(struct making *m)
{
	const struct b2f_encode_plan *plan = &m->plan;
	uint32_t nblocks = (uint32_t)b2f_div_up_u64(plan->nbytes,
						    plan->blocksize);
	int ret = 1;

	if (plan->as_is || 4 * (uint64_t)nblocks > plan->nbytes)
		return 0;
	if (b2f_scratch_reserve(&m->enc->filter[0], plan->blocksize))
		return -ENOMEM;
	m->at += 4 * nblocks;
	for (uint32_t i = 0; i < nblocks && ret > 0; i++)
		ret = put_block(m, i);
	return ret;
}

static void put_header(const struct making *m, unsigned int flags,
		       uint32_t cbytes)
{
	const struct b2f_encode_plan *plan = &m->plan;
	uint8_t filter = plan->pipeline.filter[LAST];

	if (filter == B2F_FILTER_SHUFFLE)
		flags |= FLAG_SHUFFLE;
	if (filter == B2F_FILTER_BITSHUFFLE)
		flags |= FLAG_BITSHUFFLE;
	if (!plan->split)
		flags |= FLAG_NO_SPLIT;
	flags |= (unsigned int)plan->codec->format << 5;
	m->dst[0] = VERSION;
	m->dst[1] = VERSION_LZ;
	m->dst[2] = (uint8_t)flags;
	m->dst[3] = plan->typesize;
	b2f_store_le32(m->dst + 4, plan->nbytes);
	b2f_store_le32(m->dst + 8, plan->blocksize);
	b2f_store_le32(m->dst + 12, cbytes);
}

int b2f_blp_encode(struct b2f_encoder *enc,
		   const struct b2f_encode_options *options, const uint8_t *src,
		   uint32_t nbytes, uint8_t *dst, uint32_t *cbytes,
		   struct b2f_why *why)
{
	struct making m = {
		.enc = enc,
		.src = src,
		.dst = dst,
		.at = B2F_CHUNK_HEADER_MIN,
		.limit = B2F_CHUNK_HEADER_MIN + nbytes,
	};
	int ret = make_plan(options, nbytes, &m.plan, why);

	if (ret)
		return ret;
	ret = put_blocks(&m);
	if (ret < 0)
		return b2f_why_set(why, ret, "no memory for %s",
				   m.plan.codec->name);
	if (ret == 0) {
		memcpy(dst + B2F_CHUNK_HEADER_MIN, src, nbytes);
		m.at = m.limit;
	}
	put_header(&m, ret ? 0 : FLAG_MEMCPYED, m.at);
	*cbytes = m.at;
	return 0;
}
