/* SPDX-License-Identifier: BSD-3-Clause */
/* test_msgpack.c - MessagePack as JSON, text and bytes */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "meta/msgpack.h"
#include "tests/support/own.h"

/* Checks that the plain form of the @n bytes at @data is @want. */
static void becomes_bytes(const char *data, size_t n, const char *want,
			  size_t want_size)
{
	OWN(free) char *text = NULL;
	size_t size = 0;

	cr_assert_eq(b2f_msgpack_plain((const uint8_t *)data, n, &text, &size),
		     0);
	cr_assert_eq(size, want_size, "%.*s", (int)size, text);
	cr_assert_eq(memcmp(text, want, size), 0, "%.*s", (int)size, text);
}

#define BECOMES(data, want)                                                    \
	becomes_bytes(data, sizeof(data) - 1, want, sizeof(want) - 1)

static int error_of(const void *data, size_t n)
{
	char *text = NULL;
	size_t size = 0;
	int err = b2f_msgpack_plain(data, n, &text, &size);

	free(text);
	return err;
}

Test(msgpack, of_texts_and_bytes_the_content_is_left)
{
	BECOMES("\xa3" "a\"b", "a\"b");
	BECOMES("\xa0", "");
	BECOMES("\xc4\x03" "\0\xff\n", "\0\xff\n");
	BECOMES("\xc4\0", "");
}

Test(msgpack, all_else_is_json)
{
	BECOMES("\x07", "7");
	BECOMES("\xc0", "null");
	BECOMES("\xc3", "true");
	BECOMES("\xcb\x3f\xe0\0\0\0\0\0\0", "0.5");
	BECOMES("\xcb\x7f\xf8\0\0\0\0\0\0", "\"nan\"");
	BECOMES("\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
		"\"18446744073709551615\"");
	BECOMES("\x93\x01\xa1z\xc4\x02\x01\xfe",
		"[1, \"z\", {\"hex\": \"01fe\"}]");
	BECOMES("\x81\xa1y\x81\xa1z\x90", "{\"y\": {\"z\": []}}");
	BECOMES("\xd4\x05\x2a", "{\"ext\": 5, \"hex\": \"2a\"}");
	BECOMES("\xd4\x2b\x01", "{\"ext\": 43, \"what\": \"object\", \"value\": 1}");
}

Test(msgpack, what_json_has_no_form_for_is_not_left_out)
{
	/* Keys: no UTF-8, a surrogate, beyond the last character, a number. */
	BECOMES("\x81\xa1\xff\x01", "{\"\\\\xff\": 1}");
	BECOMES("\x81\xa3\xed\xa0\x80\x01", "{\"\\\\xed\\\\xa0\\\\x80\": 1}");
	BECOMES("\x81\xa4\xf4\x90\x80\x80\x01",
		"{\"\\\\xf4\\\\x90\\\\x80\\\\x80\": 1}");
	BECOMES("\x81\x02\x01", "{\"2\": 1}");
	BECOMES("\x81\xa2" "a\0\x01", "{\"\\\"a\\\\x00\\\"\": 1}");
	BECOMES("\x91\xa3\xed\xa0\x80", "[\"\\\\xed\\\\xa0\\\\x80\"]");
}

Test(msgpack, lists_side_by_side_are_of_one_level)
{
	uint8_t wide[1 + 15 * 3];
	OWN(free) char *text = NULL;
	size_t size = 0;

	wide[0] = 0x9f;
	for (int i = 0; i < 15; i++)
		memcpy(wide + 1 + i * 3, "\x92\x01\x02", 3);
	cr_assert_eq(b2f_msgpack_plain(wide, 1 + 15 * 3, &text, &size), 0);
	cr_assert_eq(size, 15 * strlen("[1, 2], "));
}

Test(msgpack, other_bytes_are_refused)
{
	static uint8_t deep[64], large[B2F_MSGPACK_MAX + 6];

	cr_assert_eq(error_of("", 0), -EBADMSG);
	cr_assert_eq(error_of("\x01\x02", 2), -EBADMSG);
	cr_assert_eq(error_of("\xa3" "ab", 3), -EBADMSG);
	cr_assert_eq(error_of("\xc1", 1), -EBADMSG);
	/* An array of 2^32 - 1 items, and levels without end. */
	cr_assert_eq(error_of("\xdd\xff\xff\xff\xff", 5), -EBADMSG);
	memset(deep, 0x91, sizeof(deep));
	deep[32] = 1;
	cr_assert_eq(error_of(deep, 33), 0);
	deep[32] = 0x90;
	cr_assert_eq(error_of(deep, 33), -EBADMSG);
	deep[32] = 0x91;
	deep[sizeof(deep) - 1] = 1;
	cr_assert_eq(error_of(deep, sizeof(deep)), -EBADMSG);
	/* Bytes with a true length, but too many. */
	memcpy(large, "\xc6\x00\x40\x00\x01", 5);
	cr_assert_eq(error_of(large, sizeof(large)), -EBADMSG);
}
