/* SPDX-License-Identifier: BSD-3-Clause */
/* test_patch_left.c - chunks that are encoded anew, not block by block */
#include "tests/support/patch_work.h"

TestSuite(patch_left, .init = patch_setup, .fini = patch_teardown);

Test(patch_left, other_settings_are_left_to_the_encoder)
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

/* Expects that a patch of @w is refused while the byte at @off is @value. */
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

Test(patch_left, other_kinds_of_chunks_are_left_to_the_encoder)
{
	struct b2f_encode_options options = options_of(B2F_CODEC_LZ4, 4);
	struct work w;

	options.split = B2F_SPLIT_NEVER;
	begin(&w, &options, 70000, false);
	change(&w, 100, 100, 1);
	/* Other version; special chunk; header of Blosc1. */
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
	/* A dictionary, with room for it. */
	b2f_store_le32(w.raw + w.chunk.blocks.start, 8);
	expect_refused_with(&w, 31, 0x01);
	/* Delta: each block needs the first; also if new chunks shall have it. */
	w.options.pipeline.filter[4] = B2F_FILTER_DELTA;
	expect_refused_with(&w, 16 + 4, B2F_FILTER_DELTA);
	end(&w);
}

Test(patch_left, special_and_flat_chunks_are_left_to_the_encoder)
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

Test(patch_left, a_doubtful_block_size_is_left_to_the_encoder)
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

Test(patch_left, what_does_not_shrink_is_left_to_the_encoder)
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

Test(patch_left, zeros_are_left_to_the_encoder)
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
