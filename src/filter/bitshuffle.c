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

struct bit_rows {
	/* Row 8 * j + r holds bit r of byte j of all items. */
	const uint8_t *data;
	/* Bytes in a row; one for each 8 items. */
	size_t row_size;
	size_t typesize;
};

/* The part of a plane's rows that is done in one go. */
struct bit_tile {
	/* First byte, and number of bytes, of each row. */
	size_t start;
	size_t size;
};

/* Undoes @nplanes planes of a tile, from the plane @first on. */
static void undo_planes(const struct b2f_shuffle_variant *variant,
			const struct bit_rows *rows,
			const struct bit_tile *tile, size_t first,
			size_t nplanes, uint8_t *dst)
{
	alignas(64) uint8_t bytes[TILE_SIZE];
	const uint8_t *row =
		rows->data + 8 * first * rows->row_size + tile->start;
	struct b2f_planes planes = {
		.data = bytes,
		.stride = 8 * tile->size,
		.count = nplanes,
	};

	for (size_t j = 0; j < nplanes; j++)
		variant->plane(row + 8 * j * rows->row_size, rows->row_size,
			       bytes + j * planes.stride, tile->size);
	variant->unshuffle(&planes,
			   dst + 8 * tile->start * rows->typesize + first,
			   rows->typesize, planes.stride);
}

static void undo_tile(const struct b2f_shuffle_variant *variant,
		      const struct bit_rows *rows, const struct bit_tile *tile,
		      uint8_t *dst)
{
	size_t last;

	if (rows->typesize <= GROUP_PLANES) {
		undo_planes(variant, rows, tile, 0, rows->typesize, dst);
		return;
	}
	/* The last group goes back to be whole and does some planes twice. */
	last = rows->typesize - GROUP_PLANES;
	for (size_t j = 0; j < last; j += GROUP_PLANES)
		undo_planes(variant, rows, tile, j, GROUP_PLANES, dst);
	undo_planes(variant, rows, tile, last, GROUP_PLANES, dst);
}

static void undo_rows(const struct b2f_shuffle_variant *variant,
		      const struct bit_rows *rows, uint8_t *dst)
{
	size_t nplanes = rows->typesize;
	struct bit_tile tile = {0};
	size_t max;

	if (nplanes == 1) {
		variant->plane(rows->data, rows->row_size, dst, rows->row_size);
		return;
	}
	if (nplanes > GROUP_PLANES)
		nplanes = GROUP_PLANES;
	max = TILE_SIZE / 8 / nplanes / 64 * 64;
	while (tile.start < rows->row_size) {
		tile.size = rows->row_size - tile.start;
		if (tile.size > max)
			tile.size = max;
		undo_tile(variant, rows, &tile, dst);
		tile.start += tile.size;
	}
}

void b2f_bitshuffle_undo(const struct b2f_shuffle_variant *variant,
			 size_t typesize, unsigned int version,
			 const uint8_t *src, uint8_t *dst, size_t nbytes)
{
	size_t nitems = nbytes / typesize;
	size_t whole;
	struct bit_rows rows = {
		.data = src,
		.row_size = nitems / 8,
		.typesize = typesize,
	};

	/* Blosc 1 left a block alone if the number of items was uneven. */
	if (version == 2 && nitems % 8)
		rows.row_size = 0;
	whole = 8 * rows.row_size * typesize;
	undo_rows(variant, &rows, dst);
	memcpy(dst + whole, src + whole, nbytes - whole);
}

static void bitshuffle_decode(const struct b2f_filter_block *block,
			      uint8_t meta, const uint8_t *src, uint8_t *dst,
			      size_t nbytes)
{
	(void)meta;
	b2f_bitshuffle_undo(b2f_shuffle_best(), block->typesize,
			    block->chunk_version, src, dst, nbytes);
}

/* Like struct bit_rows, but to write the rows of an encoded block. */
struct bit_rows_to {
	uint8_t *data;
	size_t row_size;
	size_t typesize;
};

/* Makes the rows of @nplanes planes of a tile, from the plane @first on. */
static void make_rows(const struct b2f_shuffle_variant *variant,
		      const struct bit_rows_to *rows,
		      const struct bit_tile *tile, size_t first, size_t nplanes,
		      const uint8_t *src)
{
	alignas(64) uint8_t bytes[TILE_SIZE];
	uint8_t *row = rows->data + 8 * first * rows->row_size + tile->start;
	struct b2f_planes_to planes = {
		.data = bytes,
		.stride = 8 * tile->size,
		.count = nplanes,
	};

	variant->shuffle(src + 8 * tile->start * rows->typesize + first,
			 rows->typesize, &planes, planes.stride);
	for (size_t j = 0; j < nplanes; j++)
		variant->rows(bytes + j * planes.stride,
			      row + 8 * j * rows->row_size, rows->row_size,
			      tile->size);
}

static void make_tile(const struct b2f_shuffle_variant *variant,
		      const struct bit_rows_to *rows,
		      const struct bit_tile *tile, const uint8_t *src)
{
	size_t last;

	if (rows->typesize <= GROUP_PLANES) {
		make_rows(variant, rows, tile, 0, rows->typesize, src);
		return;
	}
	last = rows->typesize - GROUP_PLANES;
	for (size_t j = 0; j < last; j += GROUP_PLANES)
		make_rows(variant, rows, tile, j, GROUP_PLANES, src);
	make_rows(variant, rows, tile, last, GROUP_PLANES, src);
}

static void make_all_rows(const struct b2f_shuffle_variant *variant,
			  const struct bit_rows_to *rows, const uint8_t *src)
{
	size_t nplanes = rows->typesize;
	struct bit_tile tile = {0};
	size_t max;

	if (nplanes == 1) {
		variant->rows(src, rows->data, rows->row_size, rows->row_size);
		return;
	}
	if (nplanes > GROUP_PLANES)
		nplanes = GROUP_PLANES;
	max = TILE_SIZE / 8 / nplanes / 64 * 64;
	while (tile.start < rows->row_size) {
		tile.size = rows->row_size - tile.start;
		if (tile.size > max)
			tile.size = max;
		make_tile(variant, rows, &tile, src);
		tile.start += tile.size;
	}
}

void b2f_bitshuffle_apply(const struct b2f_shuffle_variant *variant,
			  size_t typesize, const uint8_t *src, uint8_t *dst,
			  size_t nbytes)
{
	struct bit_rows_to rows = {
		.data = dst,
		.row_size = nbytes / typesize / 8,
		.typesize = typesize,
	};
	size_t whole = 8 * rows.row_size * typesize;

	make_all_rows(variant, &rows, src);
	memcpy(dst + whole, src + whole, nbytes - whole);
}

static void bitshuffle_encode(const struct b2f_filter_block *block,
			      uint8_t meta, const uint8_t *src, uint8_t *dst,
			      size_t nbytes)
{
	(void)meta;
	/* b2f_bitshuffle_undo() has the same rule. */
	if (block->chunk_version == 2 && nbytes / block->typesize % 8)
		memcpy(dst, src, nbytes);
	else
		b2f_bitshuffle_apply(b2f_shuffle_best(), block->typesize, src,
				     dst, nbytes);
}

const struct b2f_filter b2f_filter_bitshuffle = {
	.name = "bitshuffle",
	.id = B2F_FILTER_BITSHUFFLE,
	.kind = B2F_FILTER_MOVE,
	.decode = bitshuffle_decode,
	.encode = bitshuffle_encode,
};
