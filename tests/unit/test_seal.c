/* SPDX-License-Identifier: BSD-3-Clause */
/* test_seal.c - damage found by seals, and chunks without seals */
#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>

#include "base/bytes.h"
#include "chunk/encoder.h"
#include "chunk/seal.h"
#include "tests/unit/exact.h"

#define TAG (B2F_TAG_MIN + 0x1234)

/* A sealed chunk file in memory. */
struct file {
	uint8_t *data;
	size_t size;
	uint32_t cbytes;
	uint32_t nbytes;
	/* The chunk id of its seal. */
	uint64_t id;
	uint32_t tag;
};

static const struct b2f_chunk_context bare;

static uint8_t *make_data(uint32_t nbytes)
{
	uint8_t *data = exact_noise(nbytes, 5);

	for (uint32_t i = 0; i < nbytes; i++)
		data[i] = i % 4 ? (uint8_t)(i / 64) : data[i] & 3;
	return data;
}

/* Seals the chunk of @cbytes at @raw, which it takes over. */
static struct file seal(uint8_t *raw, uint32_t cbytes)
{
	struct file f = {.cbytes = cbytes, .tag = TAG};
	struct b2f_why why = {""};
	struct b2f_chunk chunk;

	cr_assert_eq(b2f_chunk_open(raw, cbytes, cbytes, &bare, &chunk, &why),
		     0, "%s", why.text);
	f.nbytes = chunk.header.nbytes;
	f.size = cbytes + b2f_seal_size(&chunk);
	f.data = exact_new(f.size, 0);
	memcpy(f.data, raw, cbytes);
	cr_assert_eq(b2f_seal_make(&chunk, raw, TAG, f.data + cbytes, &why), 0,
		     "%s", why.text);
	free(raw);
	return f;
}

static struct file make(uint32_t nbytes, uint32_t blocksize,
			unsigned int clevel)
{
	struct b2f_encode_options options = {
		.typesize = 4,
		.codec = B2F_CODEC_LZ4,
		.clevel = clevel,
		.blocksize = blocksize,
		.pipeline = {{1}, {0}},
	};
	size_t room = b2f_chunk_encode_bound(nbytes);
	uint8_t *data = make_data(nbytes), *raw = exact_new(room, 0);
	struct b2f_encoder *enc = NULL;
	struct b2f_encoded made;

	cr_assert_eq(b2f_encoder_new(&enc), 0);
	cr_assert_eq(b2f_chunk_encode(enc, &options, b2f_bytes_at(data, nbytes),
				      b2f_room_at(raw, room), &made, NULL),
		     0);
	b2f_encoder_free(enc);
	free(data);
	return seal(raw, made.cbytes);
}

static struct file make_value(uint32_t nbytes, uint32_t width)
{
	struct b2f_encode_options options = {.typesize = width};
	uint8_t *value = exact_noise(width, 1);
	uint8_t *raw = exact_new(32 + width, 0);
	uint32_t cbytes = 0;

	cr_assert_eq(b2f_chunk_encode_value(&options, nbytes,
					    b2f_bytes_at(value, width), raw,
					    &cbytes, NULL),
		     0);
	free(value);
	return seal(raw, cbytes);
}

/* Reads unit by unit, as a reader does; checks each unit's seal first. */
static int read_units(const struct b2f_chunk *chunk,
		      const struct b2f_seal *sealed, const uint8_t *raw,
		      uint8_t *dst)
{
	struct b2f_decoder *dec = NULL;
	uint32_t off = 0, size = 0;
	int err;

	err = b2f_decoder_new(&dec);
	for (uint32_t i = 0; i < chunk->nunits && !err; i++) {
		err = b2f_chunk_unit_extent(chunk, i, &off, &size, NULL);
		if (!err)
			err = b2f_seal_check_unit(
				sealed, chunk,
				&(struct b2f_stored_unit){.unit = i,
							  .data = raw + off,
							  .size = size},
				NULL);
		if (!err)
			err = b2f_chunk_decode_unit(
				chunk, dec,
				&(struct b2f_stored_unit){.unit = i,
							  .data = raw + off,
							  .size = size,
							  .ref = dst},
				dst + (size_t)i * chunk->unit_size, NULL);
	}
	b2f_decoder_free(dec);
	return err;
}

