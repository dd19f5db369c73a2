/* SPDX-License-Identifier: BSD-3-Clause */
/* test_reserve.c - memory that is counted before it is taken */
#include <criterion/criterion.h>
#include <errno.h>

#include "b2frame/error.h"
#include "base/reserve.h"

#define KIB ((uint64_t)1 << 10)

Test(reserve, owners_together_stay_within_the_limit)
{
	struct b2f_reserve all = {.max = 100 * KIB};
	struct b2f_reserved a = {.of = &all}, b = {.of = &all};

	cr_assert_eq(b2f_reserve_take(&a, 60 * KIB), 0);
	cr_assert_eq(b2f_reserve_take(&b, 60 * KIB), -ENOMEM);
	cr_assert_eq(b2f_reserve_take(&b, 101 * KIB), B2F_ETOOBIG);
	cr_assert_eq(b2f_reserve_take(&b, 16 * KIB), 0);
	b2f_reserve_give(&a, 20 * KIB);
	cr_assert_eq(b2f_reserve_set(&b, 60 * KIB), 0);
	cr_assert_eq(all.used, 100 * KIB);
	cr_assert_eq(b2f_reserve_set(&b, 10 * KIB), 0);
	cr_assert_eq(all.used, 40 * KIB);
}

Test(reserve, what_is_there_already_counts_beyond_the_limit)
{
	struct b2f_reserve all = {.max = 100 * KIB};
	struct b2f_reserved a = {0};

	cr_assert_eq(b2f_reserve_take(&a, 200 * KIB), 0);
	b2f_reserve_force(&a, &all);
	cr_assert_eq(all.used, 200 * KIB);
	cr_assert_eq(b2f_reserve_set(&a, 150 * KIB), 0);
	cr_assert_eq(all.used, 150 * KIB);
}
