/* SPDX-License-Identifier: BSD-3-Clause */
/* entries.c - the index chunk: positions of all chunks of the frame */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "index/index.h"

#define ENTRY_SIZE 8

/* Bit 63: a special chunk; bits 56..58: its kind.  No other bit may be set. */
#define ENTRY_SPECIAL (UINT64_C(1) << 63)
#define ENTRY_ZEROS   (ENTRY_SPECIAL | UINT64_C(1) << 56)
#define ENTRY_NAN     (ENTRY_SPECIAL | UINT64_C(2) << 56)
#define ENTRY_UNINIT  (ENTRY_SPECIAL | UINT64_C(4) << 56)

/*
 * How many entries the index may hold for each of its stored bytes.  A block of
 * C-Blosc2's index is 16 KiB, and the shortest one (a run) takes 8 bytes: 2,048
 * decoded bytes for each stored one.  An index that claims more is damaged, and
 * would have us allocate up to 2 GB for a few bytes.  Indexes of up to 1 MiB
 * are not checked.
 */
#define EXPANSION_MAX  2048
#define EXPANSION_FREE (UINT64_C(1) << 20)

/* Words of memory for a chunk: its entry, and a struct b2f_named_range. */
#define RANGE_WORDS 3

static enum b2f_special special_of(uint64_t value)
{
	switch (value) {
	case ENTRY_ZEROS:
		return B2F_SPECIAL_ZEROS;
	case ENTRY_NAN:
		return B2F_SPECIAL_NAN;
	case ENTRY_UNINIT:
		return B2F_SPECIAL_UNINIT;
	default:
		return B2F_SPECIAL_NONE;
	}
}

static int check_count(const struct b2f_chunk_header *h,
		       const struct b2f_frame_header *frame,
		       struct b2f_why *why)
{
	uint64_t n = h->nbytes / ENTRY_SIZE;
	uint64_t expected = n;

	if (h->typesize != ENTRY_SIZE || h->nbytes % ENTRY_SIZE)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "an index of %u bytes, type size %u",
				   h->nbytes, h->typesize);
	if (frame->chunksize > 0)
		expected = b2f_div_up_u64(frame->nbytes,
					  (uint32_t)frame->chunksize);
	if (n != expected || n == 0 || n > B2F_NCHUNKS_MAX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the index has %llu chunks, the header "
				   "%llu",
				   (unsigned long long)n,
				   (unsigned long long)expected);
	return 0;
}

/*
 * True for a value that is neither a position in this frame nor a special
 * chunk.
 */
static bool is_bad(uint64_t value, const struct b2f_frame_header *frame)
{
	if (value & ENTRY_SPECIAL)
		return special_of(value) == B2F_SPECIAL_NONE;
	if (frame->sparse)
		return value > INT32_MAX;
	return !b2f_range_fits(value, B2F_CHUNK_HEADER_MIN, frame->cbytes);
}

static int check_values(struct b2f_entries *entries,
			const struct b2f_frame_header *frame,
			struct b2f_why *why)
{
	uint64_t n = entries->raw ? entries->n : 1;
	uint64_t nspecial = 0;

	/*
	 * An index of one repeated value has few bytes, and may claim very many
	 * chunks.
	 */
	if (!entries->raw && entries->n > 1 && !(entries->same >> 63))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the index gives all %llu chunks the same "
				   "place",
				   (unsigned long long)entries->n);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = entries->raw ? entries->raw[i] : entries->same;

		if (is_bad(v, frame))
			return b2f_why_set(why, B2F_ECORRUPT,
					   "the index gives chunk %llu the "
					   "invalid place 0x%llx",
					   (unsigned long long)i,
					   (unsigned long long)v);
		nspecial += v >> 63;
	}
	entries->nspecial = entries->raw ? nspecial : nspecial * entries->n;
	return 0;
}

