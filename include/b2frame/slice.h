/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slice.h - a part of an array, as NumPy's basic indexing chooses one
 *
 * Layer: public (made by file/).  Threads: as file.h.
 */
#ifndef B2FRAME_SLICE_H
#define B2FRAME_SLICE_H

#include "b2frame/api.h"
#include "b2frame/file.h"

B2F_BEGIN_API

/*
 * A selection of items of an array; the first ndim entries count.  A dimension
 * to be dropped has a count of 1.
 */
struct b2f_slice {
	/* Index of the first item. */
	int64_t start[B2F_ARRAY_MAX_DIM];
	/* Distance to the next item, not 0; negative: backwards. */
	int64_t step[B2F_ARRAY_MAX_DIM];
	/* Number of items; 0: none, and start and step mean nothing. */
	uint64_t count[B2F_ARRAY_MAX_DIM];
};

/*
 * Hands the items of @slice to @piece in C order, some 64 MiB at a time, by the
 * calling thread; all workers of the runtime read them.  Only blocks with items
 * of the slice are decoded, and once each if the cache of the runtime has room
 * for one row of them.
 *
 * Returns 0; -EINVAL (no array, or @slice is not inside it); the value of
 * @piece if that is not 0; or as b2f_file_pread().
 */
B2F_MUST_CHECK
int b2f_slice_read(struct b2f_file *file, const struct b2f_slice *slice,
		   int (*piece)(void *arg, const void *data, size_t size),
		   void *arg);

/*
 * Makes the .npy header for an array of the items of @frame, of @ndim (<=
 * B2F_ARRAY_MAX_DIM) dimensions @shape.  Otherwise like b2f_frame_npy_header().
 */
B2F_MUST_CHECK
int b2f_slice_npy_header(const struct b2f_frame *frame, unsigned int ndim,
			 const int64_t *shape, uint8_t **out, size_t *len);

B2F_END_API

#endif
