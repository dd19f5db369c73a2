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
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chunk/chunk.h"

#define ROUNDS_DEFAULT 41
/* One round decodes about this much, so that it is above the clock's grain. */
#define ROUND_BYTES (32u << 20)

struct judge {
	int (*decompress)(const void *src, int32_t size, void *dst,
			  int32_t room);
};

static void fail(const char *what)
{
	fprintf(stderr, "decode_bench: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *symbol(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p)
		fail(name);
	return p;
}

static struct judge load(const char *path)
{
	/* DEEPBIND: with the codec libraries it brings, not with ours. */
	void *lib = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	void (*init)(void);
	int16_t (*set_nthreads)(int16_t);
	struct judge judge;

	if (!lib)
		fail(dlerror());
	/* The way that POSIX shows to make a function of a void pointer. */
	*(void **)&init = symbol(lib, "blosc2_init");
	*(void **)&set_nthreads = symbol(lib, "blosc2_set_nthreads");
	*(void **)&judge.decompress = symbol(lib, "blosc2_decompress");
	init();
	set_nthreads(1);
	return judge;
}

static uint8_t *read_chunk(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *raw;

	if (!f || fseek(f, 0, SEEK_END))
		fail(path);
	*size = (size_t)ftell(f);
	rewind(f);
	raw = malloc(*size);
	if (!raw || fread(raw, 1, *size, f) != *size)
		fail(path);
	fclose(f);
	return raw;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return values[n / 2];
}

static double time_ours(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
			const uint8_t *raw, uint8_t *dst, int times)
{
	double start = now();

	for (int i = 0; i < times; i++)
		if (b2f_chunk_decode_all(chunk, dec, raw, dst, NULL))
			fail("we cannot decode it");
	return now() - start;
}

static double time_theirs(const struct judge *judge, const uint8_t *raw,
			  size_t size, uint8_t *dst, int32_t n, int times)
{
	double start = now();

	for (int i = 0; i < times; i++)
		if (judge->decompress(raw, (int32_t)size, dst, n) != n)
			fail("C-Blosc2 cannot decode it");
	return now() - start;
}

int main(int argc, char **argv)
{
	const struct b2f_chunk_context context = {0};
	int rounds = argc > 3 ? atoi(argv[3]) : ROUNDS_DEFAULT;
	double *ours, *theirs, *ratios, gb;
	struct b2f_decoder *dec = NULL;
	struct b2f_chunk chunk;
	struct judge judge;
	uint8_t *raw, *a, *b;
	size_t size, n;
	int times;

	if (argc < 3 || rounds < 1)
		fail("usage: decode_bench LIBBLOSC2.so CHUNK [ROUNDS]");
	judge = load(argv[1]);
	raw = read_chunk(argv[2], &size);
	if (b2f_chunk_open(raw, size, size, &context, &chunk, NULL) ||
	    b2f_decoder_new(&dec))
		fail("bad chunk");
	n = chunk.header.nbytes;
	a = malloc(n);
	b = malloc(n);
	ours = calloc((size_t)rounds, sizeof(double));
	theirs = calloc((size_t)rounds, sizeof(double));
	ratios = calloc((size_t)rounds, sizeof(double));
	times = (int)(ROUND_BYTES / n) + 1;
	gb = (double)n * times * 1e-9;
	for (int i = -1; i < rounds; i++) {
		double t1 = time_ours(&chunk, dec, raw, a, times);
		double t2 =
			time_theirs(&judge, raw, size, b, (int32_t)n, times);

		if (i < 0)
			continue; /* the first round warms up */
		ours[i] = gb / t1;
		theirs[i] = gb / t2;
		ratios[i] = t2 / t1;
	}
	if (memcmp(a, b, n))
		fail("the two disagree");
	printf("%.2f %.2f %.3f\n", median(ours, (size_t)rounds),
	       median(theirs, (size_t)rounds), median(ratios, (size_t)rounds));
	b2f_decoder_free(dec);
	free(raw);
	free(a);
	free(b);
	free(ours);
	free(theirs);
	free(ratios);
	return 0;
}
