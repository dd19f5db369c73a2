/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_chunk.c - any bytes as a chunk: decoded whole and unit by unit
 *
 * Neither may leave its buffers; where both succeed they agree.  The bytes
 * behind the chunk may be a seal.  The last four bytes of the input say what
 * frame the chunk is in, or are its tag.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/seal.h"
#include "tests/fuzz/fuzz_memory.h"

/* A crafted chunk may claim 2 GB; that it is refused is not what we test. */
#define NBYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The exact bytes that the unit is said to need, so that asan guards them. */
static int decode_unit(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
		       const uint8_t *raw, uint32_t unit, const uint8_t *ref,
		       uint8_t *dst)
{
	uint32_t off = 0, size = 0;
	uint8_t *stored;
	int err;

	err = b2f_chunk_unit_extent(chunk, unit, &off, &size, NULL);
	if (err)
		return err;
	stored = copy_of(raw + off, size);
	err = b2f_chunk_decode_unit(
		chunk, dec,
		&(struct b2f_stored_unit){
			.unit = unit, .data = stored, .size = size, .ref = ref},
		dst, NULL);
	free(stored);
	return err;
}

/* From the ranges that @e is said to need alone. */
static int decode_planned(const struct b2f_chunk *chunk,
			  struct b2f_decoder *dec, const uint8_t *raw,
			  struct b2f_excerpt *e, uint8_t *dst)
{
	struct b2f_excerpt_range ranges[B2F_EXCERPT_RANGES_MAX];
	size_t n = b2f_excerpt_ranges(chunk, e, ranges);
	uint8_t *stored = malloc(e->stored_size);
	int err;

	memset(stored, 0xdd, e->stored_size);
	for (size_t i = 0; i < n; i++)
		memcpy(stored + ranges[i].off,
		       raw + e->stored_off + ranges[i].off, ranges[i].size);
	err = b2f_excerpt_decode(chunk, dec, e, stored, dst);
	free(stored);
	return err;
}

static int decode_excerpt(const struct b2f_chunk *chunk,
			  struct b2f_decoder *dec, const uint8_t *raw,
			  struct b2f_excerpt *e, uint8_t *dst)
{
	int err = b2f_excerpt_plan(chunk, e) ? 1 : -1;

	while (err == 1 && e->nplain)
		err = decode_planned(chunk, dec, raw, e, dst);
	return err;
}

/* An excerpt never differs from its unit, and fails where the unit fails. */
static void decode_excerpts(const struct b2f_chunk *chunk,
			    struct b2f_decoder *dec, const uint8_t *raw,
			    uint32_t unit, const uint8_t *decoded)
{
	uint32_t nbytes = b2f_chunk_unit_nbytes(chunk, unit);
	uint32_t typesize = chunk->header.typesize;
	uint32_t size = typesize * (nbytes / typesize / 5 + 1);
	uint8_t *buf = malloc(size);

	for (uint32_t start = 0; start < nbytes; start += size) {
		struct b2f_excerpt e = {.unit = unit,
					.start = start,
					.size = size,
					.nplain = B2F_PLANES_MAX};

		if (!decode_excerpt(chunk, dec, raw, &e, buf) &&
		    (!decoded || memcmp(decoded + start, buf, size)))
			abort();
	}
	free(buf);
}

static void decode_units(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
			 const uint8_t *raw, const uint8_t *whole)
{
	uint8_t *buf = malloc(chunk->unit_size), *ref = NULL;

	for (uint32_t i = 0; i < chunk->nunits; i++) {
		size_t n = b2f_chunk_unit_nbytes(chunk, i);
		const uint8_t *at =
			whole ? whole + (size_t)i * chunk->unit_size : NULL;

		if (i > 0 && b2f_chunk_needs_ref(chunk) && !ref)
			break;
		if (decode_unit(chunk, dec, raw, i, ref, buf)) {
			decode_excerpts(chunk, dec, raw, i, NULL);
			continue;
		}
		decode_excerpts(chunk, dec, raw, i, buf);
		if (at && memcmp(at, buf, n))
			abort();
		if (i == 0) {
			ref = malloc(n);
			memcpy(ref, buf, n);
		}
	}
	free(ref);
	free(buf);
}

