/* SPDX-License-Identifier: BSD-3-Clause */
/* test_patch.c - a chunk is changed block by block, and reads as it should */
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "chunk/patch.h"
#include "tests/unit/exact.h"

#define TAG (B2F_TAG_MIN + 5)

static struct b2f_encoder *enc;
static struct b2f_decoder *dec;

static void setup(void)
{
	cr_assert_eq(b2f_encoder_new(&enc), 0);
	cr_assert_eq(b2f_decoder_new(&dec), 0);
}

static void teardown(void)
{
	b2f_encoder_free(enc);
	b2f_decoder_free(dec);
}

TestSuite(patch, .init = setup, .fini = teardown);

static const unsigned int codecs[] = {
	B2F_CODEC_BLOSCLZ, B2F_CODEC_LZ4,  B2F_CODEC_LZ4HC,
	B2F_CODEC_ZLIB,	   B2F_CODEC_ZSTD,
};

/* A chunk, its seal, and what is to become of it. */
struct work {
	struct b2f_encode_options options;
	uint32_t size;
	uint8_t *before;
	uint8_t *after;
	/* A byte for each byte: is it changed? */
	uint8_t *mask;
	uint8_t *raw;
	uint32_t cbytes;
	uint8_t *tail;
	struct b2f_chunk chunk;
	struct b2f_seal seal;
	/* Calls of apply(), and of part() that said NONE. */
	unsigned int napply;
	unsigned int nnone;
};

/* Numbers that grow, so that every codec and filter has something to do. */
static void make_data(struct work *w)
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

static void open_chunk(struct work *w)
{
	const struct b2f_chunk_context context = {.typesize =
							  w->options.typesize};
	struct b2f_why why = {""};

	cr_assert_eq(b2f_chunk_open(w->raw, w->cbytes, w->cbytes, &context,
				    &w->chunk, &why),
		     0, "%s", why.text);
}

static void add_seal(struct work *w)
{
	const struct b2f_seal_owner owner = {.tag = TAG};
	size_t n = b2f_seal_size(&w->chunk);

	w->tail = exact_new(n, 0);
	cr_assert_eq(b2f_seal_make(&w->chunk, w->raw, TAG, w->tail, NULL), 0);
	cr_assert_eq(b2f_seal_open(&w->chunk, w->raw, w->tail, n, w->cbytes + n,
				   &owner, &w->seal, NULL),
		     0);
	cr_assert_not_null(w->seal.sums);
}

static void begin(struct work *w, const struct b2f_encode_options *options,
		  uint32_t size, bool sealed)
{
	size_t room = b2f_chunk_encode_bound(size);
	uint8_t *dst = exact_new(room, 0xdd);
	struct b2f_encoded made;

	*w = (struct work){.options = *options, .size = size};
	make_data(w);
	cr_assert_eq(b2f_chunk_encode(enc, options, w->before, size, dst, room,
				      &made, NULL),
		     0);
	w->cbytes = made.cbytes;
	w->raw = exact_copy(dst, made.cbytes);
	free(dst);
	open_chunk(w);
	if (sealed)
		add_seal(w);
}

static void end(struct work *w)
{
	free(w->before);
	free(w->after);
	free(w->mask);
	free(w->raw);
	free(w->tail);
}

static void change(struct work *w, uint32_t off, uint32_t n, uint64_t seed)
{
	for (uint32_t i = off; i < off + n; i++) {
		w->after[i] = (uint8_t)exact_random(&seed);
		w->mask[i] = 1;
	}
}

static enum b2f_patch_part part(void *arg, uint32_t off, uint32_t size)
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

static void apply(void *arg, uint32_t off, uint32_t size, uint8_t *data)
{
	struct work *w = arg;

	w->napply++;
	for (uint32_t i = 0; i < size; i++) {
		if (w->mask[off + i])
			data[i] = w->after[off + i];
	}
}

/* Patches into a chunk of exact size; NULL if it could not. */
static uint8_t *patched(struct work *w, uint32_t *cbytes, int *err)
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

/* Unit by unit, and as a whole. */
static void expect_decoded(const struct work *w, const uint8_t *raw,
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
		cr_assert_eq(b2f_chunk_decode_unit(chunk, dec, i, raw + off,
						   size, NULL, one, &why),
			     0, "%s", why.text);
		cr_assert_eq(memcmp(one, got + i * chunk->unit_size, n), 0);
		free(one);
	}
	free(got);
}

/* The patched chunk is like one that was encoded, and gives w->after. */
static void expect_patched(struct work *w)
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

/* It is left to the encoder, or it is an error. */
static void expect_refused(struct work *w, int want)
{
	uint32_t cbytes = 0;
	int err = 0;

	cr_assert_null(patched(w, &cbytes, &err));
	cr_assert_eq(err, want, "%d, not %d", err, want);
}

