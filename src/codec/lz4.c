/* SPDX-License-Identifier: BSD-3-Clause */
/* lz4.c - LZ4 blocks, by liblz4: encoded fast, or (lz4hc) slowly and small */
#include "codec/codec.h"

#include <limits.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>

#include "b2frame/error.h"

struct lz4_state {
	/* Belongs to the caller; NULL: no dictionary. */
	const uint8_t *dict;
	size_t dict_size;
};

static void *lz4_state_new(void)
{
	return calloc(1, sizeof(struct lz4_state));
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

static void *lz4_encoder_new(void)
{
	return malloc((size_t)LZ4_sizeofState());
}

static int room_of(size_t room)
{
	return room > INT_MAX ? INT_MAX : (int)room;
}

static int64_t lz4_encode(void *encoder, unsigned int level, const uint8_t *src,
			  size_t src_size, uint8_t *dst, size_t room)
{
	if (src_size > LZ4_MAX_INPUT_SIZE)
		return 0;
	/* C-Blosc2 makes the same call, so streams have the same size. */
	return LZ4_compress_fast_extState(
		encoder, (const char *)src, (char *)dst, (int)src_size,
		room_of(room), B2F_CLEVEL_MAX + 1 - (int)level);
}

const struct b2f_codec b2f_codec_lz4 = {
	.name = "lz4",
	.format = B2F_FORMAT_LZ4,
	.state_new = lz4_state_new,
	.state_free = free,
	.dict_set = lz4_dict_set,
	.decode = lz4_decode,
	.encoder_new = lz4_encoder_new,
	.encoder_free = free,
	.encode = lz4_encode,
};

static void *lz4hc_encoder_new(void)
{
	return malloc((size_t)LZ4_sizeofStateHC());
}

static int64_t lz4hc_encode(void *encoder, unsigned int level,
			    const uint8_t *src, size_t src_size, uint8_t *dst,
			    size_t room)
{
	if (src_size > LZ4_MAX_INPUT_SIZE)
		return 0;
	return LZ4_compress_HC_extStateHC(encoder, (const char *)src,
					  (char *)dst, (int)src_size,
					  room_of(room), (int)level);
}

const struct b2f_codec b2f_codec_lz4hc = {
	.name = "lz4hc",
	.format = B2F_FORMAT_LZ4,
	.encoder_new = lz4hc_encoder_new,
	.encoder_free = free,
	.encode = lz4hc_encode,
};