/*
 * Reads @f as the file of the chunk with the tag @tag: the decoded bytes in
 * *@out, or an error.  *@is_sealed says whether there was a seal.
 */
static int read_file(const struct file *f, uint32_t tag, uint8_t **out,
		     bool *is_sealed)
{
	struct b2f_sealed stored = {
		.head = f->data, .nbytes = f->size, .id = f->id, .tag = tag};
	struct b2f_seal sealed;
	struct b2f_chunk chunk;
	size_t size;
	int err;

	*is_sealed = false;
	err = b2f_chunk_open(f->data, f->size, f->size, &bare, &chunk, NULL);
	if (err)
		return err;
	size = b2f_seal_size(&chunk);
	if (size > f->size)
		size = f->size;
	stored.tail = b2f_bytes_at(f->data + f->size - size, size);
	err = b2f_seal_open(&chunk, &stored, &sealed, NULL);
	if (err)
		return err;
	*is_sealed = sealed.sums != NULL;
	err = b2f_seal_check_all(&sealed, &chunk, f->data, NULL);
	if (err)
		return err;
	if (chunk.header.nbytes > 1 << 20)
		return -EFBIG;
	*out = exact_new(chunk.header.nbytes, 0xee);
	err = read_units(&chunk, &sealed, f->data, *out);
	if (!err && chunk.header.nbytes != f->nbytes)
		err = 1;
	if (err)
		free(*out);
	return err;
}

static void expect_whole(const struct file *f)
{
	OWN(free) uint8_t *got = NULL;
	bool sealed;

	cr_assert_eq(read_file(f, f->tag, &got, &sealed), 0);
	cr_assert(sealed);
}

