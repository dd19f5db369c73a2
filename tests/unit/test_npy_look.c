/* SPDX-License-Identifier: BSD-3-Clause */
/* test_npy_look.c - can a file be stored as an array? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "b2frame/create.h"

/* A header of version 1.0; returns its length. */
static size_t put_header(char *buf, const char *descr, const char *fortran,
			 const char *shape)
{
	int n = sprintf(buf + 10,
			"{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n",
			descr, fortran, shape);

	memcpy(buf, "\x93NUMPY\1", 8);
	buf[8] = (char)n;
	buf[9] = 0;
	return 10 + (size_t)n;
}

static int look(const char *descr, const char *fortran, const char *shape,
		int32_t chunksize, uint64_t *items)
{
	struct b2f_settings settings = b2f_settings_default();
	uint64_t nbytes = 0;
	char buf[512];
	size_t len = put_header(buf, descr, fortran, shape);
	int err;

	settings.chunksize = chunksize;
	err = b2f_npy_look(&settings, buf, len, &nbytes);
	*items = nbytes - len;
	return err;
}

Test(npy_look, tells_how_long_the_file_has_to_be)
{
	uint64_t items;

	cr_assert_eq(look("'<f8'", "False", "(3, 4)", 1 << 20, &items), 0);
	cr_assert_eq(items, 96);
	cr_assert_eq(look("'<f8'", "False", "()", 1 << 20, &items), 0);
	cr_assert_eq(items, 8);
	cr_assert_eq(look("'|u1'", "False", "(0, 9)", 1 << 20, &items), 0);
	cr_assert_eq(items, 0);
}

Test(npy_look, refuses_what_is_no_array)
{
	struct b2f_settings settings = b2f_settings_default();
	uint64_t items;

	cr_assert_eq(look("'<f8'", "True", "(3, 4)", 1 << 20, &items),
		     B2F_EUNSUPPORTED);
	cr_assert_eq(look("'|O'", "False", "(3,)", 1 << 20, &items),
		     B2F_EUNSUPPORTED);
	settings.chunksize = 1 << 20;
	cr_assert_eq(b2f_npy_look(&settings, "\x93NUMPY", 6, &items),
		     B2F_EUNSUPPORTED);
	cr_assert_eq(b2f_npy_look(&settings, "text", 4, &items),
		     B2F_EUNSUPPORTED);
	cr_assert_eq(b2f_npy_look(&settings, "", 0, &items), B2F_EUNSUPPORTED);
}

Test(npy_look, refuses_more_chunks_than_there_may_be)
{
	uint64_t items;

	cr_assert_eq(look("'|u1'", "False", "(16777216,)", 1, &items), 0);
	cr_assert_eq(look("'|u1'", "False", "(16777217,)", 1, &items),
		     B2F_EUNSUPPORTED);
	/* A single item larger than a chunk should be makes a chunk. */
	cr_assert_eq(look("'<U1000'", "False", "(5,)", 1, &items), 0);
	cr_assert_eq(items, 20000);
}
