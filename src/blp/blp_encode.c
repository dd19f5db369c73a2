/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp_encode.c - chunks that Blosc 1 reads
 *
 * Plan and blocks are made as for any chunk (chunk/encode_plan.h,
 * encode_blocks.h), without the features that Blosc 1 lacks: runs, repeated
 * values, more than one filter, and the flags of a longer header.
 */
#include "blp/blp_encode.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "chunk/encode_blocks.h"
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

/* A pipeline with only the last shuffle of @wanted. */
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
	plan->split &= b2f_blosc1_may_split(plan->typesize, plan->blocksize);
	/* A replaced codec may change the filters elsewhere, but not here. */
	plan->pipeline = o.pipeline;
	plan->blosc1 = true;
	return 0;
}

static void put_header(const struct b2f_encode_plan *plan, unsigned int flags,
		       uint32_t cbytes, uint8_t *dst)
{
	uint8_t filter = plan->pipeline.filter[LAST];

	if (filter == B2F_FILTER_SHUFFLE)
		flags |= FLAG_SHUFFLE;
	if (filter == B2F_FILTER_BITSHUFFLE)
		flags |= FLAG_BITSHUFFLE;
	if (!plan->split)
		flags |= FLAG_NO_SPLIT;
	flags |= (unsigned int)plan->codec->format << 5;
	dst[0] = VERSION;
	dst[1] = VERSION_LZ;
	dst[2] = (uint8_t)flags;
	dst[3] = plan->typesize;
	b2f_store_le32(dst + 4, plan->nbytes);
	b2f_store_le32(dst + 8, plan->blocksize);
	b2f_store_le32(dst + 12, cbytes);
}

int b2f_blp_encode(struct b2f_encoder *enc,
		   const struct b2f_encode_options *options,
		   struct b2f_bytes src, uint8_t *dst, uint32_t *cbytes,
		   struct b2f_why *why)
{
	struct b2f_encode_plan plan;
	struct b2f_encode_blocks b;
	uint32_t nbytes = (uint32_t)b2f_min_u64(src.size, UINT32_MAX);
	int err = make_plan(options, nbytes, &plan, why), ret = 0;

	if (err)
		return err;
	if (!plan.as_is)
		ret = b2f_encode_blocks_put_all(&b, enc, &plan, src.data, dst);
	if (ret < 0)
		return b2f_why_set(why, ret, "no memory for %s",
				   plan.codec->name);
	*cbytes = ret ? b.at : B2F_CHUNK_HEADER_MIN + nbytes;
	if (!ret)
		memcpy(dst + B2F_CHUNK_HEADER_MIN, src.data, nbytes);
	put_header(&plan, ret ? 0 : FLAG_MEMCPYED, *cbytes, dst);
	return 0;
}
