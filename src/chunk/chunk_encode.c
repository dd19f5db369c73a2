/* SPDX-License-Identifier: BSD-3-Clause */
/* chunk_encode.c - encodes data into the stored bytes of a chunk */
#include "chunk/encoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "chunk/encode_blocks.h"

int b2f_encoder_new(struct b2f_encoder **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void b2f_encoder_free(struct b2f_encoder *enc)
{
	if (!enc)
		return;
	b2f_codec_states_fini(&enc->codecs);
	b2f_encoder_trim(enc, 0);
	free(enc);
}

void b2f_encoder_trim(struct b2f_encoder *enc, size_t limit)
{
	b2f_scratch_trim(&enc->filter[0], limit);
	b2f_scratch_trim(&enc->filter[1], limit);
	b2f_scratch_trim(&enc->trial, limit);
	b2f_scratch_trim(&enc->data, limit);
	b2f_scratch_trim(&enc->chunk, limit);
}

static bool all_same(const uint8_t *data, size_t n)
{
	return !memcmp(data, data + 1, n - 1);
}

int b2f_chunk_encode(struct b2f_encoder *enc,
		     const struct b2f_encode_options *options,
		     struct b2f_bytes src, struct b2f_room dst,
		     struct b2f_encoded *out, struct b2f_why *why)
{
	uint32_t nbytes = (uint32_t)b2f_min_u64(src.size, UINT32_MAX);
	struct b2f_encoded made = {0};
	struct b2f_encode_plan plan;
	int err = b2f_encode_plan_make(options, nbytes, &plan, why);

	if (err)
		return err;
	if (dst.size < b2f_chunk_encode_bound(nbytes))
		return b2f_why_set(why, -EINVAL,
				   "room of %zu bytes for a chunk of %u",
				   dst.size, nbytes);
	made.substituted = plan.substituted;
	if (nbytes && !src.data[0] && all_same(src.data, nbytes)) {
		made.zeros = true;
	} else {
		err = b2f_encode_blocks_all(enc, &plan, src.data, dst.data,
					    &made.cbytes, why);
	}
	if (!err)
		*out = made;
	return err;
}

/*
 * Writes zeros that are no whole number of items as blocks of runs of zeros: a
 * repeated byte would do, but C-Blosc2 opens no frame whose first chunk repeats
 * less than an item.
 */
static int put_zeros(const struct b2f_encode_options *options, uint32_t nbytes,
		     uint8_t *dst, uint32_t *cbytes, struct b2f_why *why)
{
	static const uint8_t run[4];
	struct b2f_encode_options plain = *options;
	struct b2f_encode_plan plan;
	struct b2f_encode_blocks b;
	int err, ret = 0;

	/* Nothing is compressed, but a missing codec would be replaced. */
	plain.codec = B2F_CODEC_LZ4;
	plain.clevel = 1;
	plain.split = B2F_SPLIT_NEVER;
	plain.pipeline = (struct b2f_pipeline){0};
	err = b2f_encode_plan_make(&plain, nbytes, &plan, why);
	if (err)
		return err;
	if (!plan.as_is)
		ret = b2f_encode_blocks_begin(&b, NULL, &plan, dst);
	for (uint32_t i = 0; ret > 0 && i < b.nblocks; i++)
		ret = b2f_encode_blocks_copy(&b, i, run, sizeof(run));
	if (ret > 0)
		b2f_encode_plan_header(&plan, B2F_ENCODE_BLOCKS, b.at, dst);
	*cbytes = ret > 0 ? b.at : b2f_encode_blocks_none(&plan, NULL, dst);
	return 0;
}

int b2f_chunk_encode_value(const struct b2f_encode_options *options,
			   uint32_t nbytes, struct b2f_bytes value,
			   uint8_t *dst, uint32_t *cbytes, struct b2f_why *why)
{
	size_t width = value.size;
	struct b2f_encode_plan plan;
	int err = b2f_encode_plan_make(options, nbytes, &plan, why);

	if (err)
		return err;
	/* The header of a chunk cannot tell the size of wide items. */
	if (!value.data &&
	    (nbytes % options->typesize || plan.typesize != options->typesize))
		return put_zeros(options, nbytes, dst, cbytes, why);
	if (!value.data)
		width = plan.typesize;
	if (!width || width > nbytes || nbytes % width)
		return b2f_why_set(why, -EINVAL,
				   "a value of %zu bytes repeated over %u",
				   width, nbytes);
	*cbytes = B2F_CHUNK_HEADER_MAX + (uint32_t)width;
	b2f_encode_plan_header(&plan, B2F_ENCODE_VALUE, *cbytes, dst);
	if (value.data)
		memcpy(dst + B2F_CHUNK_HEADER_MAX, value.data, width);
	else
		memset(dst + B2F_CHUNK_HEADER_MAX, 0, width);
	return 0;
}