static struct b2f_encode_options options_of(unsigned int codec,
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

static const struct b2f_pipeline pipelines[] = {
	{{0}, {0}},
	{{0, 0, 0, 0, 0, 1}, {0}},
	{{1, 0, 0, 0, 0, 0}, {3, 0, 0, 0, 0, 0}},
	{{0, 0, 0, 0, 0, 2}, {0}},
	{{0, 0, 0, 0, 1, 35}, {0}},
	{{2, 0, 1, 0, 35, 0}, {0, 0, 3, 0, 5, 0}},
};
#define PIPELINES (sizeof(pipelines) / sizeof(*pipelines))

/* A byte, the border of two blocks, a whole block, the short last one. */
static void change_here_and_there(struct work *w)
{
	uint32_t block = w->chunk.unit_size;

	change(w, 5, 1, 1);
	change(w, 3 * block - 100, 300, 2);
	change(w, 5 * block, block, 3);
	change(w, w->size - 1, 1, 4);
}

static void check(const struct b2f_encode_options *options, uint32_t size,
		  bool sealed)
{
	struct work w;

	begin(&w, options, size, sealed);
	/* Whatever did not shrink is another test. */
	if (!w.chunk.header.memcpyed) {
		change_here_and_there(&w);
		expect_patched(&w);
		cr_assert_eq(w.napply + w.nnone, w.chunk.nunits);
		cr_assert_leq(w.napply, 5);
	}
	end(&w);
}

Test(patch, every_codec_and_filter_comes_back)
{
	static const uint32_t types[] = {1, 2, 3, 4, 8, 12, 16, 17, 255, 300};

	for (size_t c = 0; c < 5; c++) {
		for (size_t p = 0; p < PIPELINES; p++) {
			for (size_t t = 0; t < 10; t++) {
				struct b2f_encode_options options =
					options_of(codecs[c], types[t]);

				options.pipeline = pipelines[p];
				check(&options, 70001, t % 2);
			}
		}
	}
}

Test(patch, every_split_and_last_block_comes_back)
{
	static const uint32_t sizes[] = {65536, 65537, 69632, 73727};
	static const uint32_t types[] = {1, 2, 4, 7, 8, 16, 32};

	for (unsigned int split = 0; split <= 4; split++) {
		for (size_t s = 0; s < 4; s++) {
			for (size_t t = 0; t < 7; t++) {
				struct b2f_encode_options options =
					options_of(B2F_CODEC_LZ4, types[t]);

				options.split = (enum b2f_split)split;
				check(&options, sizes[s], true);
				check(&options, sizes[s], false);
			}
		}
	}
}

Test(patch, blocks_that_do_not_change_keep_their_bytes)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 8);
	uint32_t cbytes = 0, before, now;
	uint8_t *raw;
	struct work w;
	int err;

	begin(&w, &options, 80000, true);
	change(&w, 20000, 10, 1);
	/* Another level is nothing that a stream tells of. */
	w.options.clevel = 9;
	raw = patched(&w, &cbytes, &err);
	cr_assert_not_null(raw);
	cr_assert_eq(w.napply, 1);
	for (uint32_t i = 0; i < w.chunk.nunits - 1; i++) {
		if (i == 2)
			continue;
		before = b2f_chunk_block_start(&w.chunk.blocks, i);
		now = b2f_load_le32(raw + 32 + 4 * (size_t)i);
		cr_assert_eq(
			memcmp(raw + now, w.raw + before,
			       b2f_chunk_block_start(&w.chunk.blocks, i + 1) -
				       before),
			0);
	}
	free(raw);
	end(&w);
}

Test(patch, blocks_in_any_order_with_gaps_are_found)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_ZSTD, 4);
	uint32_t n, at, start, end_of;
	struct work w;
	uint8_t *raw;

	begin(&w, &options, 70000, false);
	n = w.chunk.blocks.nblocks;
	raw = exact_new(w.cbytes + 3 * (size_t)n, 0xaa);
	memcpy(raw, w.raw, w.chunk.blocks.start);
	at = w.chunk.blocks.start;
	for (uint32_t i = n; i-- > 0;) {
		start = b2f_chunk_block_start(&w.chunk.blocks, i);
		end_of = i + 1 < n
				 ? b2f_chunk_block_start(&w.chunk.blocks, i + 1)
				 : w.cbytes;
		memcpy(raw + at, w.raw + start, end_of - start);
		b2f_store_le32(raw + 32 + 4 * (size_t)i, at);
		at += end_of - start + 3;
	}
	free(w.raw);
	w.raw = raw;
	w.cbytes = at;
	b2f_store_le32(raw + 12, at);
	open_chunk(&w);
	change_here_and_there(&w);
	expect_patched(&w);
	add_seal(&w);
	expect_patched(&w);
	end(&w);
}

