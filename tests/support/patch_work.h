/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patch_work.h - a chunk to be changed block by block
 *
 * For a suite with patch_setup() and patch_teardown().
 */
#ifndef B2F_TESTS_PATCH_WORK_H
#define B2F_TESTS_PATCH_WORK_H

#include <criterion/criterion.h>

#include "base/bytes.h"
#include "chunk/patch.h"
#include "tests/unit/exact.h"

#define TAG (B2F_TAG_MIN + 5)

static struct b2f_encoder *enc;
static struct b2f_decoder *dec;

static inline void patch_setup(void)
{
	cr_assert_eq(b2f_encoder_new(&enc), 0);
	cr_assert_eq(b2f_decoder_new(&dec), 0);
}

static inline void patch_teardown(void)
{
	b2f_encoder_free(enc);
	b2f_decoder_free(dec);
}

/* A chunk, its seal, and its data before and after the change. */
struct work {
	struct b2f_encode_options options;
	uint32_t size;
	uint8_t *before;
	uint8_t *after;
	/* For each byte of the chunk: is it changed? */
	uint8_t *mask;
	uint8_t *raw;
	uint32_t cbytes;
	uint8_t *tail;
	struct b2f_chunk chunk;
	struct b2f_seal seal;
	/* Calls of apply(), and calls of part() that returned NONE. */
	unsigned int napply;
	unsigned int nnone;
};

/* Growing numbers, on which every codec and filter has an effect. */
static inline void make_data(struct work *w)
{
	uint32_t t = w->options.typesize, width = t > 1 && t < 8 ? t : 8;
	uint64_t item = 1000, seed = 3;

	w->before = exact_new(w->size, 0);
	for (uint32_t i = 0; i < w->size; i++) {
		item += i % width ? 0 : exact_random(&seed) % 7;
		w->before[i] = (uint8_t)(item >> i % width * 8);
	}
	w->after = exact_copy(w->before, w->size);
	w->mask = exact_new(w->size, 0);
}

static inline void open_chunk(struct work *w)
{
	const struct b2f_chunk_context context = {.typesize =
							  w->options.typesize};
	struct b2f_why why = {""};

	cr_assert_eq(b2f_chunk_open(w->raw, w->cbytes, w->cbytes, &context,
				    &w->chunk, &why),
		     0, "%s", why.text);
}

static inline void add_seal(struct work *w)
{
	size_t n = b2f_seal_size(&w->chunk);
	struct b2f_sealed stored = {
		.head = w->raw, .nbytes = w->cbytes + n, .tag = TAG};

	w->tail = exact_new(n, 0);
	cr_assert_eq(b2f_seal_make(&w->chunk, w->raw, TAG, w->tail, NULL), 0);
	stored.tail = b2f_bytes_at(w->tail, n);
	cr_assert_eq(b2f_seal_open(&w->chunk, &stored, &w->seal, NULL), 0);
	cr_assert_not_null(w->seal.sums);
}

static inline void begin(struct work *w, const struct b2f_encode_options *options,
			 uint32_t size, bool sealed)
{
	size_t room = b2f_chunk_encode_bound(size);
	uint8_t *dst = exact_new(room, 0xdd);
	struct b2f_encoded made;

	*w = (struct work){.options = *options, .size = size};
	make_data(w);
	cr_assert_eq(b2f_chunk_encode(enc, options,
				      b2f_bytes_at(w->before, size),
				      b2f_room_at(dst, room), &made, NULL),
		     0);
	w->cbytes = made.cbytes;
	w->raw = exact_copy(dst, made.cbytes);
	free(dst);
	open_chunk(w);
	if (sealed)
		add_seal(w);
}

static inline void end(struct work *w)
{
	free(w->before);
	free(w->after);
	free(w->mask);
	free(w->raw);
	free(w->tail);
}

static inline void change(struct work *w, uint32_t off, uint32_t n, uint64_t seed)
{
	for (uint32_t i = off; i < off + n; i++) {
		w->after[i] = (uint8_t)exact_random(&seed);
		w->mask[i] = 1;
	}
}

static inline enum b2f_patch_part part(void *arg, uint32_t off, uint32_t size)
{
	struct work *w = arg;
	uint32_t n = 0;

	cr_assert_leq(off + size, w->size);
	for (uint32_t i = off; i < off + size; i++)
		n += w->mask[i];
	w->nnone += n == 0;
	if (n == 0)
		return B2F_PATCH_NONE;
	return n == size ? B2F_PATCH_ALL : B2F_PATCH_SOME;
}

