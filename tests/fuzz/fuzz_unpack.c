/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_unpack.c - any bytes as values of MessagePack, taken as they come */
#include <stdlib.h>

#include "base/unpack.h"
#include "tests/fuzz/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct b2f_cursor *cur)
{
	unsigned int sum = 0;
	const char *text;
	size_t len;

	if (b2f_unpack_next_is_array(cur)) {
		(void)b2f_unpack_array(cur);
	} else if (b2f_unpack_next_is_text(cur)) {
		text = b2f_unpack_text(cur, &len);
		for (size_t i = 0; text && i < len; i++)
			sum += (unsigned char)text[i];
	} else if (b2f_cursor_left(cur) % 2) {
		b2f_unpack_skip(cur, 1);
	} else {
		(void)b2f_unpack_uint(cur);
	}
	(void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *raw = copy_of(data, size);
	struct b2f_cursor cur = b2f_cursor_at(raw, size);

	while (b2f_cursor_left(&cur) > 0) {
		size_t before = cur.pos;

		take(&cur);
		if (b2f_cursor_ok(&cur) && cur.pos <= before)
			abort();
	}
	cur = b2f_cursor_at(raw, size);
	b2f_unpack_skip(&cur, 1);
	if (cur.pos > size)
		abort();
	free(raw);
	return 0;
}
