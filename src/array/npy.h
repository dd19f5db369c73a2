/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npy.h - the header of a .npy file
 *
 * A file in numpy's format starts with 6 bytes of magic, a version (1.0, 2.0
 * or 3.0), the length of a text, and the text: a Python dict that says type,
 * order and shape.  The items follow right behind.
 *
 * np.load() without options accepts every header that is accepted here, with
 * the same meaning, and others (literal.h, dtype.h).  The text has numpy's
 * bound of 10000 characters for the text.
 *
 * Layer: array.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_NPY_H
#define B2F_ARRAY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/array.h"
#include "base/attr.h"

/* The magic, with which a header begins. */
#define B2F_NPY_MAGIC	   "\x93NUMPY"
#define B2F_NPY_MAGIC_SIZE 6

/* No header that b2f_npy_parse() takes is longer. */
#define B2F_NPY_MAX_SIZE (12 + 4 * 10000)

struct b2f_npy {
	/* Bytes of the header; the items begin there. */
	size_t size;
	/* The array's shape; all products fit, as struct b2f_array wants it. */
	unsigned int ndim;
	int64_t shape[B2F_ARRAY_MAX_DIM];
	/*
	 * The first dimension turns fastest. The value in the header, also if
	 * ndim < 2.
	 */
	bool fortran_order;
	/* 1..B2F_ARRAY_MAX_ITEMSIZE. */
	uint32_t itemsize;
	/* Bytes of all items together, <= INT64_MAX. */
	uint64_t nbytes;
	/* The b2nd text (dtype.h), malloc'ed, with a 0 behind it. */
	char *dtype;
};

/*
 * Reads the header at the begin of the @size bytes at @raw, and nothing behind
 * it.  Free @out with b2f_npy_fini().
 *
 * Returns 0; -EINVAL (not a header, whatever follows); -EAGAIN (too few bytes
 * to tell; never if @size >= B2F_NPY_MAX_SIZE); B2F_EUNSUPPORTED (a header,
 * but not one of a b2nd array: objects, more than 16 dimensions, items without
 * bytes, too large, too long for np.load(), see also dtype.h); or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_npy_parse(const uint8_t *raw, size_t size, struct b2f_npy *out);

void b2f_npy_fini(struct b2f_npy *npy);

/*
 * Makes the header that np.save() writes for @array in C order, byte for byte.
 * An array whose items are arrays gets their dimensions behind its own, as in
 * numpy.  An array without a dtype has items like |S8, as in python-blosc2.
 * The caller frees *@bytes.
 *
 * Returns 0, B2F_ECORRUPT (the dtype is invalid, or of another size than the
 * items), B2F_EUNSUPPORTED (numpy has no header for it; dtype.h) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_npy_write(const struct b2f_array *array, uint8_t **bytes, size_t *len);

/*
 * Wraps @len bytes as a msgpack bin, in the shortest form.  The caller frees
 * *@packed.
 *
 * Returns 0, B2F_ETOOBIG (@len does not fit a uint32) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_npy_pack(const uint8_t *bytes, size_t len, uint8_t **packed,
		 size_t *packed_len);

/*
 * Finds the bytes that b2f_npy_pack() wrapped, in any form of bin; *@bytes
 * points into @packed.
 *
 * Returns 0 or B2F_ECORRUPT (something else, cut off, or with bytes behind).
 */
B2F_MUST_CHECK
int b2f_npy_unpack(const uint8_t *packed, size_t packed_len,
		   const uint8_t **bytes, size_t *len);

#endif