Test(patch, all_blocks_or_none_may_change)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 8);
	struct work w;

	begin(&w, &options, 70000, true);
	expect_patched(&w);
	cr_assert_eq(w.napply, 0);
	memset(w.mask, 1, w.size);
	for (uint32_t i = 0; i < w.size; i++)
		w.after[i] = (uint8_t)(i / 1000);
	expect_patched(&w);
	cr_assert_eq(w.nnone, 0);
	end(&w);
}

Test(patch, other_settings_are_left_to_the_encoder)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 4);
	struct work w;

	begin(&w, &options, 70000, true);
	change(&w, 100, 100, 1);
	cr_assert(b2f_patch_fits(&w.options, &w.chunk, w.size));
	w.options.codec = B2F_CODEC_LZ4HC;
	w.options.split = B2F_SPLIT_ALWAYS;
	expect_patched(&w);
	w.options.codec = B2F_CODEC_ZSTD;
	expect_refused(&w, 0);
	w.options = options;
	w.options.blocksize = 16384;
	expect_refused(&w, 0);
	w.options = options;
	w.options.typesize = 8;
	expect_refused(&w, 0);
	w.options = options;
	w.options.split = B2F_SPLIT_NEVER;
	expect_refused(&w, 0);
	w.options = options;
	w.options.clevel = 0;
	expect_refused(&w, 0);
	w.options = options;
	w.options.pipeline.filter[5] = B2F_FILTER_BITSHUFFLE;
	expect_refused(&w, 0);
	w.options = options;
	w.options.pipeline.meta[5] = 2;
	expect_refused(&w, 0);
	w.options.clevel = 10;
	expect_refused(&w, -EINVAL);
	cr_assert(!b2f_patch_fits(&w.options, &w.chunk, w.size));
	end(&w);
}

/* The chunk of @w after the byte at @off of it became @value. */
static void expect_refused_with(struct work *w, uint32_t off, uint8_t value)
{
	uint8_t old = w->raw[off];

	w->raw[off] = value;
	open_chunk(w);
	expect_refused(w, 0);
	w->raw[off] = old;
	open_chunk(w);
	cr_assert(b2f_patch_fits(&w->options, &w->chunk, w->size));
}

Test(patch, other_kinds_of_chunks_are_left_to_the_encoder)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 4);
	struct work w;

	options.split = B2F_SPLIT_NEVER;
	begin(&w, &options, 70000, false);
	change(&w, 100, 100, 1);
	/* Version, zeros, as Blosc1 says it. */
	expect_refused_with(&w, 0, 4);
	expect_refused_with(&w, 31, 0x10);
	expect_refused_with(&w, 2, 0x30);
	/* Nine blocks of variable length. */
	b2f_store_le32(w.raw + 8, 9);
	w.raw[30] = 1;
	open_chunk(&w);
	expect_refused(&w, 0);
	w.raw[30] = 0;
	b2f_store_le32(w.raw + 8, options.blocksize);
	/* A dictionary, which there is room for. */
	b2f_store_le32(w.raw + w.chunk.blocks.start, 8);
	expect_refused_with(&w, 31, 0x01);
	end(&w);
	/* Delta: each block needs the first. */
	options.pipeline.filter[4] = B2F_FILTER_DELTA;
	begin(&w, &options, 70000, true);
	change(&w, 20000, 100, 1);
	expect_refused(&w, 0);
	end(&w);
}

Test(patch, special_and_flat_chunks_are_left_to_the_encoder)
{
	const struct b2f_chunk_context context = {.typesize = 4};
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 4);
	struct work w;

	options.clevel = 0;
	begin(&w, &options, 70000, true);
	cr_assert(w.chunk.header.memcpyed);
	w.options.clevel = 5;
	change(&w, 100, 100, 1);
	expect_refused(&w, 0);
	cr_assert_eq(b2f_chunk_open_special(B2F_SPECIAL_NAN, 70000, &context,
					    &w.chunk, NULL),
		     0);
	w.seal.sums = NULL;
	expect_refused(&w, 0);
	end(&w);
}

Test(patch, a_doubtful_block_size_is_left_to_the_encoder)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 1);
	struct work w;

	/* 9 blocks of 8001, or of 8000 if items have 8 bytes. */
	options.blocksize = 8001;
	begin(&w, &options, 71000, false);
	change(&w, 100, 100, 1);
	expect_patched(&w);
	w.options.typesize = 8;
	open_chunk(&w);
	cr_assert_gt(w.chunk.ndoubts, 0);
	expect_refused(&w, 0);
	w.options.typesize = 1;
	expect_refused(&w, 0);
	end(&w);
}

