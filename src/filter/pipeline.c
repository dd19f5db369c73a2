/* SPDX-License-Identifier: BSD-3-Clause */
/* pipeline.c - the six filter slots of a chunk, applied and undone in turn */
#include "filter/pipeline.h"

#include "b2frame/error.h"
#include "b2frame/names.h"
#include "filter/shuffle_impl.h"

static unsigned int count_deltas(const struct b2f_pipeline *pipeline)
{
	unsigned int n = 0;

	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS; slot++)
		n += pipeline->filter[slot] == B2F_FILTER_DELTA;
	return n;
}

static int check_slot(const struct b2f_pipeline *pipeline, unsigned int slot,
		      const struct b2f_filter_block *block, size_t nbytes,
		      struct b2f_why *why)
{
	unsigned int id = pipeline->filter[slot];
	const struct b2f_filter *filter;

	if (id == B2F_FILTER_NONE)
		return 0;
	filter = b2f_filter_by_id(id);
	if (!filter)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "filter %u (%s) in slot %u is not built in",
				   id, b2f_filter_name(id), slot);
	if (!filter->check)
		return 0;
	return filter->check(block, pipeline->meta[slot], nbytes, why);
}

int b2f_pipeline_check(const struct b2f_pipeline *pipeline,
		       const struct b2f_filter_block *block, size_t nbytes,
		       struct b2f_why *why)
{
	int err = 0;

	/* Filters divide by it. */
	if (!block->typesize)
		return b2f_why_set(why, B2F_ECORRUPT, "the type size is 0");
	/* C-Blosc2 undoes the second one in a buffer that is out of date. */
	if (count_deltas(pipeline) > 1)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "the delta filter in two slots");
	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS && !err; slot++)
		err = check_slot(pipeline, slot, block, nbytes, why);
	return err;
}

bool b2f_pipeline_needs_ref(const struct b2f_pipeline *pipeline)
{
	return count_deltas(pipeline) > 0;
}

/* The number of filters that move the bytes to the other buffer. */
static unsigned int count_moves(const struct b2f_pipeline *pipeline)
{
	const struct b2f_filter *filter;
	unsigned int moves = 0;

	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS; slot++) {
		filter = b2f_filter_by_id(pipeline->filter[slot]);
		if (filter && filter->kind == B2F_FILTER_MOVE)
			moves++;
	}
	return moves;
}

uint8_t *b2f_pipeline_start(const struct b2f_pipeline *pipeline, uint8_t *dst,
			    uint8_t *tmp)
{
	return count_moves(pipeline) % 2 ? tmp : dst;
}

bool b2f_pipeline_needs_tmp(const struct b2f_pipeline *pipeline)
{
	return count_moves(pipeline) > 0;
}

void b2f_pipeline_decode(const struct b2f_pipeline *pipeline,
			 const struct b2f_filter_block *block, uint8_t *dst,
			 uint8_t *tmp, size_t nbytes)
{
	uint8_t *cur = b2f_pipeline_start(pipeline, dst, tmp);
	const struct b2f_filter *filter;
	uint8_t *to;

	if (!nbytes)
		return;
	for (unsigned int slot = B2F_FILTER_SLOTS; slot-- > 0;) {
		filter = b2f_filter_by_id(pipeline->filter[slot]);
		if (!filter || filter->kind == B2F_FILTER_IDENTITY)
			continue;
		to = cur;
		if (filter->kind == B2F_FILTER_MOVE)
			to = cur == dst ? tmp : dst;
		filter->decode(block, pipeline->meta[slot], cur, to, nbytes);
		cur = to;
	}
}

/* Can the filter @id be encoded here? */
static bool slot_encodable(unsigned int id, uint8_t meta, unsigned int typesize,
			   bool allow_lossy)
{
	const struct b2f_filter *filter = b2f_filter_by_id(id);

	if (!filter || !filter->encode || (filter->lossy && !allow_lossy))
		return false;
	return !filter->encodable || filter->encodable(typesize, meta);
}

bool b2f_pipeline_encodable(const struct b2f_pipeline *wanted,
			    unsigned int typesize, uint32_t schunk_typesize,
			    bool allow_lossy, struct b2f_pipeline *out)
{
	struct b2f_pipeline made = {{0}, {0}};
	bool same = true;

	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS; slot++) {
		unsigned int id = wanted->filter[slot];
		uint8_t meta = wanted->meta[slot];

		if (id == B2F_FILTER_NONE)
			continue;
		/* The new filter does what the old one was meant to do. */
		if (id == B2F_FILTER_BYTEDELTA_OLD)
			id = B2F_FILTER_BYTEDELTA;
		if (id == B2F_FILTER_BYTEDELTA && !meta &&
		    schunk_typesize <= UINT8_MAX)
			meta = (uint8_t)schunk_typesize;
		if (slot_encodable(id, meta, typesize, allow_lossy)) {
			made.filter[slot] = (uint8_t)id;
			made.meta[slot] = meta;
		} else {
			same = false;
		}
	}
	*out = made;
	return same;
}

const uint8_t *b2f_pipeline_encode(const struct b2f_pipeline *pipeline,
				   const struct b2f_filter_block *block,
				   const uint8_t *src, uint8_t *a, uint8_t *b,
				   size_t nbytes)
{
	const struct b2f_filter *filter;
	const uint8_t *cur = src;
	uint8_t *to;

	if (!nbytes)
		return cur;
	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS; slot++) {
		filter = b2f_filter_by_id(pipeline->filter[slot]);
		if (!filter || !filter->encode)
			continue;
		to = cur == a ? b : a;
		filter->encode(block, pipeline->meta[slot], cur, to, nbytes);
		cur = to;
	}
	return cur;
}

bool b2f_pipeline_takes_planes(const struct b2f_pipeline *pipeline,
			       const struct b2f_filter_block *block,
			       size_t nplanes, size_t nbytes)
{
	unsigned int nshuffles = 0;

	if (nplanes != block->typesize || nbytes % nplanes)
		return false;
	if (nplanes != 2 && nplanes != 4 && nplanes != 8)
		return false;
	for (unsigned int slot = 0; slot < B2F_FILTER_SLOTS; slot++) {
		unsigned int width = pipeline->meta[slot];

		switch (pipeline->filter[slot]) {
		case B2F_FILTER_NONE:
			break;
		case B2F_FILTER_SHUFFLE:
			if (width && width != nplanes)
				return false;
			nshuffles++;
			break;
		default:
			return false;
		}
	}
	return nshuffles == 1 && b2f_shuffle_best()->gather;
}

void b2f_pipeline_decode_planes(const uint8_t *const *planes, size_t nplanes,
				size_t each, uint8_t *dst)
{
	b2f_shuffle_gather(b2f_shuffle_best(), planes, nplanes, dst, each);
}
