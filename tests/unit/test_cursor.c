/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cursor.c - the bounded reader and the checked arithmetic */
#include <criterion/criterion.h>

#include "base/checked.h"
#include "base/cursor.h"
#include "base/log_line.h"
#include "base/why.h"

static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

Test(cursor, reads_both_byte_orders)
{
	struct b2f_cursor cur = b2f_cursor_at(bytes, sizeof(bytes));

	cr_assert_eq(b2f_cursor_be32(&cur), 0x01020304);
	cr_assert_eq(b2f_cursor_le32(&cur), 0x08070605);
	cr_assert_eq(b2f_cursor_left(&cur), 1);
	b2f_cursor_seek(&cur, 0);
	cr_assert_eq(b2f_cursor_be64(&cur), 0x0102030405060708);
	b2f_cursor_seek(&cur, 1);
	cr_assert_eq(b2f_cursor_le64(&cur), 0x0908070605040302);
	b2f_cursor_seek(&cur, 7);
	cr_assert_eq(b2f_cursor_be16(&cur), 0x0809);
	cr_assert(b2f_cursor_ok(&cur));
}

Test(cursor, a_read_that_does_not_fit_fails_for_good)
{
	struct b2f_cursor cur = b2f_cursor_at(bytes, 3);

	cr_assert_eq(b2f_cursor_be32(&cur), 0);
	cr_assert_not(b2f_cursor_ok(&cur));
	cr_assert_eq(b2f_cursor_u8(&cur), 0, "no byte after a failure");
	cr_assert_eq(b2f_cursor_left(&cur), 0);
	cr_assert_null(b2f_cursor_take(&cur, 0));
}

Test(cursor, a_seek_beyond_the_end_fails_but_to_the_end_does_not)
{
	struct b2f_cursor cur = b2f_cursor_at(bytes, 3);

	b2f_cursor_seek(&cur, 3);
	cr_assert(b2f_cursor_ok(&cur));
	cr_assert_eq(b2f_cursor_left(&cur), 0);
	b2f_cursor_seek(&cur, 4);
	cr_assert_not(b2f_cursor_ok(&cur));
}

Test(cursor, an_enormous_length_does_not_wrap_around)
{
	struct b2f_cursor cur = b2f_cursor_at(bytes, sizeof(bytes));

	b2f_cursor_skip(&cur, 2);
	cr_assert_null(b2f_cursor_take(&cur, SIZE_MAX));
	cur = b2f_cursor_at(bytes, sizeof(bytes));
	b2f_cursor_seek(&cur, UINT64_MAX);
	cr_assert_not(b2f_cursor_ok(&cur));
}

Test(checked, sums_and_products_that_do_not_fit_are_refused)
{
	uint64_t out = 7;

	cr_assert_not(b2f_add_u64(UINT64_MAX, 1, &out));
	cr_assert_not(b2f_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
	cr_assert_eq(out, 7, "untouched on failure");
	cr_assert(b2f_add_u64(UINT64_MAX - 1, 1, &out));
	cr_assert_eq(out, UINT64_MAX);
	cr_assert(b2f_mul_u64(UINT32_MAX, UINT32_MAX, &out));
	cr_assert_eq(out, UINT64_C(0xfffffffe00000001));
}

Test(checked, ranges_fit_only_as_a_whole)
{
	cr_assert(b2f_range_fits(0, 0, 0));
	cr_assert(b2f_range_fits(5, 5, 10));
	cr_assert_not(b2f_range_fits(5, 6, 10));
	cr_assert_not(b2f_range_fits(11, 0, 10));
	cr_assert_not(b2f_range_fits(UINT64_MAX, 2, 10), "no wrap-around");
	cr_assert_not(b2f_range_fits(2, UINT64_MAX, 10));
}

Test(checked, division_rounds_up_without_overflow)
{
	cr_assert_eq(b2f_div_up_u64(0, 7), 0);
	cr_assert_eq(b2f_div_up_u64(7, 7), 1);
	cr_assert_eq(b2f_div_up_u64(8, 7), 2);
	cr_assert_eq(b2f_div_up_u64(UINT64_MAX, 2), UINT64_C(1) << 63);
}

Test(why, says_the_cause_and_returns_the_error)
{
	struct b2f_why why = {""};

	cr_assert_eq(b2f_why_set(&why, -5, "block %d", 12), -5);
	cr_assert_str_eq(why.text, "block 12");
	cr_assert_eq(b2f_why_set(NULL, -7, "nobody asked"), -7);
	b2f_why_set(&why, -1, "%0500d", 1);
	cr_assert_eq(strlen(why.text), sizeof(why.text) - 1);
}

static void remember(void *arg, enum b2f_log_level level, const char *message)
{
	(void)level;
	strcpy(arg, message);
}

Test(log, messages_above_the_level_are_not_made)
{
	char last[2048] = "";
	struct b2f_log log = {
		.write = remember, .arg = last, .max_level = B2F_LOG_WARNING};

	b2f_log(&log, B2F_LOG_INFO, "quiet");
	cr_assert_str_eq(last, "");
	b2f_log(&log, B2F_LOG_WARNING, "loud %d", 3);
	cr_assert_str_eq(last, "loud 3");
	b2f_log(NULL, B2F_LOG_ERROR, "nobody");
}
