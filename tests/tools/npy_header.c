/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npy_header.c - reads and writes .npy headers, for a test
 *
 * One request a line on stdin, one answer a line on stdout; bytes are hex, "-"
 * for none:
 *
 *   parse BYTES                       size order itemsize dtype shape
 *   write DTYPE ITEMSIZE SHAPE        the header
 *   descr DTYPE                       itemsize descr
 *   b2nd DESCR                        itemsize dtype
 *   plan ITEMSIZE CHUNK BLOCK SHAPE   chunkshape blockshape metalayer
 *
 * A SHAPE is like 3,4 or "-".  An answer starts with 0, or is only the error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/b2nd.h"
#include "array/npy.h"
#include "tests/support/dtype_text.h"

enum { MAX_WORDS = 6 };

struct bytes {
	uint8_t *data;
	size_t size;
};

/* With a 0 behind them, and malloc'ed so that sanitizers see the end. */
static struct bytes from_hex(const char *hex)
{
	struct bytes b = {.size = strcmp(hex, "-") ? strlen(hex) / 2 : 0};

	b.data = malloc(b.size + 1);
	if (!b.data)
		exit(1);
	for (size_t i = 0; i < b.size; i++) {
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			exit(1);
		b.data[i] = (uint8_t)byte;
	}
	b.data[b.size] = '\0';
	return b;
}

static void put_hex(const void *data, size_t size)
{
	const uint8_t *p = data;

	printf(size ? " " : " -");
	for (size_t i = 0; i < size; i++)
		printf("%02x", p[i]);
}

static unsigned int read_shape(char *text, int64_t *shape)
{
	unsigned int n = 0;

	if (!strcmp(text, "-"))
		return 0;
	for (char *p = strtok(text, ","); p; p = strtok(NULL, ","))
		if (n < B2F_ARRAY_MAX_DIM)
			shape[n++] = strtoll(p, NULL, 10);
	return n;
}

static void put_shape(const int64_t *shape, unsigned int n)
{
	printf(n ? " " : " -");
	for (unsigned int i = 0; i < n; i++)
		printf("%s%" PRId64, i ? "," : "", shape[i]);
}

static int parse(char **words)
{
	struct bytes raw = from_hex(words[1]);
	struct b2f_npy npy;
	int err = b2f_npy_parse(raw.data, raw.size, &npy);

	if (!err) {
		printf("0 %zu %d %" PRIu32, npy.size, npy.fortran_order,
		       npy.itemsize);
		put_hex(npy.dtype, strlen(npy.dtype));
		put_shape(npy.shape, npy.ndim);
		b2f_npy_fini(&npy);
	}
	free(raw.data);
	return err;
}

static int write_header(char **words)
{
	struct bytes dtype = from_hex(words[1]);
	struct b2f_array a = {.dtype = (char *)dtype.data};
	uint8_t *header;
	size_t size;
	int err;

	if (dtype.size == 0)
		a.dtype = NULL;
	a.itemsize = (uint32_t)strtoul(words[2], NULL, 10);
	a.ndim = read_shape(words[3], a.shape);
	err = b2f_npy_write(&a, &header, &size);
	if (!err) {
		printf("0");
		put_hex(header, size);
		free(header);
	}
	free(dtype.data);
	return err;
}

static int translate(char **words,
		     int run(const char *, size_t, char **, uint32_t *))
{
	struct bytes text = from_hex(words[1]);
	uint32_t itemsize;
	char *out;
	int err;

	err = run((const char *)text.data, text.size, &out, &itemsize);
	if (!err) {
		printf("0 %" PRIu32, itemsize);
		put_hex(out, strlen(out));
		free(out);
	}
	free(text.data);
	return err;
}

static void put_shape32(const int32_t *shape, unsigned int n)
{
	int64_t wide[B2F_ARRAY_MAX_DIM];

	for (unsigned int i = 0; i < n; i++)
		wide[i] = shape[i];
	put_shape(wide, n);
}

static int plan(char **words)
{
	int64_t shape[B2F_ARRAY_MAX_DIM];
	unsigned int ndim = read_shape(words[4], shape);
	struct b2f_array a;
	uint8_t *raw;
	size_t size;
	int err;

	err = b2f_array_plan(ndim, shape, (uint32_t)strtoul(words[1], NULL, 10),
			     strtoull(words[2], NULL, 10),
			     strtoull(words[3], NULL, 10), &a);
	if (!err)
		err = b2f_array_write(&a, &raw, &size);
	if (err)
		return err;
	printf("0");
	put_shape32(a.chunkshape, ndim);
	put_shape32(a.blockshape, ndim);
	put_hex(raw, size);
	free(raw);
	return 0;
}

static int answer(char **words, int n)
{
	if (n == 2 && !strcmp(words[0], "parse"))
		return parse(words);
	if (n == 4 && !strcmp(words[0], "write"))
		return write_header(words);
	if (n == 2 && !strcmp(words[0], "descr"))
		return translate(words, dtype_text_to_descr);
	if (n == 2 && !strcmp(words[0], "b2nd"))
		return translate(words, dtype_text_from_descr);
	if (n == 5 && !strcmp(words[0], "plan"))
		return plan(words);
	fprintf(stderr, "npy_header: bad request\n");
	exit(1);
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		char *words[MAX_WORDS] = {NULL}, *rest;
		int n = 0, err;

		for (char *p = strtok_r(line, " \n", &rest); p && n < MAX_WORDS;
		     p = strtok_r(NULL, " \n", &rest))
			words[n++] = p;
		err = answer(words, n);
		if (err)
			printf("%d", err);
		printf("\n");
	}
	free(line);
	return 0;
}
