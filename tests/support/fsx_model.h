/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsx_model.h - the model of the file of fsx.c, and the report of a difference
 *
 * Every function ends the program when it finds a difference.
 */
#ifndef B2F_TESTS_FSX_MODEL_H
#define B2F_TESTS_FSX_MODEL_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
	WRITE,
	APPEND,
	READ,
	MAPREAD,
	MAPWRITE,
	TRUNCATE,
	PUNCH,
	ZERO,
	SEEK,
	FSYNC,
	REOPEN,
	REMOUNT,
	KINDS
};

struct op {
	uint64_t number;
	enum kind kind;
	/* For TRUNCATE: the new size. */
	uint64_t off;
	uint64_t len;
	/* Makes the data, and all other random choices. */
	uint64_t seed;
};

struct fsx {
	const char *path;
	const char *remount;
	const char *final;
	uint64_t max;
	uint64_t max_op;
	uint64_t border;
	uint64_t ops;
	uint64_t every;
	bool check_all;
	unsigned int weight[KINDS];
	uint64_t rng;
	int fd;
	/* The same file again, with O_APPEND. */
	int end_fd;
	/* The expected contents; @max bytes, zeros behind @size. */
	uint8_t *model;
	uint64_t size;
	/* Buffer as large as @model. */
	uint8_t *buf;
	/* The last @nlog operations, a ring. */
	struct op *log;
	uint64_t nlog;
	uint64_t done;
	FILE *record;
	FILE *replay;
};

static void fail(const struct fsx *x, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* For the handler of SIGBUS. */
static const struct fsx *running;

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* A random number in [0, n), n > 0. */
static uint64_t below(struct fsx *x, uint64_t n)
{
	return next(&x->rng) % n;
}

/*
 * Fills @dst with noise, small numbers, one repeated byte, zeros, or zeros with
 * a few bytes.
 */
static void fill(uint8_t *dst, uint64_t len, uint64_t seed)
{
	uint64_t state = seed, what = seed % 5, value;

	for (uint64_t i = 0; i < len; i += sizeof(value)) {
		value = 0;
		if (what == 0)
			value = next(&state);
		else if (what == 1)
			value = (seed >> 8 & 0xffff) + i;
		else if (what == 2)
			value = (seed >> 8 & 0xff) * 0x0101010101010101u;
		else if (what == 4 && i % 256 == 0)
			value = seed;
		memcpy(dst + i, &value,
		       len - i < sizeof(value) ? len - i : sizeof(value));
	}
}

static const char *const names[KINDS] = {
	"write", "append", "read", "mapread", "mapwrite", "truncate",
	"punch", "zero",   "seek", "fsync",   "reopen",	  "remount"};

static void print_op(FILE *f, const struct op *op)
{
	fprintf(f, "%llu %s %llu %llu %llu\n", (unsigned long long)op->number,
		names[op->kind], (unsigned long long)op->off,
		(unsigned long long)op->len, (unsigned long long)op->seed);
}

static void write_final(const struct fsx *x)
{
	FILE *f = x->final ? fopen(x->final, "wb") : NULL;

	if (!x->final)
		return;
	if (!f || fwrite(x->model, 1, x->size, f) != x->size || fclose(f)) {
		perror(x->final);
		exit(1);
	}
}

static void fail(const struct fsx *x, const char *format, ...)
{
	uint64_t first = x->done > x->nlog ? x->done - x->nlog : 0;
	va_list args;

	fflush(stdout);
	fprintf(stderr, "fsx: the last operations:\n");
	for (uint64_t i = first; i < x->done; i++)
		print_op(stderr, &x->log[i % x->nlog]);
	fprintf(stderr, "fsx: %s: operation %llu, size %llu: ", x->path,
		(unsigned long long)x->done, (unsigned long long)x->size);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	if (x->record)
		fflush(x->record);
	write_final(x);
	exit(1);
}

/* fail() is not allowed in a handler, but the program ends here anyway. */
static void on_sigbus(int number)
{
	(void)number;
	fail(running, "SIGBUS in a mapped part");
}

/* Compares @got, read at @off, with the model. */
static void compare(const struct fsx *x, const uint8_t *got, uint64_t off,
		    uint64_t len, const char *how)
{
	const uint8_t *want = x->model + off;
	uint64_t first = 0, last = 0, count = 0;

	if (!memcmp(got, want, len))
		return;
	for (uint64_t i = 0; i < len; i++) {
		if (got[i] == want[i])
			continue;
		if (count++ == 0)
			first = i;
		last = i;
	}
	fail(x,
	     "%s [%llu, %llu): %llu bytes differ, from %llu (chunk %llu + "
	     "%llu) to %llu; first is %02x, not %02x",
	     how, (unsigned long long)off, (unsigned long long)(off + len),
	     (unsigned long long)count, (unsigned long long)(off + first),
	     (unsigned long long)((off + first) / x->border),
	     (unsigned long long)((off + first) % x->border),
	     (unsigned long long)(off + last), got[first], want[first]);
}

#endif
