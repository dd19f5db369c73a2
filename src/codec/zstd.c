/* SPDX-License-Identifier: BSD-3-Clause */
/* zstd.c - Zstandard frames, by libzstd */
#include "codec/codec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "b2frame/error.h"
#include "base/bytes.h"

/* Begins a dictionary with tables; any other dictionary is raw content. */
#define DICT_MAGIC 0xec30a437U

struct zstd_state {
	ZSTD_DCtx *ctx;
	/* NULL: no dictionary.  @ctx refers to it. */
	ZSTD_DDict *dict;
};

static void zstd_state_free(void *state)
{
	struct zstd_state *zstd = state;

	ZSTD_freeDCtx(zstd->ctx);
	ZSTD_freeDDict(zstd->dict);
	free(zstd);
}

static void *zstd_state_new(void)
{
	struct zstd_state *zstd = calloc(1, sizeof(*zstd));

	if (!zstd)
		return NULL;
	zstd->ctx = ZSTD_createDCtx();
	if (zstd->ctx)
		return zstd;
	free(zstd);
	return NULL;
}

/* Why ZSTD_createDDict() failed: it takes any raw content. */
static int dict_error(const uint8_t *dict, size_t size)
{
	bool has_tables = size >= 8 && b2f_load_le32(dict) == DICT_MAGIC;

	return has_tables ? B2F_ECORRUPT : -ENOMEM;
}

static int zstd_dict_set(void *state, const uint8_t *dict, size_t size)
{
	struct zstd_state *zstd = state;
	ZSTD_DDict *made = NULL;

	if (dict) {
		made = ZSTD_createDDict(dict, size);
		if (!made)
			return dict_error(dict, size);
	}
	/* Between frames this cannot fail. */
	(void)ZSTD_DCtx_reset(zstd->ctx, ZSTD_reset_session_only);
	(void)ZSTD_DCtx_refDDict(zstd->ctx, made);
	ZSTD_freeDDict(zstd->dict);
	zstd->dict = made;
	return 0;
}

static int zstd_decode(void *state, const uint8_t *src, size_t src_size,
		       uint8_t *dst, size_t dst_size)
{
	struct zstd_state *zstd = state;
	size_t n;

	/* Several frames in a row must not pass as one stream. */
	if (ZSTD_findFrameCompressedSize(src, src_size) != src_size)
		return B2F_ECORRUPT;
	n = ZSTD_decompressDCtx(zstd->ctx, dst, dst_size, src, src_size);
	if (ZSTD_isError(n) &&
	    ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	return n == dst_size ? 0 : B2F_ECORRUPT;
}

static void *zstd_encoder_new(void)
{
	return ZSTD_createCCtx();
}

static void zstd_encoder_free(void *encoder)
{
	(void)ZSTD_freeCCtx(encoder);
}

/* Maps the nine levels of C-Blosc2 to levels of zstd as C-Blosc2 does. */
static int zstd_level(unsigned int level)
{
	return level < B2F_CLEVEL_MAX ? 2 * (int)level - 1 : ZSTD_maxCLevel();
}

static int64_t zstd_encode(void *encoder, unsigned int level,
			   const uint8_t *src, size_t src_size, uint8_t *dst,
			   size_t room)
{
	size_t n = ZSTD_compressCCtx(encoder, dst, room, src, src_size,
				     zstd_level(level));

	if (!ZSTD_isError(n))
		return (int64_t)n;
	return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? -ENOMEM
								    : 0;
}

const struct b2f_codec b2f_codec_zstd = {
	.name = "zstd",
	.format = B2F_FORMAT_ZSTD,
	.state_new = zstd_state_new,
	.state_free = zstd_state_free,
	.dict_set = zstd_dict_set,
	.decode = zstd_decode,
	.encoder_new = zstd_encoder_new,
	.encoder_free = zstd_encoder_free,
	.encode = zstd_encode,
};
