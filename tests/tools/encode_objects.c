/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode_objects.c - encodes chunks for a test that lets C-Blosc2 read them
 *
 * usage: encode_objects [patch]
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
 *
 * With "patch" a line has a 19th number, and the data of each request are
 * followed by so many bytes of others: the chunk is made of the first and
 * patched to the second; the second number is 1 if that could be done, else it
 * is made of the second.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/encoder.h"
#include "chunk/patch.h"
#include "chunk/seal.h"

struct request {
	uint32_t nbytes;
	/* Size of the other data, with "patch". */
	uint32_t next_nbytes;
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

static bool read_request(struct request *r, bool patching)
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
	if (patching)
		r->next_nbytes = read_number();
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
static void answer(const uint8_t *raw, uint32_t cbytes, bool mark)
{
	const struct b2f_chunk_context context = {0};
	int64_t head[2] = {cbytes, mark};
	struct b2f_chunk chunk;
	uint8_t *seal;
	size_t size;

	if (b2f_chunk_open(raw, cbytes, cbytes, &context, &chunk, NULL))
		fail("we cannot open our chunk");
	size = b2f_seal_size(&chunk);
	seal = need(size);
	if (b2f_seal_make(&chunk, raw, B2F_TAG_MIN, seal, NULL))
		fail("we cannot seal our chunk");
	head[0] += (int64_t)size;
	fwrite(head, sizeof(head), 1, stdout);
	fwrite(raw, 1, cbytes, stdout);
	fwrite(seal, 1, size, stdout);
	free(seal);
}

static uint8_t *read_data(uint32_t n)
{
	uint8_t *data = need(n);

	if (fread(data, 1, n, stdin) != n)
		fail("data are missing");
	return data;
}

static void encode(struct b2f_encoder *enc, const struct request *r,
		   const uint8_t *src, uint32_t nbytes, uint8_t *dst,
		   struct b2f_encoded *made)
{
	size_t room = b2f_chunk_encode_bound(nbytes);
	struct b2f_why why = {""};
	int err;

	err = b2f_chunk_encode(enc, &r->options, b2f_bytes_at(src, nbytes),
			       b2f_room_at(dst, room), made, &why);
	if (!err && made->zeros)
		err = b2f_chunk_encode_value(&r->options, nbytes,
					     b2f_bytes_at(NULL, 0), dst,
					     &made->cbytes, &why);
	if (err)
		fail(why.text);
}

/* The data before and after. */
struct change {
	const uint8_t *before;
	const uint8_t *after;
	/* Bytes before. */
	uint32_t nbytes;
};

static enum b2f_patch_part part(void *arg, uint32_t off, uint32_t size)
{
	const struct change *c = arg;

	if (off + size > c->nbytes)
		return B2F_PATCH_SOME;
	if (!memcmp(c->before + off, c->after + off, size))
		return B2F_PATCH_NONE;
	return off / 4096 % 2 ? B2F_PATCH_SOME : B2F_PATCH_ALL;
}

static void apply(void *arg, uint32_t off, uint32_t size, uint8_t *data)
{
	const struct change *c = arg;

	memcpy(data, c->after + off, size);
}

/* Makes the chunk at @raw what @c says, at @dst; 0 if that cannot be done. */
static uint32_t patch(struct b2f_encoder *enc, const struct request *r,
		      const uint8_t *raw, uint32_t size, struct change *c,
		      uint8_t *dst)
{
	const struct b2f_chunk_context context = {0};
	const struct b2f_seal unsealed = {.sums = NULL};
	struct b2f_why why = {""};
	struct b2f_chunk chunk;
	struct b2f_patch p = {
		.chunk = &chunk,
		.raw = raw,
		.seal = &unsealed,
		.nbytes = r->next_nbytes,
		.part = part,
		.apply = apply,
		.arg = c,
	};
	uint32_t cbytes = 0;

	if (b2f_decoder_new(&p.dec) ||
	    b2f_chunk_open(raw, size, size, &context, &chunk, &why) ||
	    b2f_patch_encode(enc, &r->options, &p, dst, &cbytes, &why))
		fail(why.text);
	b2f_decoder_free(p.dec);
	return cbytes;
}

static void serve(struct b2f_encoder *enc, const struct request *r,
		  bool patching)
{
	size_t room = b2f_chunk_encode_bound(r->nbytes > r->next_nbytes
						     ? r->nbytes
						     : r->next_nbytes);
	uint8_t *src = read_data(r->nbytes), *dst = need(room);
	uint8_t *next = NULL, *patched = NULL;
	struct change change = {.before = src, .nbytes = r->nbytes};
	struct b2f_encoded made;
	uint32_t cbytes = 0;

	encode(enc, r, src, r->nbytes, dst, &made);
	if (patching) {
		change.after = next = read_data(r->next_nbytes);
		patched = need(room);
		cbytes = patch(enc, r, dst, made.cbytes, &change, patched);
		if (!cbytes)
			encode(enc, r, next, r->next_nbytes, dst, &made);
	}
	if (cbytes)
		answer(patched, cbytes, true);
	else
		answer(dst, made.cbytes, !patching && made.substituted);
	free(src);
	free(dst);
	free(next);
	free(patched);
}

int main(int argc, char **argv)
{
	bool patching = argc > 1 && !strcmp(argv[1], "patch");
	struct b2f_encoder *enc = NULL;
	struct request r;

	if (b2f_encoder_new(&enc))
		fail("out of memory");
	while (read_request(&r, patching))
		serve(enc, &r, patching);
	b2f_encoder_free(enc);
	return fflush(stdout) ? 1 : 0;
}
