/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode_bench.c - decodes one chunk with libb2frame and with C-Blosc2 in turn
 *
 *   decode_bench LIBBLOSC2.so CHUNK [ROUNDS]
 *
 * Both decode into a warm buffer on one thread.  Prints the median of the
 * rounds: our GB/s, theirs, and the median of the ratios of neighbouring
 * rounds, which is what a noisy machine leaves of the truth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk.h"
#include "tests/support/judge.h"

#define ROUNDS_DEFAULT 41
/* One round decodes about this much, so that it is above the clock's grain. */
#define ROUND_BYTES (32u << 20)

struct judge {
	int (*decompress)(const void *src, int32_t size, void *dst,
			  int32_t room);
};

static struct judge load(const char *path)
{
	struct judge judge;

	*(void **)&judge.decompress =
		judge_symbol(judge_load(path), "blosc2_decompress");
	return judge;
}

static double time_ours(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
			const uint8_t *raw, uint8_t *dst, int times)
{
	double start = judge_now();

	for (int i = 0; i < times; i++)
		if (b2f_chunk_decode_all(chunk, dec, raw, dst, NULL))
			judge_fail("we cannot decode it");
	return judge_now() - start;
}

static double time_theirs(const struct judge *judge,
			  const struct judge_bytes *raw, uint8_t *dst,
			  int32_t n, int times)
{
	double start = judge_now();

	for (int i = 0; i < times; i++)
		if (judge->decompress(raw->data, (int32_t)raw->size, dst, n) !=
		    n)
			judge_fail("C-Blosc2 cannot decode it");
	return judge_now() - start;
}

int main(int argc, char **argv)
{
	const struct b2f_chunk_context context = {0};
	int rounds = argc > 3 ? atoi(argv[3]) : ROUNDS_DEFAULT;
	double *ours, *theirs, *ratios, gb;
	struct b2f_decoder *dec = NULL;
	struct b2f_chunk chunk;
	struct judge judge;
	struct judge_bytes raw;
	uint8_t *a, *b;
	size_t n;
	int times;

	if (argc < 3 || rounds < 1)
		judge_fail("usage: decode_bench LIBBLOSC2.so CHUNK [ROUNDS]");
	judge = load(argv[1]);
	raw = judge_read(argv[2]);
	if (b2f_chunk_open(raw.data, raw.size, raw.size, &context, &chunk,
			   NULL) ||
	    b2f_decoder_new(&dec))
		judge_fail("bad chunk");
	n = chunk.header.nbytes;
	a = malloc(n);
	b = malloc(n);
	ours = calloc((size_t)rounds, sizeof(double));
	theirs = calloc((size_t)rounds, sizeof(double));
	ratios = calloc((size_t)rounds, sizeof(double));
	times = (int)(ROUND_BYTES / n) + 1;
	gb = (double)n * times * 1e-9;
	for (int i = -1; i < rounds; i++) {
		double t1 = time_ours(&chunk, dec, raw.data, a, times);
		double t2 = time_theirs(&judge, &raw, b, (int32_t)n, times);

		if (i < 0)
			continue; /* the first round warms up */
		ours[i] = gb / t1;
		theirs[i] = gb / t2;
		ratios[i] = t2 / t1;
	}
	if (memcmp(a, b, n))
		judge_fail("the two disagree");
	printf("%.2f %.2f %.3f\n", judge_median(ours, (size_t)rounds),
	       judge_median(theirs, (size_t)rounds),
	       judge_median(ratios, (size_t)rounds));
	b2f_decoder_free(dec);
	free(raw.data);
	free(a);
	free(b);
	free(ours);
	free(theirs);
	free(ratios);
	return 0;
}
