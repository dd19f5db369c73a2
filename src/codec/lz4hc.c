/* SPDX-License-Identifier: BSD-3-Clause */
/* lz4hc.c - LZ4 blocks encoded slowly and small, by liblz4 */
#include "codec/codec.h"

#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>

static int lz4hc_encoder_new(void **out)
{
	void *state = malloc((size_t)LZ4_sizeofStateHC());

	if (!state)
		return -ENOMEM;
	*out = state;
	return 0;
}

static int64_t lz4hc_encode(void *encoder, unsigned int level,
			    const uint8_t *src, size_t src_size, uint8_t *dst,
			    size_t room)
{
	if (src_size > LZ4_MAX_INPUT_SIZE)
		return 0;
	if (room > INT_MAX)
		room = INT_MAX;
	return LZ4_compress_HC_extStateHC(encoder, (const char *)src,
					  (char *)dst, (int)src_size, (int)room,
					  (int)level);
}

const struct b2f_codec b2f_codec_lz4hc = {
	.name = "lz4hc",
	.format = B2F_FORMAT_LZ4,
	.encoder_new = lz4hc_encoder_new,
	.encoder_free = free,
	.encode = lz4hc_encode,
};
