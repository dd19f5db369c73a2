/* SPDX-License-Identifier: BSD-3-Clause */
/* test_array_write.c - the b2nd metalayer as bytes */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "array/b2nd.h"
#include "tests/support/hex.h"
#include "tests/support/own.h"
#include "tests/support/vectors.h"

static void expect_same(const struct b2f_array *a, const struct b2f_array *b)
{
	cr_assert_eq(a->ndim, b->ndim);
	for (unsigned int i = 0; i < a->ndim; i++) {
		cr_assert_eq(a->shape[i], b->shape[i]);
		cr_assert_eq(a->chunkshape[i], b->chunkshape[i]);
		cr_assert_eq(a->blockshape[i], b->blockshape[i]);
	}
	cr_assert_eq(a->dtype_format, b->dtype_format);
	cr_assert_eq(!a->dtype, !b->dtype);
	if (a->dtype)
		cr_assert_str_eq(a->dtype, b->dtype);
}

static void write_and_parse(const struct b2f_array *a)
{
	struct b2f_array back;
	OWN(free) uint8_t *raw;
	size_t size;

	cr_assert_eq(b2f_array_write(a, &raw, &size), 0);
	cr_assert_eq(b2f_array_parse(raw, size, a->itemsize, &back, NULL), 0);
	expect_same(a, &back);
	b2f_array_fini(&back);
}

Test(array_write, the_bytes_are_those_of_c_blosc2)
{
	OWN_HEX struct hex raw = hex_new(HEX_B2ND_METALAYER);
	struct b2f_array a;
	uint8_t *made;
	size_t size;

	cr_assert_eq(b2f_array_parse(raw.data, raw.size, 8, &a, NULL), 0);
	cr_assert_eq(b2f_array_write(&a, &made, &size), 0);
	cr_assert_eq(size, raw.size);
	cr_assert_arr_eq(made, raw.data, size);
	free(made);
	b2f_array_fini(&a);
}

Test(array_write, every_number_of_dimensions_comes_back)
{
	char dtype[] = "[('a', '<i4')]";

	for (unsigned int ndim = 0; ndim <= B2F_ARRAY_MAX_DIM; ndim++) {
		struct b2f_array a = {
			.ndim = ndim, .itemsize = 4, .dtype = dtype};

		for (unsigned int i = 0; i < ndim; i++) {
			a.shape[i] = i == 0 ? INT64_C(1) << 40 : 3;
			a.chunkshape[i] = 2;
			a.blockshape[i] = 1;
		}
		if (ndim < 14) /* else the products are too large */
			write_and_parse(&a);
		a.shape[0] = 2;
		write_and_parse(&a);
		a.dtype = NULL;
		write_and_parse(&a);
	}
}

Test(array_write, sixteen_dimensions_have_the_mark_of_c_blosc2)
{
	struct b2f_array a = {.ndim = 16, .itemsize = 1};
	OWN(free) uint8_t *raw;
	size_t size;

	cr_assert_eq(b2f_array_write(&a, &raw, &size), 0);
	cr_assert_eq(raw[0], 0x95);
	cr_assert_eq(raw[2], 16);
	cr_assert_eq(raw[3], 0xa0);
	cr_assert_eq(size, 3 + 3 + 16 * (9 + 5 + 5));
}

Test(array_write, more_dimensions_than_there_can_be_are_refused)
{
	struct b2f_array a = {.ndim = 17};
	uint8_t *raw;
	size_t size;

	cr_assert_eq(b2f_array_write(&a, &raw, &size), -EINVAL);
}