/* Checks that every flip of one bit is found. */
static void expect_flips_found(struct file f)
{
	uint8_t *got = NULL;
	bool sealed;
	int err;

	expect_whole(&f);
	for (size_t bit = 0; bit < 8 * f.size; bit++) {
		f.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		err = read_file(&f, f.tag, &got, &sealed);
		cr_assert_lt(err, 0, "bit %zu of byte %zu of %zu (%u)", bit % 8,
			     bit / 8, f.size, f.cbytes);
		f.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(f.data);
}

Test(seal, every_flipped_bit_of_blocks_is_found)
{
	expect_flips_found(make(20000, 4096, 5));
}

Test(seal, every_flipped_bit_of_small_blocks_is_found)
{
	expect_flips_found(make(2000, 256, 5));
	expect_flips_found(make(1001, 0, 5));
}

Test(seal, every_flipped_bit_of_data_as_they_are_is_found)
{
	expect_flips_found(make(1000, 0, 0));
	expect_flips_found(make(5, 0, 0));
	expect_flips_found(make(0, 0, 0));
}

Test(seal, every_flipped_bit_of_a_value_is_found)
{
	/* Lengths that would fit another width as well. */
	expect_flips_found(make_value(24000, 8));
	expect_flips_found(make_value(1 << 16, 16));
	expect_flips_found(make_value(4096, 1));
}

Test(seal, large_data_as_they_are_have_parts)
{
	struct file f = make(600000, 0, 0);

	cr_assert_eq(f.size - f.cbytes, 4 * 3 + 16);
	expect_whole(&f);
	free(f.data);
}

Test(seal, another_tag_is_found)
{
	struct file f = make(5000, 0, 5);
	uint8_t *got = NULL;
	bool sealed;

	cr_assert_eq(read_file(&f, TAG + 1, &got, &sealed), B2F_ECORRUPT);
	free(f.data);
}

/* A chunk file with a seal of the earlier kind, without a tag, for id 2. */
static struct file read_untagged(void)
{
	const char *path = B2F_SOURCE_DIR
		"/tests/data/untagged.b2frame/00000002.chunk";
	struct file f = {.id = 2, .nbytes = 4096};
	uint8_t *raw = exact_new(8192, 0);
	FILE *file = fopen(path, "rb");

	cr_assert_not_null(file);
	f.size = fread(raw, 1, 8192, file);
	fclose(file);
	f.data = exact_copy(raw, f.size);
	f.cbytes = b2f_load_le32(raw + 12);
	free(raw);
	return f;
}

Test(seal, every_flipped_bit_is_found_by_seals_without_tags)
{
	expect_flips_found(read_untagged());
}

Test(seal, another_id_is_found_by_seals_without_tags)
{
	struct file f = read_untagged();
	uint8_t *got = NULL;
	bool sealed;

	f.id = 3;
	cr_assert_eq(read_file(&f, 0, &got, &sealed), B2F_ECORRUPT);
	f.id = 2;
	/* The index names a tag, so this file is the wrong one. */
	cr_assert_eq(read_file(&f, TAG, &got, &sealed), B2F_ECORRUPT);
	free(f.data);
}

Test(seal, a_seal_that_the_index_names_has_to_be_there)
{
	struct file f = make(5000, 1024, 5);
	uint8_t *got = NULL;
	bool sealed;

	f.size = f.cbytes;
	cr_assert_eq(read_file(&f, 0, &got, &sealed), 0);
	free(got);
	cr_assert_eq(read_file(&f, TAG, &got, &sealed), B2F_ECORRUPT);
	free(f.data);
}

Test(seal, without_a_seal_there_is_nothing_to_say)
{
	struct file f = make(5000, 1024, 5);
	uint8_t *got = NULL, *want;
	bool sealed;

	want = make_data(5000);
	/* No seal, then a part of a seal, which is none. */
	for (size_t more = 0; more < 20; more += 19) {
		struct file cut = f;

		cut.size = f.cbytes + more;
		cr_assert_eq(read_file(&cut, 0, &got, &sealed), 0);
		cr_assert_not(sealed);
		cr_assert_eq(memcmp(got, want, 5000), 0);
		free(got);
	}
	free(want);
	free(f.data);
}

Test(seal, data_that_end_like_a_seal_are_data)
{
	/* A sealed file as the uncompressed data of a chunk without a seal. */
	struct file inner = make(5, 0, 0), outer;
	struct b2f_encode_options options = {.typesize = 1};
	struct b2f_encoder *enc = NULL;
	struct b2f_encoded made;
	uint8_t *got = NULL;
	bool sealed;

	outer.size = b2f_chunk_encode_bound((uint32_t)inner.size);
	outer.data = exact_new(outer.size, 0);
	outer.nbytes = (uint32_t)inner.size;
	cr_assert_eq(b2f_encoder_new(&enc), 0);
	cr_assert_eq(b2f_chunk_encode(enc, &options,
				      b2f_bytes_at(inner.data, outer.nbytes),
				      b2f_room_at(outer.data, outer.size),
				      &made, NULL),
		     0);
	cr_assert_eq(made.cbytes, outer.size);
	cr_assert_eq(read_file(&outer, 0, &got, &sealed), 0);
	cr_assert_not(sealed);
	cr_assert_eq(memcmp(got, inner.data, inner.size), 0);
	b2f_encoder_free(enc);
	free(got);
	free(inner.data);
	free(outer.data);
}

Test(seal, what_takes_the_place_of_a_seal_has_to_be_one)
{
	struct file f = make(5000, 1024, 5);
	uint8_t *got = NULL;
	bool sealed;

	memset(f.data + f.cbytes, 0, f.size - f.cbytes);
	cr_assert_eq(read_file(&f, TAG, &got, &sealed), B2F_ECORRUPT);
	free(f.data);
}

Test(seal, a_doubtful_block_size_cannot_be_sealed)
{
	struct file f = make(5000, 1024, 5);
	const struct b2f_chunk_context context = {.typesize = 0};
	uint8_t sums[64];
	struct b2f_chunk chunk;

	cr_assert_eq(
		b2f_chunk_open(f.data, f.size, f.size, &context, &chunk, NULL),
		0);
	chunk.ndoubts = 1;
	cr_assert_eq(b2f_seal_make(&chunk, f.data, TAG, sums, NULL),
		     B2F_EUNSUPPORTED);
	free(f.data);
}

Test(seal, a_chunk_without_a_block_table_has_no_parts)
{
	/* Only with blocks of 1500 bytes is there room for the dictionary. */
	static const uint8_t raw[] = "\5\1\x35\4\xde\5\0\0\xde\5\0\0\x3b\0\0\0"
				     "\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\1"
				     "\x37\0\0\0\xff\xff\xff\xff\x0b\0\0\0"
				     "hello world\0\0\0";
	const uint8_t sums[4] = {0};
	const struct b2f_seal crafted = {.sums = sums, .nparts = 1};
	struct b2f_chunk chunk;

	cr_assert_eq(b2f_chunk_open(raw, sizeof(raw), sizeof(raw), &bare,
				    &chunk, NULL),
		     0);
	cr_assert_eq(b2f_seal_check_all(&crafted, &chunk, raw, NULL),
		     B2F_ECORRUPT);
}

/* The cbytes of the chunk in @dir/@name; NULL if it cannot be sealed. */
static uint8_t *read_golden(const char *dir, const char *name, uint32_t *cbytes)
{
	uint8_t *raw = exact_new(1 << 20, 0), *chunk_bytes = NULL;
	struct b2f_chunk chunk;
	char path[4096];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	cr_assert_not_null(f);
	size = fread(raw, 1, 1 << 20, f);
	fclose(f);
	if (!b2f_chunk_open(raw, size, size, &bare, &chunk, NULL) &&
	    !chunk.ndoubts) {
		*cbytes = chunk.header.cbytes;
		chunk_bytes = exact_copy(raw, *cbytes);
	}
	free(raw);
	return chunk_bytes;
}

/* Checks that the seal holds, until a byte of the last block changes. */
static void expect_parts(struct file *f)
{
	const struct b2f_sealed stored = {
		.head = f->data,
		.tail = {f->data + f->cbytes, f->size - f->cbytes},
		.nbytes = f->size,
		.tag = TAG};
	struct b2f_seal sealed;
	struct b2f_chunk chunk;

	cr_assert_eq(
		b2f_chunk_open(f->data, f->size, f->size, &bare, &chunk, NULL),
		0);
	cr_assert_eq(b2f_seal_open(&chunk, &stored, &sealed, NULL), 0);
	cr_assert_not_null(sealed.sums);
	cr_assert_eq(b2f_seal_check_all(&sealed, &chunk, f->data, NULL), 0);
	if (!sealed.nparts)
		return;
	f->data[f->cbytes - 1] ^= 1;
	cr_assert_eq(b2f_seal_check_all(&sealed, &chunk, f->data, NULL),
		     B2F_ECORRUPT);
}

/*
 * Chunks of every codec, with dictionaries, with blocks of any length, and
 * Blosc1.
 */
Test(seal, what_c_blosc2_wrote_can_be_sealed)
{
	const char *dir = B2F_SOURCE_DIR "/tests/data/golden/chunks";
	DIR *d = opendir(dir);
	unsigned int sealed = 0;
	struct dirent *entry;
	uint32_t cbytes = 0;
	uint8_t *raw;
	struct file f;

	cr_assert_not_null(d);
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		raw = read_golden(dir, entry->d_name, &cbytes);
		if (!raw)
			continue;
		f = seal(raw, cbytes);
		expect_parts(&f);
		sealed++;
		free(f.data);
	}
	closedir(d);
	cr_assert_gt(sealed, 90);
}
