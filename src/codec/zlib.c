/* SPDX-License-Identifier: BSD-3-Clause */
/* zlib.c - zlib streams (RFC 1950), by zlib */
#include "codec/codec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "b2frame/error.h"

static void *zlib_state_new(void)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	if (!stream || inflateInit(stream) == Z_OK)
		return stream;
	free(stream);
	return NULL;
}

static void zlib_state_free(void *state)
{
	(void)inflateEnd(state);
	free(state);
}

/* The stream has to end exactly where the input and the output end. */
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

struct zlib_encoder {
	z_stream stream;
	/* Level that @stream was made for; 0: there is no stream. */
	unsigned int level;
};

static void *zlib_encoder_new(void)
{
	return calloc(1, sizeof(struct zlib_encoder));
}

static void zlib_encoder_free(void *encoder)
{
	struct zlib_encoder *zlib = encoder;

	if (zlib->level)
		(void)deflateEnd(&zlib->stream);
	free(zlib);
}

/* Resets the stream.  A change of the level is rare: it makes a new stream. */
static int zlib_restart(struct zlib_encoder *zlib, unsigned int level)
{
	if (zlib->level == level)
		return deflateReset(&zlib->stream) == Z_OK ? 0 : -ENOMEM;
	if (zlib->level)
		(void)deflateEnd(&zlib->stream);
	zlib->level = 0;
	memset(&zlib->stream, 0, sizeof(zlib->stream));
	if (deflateInit(&zlib->stream, (int)level) != Z_OK)
		return -ENOMEM;
	zlib->level = level;
	return 0;
}

static int64_t zlib_encode(void *encoder, unsigned int level,
			   const uint8_t *src, size_t src_size, uint8_t *dst,
			   size_t room)
{
	struct zlib_encoder *zlib = encoder;
	int err;

	if (src_size > UINT_MAX || room > UINT_MAX)
		return 0;
	err = zlib_restart(zlib, level);
	if (err)
		return err;
	zlib->stream.next_in = src;
	zlib->stream.avail_in = (uInt)src_size;
	zlib->stream.next_out = dst;
	zlib->stream.avail_out = (uInt)room;
	if (deflate(&zlib->stream, Z_FINISH) != Z_STREAM_END)
		return 0;
	return (int64_t)(room - zlib->stream.avail_out);
}

const struct b2f_codec b2f_codec_zlib = {
	.name = "zlib",
	.format = B2F_FORMAT_ZLIB,
	.state_new = zlib_state_new,
	.state_free = zlib_state_free,
	.decode = zlib_decode,
	.encoder_new = zlib_encoder_new,
	.encoder_free = zlib_encoder_free,
	.encode = zlib_encode,
};
