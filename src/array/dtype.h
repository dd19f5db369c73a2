/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype.h - the type of an item, and the texts that name it
 *
 * Two texts name a type.  Their rules were found by experiments with numpy 2.4
 * and python-blosc2 4.14.
 *
 * The *b2nd text* is what python-blosc2 stores in a b2nd metalayer:
 *
 *   - dtype.str for everything that is not of kind V: |b1 |i1 <f8 >c16 <f2
 *     <f16 (long double) |S5 <U3 <M8[25us] <m8;
 *   - str(dtype) for kind V, which is one of
 *     |V5                                             bytes
 *     [('a', '<i4'), (('title', 'b'), '<f8', (2,))]   without holes
 *     {'names': ['a', 'b'], 'formats': ['i1', '<i4'], 'offsets': [3, 8],
 *      'titles': ['T', None], 'itemsize': 20}         with holes
 *     {... 'itemsize': 16, 'aligned': True}           made with align=True
 *     ('<i4', (2, 3))                                 an array in each item.
 *
 * Inside brackets the types are short: ? i1 S5 V5 instead of |b1 |i1 |S5 |V5,
 * and S U V for a size of 0. 'aligned' stands in the outermost dict only; a
 * reader aligns everything inside too, as numpy does.  (So a type of which only
 * some parts are aligned comes back as another one, or not at all.) An item
 * size of 0 is never stored: python-blosc2 divides by it.  Objects are stored
 * as |O.
 *
 * The *descr* is what stands in a .npy header: dtype.str in quotes, or a list
 * of tuples whose holes are fields without a name: ('', '|V4').
 *
 * Refused although numpy knows it, as no writer uses it and its meaning depends
 * on the machine or on the version of numpy: 'f8,i4', '3f8', 'int32', 'l',
 * fields without names, empty titles, arrays of arrays, units like [s/10].
 *
 * Layer: array.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_ARRAY_DTYPE_H
#define B2F_ARRAY_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "array/literal.h"
#include "base/attr.h"

/* Types in types, and dimensions of an array in an item. */
#define B2F_DTYPE_MAX_DEPTH 16
#define B2F_DTYPE_MAX_DIM   32

enum b2f_dtype_form {
	B2F_DTYPE_SCALAR,
	B2F_DTYPE_STRUCT,
	B2F_DTYPE_SUBARRAY,
};

struct b2f_dtype_field;

struct b2f_dtype {
	enum b2f_dtype_form form;
	/* Bytes, 0..INT32_MAX; and the alignment of its place. */
	uint32_t size;
	uint32_t alignment;

	/* SCALAR: one of "biufcSUVMm", and '<', '>' or '|'. */
	char kind;
	char order;
	/* M and m:  "" or a unit like "us"; units per tick, >= 1. */
	char unit[8];
	uint32_t nunits;

	/* STRUCT: in the order of their names; malloc'ed. */
	struct b2f_dtype_field *fields;
	size_t nfields;

	/* SUBARRAY: the type of its items, never a SUBARRAY; both malloc'ed. */
	struct b2f_dtype *base;
	int64_t *dims;
	size_t ndims;
};

struct b2f_dtype_field {
	/* UTF-8, not empty; the title may be NULL.  Both in the literal. */
	const char *name;
	size_t name_len;
	const char *title;
	size_t title_len;
	/* Bytes from the start of the struct. */
	uint32_t offset;
	struct b2f_dtype type;
};

/*
 * Parses the descr @value.  Its literal has to live as long as @out, which is
 * freed with b2f_dtype_fini().
 *
 * Returns 0, B2F_ECORRUPT (no type at all), B2F_EUNSUPPORTED (see above, or
 * objects, or larger than INT32_MAX) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_dtype_read_descr(const struct b2f_literal_value *value,
			 struct b2f_dtype *out);

/*
 * Parses @len bytes of b2nd text.  @lit holds the memory of the names; it is
 * empty for a scalar, and is freed with b2f_literal_fini() after @out.
 *
 * Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_dtype_read_b2nd(const char *text, size_t len, struct b2f_literal *lit,
			struct b2f_dtype *out);

void b2f_dtype_fini(struct b2f_dtype *type);

/*
 * Reads a text like "<f8": a descr without its quotes, or a b2nd text.
 *
 * Returns 0, B2F_ECORRUPT or B2F_EUNSUPPORTED.
 */
B2F_MUST_CHECK
int b2f_dtype_read_scalar(const char *text, size_t len, struct b2f_dtype *out);

/* Prints a SCALAR without quotes; @brief as inside the brackets above. */
void b2f_dtype_put_scalar(const struct b2f_dtype *type, bool brief, FILE *out);

/*
 * Prints the descr.  A SUBARRAY has none (numpy makes its dimensions those of
 * the array).
 *
 * Returns 0 or B2F_EUNSUPPORTED (a SUBARRAY, or a struct whose fields overlap
 * or are not in the order of their places).
 */
B2F_MUST_CHECK
int b2f_dtype_put_descr(const struct b2f_dtype *type, FILE *out);

/* Prints the b2nd text.  It never says 'aligned', but offsets. */
void b2f_dtype_put_b2nd(const struct b2f_dtype *type, FILE *out);

#endif