Test(patch, what_does_not_shrink_is_left_to_the_encoder)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 1);
	struct work w;

	begin(&w, &options, 70000, true);
	change(&w, 0, 65536, 9);
	expect_patched(&w);
	change(&w, 0, 70000, 9);
	expect_refused(&w, 0);
	end(&w);
}

Test(patch, zeros_are_left_to_the_encoder)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 8);
	struct work w;

	begin(&w, &options, 65536, true);
	memset(w.after, 0, w.size);
	memset(w.mask, 1, w.size - 1);
	w.after[w.size - 1] = w.before[w.size - 1] = 0;
	expect_refused(&w, 0);
	w.after[70] = 1;
	expect_patched(&w);
	end(&w);
}

Test(patch, a_damaged_block_is_not_copied)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 8);
	uint32_t at;
	struct work w;

	for (int sealed = 0; sealed < 2; sealed++) {
		begin(&w, &options, 70000, sealed);
		change(&w, 100, 10, 1);
		expect_patched(&w);
		/* Its first stream is longer than all its data. */
		at = b2f_chunk_block_start(&w.chunk.blocks, 4);
		b2f_store_le32(w.raw + at, 8193);
		expect_refused(&w, B2F_ECORRUPT);
		/* What is replaced as a whole does not matter. */
		change(&w, 4 * 8192, 8192, 2);
		expect_patched(&w);
		end(&w);
	}
}

Test(patch, damage_that_decodes_is_found_by_the_seal)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 1);
	struct work w;

	for (uint32_t block = 0; block < 2; block++) {
		begin(&w, &options, 70000, true);
		change(&w, 100, 10, 1);
		/* Literals, most likely: in any case not as they were. */
		w.raw[b2f_chunk_block_start(&w.chunk.blocks, block) + 200] ^= 1;
		expect_refused(&w, B2F_ECORRUPT);
		end(&w);
	}
}

/* Every bit of the stored bytes, changed: no overrun, no wrong success. */
Test(patch, any_damage_is_survived)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_BLOSCLZ, 4);
	struct b2f_chunk_context context = {.typesize = 4};
	uint32_t cbytes = 0;
	struct work w;
	int err = 0;

	options.blocksize = 4096;
	begin(&w, &options, 20000, false);
	change(&w, 5000, 10, 1);
	for (uint32_t i = 0; i < w.cbytes; i++) {
		for (unsigned int bit = 0; bit < 8; bit += 7) {
			w.raw[i] ^= (uint8_t)(1u << bit);
			if (!b2f_chunk_open(w.raw, w.cbytes, w.cbytes, &context,
					    &w.chunk, NULL) &&
			    w.chunk.header.nbytes == w.size)
				free(patched(&w, &cbytes, &err));
			w.raw[i] ^= (uint8_t)(1u << bit);
		}
	}
	end(&w);
}

/* @w is to have @size bytes, of which those behind the old end are new. */
static void resize(struct work *w, uint32_t size)
{
	uint8_t *after = exact_new(size, 0), *mask = exact_new(size, 1);
	uint32_t keep = size < w->size ? size : w->size;
	uint64_t seed = 9;

	memcpy(after, w->after, keep);
	memcpy(mask, w->mask, keep);
	for (uint32_t i = keep; i < size; i++)
		after[i] = (uint8_t)(exact_random(&seed) % 4);
	free(w->after);
	free(w->mask);
	w->after = after;
	w->mask = mask;
	w->size = size;
}

static void check_resized(const struct b2f_encode_options *options,
			  uint32_t before, uint32_t after, bool sealed)
{
	uint32_t block = options->blocksize;
	uint32_t least = before < after ? before : after;
	struct work w;

	begin(&w, options, before, sealed);
	/* Whatever did not shrink is another test. */
	if (!w.chunk.header.memcpyed) {
		resize(&w, after);
		expect_patched(&w);
		cr_assert_leq(w.napply, (after - least) / block + 2);
		change(&w, 10, 5, 1);
		expect_patched(&w);
	}
	end(&w);
}

/* From and to a border of two blocks, and within a block. */
Test(patch, a_chunk_that_grows_or_shrinks_keeps_its_blocks)
{
	static const uint32_t sizes[] = {65536, 65537, 66000, 73000, 73728,
					 90001};
	static const uint32_t types[] = {1, 4, 8, 17};

	for (size_t c = 0; c < 5; c++) {
		for (size_t i = 0; i < 36; i++) {
			struct b2f_encode_options options =
				options_of(codecs[c], types[i % 4]);

			options.pipeline = pipelines[(c + i) % PIPELINES];
			options.blocksize = 8192 / types[i % 4] * types[i % 4];
			check_resized(&options, sizes[i / 6], sizes[i % 6],
				      i % 2);
		}
	}
}
