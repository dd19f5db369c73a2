/* SPDX-License-Identifier: BSD-3-Clause */
/* test_patch.c - a chunk is changed block by block, and reads as it should */
#include "tests/support/patch_work.h"

TestSuite(patch, .init = patch_setup, .fini = patch_teardown);

static const unsigned int codecs[] = {
	B2F_CODEC_BLOSCLZ, B2F_CODEC_LZ4,  B2F_CODEC_LZ4HC,
	B2F_CODEC_ZLIB,	   B2F_CODEC_ZSTD,
};

static const struct b2f_pipeline pipelines[] = {
	{{0}, {0}},
	{{0, 0, 0, 0, 0, 1}, {0}},
	{{1, 0, 0, 0, 0, 0}, {3, 0, 0, 0, 0, 0}},
	{{0, 0, 0, 0, 0, 2}, {0}},
	{{0, 0, 0, 0, 1, 35}, {0}},
	{{2, 0, 1, 0, 35, 0}, {0, 0, 3, 0, 5, 0}},
};
#define PIPELINES (sizeof(pipelines) / sizeof(*pipelines))

/*
 * Changes a byte, the border of two blocks, a whole block, the short last
 * block.
 */
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
	/* Chunks that did not shrink have another test. */
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
	/* Streams do not tell their level, so another one is no obstacle. */
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

Test(patch, a_damaged_block_is_not_copied)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 8);
	uint32_t at;
	struct work w;

	for (int sealed = 0; sealed < 2; sealed++) {
		begin(&w, &options, 70000, sealed);
		change(&w, 100, 10, 1);
		expect_patched(&w);
		/* The first stream of the block is longer than all its data. */
		at = b2f_chunk_block_start(&w.chunk.blocks, 4);
		b2f_store_le32(w.raw + at, 8193);
		expect_refused(&w, B2F_ECORRUPT);
		/* Blocks that are replaced as a whole do not matter. */
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
		/* Damages a stream, most likely its literals. */
		w.raw[b2f_chunk_block_start(&w.chunk.blocks, block) + 200] ^= 1;
		expect_refused(&w, B2F_ECORRUPT);
		end(&w);
	}
}

/* Flips every bit of the stored bytes: no overrun, no wrong success. */
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

/* Resizes the data of @w to @size bytes; bytes behind the old end are new. */
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

/* Is the filter left out, because of bytes behind the last channel? */
static bool goes_without_bytedelta(const struct b2f_encode_options *options,
				   uint32_t nbytes)
{
	const struct b2f_pipeline *pipeline = &options->pipeline;
	uint32_t last = nbytes % options->blocksize, n;

	for (unsigned int i = 0; i < B2F_FILTER_SLOTS; i++) {
		n = pipeline->meta[i] ? pipeline->meta[i] : options->typesize;
		if (pipeline->filter[i] == B2F_FILTER_BYTEDELTA &&
		    (options->blocksize % n || last % n))
			return true;
	}
	return false;
}

static void check_resized(const struct b2f_encode_options *options,
			  uint32_t before, uint32_t after, bool sealed)
{
	uint32_t block = options->blocksize;
	uint32_t least = before < after ? before : after, cbytes;
	struct work w;
	int err = 0;

	begin(&w, options, before, sealed);
	/* Chunks that did not shrink have another test. */
	if (!w.chunk.header.memcpyed) {
		resize(&w, after);
		if (goes_without_bytedelta(options, before) !=
		    goes_without_bytedelta(options, after)) {
			cr_assert_null(patched(&w, &cbytes, &err));
			cr_assert_eq(err, 0);
			goto out;
		}
		expect_patched(&w);
		cr_assert_leq(w.napply, (after - least) / block + 2);
		change(&w, 10, 5, 1);
		expect_patched(&w);
	}
out:
	end(&w);
}

/* From and to a border of blocks, and within a block. */
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
