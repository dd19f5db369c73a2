/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_plan.c - how a new array is cut into chunks and blocks
 *
 * Both are slabs of rows: whole in the last dimensions, a part of one, and one
 * item thick in those before.  Therefore the bytes of an array are stored in
 * their order, except for padding, and a program that writes it from start to
 * end writes one chunk after the other.
 *
 *   shape  (1000, 300, 50)    chunk (255, 300, 50)   block (17, 300, 50)
 *   shape  (4, 100000000)     chunk (1, 4194304)     block (1, 262144)
 *
 * for items of 8 bytes, chunks of 32 MiB and blocks of 2 MiB.
 */
#include "array/b2nd.h"
#include "b2frame/error.h"
#include "base/checked.h"

/* Half of the limit, so that padding cannot make a chunk too large. */
#define CHUNK_BYTES_MAX ((uint64_t)1 << 30)

/* A block may become twice as large for the sake of a divisor. */
#define BLOCK_BYTES_MAX (B2F_ARRAY_MAX_ITEMSIZE / 2)

/* Entries that an index can hold. */
#define CHUNKS_MAX ((uint64_t)268435455)

/* The shape of a slab: dimensions behind @split are whole. */
struct slab {
	/* ndim if there is nothing to split. */
	unsigned int split;
	/* Rows of the dimension @split. */
	uint64_t rows;
};

/* A dimension of size 0 counts as 1. */
static uint64_t extent(const struct b2f_array *a, unsigned int i)
{
	return a->shape[i] > 0 ? (uint64_t)a->shape[i] : 1;
}

static uint64_t budget(uint64_t bytes, uint32_t itemsize)
{
	return b2f_max_u64(1, bytes / itemsize);
}

/*
 * The largest slab of at most @nitems items; its outermost dimension is the
 * split one even if that is whole.
 */
static struct slab cut(const struct b2f_array *a, uint64_t nitems)
{
	struct slab slab = {.split = a->ndim, .rows = 1};

	while (slab.split > 0) {
		nitems /= slab.rows;
		slab.split--;
		slab.rows = b2f_min_u64(extent(a, slab.split), nitems);
		if (slab.rows < extent(a, slab.split))
			break;
	}
	return slab;
}

static void put_slab(const struct b2f_array *a, struct slab slab, int32_t *out)
{
	for (unsigned int i = 0; i < a->ndim; i++)
		out[i] = i < slab.split ? 1 : (int32_t)extent(a, i);
	if (slab.split < a->ndim)
		out[slab.split] = (int32_t)slab.rows;
}

/* Rows per part of equal size, for as many parts as with @rows each. */
static uint64_t even(uint64_t all, uint64_t rows)
{
	return b2f_div_up_u64(all, b2f_div_up_u64(all, rows));
}

static bool divides(uint64_t part, uint64_t rows, uint64_t whole)
{
	return part >= b2f_max_u64(1, rows / 4) && part <= 2 * rows &&
	       whole % part == 0;
}

/*
 * The divisor of @whole that is next to @rows, from a quarter to twice as much;
 * 0 if there is none.  Tries rows per part or the number of parts, whichever is
 * less, not each of 2^31 rows.
 */
static uint64_t divisor_near(uint64_t whole, uint64_t rows)
{
	uint64_t n = whole / rows;

	for (uint64_t d = 0; rows <= n && d <= rows; d++) {
		if (divides(rows - d, rows, whole))
			return rows - d;
		if (divides(rows + d, rows, whole))
			return rows + d;
	}
	for (uint64_t i = n; rows > n && i <= 4 * (n + 1) && i <= whole; i++)
		if (whole % i == 0 && divides(whole / i, rows, whole))
			return whole / i;
	for (uint64_t i = n; rows > n && i > 0 && i >= n / 2; i--)
		if (whole % i == 0 && divides(whole / i, rows, whole))
			return whole / i;
	return 0;
}

/* Rows of a block in a chunk with a fixed number of rows, @whole. */
static uint64_t fit_block(uint64_t whole, uint64_t rows)
{
	uint64_t divisor = divisor_near(whole, rows);

	return divisor ? divisor : even(whole, rows);
}

/* Makes the chunks of a split dimension equal and the blocks fit into them. */
static void fit(const struct b2f_array *a, struct slab *chunk,
		struct slab *block)
{
	uint64_t all, whole;

	if (a->ndim == 0)
		return;
	all = extent(a, chunk->split);
	if (block->split != chunk->split) {
		chunk->rows = even(all, chunk->rows);
		whole = extent(a, block->split);
		block->rows = fit_block(whole, block->rows);
	} else if (chunk->rows == all) {
		block->rows = fit_block(all, block->rows);
	} else {
		uint64_t most = chunk->rows - chunk->rows % block->rows;

		whole = even(all, most);
		chunk->rows = b2f_div_up_u64(whole, block->rows) * block->rows;
	}
}

static int check_args(unsigned int ndim, const int64_t *shape,
		      uint32_t itemsize, uint64_t chunk_bytes,
		      uint64_t block_bytes)
{
	if (ndim > B2F_ARRAY_MAX_DIM || itemsize == 0 || chunk_bytes == 0 ||
	    block_bytes == 0)
		return -EINVAL;
	for (unsigned int i = 0; i < ndim; i++)
		if (shape[i] < 0)
			return -EINVAL;
	return itemsize > B2F_ARRAY_MAX_ITEMSIZE ? B2F_ETOOBIG : 0;
}

/* The padding counts too: the size in the frame includes it. */
static bool check_total(const struct b2f_array *a)
{
	uint64_t bytes = a->itemsize;

	return a->nchunks <= CHUNKS_MAX &&
	       b2f_mul_u64(bytes, a->chunk_items, &bytes) &&
	       b2f_mul_u64(bytes, a->nchunks, &bytes) && bytes <= INT64_MAX;
}

int b2f_array_plan(unsigned int ndim, const int64_t *shape, uint32_t itemsize,
		   uint64_t chunk_bytes, uint64_t block_bytes,
		   struct b2f_array *out)
{
	struct b2f_array a = {.ndim = ndim, .itemsize = itemsize};
	struct slab chunk, block;
	int err = check_args(ndim, shape, itemsize, chunk_bytes, block_bytes);

	if (err)
		return err;
	for (unsigned int i = 0; i < ndim; i++)
		a.shape[i] = shape[i];
	chunk_bytes = b2f_min_u64(chunk_bytes, CHUNK_BYTES_MAX);
	block_bytes = b2f_min_u64(block_bytes, chunk_bytes);
	block_bytes = b2f_min_u64(block_bytes, BLOCK_BYTES_MAX);
	chunk = cut(&a, budget(chunk_bytes, itemsize));
	block = cut(&a, budget(block_bytes, itemsize));
	fit(&a, &chunk, &block);
	put_slab(&a, chunk, a.chunkshape);
	put_slab(&a, block, a.blockshape);
	if (!b2f_array_multiply(&a) || !check_total(&a))
		return B2F_ETOOBIG;
	*out = a;
	return 0;
}
