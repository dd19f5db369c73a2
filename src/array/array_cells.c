/* SPDX-License-Identifier: BSD-3-Clause */
/* array_cells.c - a range of an array in C order, as parts of its blocks */
#include "array/array_cells.h"

#include "array/array_grid.h"
#include "base/checked.h"

static void count_cells(struct b2f_array_cells *cells)
{
	const struct b2f_array *a = cells->array;

	cells->n = 1;
	cells->nitems = 1;
	for (unsigned int i = 0; i < a->ndim; i++) {
		cells->count[i] = b2f_array_grid_at(a, i, cells->end[i] - 1) -
				  b2f_array_grid_at(a, i, cells->start[i]) + 1;
		cells->n *= cells->count[i];
		cells->nitems *= cells->end[i] - cells->start[i];
	}
}

void b2f_array_cells_of(const struct b2f_array *array, uint64_t item,
			uint64_t end, struct b2f_array_cells *out)
{
	uint64_t rest = item, left = end - item, stride = 1, n;
	unsigned int d = array->ndim;

	*out = (struct b2f_array_cells){.array = array, .item = item};
	for (unsigned int i = array->ndim; i-- > 0;) {
		out->start[i] = rest % (uint64_t)array->shape[i];
		out->end[i] = out->start[i] + 1;
		rest /= (uint64_t)array->shape[i];
	}
	/*
	 * Takes whole dimensions, while the box begins at 0 and has enough
	 * items.
	 */
	while (d > 0) {
		uint64_t all = (uint64_t)array->shape[d - 1];

		if (out->start[d - 1] != 0 || left / stride < all)
			break;
		out->end[d - 1] = all;
		stride *= all;
		d--;
	}
	if (d > 0) {
		d--;
		n = b2f_min_u64((uint64_t)array->shape[d] - out->start[d],
				left / stride);
		out->end[d] = out->start[d] + n;
	}
	count_cells(out);
}

void b2f_array_cells_of_chunk(const struct b2f_array *array, uint64_t nchunk,
			      struct b2f_array_cells *out)
{
	uint64_t stride = 1;

	*out = (struct b2f_array_cells){.array = array};
	for (unsigned int i = array->ndim; i-- > 0;) {
		uint64_t n = (uint64_t)array->shape[i];
		uint64_t cs = (uint64_t)array->chunkshape[i];
		uint64_t nchunks = b2f_div_up_u64(n, cs);

		out->start[i] = nchunk % nchunks * cs;
		out->end[i] = b2f_min_u64(out->start[i] + cs, n);
		nchunk /= nchunks;
		out->item += out->start[i] * stride;
		stride *= n;
	}
	count_cells(out);
}

/*
 * Sets the dimensions that a run spans: the last one, and those before it while
 * the block is whole in all later ones.
 */
static void set_runs(struct b2f_array_cell *cell)
{
	const struct b2f_array *a = cell->array;
	unsigned int d = a->ndim;

	cell->nitems = 1;
	while (d > 0) {
		d--;
		cell->nitems *= cell->len[d];
		if (cell->len[d] != (uint64_t)a->shape[d] ||
		    cell->len[d] != (uint64_t)a->blockshape[d])
			break;
	}
	cell->nouter = d;
}

void b2f_array_cell_get(const struct b2f_array_cells *cells, uint64_t i,
			struct b2f_array_cell *out)
{
	const struct b2f_array *a = cells->array;
	uint64_t chunk_stride = 1, grid_stride = 1, block_stride = 1;
	uint64_t stride = 1, block = 0, in_block = 0;

	/* The other fields are set before they are used. */
	out->array = a;
	out->nchunk = 0;
	out->item = 0;
	out->ends_block = true;
	for (unsigned int d = a->ndim; d-- > 0;) {
		uint64_t n = (uint64_t)a->shape[d];
		const struct b2f_array_extent e = b2f_array_grid_extent(
			a, d,
			b2f_array_grid_at(a, d, cells->start[d]) +
				i % cells->count[d]);
		uint64_t start = b2f_max_u64(e.start, cells->start[d]);
		uint64_t last = b2f_min_u64(e.end, n);
		uint64_t end = b2f_min_u64(last, cells->end[d]);

		i /= cells->count[d];
		out->nchunk += e.chunk * chunk_stride;
		block += e.block * grid_stride;
		in_block += (start - e.start) * block_stride;
		out->item += start * stride;
		out->ends_block = out->ends_block && end == last;
		out->len[d] = end - start;
		out->at[d] = 0;
		out->stride[d] = stride;
		out->block_stride[d] = block_stride;
		chunk_stride *= b2f_div_up_u64(n, (uint64_t)a->chunkshape[d]);
		grid_stride *= b2f_array_grid_blocks(a, d);
		block_stride *= (uint64_t)a->blockshape[d];
		stride *= n;
	}
	out->block_nbytes = a->block_items * a->itemsize;
	out->block_off = block * out->block_nbytes;
	out->chunk_off = out->block_off + in_block * a->itemsize;
	set_runs(out);
}

bool b2f_array_cell_next(struct b2f_array_cell *cell)
{
	uint64_t itemsize = cell->array->itemsize;

	for (unsigned int d = cell->nouter; d-- > 0;) {
		if (++cell->at[d] < cell->len[d]) {
			cell->item += cell->stride[d];
			cell->chunk_off += cell->block_stride[d] * itemsize;
			return true;
		}
		/* Back to 0 here, and one further in the dimension before. */
		cell->at[d] = 0;
		cell->item -= (cell->len[d] - 1) * cell->stride[d];
		cell->chunk_off -=
			(cell->len[d] - 1) * cell->block_stride[d] * itemsize;
	}
	return false;
}

int b2f_array_read_chunk(const struct b2f_array *array, uint64_t nchunk,
			 b2f_array_read_fn *read, void *arg, uint8_t *buf)
{
	uint32_t size = array->itemsize;
	struct b2f_array_cells cells;
	struct b2f_array_cell cell;
	int err = 0;

	b2f_array_cells_of_chunk(array, nchunk, &cells);
	for (uint64_t k = 0; k < cells.n && !err; k++) {
		b2f_array_cell_get(&cells, k, &cell);
		do {
			err = read(arg, buf + cell.chunk_off,
				   cell.nitems * size, cell.item * size);
		} while (!err && b2f_array_cell_next(&cell));
	}
	return err;
}

/*
 * True if boxes of @inner fill one of @outer in C order: one item in the first
 * dimensions, then any number, then all. @may_pad: the last box may stick out
 * if no data follow.
 */
static bool fills_in_order(unsigned int ndim, const int64_t *outer,
			   const int64_t *inner, bool may_pad)
{
	unsigned int d = ndim;
	bool alone = true;

	while (d > 0 && inner[d - 1] == outer[d - 1])
		d--;
	if (d == 0)
		return true;
	for (unsigned int i = 0; i + 1 < d; i++) {
		if (inner[i] != 1)
			return false;
		alone = alone && outer[i] == 1;
	}
	return outer[d - 1] % inner[d - 1] == 0 || (may_pad && alone);
}

bool b2f_array_is_linear(const struct b2f_array *array)
{
	int64_t chunk[B2F_ARRAY_MAX_DIM], block[B2F_ARRAY_MAX_DIM];

	if (array->nitems == 0)
		return true;
	for (unsigned int i = 0; i < array->ndim; i++) {
		chunk[i] = array->chunkshape[i];
		block[i] = array->blockshape[i];
	}
	return fills_in_order(array->ndim, array->shape, chunk, true) &&
	       fills_in_order(array->ndim, chunk, block, false);
}
