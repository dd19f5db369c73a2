/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode_bench.c - encodes one file with libb2frame and with C-Blosc2 in turn
 *
 *   encode_bench LIBBLOSC2.so FILE TYPESIZE CODEC CLEVEL FILTER [ROUNDS]
 *
 * FILTER is 0 (none), 1 (shuffle) or 2 (bitshuffle).  Both encode the whole
 * file as one chunk, with their automatic block size, on one thread into a warm
 * buffer.  Prints our stored bytes, theirs and the ratio of the two; our MB/s,
 * theirs, and the median of the ratios of neighbouring rounds, which is what a
 * noisy machine leaves of the truth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/names.h"
#include "chunk/encoder.h"
#include "tests/support/judge.h"

#define ROUNDS_DEFAULT 7

struct judge {
	int (*compress)(int clevel, int filter, int32_t typesize,
			const void *src, int32_t size, void *dst, int32_t room);
};

static struct judge load(const char *path, const char *codec)
{
	void *lib = judge_load(path);
	int (*set_compressor)(const char *name);
	struct judge judge;

	*(void **)&set_compressor = judge_symbol(lib, "blosc1_set_compressor");
	*(void **)&judge.compress = judge_symbol(lib, "blosc2_compress");
	if (set_compressor(codec) < 0)
		judge_fail("C-Blosc2 has no such codec");
	return judge;
}

static unsigned int code_of(const char *name)
{
	unsigned int code = 0;

	while (code < B2F_CODECS && (!b2f_codec_by_code(code) ||
				     strcmp(b2f_codec_code_name(code), name)))
		code++;
	return code;
}

static void run(const struct judge *judge, struct b2f_encoder *enc,
		const struct b2f_encode_options *options,
		const struct judge_bytes *src, int rounds)
{
	size_t room = b2f_chunk_encode_bound(src->size);
	double *ours = calloc((size_t)rounds, sizeof(*ours));
	double *theirs = calloc((size_t)rounds, sizeof(*theirs));
	double *ratios = calloc((size_t)rounds, sizeof(*ratios));
	double mb = (double)src->size * 1e-6, start;
	uint8_t *dst = malloc(room);
	struct b2f_encoded made;
	int stock = 0;

	if (!ours || !theirs || !ratios || !dst)
		judge_fail("out of memory");
	for (int i = 0; i < rounds; i++) {
		start = judge_now();
		if (b2f_chunk_encode(enc, options,
				     b2f_bytes_at(src->data, src->size),
				     b2f_room_at(dst, room), &made, NULL))
			judge_fail("we cannot encode it");
		ours[i] = mb / (judge_now() - start);
		start = judge_now();
		stock = judge->compress((int)options->clevel,
					options->pipeline.filter[5],
					(int32_t)options->typesize, src->data,
					(int32_t)src->size, dst, (int32_t)room);
		theirs[i] = mb / (judge_now() - start);
		ratios[i] = ours[i] / theirs[i];
	}
	printf("%u %d %.3f  %.0f %.0f %.2f\n", made.cbytes, stock,
	       (double)made.cbytes / stock, judge_median(ours, (size_t)rounds),
	       judge_median(theirs, (size_t)rounds),
	       judge_median(ratios, (size_t)rounds));
	free(ours);
	free(theirs);
	free(ratios);
	free(dst);
}

int main(int argc, char **argv)
{
	struct b2f_encode_options options = {0};
	struct b2f_encoder *enc = NULL;
	struct judge judge;
	struct judge_bytes src;
	int rounds;

	if (argc < 7)
		judge_fail(
			"usage: encode_bench LIBBLOSC2.so FILE TYPESIZE CODEC "
			"CLEVEL FILTER [ROUNDS]");
	rounds = argc > 7 ? atoi(argv[7]) : ROUNDS_DEFAULT;
	judge = load(argv[1], argv[4]);
	src = judge_read(argv[2]);
	options.typesize = (uint32_t)atoi(argv[3]);
	options.codec = code_of(argv[4]);
	options.clevel = (unsigned int)atoi(argv[5]);
	options.pipeline.filter[5] = (uint8_t)atoi(argv[6]);
	if (rounds < 1 || b2f_encoder_new(&enc))
		judge_fail("no rounds, or no memory");
	run(&judge, enc, &options, &src, rounds);
	b2f_encoder_free(enc);
	free(src.data);
	return 0;
}
