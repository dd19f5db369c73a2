/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp_encode.c - chunks that Blosc 1 reads
 *
 * Plan and blocks are made as for any chunk (chunk/encode_plan.h,
 * encode_blocks.h), without the features that Blosc 1 lacks: runs, repeated
 * values, more than one filter, and the flags of a longer header.
 */
#include "base/checked.h"
#include "blp/blp.h"
#include "chunk/encode_blocks.h"

/* A pipeline with only the last shuffle of @wanted. */
static struct b2f_pipeline shuffle_of(const struct b2f_pipeline *wanted,
				      uint32_t typesize)
{
	struct b2f_pipeline one = {{0}, {0}};

	for (int i = 0; i < B2F_FILTER_SLOTS; i++) {
		uint8_t id = wanted->filter[i];

		if (id == B2F_FILTER_BITSHUFFLE ||
		    (id == B2F_FILTER_SHUFFLE && typesize > 1))
			one.filter[B2F_FILTER_SLOTS - 1] = id;
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

int b2f_blp_encode(struct b2f_encoder *enc,
		   const struct b2f_encode_options *options,
		   struct b2f_bytes src, uint8_t *dst, uint32_t *cbytes,
		   struct b2f_why *why)
{
	uint32_t nbytes = (uint32_t)b2f_min_u64(src.size, UINT32_MAX);
	struct b2f_encode_plan plan;
	int err = make_plan(options, nbytes, &plan, why);

	return err ? err
		   : b2f_encode_blocks_all(enc, &plan, src.data, dst, cbytes,
					   why);
}
