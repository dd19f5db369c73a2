/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_encode.c - any data, encoded in any way, come back
 *
 * The first bytes of the input choose the options, the others are the data.
 * The encoder may not leave its buffers nor write to the data; what it wrote is
 * a chunk that decodes to them, and whose seal holds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/encoder.h"
#include "chunk/seal.h"
#include "tests/fuzz/fuzz_memory.h"

#define OPTIONS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct b2f_encode_options choose(const uint8_t *p)
{
	struct b2f_encode_options options = {
		.typesize = 1 + (b2f_load_le32(p) & 0x1ff),
		.codec = p[4] % 7,
		.clevel = p[5] % 10,
		.split = (enum b2f_split)(p[6] % 5),
		.blocksize = b2f_load_le32(p + 7) & 0x1fff,
	};
	static const uint8_t ids[] = {0, 1, 2, 3, 35, 34, 4, 36, 32, 200};

	/* Mostly small items, as they are in life. */
	if (p[2] & 1)
		options.typesize = 1 + options.typesize % 16;
	if (options.codec == 6)
		options.codec = 33;
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int slot = p[11 + i] % B2F_FILTER_SLOTS;

		options.pipeline.filter[slot] =
			ids[p[11 + i] / B2F_FILTER_SLOTS % sizeof(ids)];
		options.pipeline.meta[slot] = p[15 + i];
	}
	return options;
}

static void check_chunk(const uint8_t *raw, uint32_t cbytes,
			const uint8_t *data, size_t size)
{
	const struct b2f_chunk_context context = {0};
	struct b2f_decoder *dec = NULL;
	uint8_t *got = need(size), *tail;
	struct b2f_chunk chunk;
	struct b2f_sealed stored = {.head = raw, .tag = B2F_TAG_MIN};
	struct b2f_seal seal;
	size_t seal_size;

	if (b2f_chunk_open(raw, cbytes, cbytes, &context, &chunk, NULL) ||
	    chunk.header.nbytes != size || b2f_decoder_new(&dec) ||
	    b2f_chunk_decode_all(&chunk, dec, raw, got, NULL) ||
	    memcmp(got, data, size))
		abort();
	seal_size = b2f_seal_size(&chunk);
	tail = need(seal_size);
	stored.tail = b2f_bytes_at(tail, seal_size);
	stored.nbytes = cbytes + seal_size;
	if (b2f_seal_make(&chunk, raw, B2F_TAG_MIN, tail, NULL) ||
	    b2f_seal_open(&chunk, &stored, &seal, NULL) || !seal.sums ||
	    b2f_seal_check_all(&seal, &chunk, raw, NULL))
		abort();
	b2f_decoder_free(dec);
	free(tail);
	free(got);
}

static void encode(const struct b2f_encode_options *options,
		   const uint8_t *data, size_t size)
{
	size_t room = b2f_chunk_encode_bound((uint32_t)size);
	uint8_t *src = copy_of(data, size), *dst = need(room), *raw;
	struct b2f_encoder *enc = NULL;
	struct b2f_encoded made;

	if (b2f_encoder_new(&enc) ||
	    b2f_chunk_encode(enc, options, b2f_bytes_at(src, (uint32_t)size),
			     b2f_room_at(dst, room), &made, NULL) ||
	    memcmp(src, data, size) || made.cbytes > room)
		abort();
	if (made.zeros && b2f_chunk_encode_value(options, (uint32_t)size,
						 b2f_bytes_at(NULL, 0), dst,
						 &made.cbytes, NULL))
		abort();
	raw = copy_of(dst, made.cbytes);
	check_chunk(raw, made.cbytes, data, size);
	b2f_encoder_free(enc);
	free(raw);
	free(dst);
	free(src);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct b2f_encode_options options;
	uint8_t *wide;
	size_t times;

	if (size < OPTIONS)
		return 0;
	options = choose(data);
	/* Repeated, so that there is something to compress. */
	times = 1 + data[19] % 32;
	data += OPTIONS;
	size -= OPTIONS;
	wide = need(times * size);
	for (size_t i = 0; i < times && size; i++)
		memcpy(wide + i * size, data, size);
	encode(&options, wide, times * size);
	free(wide);
	return 0;
}
