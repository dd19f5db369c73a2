/* SPDX-License-Identifier: BSD-3-Clause */
/* patch.c - makes a chunk from another one in which some bytes have changed */
#include "chunk/patch.h"

#include <string.h>

#include "chunk/encode_blocks.h"

/* The version of our chunks; filters of other versions may differ. */
#define VERSION 5

/*
 * True if each block of @chunk is decoded from nothing but its own streams, if
 * same_settings() as well: no new chunk has the delta filter.
 */
static bool stands_alone(const struct b2f_chunk *chunk)
{
	const struct b2f_chunk_header *h = &chunk->header;

	/* The layout leaves out VL blocks, flat and special chunks, doubts. */
	return chunk->layout == B2F_CHUNK_BLOCKS && h->version == VERSION &&
	       h->header_len == B2F_CHUNK_HEADER_MAX && !h->has_dict;
}

/* True if streams of @h mean the same in a chunk that @plan makes. */
static bool same_settings(const struct b2f_chunk_header *h,
			  const struct b2f_encode_plan *plan)
{
	return h->blocksize == plan->blocksize &&
	       h->typesize == plan->typesize && h->split == plan->split &&
	       h->format == plan->codec->format &&
	       !memcmp(&h->pipeline, &plan->pipeline, sizeof(h->pipeline));
}

bool b2f_patch_fits(const struct b2f_encode_options *options,
		    const struct b2f_chunk *chunk, uint32_t nbytes)
{
	struct b2f_encode_plan plan;

	return !b2f_encode_plan_make(options, nbytes, &plan, NULL) &&
	       !plan.as_is && stands_alone(chunk) &&
	       same_settings(&chunk->header, &plan);
}

/* Finds the stored bytes of block @block of the old chunk. */
static int find_stored(const struct b2f_patch *patch, uint32_t block,
		       struct b2f_stored_unit *out, struct b2f_why *why)
{
	uint32_t start = 0;
	int err = b2f_chunk_block_place(patch->chunk, patch->raw, block, &start,
					&out->size, why);

	out->unit = block;
	out->data = patch->raw + start;
	return err;
}

/* Decoded bytes of block @block of @chunk, 0 if it has none. */
static uint32_t nbytes_before(const struct b2f_chunk *chunk, uint32_t block)
{
	return block < chunk->nunits ? b2f_chunk_unit_nbytes(chunk, block) : 0;
}

static int decode(const struct b2f_patch *patch,
		  const struct b2f_stored_unit *s, uint8_t *dst,
		  struct b2f_why *why)
{
	return b2f_chunk_decode_unit(patch->chunk, patch->dec, s, dst, why);
}

/*
 * Copies a block that has not changed.  A new seal says that its bytes are
 * right, so it may only cover bytes that were checked: with the old seal, or,
 * if there is none, at least by decoding.  Damage is therefore an error here,
 * as in decoding, and gets no valid checksum.
 */
static int copy_block(struct b2f_encode_blocks *b,
		      const struct b2f_patch *patch,
		      const struct b2f_stored_unit *s, struct b2f_why *why)
{
	int err = 0;

	if (!patch->seal->sums)
		err = decode(patch, s, b->enc->data.data, why);
	if (err)
		return err;
	return b2f_encode_blocks_copy(b, s->unit, s->data, s->size);
}

/* How much changes of the @n bytes of a block that had @old bytes before? */
static enum b2f_patch_part part_of(const struct b2f_patch *patch, uint32_t off,
				   uint32_t n, uint32_t old)
{
	enum b2f_patch_part part = patch->part(patch->arg, off, n);

	if (old == 0)
		return B2F_PATCH_ALL;
	return part == B2F_PATCH_NONE && n != old ? B2F_PATCH_SOME : part;
}

/* Writes @block.  Returns as b2f_encode_blocks_put(), or why it cannot. */
static int put_block(struct b2f_encode_blocks *b, const struct b2f_patch *patch,
		     uint32_t block, struct b2f_why *why)
{
	uint32_t off = block * b->plan->blocksize;
	uint32_t n = b2f_encode_blocks_nbytes(b, block);
	uint32_t old = nbytes_before(patch->chunk, block);
	enum b2f_patch_part part = part_of(patch, off, n, old);
	uint8_t *data = b->enc->data.data;
	struct b2f_stored_unit s = {0};
	int err = 0;

	if (part != B2F_PATCH_ALL) {
		err = find_stored(patch, block, &s, why);
		if (!err)
			err = b2f_seal_check_unit(patch->seal, patch->chunk, &s,
						  why);
		if (!err && part == B2F_PATCH_NONE)
			return copy_block(b, patch, &s, why);
		if (!err)
			err = decode(patch, &s, data, why);
	}
	if (err)
		return err;
	patch->apply(patch->arg, off, n, data);
	return b2f_encode_blocks_put(b, block, data);
}

static int put_blocks(struct b2f_encode_blocks *b,
		      const struct b2f_patch *patch, struct b2f_why *why)
{
	int ret = b2f_scratch_reserve(&b->enc->data, b->plan->blocksize);

	if (ret)
		return ret;
	ret = 1;
	for (uint32_t i = 0; i < b->nblocks && ret > 0; i++)
		ret = put_block(b, patch, i, why);
	return ret;
}

int b2f_patch_encode(struct b2f_encoder *enc,
		     const struct b2f_encode_options *options,
		     const struct b2f_patch *patch, uint8_t *dst,
		     uint32_t *cbytes, struct b2f_why *why)
{
	struct b2f_encode_blocks b;
	struct b2f_encode_plan plan;
	int ret = b2f_encode_plan_make(options, patch->nbytes, &plan, why);

	if (ret)
		return ret;
	if (!b2f_patch_fits(options, patch->chunk, patch->nbytes)) {
		*cbytes = 0;
		return 0;
	}
	ret = b2f_encode_blocks_begin(&b, enc, &plan, dst);
	if (ret > 0)
		ret = put_blocks(&b, patch, why);
	if (ret == -ENOMEM)
		b2f_why_set(why, ret, "no memory for %s", plan.codec->name);
	if (ret < 0)
		return ret;
	/* Zeros can be an entry of the index instead of a chunk. */
	if (ret && !b.has_data)
		ret = 0;
	if (ret)
		b2f_encode_plan_header(&plan, B2F_ENCODE_BLOCKS, b.at, dst);
	*cbytes = ret ? b.at : 0;
	return 0;
}
