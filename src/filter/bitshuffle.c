/* SPDX-License-Identifier: BSD-3-Clause */
/* bitshuffle.c - the bit shuffle filter, tile by tile */
#include "filter/filter.h"

#include <stdalign.h>
#include <string.h>

#include "filter/shuffle_impl.h"

/*
 * Bytes of the planes of one tile, on the stack.  With less, items of 16 bytes
 * would give rows shorter than an AVX-512 vector.
 */
#define TILE_SIZE 8192

/* Wider items are done in groups of so many planes. */
#define GROUP_PLANES 16

/* A block in both forms, of which one is made from the other. */
struct bits {
	const struct b2f_shuffle_variant *variant;
	/* Row 8 * j + r holds bit r of byte j of all items. */
	uint8_t *rows;
	uint8_t *items;
	/* Bytes in a row; one for each 8 items. */
	size_t row_size;
	size_t typesize;
	/* True: the items are made from the rows. */
	bool undo;
};

/* The part of a plane's rows that is done in one go. */
struct bit_tile {
	/* First byte, and number of bytes, of each row. */
	size_t start;
	size_t size;
};

/* Does one plane: the rows that begin at @rows. */
static void do_plane(const struct bits *b, uint8_t *rows, uint8_t *plane,
		     size_t size)
{
	if (b->undo)
		b->variant->plane(rows, b->row_size, plane, size);
	else
		b->variant->rows(plane, rows, b->row_size, size);
}

/* Does @nplanes planes of a tile, from the plane @first on. */
static void do_planes(const struct bits *b, const struct bit_tile *tile,
		      size_t first, size_t nplanes)
{
	alignas(64) uint8_t bytes[TILE_SIZE];
	uint8_t *row = b->rows + 8 * first * b->row_size + tile->start;
	uint8_t *items = b->items + 8 * tile->start * b->typesize + first;
	const struct b2f_planes planes = {
		.data = bytes,
		.stride = 8 * tile->size,
		.count = nplanes,
	};

	if (!b->undo)
		b->variant->shuffle(items, b->typesize, &planes, planes.stride);
	for (size_t j = 0; j < nplanes; j++)
		do_plane(b, row + 8 * j * b->row_size,
			 bytes + j * planes.stride, tile->size);
	if (b->undo)
		b->variant->unshuffle(&planes, items, b->typesize,
				      planes.stride);
}

static void do_tile(const struct bits *b, const struct bit_tile *tile)
{
	size_t last;

	if (b->typesize <= GROUP_PLANES) {
		do_planes(b, tile, 0, b->typesize);
		return;
	}
	/* The last group goes back to be whole and does some planes twice. */
	last = b->typesize - GROUP_PLANES;
	for (size_t j = 0; j < last; j += GROUP_PLANES)
		do_planes(b, tile, j, GROUP_PLANES);
	do_planes(b, tile, last, GROUP_PLANES);
}

static void do_rows(const struct bits *b)
{
	size_t nplanes = b->typesize;
	struct bit_tile tile = {0};
	size_t max;

	if (nplanes == 1) {
		do_plane(b, b->rows, b->items, b->row_size);
		return;
	}
	if (nplanes > GROUP_PLANES)
		nplanes = GROUP_PLANES;
	max = TILE_SIZE / 8 / nplanes / 64 * 64;
	while (tile.start < b->row_size) {
		tile.size = b->row_size - tile.start;
		if (tile.size > max)
			tile.size = max;
		do_tile(b, &tile);
		tile.start += tile.size;
	}
}

/* Does the whole block; @b lacks its size. */
static void do_block(struct bits *b, unsigned int version, const uint8_t *src,
		     uint8_t *dst, size_t nbytes)
{
	size_t nitems = nbytes / b->typesize, whole;

	/* Blosc 1 left a block alone if the number of items was uneven. */
	b->row_size = version == 2 && nitems % 8 ? 0 : nitems / 8;
	whole = 8 * b->row_size * b->typesize;
	do_rows(b);
	memcpy(dst + whole, src + whole, nbytes - whole);
}

void b2f_bitshuffle_undo(const struct b2f_shuffle_variant *variant,
			 size_t typesize, unsigned int version,
			 const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	struct bits bits = {.variant = variant,
			    .rows = (uint8_t *)(uintptr_t)src,
			    .items = dst,
			    .typesize = typesize,
			    .undo = true};

	do_block(&bits, version, src, dst, nbytes);
}

static void bitshuffle_decode(const struct b2f_filter_block *block,
			      uint8_t meta, const uint8_t *src, uint8_t *dst,
			      size_t nbytes)
{
	(void)meta;
	b2f_bitshuffle_undo(b2f_shuffle_best(), block->typesize,
			    block->chunk_version, src, dst, nbytes);
}

static void apply(const struct b2f_shuffle_variant *variant, size_t typesize,
		  unsigned int version, const uint8_t *src, uint8_t *dst,
		  size_t nbytes)
{
	struct bits bits = {.variant = variant,
			    .rows = dst,
			    .items = (uint8_t *)(uintptr_t)src,
			    .typesize = typesize};

	do_block(&bits, version, src, dst, nbytes);
}

void b2f_bitshuffle_apply(const struct b2f_shuffle_variant *variant,
			  size_t typesize, const uint8_t *src, uint8_t *dst,
			  size_t nbytes)
{
	apply(variant, typesize, 0, src, dst, nbytes);
}

static void bitshuffle_encode(const struct b2f_filter_block *block,
			      uint8_t meta, const uint8_t *src, uint8_t *dst,
			      size_t nbytes)
{
	(void)meta;
	apply(b2f_shuffle_best(), block->typesize, block->chunk_version, src,
	      dst, nbytes);
}

const struct b2f_filter b2f_filter_bitshuffle = {
	.name = "bitshuffle",
	.id = B2F_FILTER_BITSHUFFLE,
	.kind = B2F_FILTER_MOVE,
	.decode = bitshuffle_decode,
	.encode = bitshuffle_encode,
};
