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
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chunk/encode.h"

#define ROUNDS_DEFAULT 7

struct judge {
	int (*compress)(int clevel, int filter, int32_t typesize,
			const void *src, int32_t size, void *dst, int32_t room);
};

struct bytes {
	uint8_t *data;
	uint32_t size;
};

static void fail(const char *what)
{
	fprintf(stderr, "encode_bench: %s\n", what);
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

static struct judge load(const char *path, const char *codec)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*init)(void);
	int16_t (*set_nthreads)(int16_t);
	int (*set_compressor)(const char *name);
	struct judge judge;

	if (!lib)
		fail(dlerror());
	/* The way that POSIX shows to make a function of a void pointer. */
	*(void **)&init = symbol(lib, "blosc2_init");
	*(void **)&set_nthreads = symbol(lib, "blosc2_set_nthreads");
	*(void **)&set_compressor = symbol(lib, "blosc1_set_compressor");
	*(void **)&judge.compress = symbol(lib, "blosc2_compress");
	init();
	set_nthreads(1);
	if (set_compressor(codec) < 0)
		fail("C-Blosc2 has no such codec");
	return judge;
}

static struct bytes read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct bytes b;

	if (!f || fseek(f, 0, SEEK_END))
		fail(path);
	b.size = (uint32_t)ftell(f);
	rewind(f);
	b.data = malloc(b.size);
	if (!b.data || fread(b.data, 1, b.size, f) != b.size)
		fail(path);
	fclose(f);
	return b;
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
		const struct bytes *src, int rounds)
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
		fail("out of memory");
	for (int i = 0; i < rounds; i++) {
		start = now();
		if (b2f_chunk_encode(enc, options, src->data, src->size, dst,
				     room, &made, NULL))
			fail("we cannot encode it");
		ours[i] = mb / (now() - start);
		start = now();
		stock = judge->compress((int)options->clevel,
					options->pipeline.filter[5],
					(int32_t)options->typesize, src->data,
					(int32_t)src->size, dst, (int32_t)room);
		theirs[i] = mb / (now() - start);
		ratios[i] = ours[i] / theirs[i];
	}
	printf("%u %d %.3f  %.0f %.0f %.2f\n", made.cbytes, stock,
	       (double)made.cbytes / stock, median(ours, (size_t)rounds),
	       median(theirs, (size_t)rounds), median(ratios, (size_t)rounds));
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
	struct bytes src;
	int rounds;

	if (argc < 7)
		fail("usage: encode_bench LIBBLOSC2.so FILE TYPESIZE CODEC "
		     "CLEVEL FILTER [ROUNDS]");
	rounds = argc > 7 ? atoi(argv[7]) : ROUNDS_DEFAULT;
	judge = load(argv[1], argv[4]);
	src = read_all(argv[2]);
	options.typesize = (uint32_t)atoi(argv[3]);
	options.codec = code_of(argv[4]);
	options.clevel = (unsigned int)atoi(argv[5]);
	options.pipeline.filter[5] = (uint8_t)atoi(argv[6]);
	if (rounds < 1 || b2f_encoder_new(&enc))
		fail("no rounds, or no memory");
	run(&judge, enc, &options, &src, rounds);
	b2f_encoder_free(enc);
	free(src.data);
	return 0;
}
