/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_filter.c - any pipeline over any block, against plain loops */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "filter/filter.h"
#include "filter/pipeline.h"
#include "filter/shuffle_impl.h"
#include "tests/fuzz/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	struct b2f_pipeline pipeline;
	struct b2f_filter_block block;
	struct b2f_filter_grid grid;
	const uint8_t *data;
	size_t size;
};

/* Ids that exist come more often than in random bytes. */
static uint8_t pick_filter(uint8_t byte)
{
	static const uint8_t ids[] = {0, 1, 2, 3, 4, 32, 33, 34, 35, 36};

	return byte < 250 ? ids[byte % sizeof(ids)] : byte;
}

static bool parse(const uint8_t *data, size_t size, struct input *in)
{
	struct b2f_cursor cur = b2f_cursor_at(data, size);
	uint8_t flags = b2f_cursor_u8(&cur);

	memset(in, 0, sizeof(*in));
	for (unsigned int i = 0; i < B2F_FILTER_SLOTS; i++) {
		in->pipeline.filter[i] = pick_filter(b2f_cursor_u8(&cur));
		in->pipeline.meta[i] = b2f_cursor_u8(&cur);
	}
	in->block.typesize = b2f_cursor_u8(&cur);
	in->block.schunk_typesize = b2f_cursor_u8(&cur);
	in->block.chunk_version = flags & 1 ? 2 : 5;
	in->grid.ndim = flags >> 4;
	for (unsigned int d = 0; d < B2F_GRID_MAX_DIM; d++)
		in->grid.blockshape[d] = (int8_t)b2f_cursor_u8(&cur);
	if (flags & 2)
		in->block.grid = &in->grid;
	/* The reference is the block itself, which will do. */
	in->size = b2f_cursor_left(&cur);
	in->data = b2f_cursor_take(&cur, in->size);
	if (flags & 4)
		in->block.ref = in->data;
	return in->data && in->size > 0;
}

static void undo_shuffle_by(const struct b2f_shuffle_variant *variant,
			    const struct b2f_filter_block *block, uint8_t id,
			    size_t width, const uint8_t *src, uint8_t *dst,
			    size_t size)
{
	if (id == B2F_FILTER_SHUFFLE)
		b2f_shuffle_undo(variant, width, src, dst, size);
	else
		b2f_bitshuffle_undo(variant, width, block->chunk_version, src,
				    dst, size);
}

/* By every variant that the machine has; all must agree. */
static void undo_shuffle(const struct b2f_filter_block *block, uint8_t id,
			 size_t width, uint8_t *data, size_t size)
{
	uint8_t *src = copy_of(data, size), *other = copy_of(data, size);

	undo_shuffle_by(&b2f_shuffle_scalar, block, id, width, src, data, size);
	for (size_t i = 0; b2f_shuffle_variants[i]; i++) {
		if (!b2f_shuffle_variants[i]->supported())
			continue;
		undo_shuffle_by(b2f_shuffle_variants[i], block, id, width, src,
				other, size);
		if (memcmp(data, other, size) != 0)
			abort();
	}
	free(src);
	free(other);
}

static void undo_bytedelta(const struct b2f_filter_block *block, uint8_t id,
			   uint8_t meta, uint8_t *data, size_t size)
{
	size_t channels = meta ? meta : block->schunk_typesize;
	size_t n = size / channels;
	size_t first = id == B2F_FILTER_BYTEDELTA ? n : n - n % 16;

	for (size_t c = 0; c < channels; c++) {
		b2f_bytedelta_sum_scalar(data + c * n, first);
		b2f_bytedelta_sum_scalar(data + c * n + first, n - first);
	}
}

static void undo_delta(const struct b2f_filter_block *block, uint8_t *data,
		       size_t size)
{
	size_t ts = block->typesize, unit = ts % 8 ? 1 : 8;

	if (ts == 2 || ts == 4)
		unit = ts;
	for (size_t i = 0; i < size / unit * unit; i++) {
		if (block->ref)
			data[i] ^= block->ref[i];
		else if (i >= unit)
			data[i] ^= data[i - unit];
	}
}

static void undo_cells(const struct input *in, uint8_t meta, uint8_t *data)
{
	uint8_t *src = copy_of(data, in->size);

	b2f_filter_ndcell.decode(&in->block, meta, src, data, in->size);
	free(src);
}

static void undo_slot(const struct input *in, unsigned int slot, uint8_t *data)
{
	uint8_t id = in->pipeline.filter[slot];
	uint8_t meta = in->pipeline.meta[slot];

	if (id == B2F_FILTER_SHUFFLE)
		undo_shuffle(&in->block, id, meta ? meta : in->block.typesize,
			     data, in->size);
	else if (id == B2F_FILTER_BITSHUFFLE)
		undo_shuffle(&in->block, id, in->block.typesize, data,
			     in->size);
	else if (id == B2F_FILTER_DELTA)
		undo_delta(&in->block, data, in->size);
	else if (id == B2F_FILTER_BYTEDELTA || id == B2F_FILTER_BYTEDELTA_OLD)
		undo_bytedelta(&in->block, id, meta, data, in->size);
	else if (id == B2F_FILTER_NDCELL || id == B2F_FILTER_NDMEAN)
		undo_cells(in, meta, data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *want, *dst, *tmp;
	struct input in;

	if (!parse(data, size, &in) ||
	    b2f_pipeline_check(&in.pipeline, &in.block, in.size, NULL))
		return 0;
	want = copy_of(in.data, in.size);
	dst = need(in.size);
	tmp = need(in.size);
	for (unsigned int slot = B2F_FILTER_SLOTS; slot-- > 0;)
		undo_slot(&in, slot, want);
	memcpy(b2f_pipeline_start(&in.pipeline, dst, tmp), in.data, in.size);
	b2f_pipeline_decode(&in.pipeline, &in.block, dst, tmp, in.size);
	if (memcmp(dst, want, in.size) != 0)
		abort();
	free(want);
	free(dst);
	free(tmp);
	return 0;
}