static inline void apply(void *arg, uint32_t off, uint32_t size, uint8_t *data)
{
	struct work *w = arg;

	w->napply++;
	for (uint32_t i = 0; i < size; i++) {
		if (w->mask[off + i])
			data[i] = w->after[off + i];
	}
}

/* Patches into a buffer of exact size; NULL if that was refused. */
static inline uint8_t *patched(struct work *w, uint32_t *cbytes, int *err)
{
	const struct b2f_patch patch = {
		.chunk = &w->chunk,
		.raw = w->raw,
		.seal = &w->seal,
		.dec = dec,
		.nbytes = w->size,
		.part = part,
		.apply = apply,
		.arg = w,
	};
	uint8_t *dst = exact_new(b2f_chunk_encode_bound(w->size), 0xdd);
	struct b2f_why why = {""};
	uint8_t *raw = NULL;

	*cbytes = 0;
	w->napply = w->nnone = 0;
	*err = b2f_patch_encode(enc, &w->options, &patch, dst, cbytes, &why);
	cr_assert(!*err || why.text[0]);
	if (!*err && *cbytes)
		raw = exact_copy(dst, *cbytes);
	free(dst);
	return raw;
}

/* Checks the decoded chunk, unit by unit and as a whole. */
static inline void expect_decoded(const struct work *w, const uint8_t *raw,
				  const struct b2f_chunk *chunk)
{
	uint8_t *got = exact_new(w->size, 0xee), *one;
	struct b2f_why why = {""};
	uint32_t off = 0, size = 0, n;

	cr_assert_eq(b2f_chunk_decode_all(chunk, dec, raw, got, &why), 0, "%s",
		     why.text);
	cr_assert_eq(memcmp(got, w->after, w->size), 0);
	for (uint32_t i = 0; i < chunk->nunits; i++) {
		n = b2f_chunk_unit_nbytes(chunk, i);
		one = exact_new(n, 0xee);
		cr_assert_eq(b2f_chunk_unit_extent(chunk, i, &off, &size, &why),
			     0);
		cr_assert_eq(b2f_chunk_decode_unit(chunk, dec,
						   &(struct b2f_stored_unit){
							   .unit = i,
							   .data = raw + off,
							   .size = size},
						   one, &why),
			     0, "%s", why.text);
		cr_assert_eq(memcmp(one, got + i * chunk->unit_size, n), 0);
		free(one);
	}
	free(got);
}

/* The patched chunk is like a newly encoded one, and gives w->after. */
static inline void expect_patched(struct work *w)
{
	const struct b2f_chunk_context context = {.typesize =
							  w->options.typesize};
	struct b2f_why why = {""};
	struct b2f_chunk chunk;
	uint32_t cbytes = 0;
	uint8_t *raw, *seal;
	int err = 0;

	raw = patched(w, &cbytes, &err);
	cr_assert_eq(err, 0);
	cr_assert_not_null(raw);
	cr_assert_eq(
		b2f_chunk_open(raw, cbytes, cbytes, &context, &chunk, &why), 0,
		"%s", why.text);
	cr_assert_eq(chunk.header.cbytes, cbytes);
	cr_assert_eq(chunk.header.nbytes, w->size);
	cr_assert_eq(chunk.header.version, 5);
	cr_assert_eq(chunk.header.blocksize, w->chunk.header.blocksize);
	cr_assert_eq(chunk.ndoubts, 0);
	expect_decoded(w, raw, &chunk);
	seal = exact_new(b2f_seal_size(&chunk), 0);
	cr_assert_eq(b2f_seal_make(&chunk, raw, TAG, seal, &why), 0, "%s",
		     why.text);
	free(seal);
	free(raw);
}

/* The patch is refused with @want: left to the encoder, or an error. */
static inline void expect_refused(struct work *w, int want)
{
	uint32_t cbytes = 0;
	int err = 0;

	cr_assert_null(patched(w, &cbytes, &err));
	cr_assert_eq(err, want, "%d, not %d", err, want);
}

static inline struct b2f_encode_options options_of(unsigned int codec,
						   uint32_t typesize)
{
	return (struct b2f_encode_options){
		.typesize = typesize,
		.codec = codec,
		.clevel = 5,
		.blocksize = 8192,
		.pipeline = {{0, 0, 0, 0, 0, B2F_FILTER_SHUFFLE}, {0}},
	};
}

#endif
