/* SPDX-License-Identifier: BSD-3-Clause */
/* test_aligned.c - buffers that begin on a cache line */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/aligned.h"

Test(aligned, every_size_begins_on_a_line)
{
	uint8_t *all[200];

	for (size_t i = 0; i < 200; i++) {
		all[i] = b2f_aligned_new(i * i);
		cr_assert_not_null(all[i]);
		cr_assert_eq((uintptr_t)all[i] % B2F_ALIGN, 0);
		memset(all[i], 0xff, i * i);
	}
	for (size_t i = 0; i < 200; i++)
		b2f_aligned_free(all[i]);
	b2f_aligned_free(NULL);
}

Test(aligned, sizes_that_cannot_be_are_no_memory)
{
	cr_assert_null(b2f_aligned_new(SIZE_MAX));
	cr_assert_null(b2f_aligned_new(PTRDIFF_MAX - B2F_ALIGN + 1));
}