/* The index is one value over and over: keep that value only. */
static bool parse_same(const struct b2f_chunk *chunk, struct b2f_entries *out)
{
	const struct b2f_chunk_header *h = &chunk->header;

	switch (h->special) {
	case B2F_SPECIAL_ZEROS:
		out->same = 0;
		return true;
	case B2F_SPECIAL_VALUE:
		if (h->cbytes - h->header_len != ENTRY_SIZE)
			return false;
		out->same = b2f_load_le64(chunk->value);
		return true;
	case B2F_SPECIAL_NONE:
	case B2F_SPECIAL_NAN:
	case B2F_SPECIAL_UNINIT:
		break;
	}
	return false;
}

static int decode_entries(const struct b2f_chunk *chunk, const uint8_t *raw,
			  struct b2f_decoder *dec, struct b2f_entries *out,
			  struct b2f_why *why)
{
	uint32_t nbytes = chunk->header.nbytes;
	uint64_t *values = malloc(nbytes);
	int err;

	if (!values)
		return -ENOMEM;
	err = b2f_chunk_decode_all(chunk, dec, raw, (uint8_t *)values, why);
	if (err) {
		free(values);
		return err;
	}
	for (size_t i = 0; i < nbytes / ENTRY_SIZE; i++)
		values[i] = b2f_load_le64((const uint8_t *)&values[i]);
	out->raw = values;
	return 0;
}

/* Decodes if there is memory, which stays counted after an error, too. */
static int decode_if_fits(const struct b2f_chunk *chunk, const uint8_t *raw,
			  bool sparse, struct b2f_decoder *dec,
			  struct b2f_reserved *reserved,
			  struct b2f_entries *out, struct b2f_why *why)
{
	uint64_t limit = (uint64_t)chunk->header.cbytes * EXPANSION_MAX;
	uint64_t nbytes = chunk->header.nbytes, keep, beside;
	int err;

	if (nbytes > limit && nbytes > EXPANSION_FREE)
		return b2f_why_set(why, B2F_ETOOBIG,
				   "an index of %u stored bytes claims to be "
				   "%llu",
				   chunk->header.cbytes,
				   (unsigned long long)nbytes);
	/* A contiguous frame also has a table of its ranges. */
	keep = sparse ? nbytes : nbytes * RANGE_WORDS;
	beside = b2f_index_beside(chunk);
	err = b2f_reserve_take(reserved, keep + beside);
	if (err)
		return b2f_why_set(why, err,
				   "%llu bytes of index are more than the "
				   "cache has left",
				   (unsigned long long)(keep + beside));
	err = decode_entries(chunk, raw, dec, out, why);
	b2f_reserve_give(reserved, beside);
	return err;
}

int b2f_entries_parse(const uint8_t *raw, size_t size,
		      const struct b2f_frame_header *header,
		      struct b2f_decoder *dec, struct b2f_reserved *reserved,
		      struct b2f_entries *out, struct b2f_why *why)
{
	const struct b2f_chunk_context context = {.typesize = ENTRY_SIZE};
	struct b2f_entries entries = {0};
	struct b2f_chunk chunk;
	int err = b2f_chunk_open(raw, size, size, &context, &chunk, why);

	if (!err)
		err = check_count(&chunk.header, header, why);
	if (err)
		return err;
	entries.n = chunk.header.nbytes / ENTRY_SIZE;
	if (!parse_same(&chunk, &entries))
		err = decode_if_fits(&chunk, raw, header->sparse, dec, reserved,
				     &entries, why);
	if (!err)
		err = check_values(&entries, header, why);
	if (err)
		b2f_entries_fini(&entries);
	else
		*out = entries;
	return err;
}

void b2f_entries_fini(struct b2f_entries *entries)
{
	free(entries->raw);
	*entries = (struct b2f_entries){0};
}

uint64_t b2f_entries_raw(const struct b2f_entries *entries, uint64_t i)
{
	return entries->raw ? entries->raw[i] : entries->same;
}

struct b2f_entry b2f_entry_of(uint64_t raw)
{
	struct b2f_entry entry = {.special = special_of(raw)};

	if (entry.special == B2F_SPECIAL_NONE)
		entry.place = raw;
	return entry;
}

struct b2f_entry b2f_entries_get(const struct b2f_entries *entries, uint64_t i)
{
	return b2f_entry_of(b2f_entries_raw(entries, i));
}
