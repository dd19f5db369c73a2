/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>

#include "b2frame/error.h"

Test(why, an_errno_has_the_words_of_the_system)
{
	cr_assert_str_eq(b2f_strerror(-ENOENT), strerror(ENOENT));
	cr_assert_str_eq(b2f_strerror(0), strerror(0));
}

Test(why, errors_of_the_format_have_their_own_words)
{
	cr_assert_str_eq(b2f_strerror(B2F_ECORRUPT),
			 "The stored bytes are damaged");
	cr_assert_str_eq(b2f_strerror(B2F_EINDOUBT),
			 "The server may have done it, or not");
}

Test(why, there_are_words_for_any_number)
{
	cr_assert_gt(strlen(b2f_strerror(-99999)), 0);
	cr_assert_gt(strlen(b2f_strerror(99999)), 0);
	cr_assert_gt(strlen(b2f_strerror(INT_MIN)), 0);
}

Test(why, errors_of_the_format_are_four)
{
	cr_assert(b2f_is_format_error(B2F_ECORRUPT));
	cr_assert(b2f_is_format_error(B2F_EUNSUPPORTED));
	cr_assert(b2f_is_format_error(B2F_ETOOBIG));
	cr_assert(b2f_is_format_error(B2F_ENOTFRAME));
	cr_assert_not(b2f_is_format_error(B2F_EINDOUBT));
	cr_assert_not(b2f_is_format_error(-EIO));
	cr_assert_not(b2f_is_format_error(0));
}
