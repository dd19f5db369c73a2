/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * judge.h - C-Blosc2 from the Python wheel, and a clock, for measurements
 */
#ifndef B2F_TESTS_JUDGE_H
#define B2F_TESTS_JUDGE_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct judge_bytes {
	uint8_t *data;
	size_t size;
};

_Noreturn static inline void judge_fail(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static inline double judge_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void *judge_symbol(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p)
		judge_fail(name);
	return p;
}

/* Loads the library and makes it work on one thread. */
static inline void *judge_load(const char *path)
{
	/* DEEPBIND: with the codec libraries it brings, not with ours. */
	void *lib = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	int16_t (*set_nthreads)(int16_t);
	void (*init)(void);

	if (!lib)
		judge_fail(dlerror());
	/* POSIX's way to convert a void pointer to a function. */
	*(void **)&init = judge_symbol(lib, "blosc2_init");
	*(void **)&set_nthreads = judge_symbol(lib, "blosc2_set_nthreads");
	init();
	set_nthreads(1);
	return lib;
}

static inline struct judge_bytes judge_read(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct judge_bytes b;

	if (!f || fseek(f, 0, SEEK_END))
		judge_fail(path);
	b.size = (size_t)ftell(f);
	rewind(f);
	b.data = malloc(b.size);
	if (!b.data || fread(b.data, 1, b.size, f) != b.size)
		judge_fail(path);
	fclose(f);
	return b;
}

static inline int judge_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the @n @values, which it sorts. */
static inline double judge_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), judge_by_value);
	return values[n / 2];
}

#endif
