/* SPDX-License-Identifier: BSD-3-Clause */
/* zlib.c - zlib streams (RFC 1950), by zlib */
#include "codec/codec.h"

#include <limits.h>
#include <stdlib.h>

#define ZLIB_CONST
#include <zlib.h>

#include "b2frame/error.h"

static int zlib_state_new(void **out)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	if (inflateInit(stream) != Z_OK) {
		free(stream);
		return -ENOMEM;
	}
	*out = stream;
	return 0;
}

static void zlib_state_free(void *state)
{
	if (!state)
		return;
	(void)inflateEnd(state);
	free(state);
}

/* Exact: the stream ends where the input ends, and where the output does. */
static int zlib_decode(void *state, const uint8_t *src, size_t src_size,
		       uint8_t *dst, size_t dst_size)
{
	z_stream *stream = state;
	int ret;

	if (src_size > UINT_MAX || dst_size > UINT_MAX ||
	    inflateReset(stream) != Z_OK)
		return B2F_ECORRUPT;
	stream->next_in = src;
	stream->avail_in = (uInt)src_size;
	stream->next_out = dst;
	stream->avail_out = (uInt)dst_size;
	ret = inflate(stream, Z_FINISH);
	if (ret == Z_MEM_ERROR)
		return -ENOMEM;
	if (ret != Z_STREAM_END || stream->avail_in || stream->avail_out)
		return B2F_ECORRUPT;
	return 0;
}

const struct b2f_codec b2f_codec_zlib = {
	.name = "zlib",
	.state_new = zlib_state_new,
	.state_free = zlib_state_free,
	.decode = zlib_decode,
};
