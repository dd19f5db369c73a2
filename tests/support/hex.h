/* SPDX-License-Identifier: BSD-3-Clause */
/* hex.h - test data from hexadecimal digits, in a buffer of the exact size */
#ifndef B2F_TESTS_HEX_H
#define B2F_TESTS_HEX_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hex {
	uint8_t *data;
	size_t size;
};

static inline unsigned int hex_digit(char c)
{
	return c <= '9' ? (unsigned int)(c - '0')
			: (unsigned int)(c - 'a' + 10);
}

/* Malloc'ed, so that the address sanitizer notices a read beyond the end. */
static inline struct hex hex_new(const char *digits)
{
	struct hex h = {.size = strlen(digits) / 2};

	h.data = malloc(h.size ? h.size : 1);
	for (size_t i = 0; i < h.size; i++)
		h.data[i] = (uint8_t)(hex_digit(digits[2 * i]) << 4 |
				      hex_digit(digits[2 * i + 1]));
	return h;
}

static inline void hex_free(struct hex *h)
{
	free(h->data);
	h->data = NULL;
}

#define OWN_HEX __attribute__((cleanup(hex_free)))

#endif
