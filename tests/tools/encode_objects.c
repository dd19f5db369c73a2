/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode_objects.c - encodes chunks for a test that lets C-Blosc2 read them
 *
 * Standard input has requests, one line of 18 numbers
 *
 *   nbytes typesize codec clevel split blocksize
 *   filter (6 times) meta (6 times)
 *
 * each followed by nbytes bytes of data.  For each it writes two int64 (machine
 * order), the length of the chunk and 1 if codec or filters were replaced, and
 * the chunk, sealed: C-Blosc2 has to ignore what follows its cbytes, which is
 * less than the length by the seal.  All zeros give a chunk that repeats a
 * value.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "chunk/encode.h"
#include "chunk/seal.h"

struct request {
	uint32_t nbytes;
	struct b2f_encode_options options;
};

static void fail(const char *what)
{
	fprintf(stderr, "encode_objects: %s\n", what);
	exit(1);
}

static unsigned int read_number(void)
{
	unsigned int n = 0;

	if (scanf("%u", &n) != 1)
		fail("a number is missing");
	return n;
}

static bool read_request(struct request *r)
{
	struct b2f_encode_options *o = &r->options;

	*r = (struct request){0};
	if (scanf("%" SCNu32, &r->nbytes) != 1)
		return false;
	o->typesize = read_number();
	o->codec = read_number();
	o->clevel = read_number();
	o->split = (enum b2f_split)read_number();
	o->blocksize = read_number();
	for (unsigned int i = 0; i < B2F_FILTER_SLOTS; i++)
		o->pipeline.filter[i] = (uint8_t)read_number();
	for (unsigned int i = 0; i < B2F_FILTER_SLOTS; i++)
		o->pipeline.meta[i] = (uint8_t)read_number();
	if (getchar() != '\n')
		fail("no end of line");
	return true;
}

static void *need(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		fail("out of memory");
	return p;
}

/* Writes length, mark, chunk and seal. */
static void answer(const uint8_t *raw, const struct b2f_encoded *made)
{
	const struct b2f_chunk_context context = {0};
	int64_t head[2] = {made->cbytes, made->substituted};
	struct b2f_chunk chunk;
	uint8_t *seal;
	size_t size;

	if (b2f_chunk_open(raw, made->cbytes, made->cbytes, &context, &chunk,
			   NULL))
		fail("we cannot open our chunk");
	size = b2f_seal_size(&chunk);
	seal = need(size);
	if (b2f_seal_make(&chunk, raw, 0, seal, NULL))
		fail("we cannot seal our chunk");
	head[0] += (int64_t)size;
	fwrite(head, sizeof(head), 1, stdout);
	fwrite(raw, 1, made->cbytes, stdout);
	fwrite(seal, 1, size, stdout);
	free(seal);
}

static void serve(struct b2f_encoder *enc, const struct request *r)
{
	size_t room = b2f_chunk_encode_bound(r->nbytes);
	uint8_t *src = need(r->nbytes), *dst = need(room);
	struct b2f_why why = {""};
	struct b2f_encoded made;
	int err;

	if (fread(src, 1, r->nbytes, stdin) != r->nbytes)
		fail("data are missing");
	err = b2f_chunk_encode(enc, &r->options, src, r->nbytes, dst, room,
			       &made, &why);
	if (!err && made.zeros)
		err = b2f_chunk_encode_value(&r->options, r->nbytes, NULL, 0,
					     dst, &made.cbytes, &why);
	if (err)
		fail(why.text);
	answer(dst, &made);
	free(src);
	free(dst);
}

int main(void)
{
	struct b2f_encoder *enc = NULL;
	struct request r;

	if (b2f_encoder_new(&enc))
		fail("out of memory");
	while (read_request(&r))
		serve(enc, &r);
	b2f_encoder_free(enc);
	return fflush(stdout) ? 1 : 0;
}