static void decode(const struct b2f_chunk *chunk, const uint8_t *raw)
{
	uint8_t *whole = malloc(chunk->header.nbytes + (size_t)1);
	struct b2f_decoder *dec = NULL;
	int err;

	if (b2f_decoder_new(&dec))
		abort();
	err = b2f_chunk_decode_all(chunk, dec, raw, whole, NULL);
	/* Many tiny units are slow, and teach nothing new. */
	if (chunk->nunits > 0 && chunk->nunits < 256)
		decode_units(chunk, dec, raw, err ? NULL : whole);
	b2f_decoder_free(dec);
	free(whole);
}

static void check_units(const struct b2f_seal *seal,
			const struct b2f_chunk *chunk, const uint8_t *raw)
{
	uint32_t off = 0, size = 0;

	for (uint32_t i = 0; i < chunk->nunits && i < 256; i++)
		if (!b2f_chunk_unit_extent(chunk, i, &off, &size, NULL))
			(void)!b2f_seal_check_unit(
				seal, chunk,
				&(struct b2f_stored_unit){.unit = i,
							  .data = raw + off,
							  .size = size},
				NULL);
}

/*
 * A crafted file may have any seal, but no fuzzer guesses one: so the parts get
 * the sums of a new seal, or, if that cannot be made, wrong ones.
 */
static void check_parts(const struct b2f_chunk *chunk, const uint8_t *raw)
{
	size_t size = b2f_seal_size(chunk);
	uint8_t *sums = calloc(1, size);
	struct b2f_seal seal = {.sums = sums};
	bool made = !b2f_seal_make(chunk, raw, B2F_TAG_MIN, sums, NULL);

	/* Behind the list stand the sum, the tag and the mark. */
	seal.nparts = (uint32_t)((size - 8 - B2F_SEAL_END_SIZE) / 4);
	if (b2f_seal_check_all(&seal, chunk, raw, NULL) && made)
		abort();
	check_units(&seal, chunk, raw);
	free(sums);
}

/* The @size bytes at @raw as a whole file. */
static void check_seal(const struct b2f_chunk *chunk, const uint8_t *raw,
		       size_t size, uint32_t tag)
{
	struct b2f_sealed stored = {
		.head = raw, .nbytes = size, .id = tag & 3, .tag = tag};
	size_t n = b2f_seal_size(chunk);
	struct b2f_seal seal;
	uint8_t *tail;

	n = n < size ? n : size;
	tail = malloc(n ? n : 1);
	memcpy(tail, raw + size - n, n);
	stored.tail = b2f_bytes_at(tail, n);
	if (!b2f_seal_open(chunk, &stored, &seal, NULL)) {
		(void)!b2f_seal_check_all(&seal, chunk, raw, NULL);
		check_units(&seal, chunk, raw);
	}
	free(tail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct b2f_filter_grid grid = {.ndim = 2};
	struct b2f_chunk_context context = {0};
	struct b2f_why why = {""};
	struct b2f_chunk chunk;
	uint8_t *raw;

	if (size < 4)
		return 0;
	size -= 4;
	context.typesize = b2f_load_le32(data + size) & 0x1ff;
	grid.blockshape[0] = (data[size + 2] & 63) + 1;
	grid.blockshape[1] = (data[size + 3] & 63) + 1;
	if (data[size + 3] & 128)
		context.grid = &grid;
	raw = copy_of(data, size);
	if (!b2f_chunk_open(raw, size, size, &context, &chunk, &why) &&
	    chunk.header.nbytes <= NBYTES_MAX) {
		check_seal(&chunk, raw, size, b2f_load_le32(data + size));
		check_seal(&chunk, raw, size, 0);
		check_parts(&chunk, raw);
		decode(&chunk, raw);
	}
	free(raw);
	return 0;
}
