/* SPDX-License-Identifier: BSD-3-Clause */
/* lz4.c - LZ4 blocks (lz4 and lz4hc alike), by liblz4 */
#include "codec/codec.h"

#include <limits.h>
#include <lz4.h>
#include <stdlib.h>

#include "b2frame/error.h"

struct lz4_state {
	/* The caller's; NULL if there is none. */
	const uint8_t *dict;
	size_t dict_size;
};

static int lz4_state_new(void **out)
{
	struct lz4_state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	*out = state;
	return 0;
}

static int lz4_dict_set(void *state, const uint8_t *dict, size_t size)
{
	struct lz4_state *lz4 = state;

	lz4->dict = dict;
	lz4->dict_size = size;
	return 0;
}

static int lz4_decode(void *state, const uint8_t *src, size_t src_size,
		      uint8_t *dst, size_t dst_size)
{
	const struct lz4_state *lz4 = state;
	const char *from = (const char *)src;
	int n;

	if (src_size > INT_MAX || dst_size > INT_MAX)
		return B2F_ECORRUPT;
	if (lz4->dict)
		n = LZ4_decompress_safe_usingDict(
			from, (char *)dst, (int)src_size, (int)dst_size,
			(const char *)lz4->dict, (int)lz4->dict_size);
	else
		n = LZ4_decompress_safe(from, (char *)dst, (int)src_size,
					(int)dst_size);
	return n >= 0 && (size_t)n == dst_size ? 0 : B2F_ECORRUPT;
}

const struct b2f_codec b2f_codec_lz4 = {
	.name = "lz4",
	.state_new = lz4_state_new,
	.state_free = free,
	.dict_set = lz4_dict_set,
	.decode = lz4_decode,
};
