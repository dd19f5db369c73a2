/* SPDX-License-Identifier: BSD-3-Clause */
/* index_write.c - writes the bytes of an index */
#include "index/index_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "index/fingerprint.h"
#include "index/tags.h"

#define ENTRY_SIZE 8

/* C-Blosc2 wants the compressed size this far above the largest chunk id. */
#define ID_MARGIN 32

/* This many successive indexes differ in length; a power of 2. */
#define NLENGTHS 1024

/*
 * Up to FEW chunks, the indexes of C-Blosc2 have few different lengths, and
 * ours avoid them, with room for MORE chunks.
 */
#define FEW  256
#define MORE 32

enum {
	GENERAL_FIXED = 0x12,
	GENERAL_VARIABLE = 0x53,
	/* The high bit: the frame has VL-block chunks. */
	GENERAL_VL = 0x80,
	TYPE_CONTIGUOUS = 0,
	TYPE_SPARSE = 1,
	CODEC_ELSEWHERE = 6,
	CODEC_INLINE_MAX = 5,

	OFF_HEADER_LEN = 11,
	OFF_FRAME_LEN = 16,
	OFF_FLAGS = 25,
	OFF_TYPE = 26,
	OFF_NBYTES = 30,
	OFF_CBYTES = 39,
	OFF_TYPESIZE = 48,
	OFF_BLOCKSIZE = 53,
	OFF_CHUNKSIZE = 58,
	OFF_FILTERS = 71,
	OFF_UDCODEC = 77,
};

uint64_t b2f_entry_raw(enum b2f_special special)
{
	uint64_t kind = special == B2F_SPECIAL_UNINIT ? 4 : (uint64_t)special;

	return UINT64_C(1) << 63 | kind << 56;
}

uint64_t b2f_index_margin(const uint64_t *entries, uint64_t n)
{
	uint64_t max = 0;

	for (uint64_t i = 0; i < n; i++)
		if (!(entries[i] >> 63))
			max = b2f_max_u64(max, entries[i] & B2F_ENTRY_ID);
	return n ? max + ID_MARGIN : 0;
}

uint64_t b2f_pages_margin(const struct b2f_pages *pages, uint64_t n)
{
	uint64_t above = b2f_pages_above(pages, n);

	return n ? above - (above > 0) + ID_MARGIN : 0;
}

/* The compressed size that the header of the index tells. */
static uint64_t told_size(const struct b2f_index_parts *parts)
{
	uint64_t more = parts->header.sparse
				? b2f_pages_margin(parts->pages,
						   parts->nentries)
				: 0;

	return b2f_min_u64(parts->header.cbytes, INT64_MAX - more) + more;
}

static uint8_t general_flags(const struct b2f_frame_header *h)
{
	uint8_t vl = h->general_flags & GENERAL_VL;

	/* A frame that never had a chunk has no chunk size yet (-1). */
	if (h->chunksize != 0 && !vl)
		return GENERAL_FIXED;
	return (uint8_t)((h->chunksize ? GENERAL_FIXED + 1 : GENERAL_VARIABLE) |
			 vl);
}

void b2f_frame_header_count(const struct b2f_frame_header *h,
			    uint64_t frame_len, uint64_t cbytes, uint8_t *out)
{
	b2f_store_be32(out + OFF_HEADER_LEN, h->header_len);
	b2f_store_be64(out + OFF_FRAME_LEN, frame_len);
	out[OFF_FLAGS] = general_flags(h);
	out[OFF_TYPE] = h->sparse ? TYPE_SPARSE : TYPE_CONTIGUOUS;
	b2f_store_be64(out + OFF_NBYTES, h->nbytes);
	b2f_store_be64(out + OFF_CBYTES, cbytes);
	b2f_store_be32(out + OFF_TYPESIZE, h->typesize);
	b2f_store_be32(out + OFF_CHUNKSIZE, (uint32_t)h->chunksize);
}

/*
 * python-blosc2 takes filter parameters as signed bytes, opens no frame with a
 * larger one, and replaces 0 by the item size.  Wider items get a single
 * channel, with which bytedelta does hardly less for them.
 */
static uint8_t filter_meta(const struct b2f_frame_header *h, unsigned int slot)
{
	uint8_t meta = h->pipeline.meta[slot];
	uint32_t nchannels = meta ? meta : h->typesize;

	if (h->pipeline.filter[slot] == B2F_FILTER_BYTEDELTA &&
	    nchannels > INT8_MAX)
		return 1;
	return meta;
}

void b2f_frame_header_set(const struct b2f_frame_header *h, uint8_t *out)
{
	uint8_t codec =
		h->codec <= CODEC_INLINE_MAX ? h->codec : CODEC_ELSEWHERE;

	out[OFF_FLAGS + 2] = (uint8_t)(codec | h->clevel << 4);
	out[OFF_FLAGS + 3] = (uint8_t)((h->splitmode - 1) & 3);
	b2f_store_be32(out + OFF_BLOCKSIZE, h->blocksize);
	memcpy(out + OFF_FILTERS, h->pipeline.filter, B2F_FILTER_SLOTS);
	out[OFF_UDCODEC] = h->codec;
	out[OFF_UDCODEC + 1] = h->codec_meta;
	for (unsigned int i = 0; i < B2F_FILTER_SLOTS; i++)
		out[OFF_UDCODEC + 2 + i] = filter_meta(h, i);
	out[OFF_UDCODEC + 8] = h->use_dict;
}

void b2f_frame_header_write(const struct b2f_frame_header *header, uint8_t *out)
{
	/* The MessagePack markers between the fields, and two empty lists. */
	static const struct {
		uint8_t at, value;
	} marks[] = {
		{0, 0x9e},  {1, 0xa8},	{10, 0xd2}, {15, 0xcf}, {24, 0xa4},
		{29, 0xd3}, {38, 0xd3}, {47, 0xd2}, {52, 0xd2}, {57, 0xd2},
		{62, 0xd1}, {64, 1},	{65, 0xd1}, {67, 1},	{68, 0xc2},
		{69, 0xd8}, {70, 6},	{87, 0x93}, {88, 0xcd}, {90, 7},
		{91, 0xde}, {94, 0xdc},
	};

	memset(out, 0, B2F_FRAME_HEADER_PLAIN);
	memcpy(out + 2, "b2frame", 8);
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		out[marks[i].at] = marks[i].value;
	b2f_frame_header_set(header, out);
	b2f_frame_header_count(header, 0, 0, out);
	b2f_store_be32(out + OFF_HEADER_LEN, B2F_FRAME_HEADER_PLAIN);
}

void b2f_trailer_write(uint8_t *out)
{
	static const char start[] = "\x94\x01\x93\xcd\0\6\xde\0\0\xdc\0\0\xce";

	memset(out, 0, B2F_FRAME_TRAILER_PLAIN);
	memcpy(out, start, sizeof(start));
	out[16] = B2F_FRAME_TRAILER_PLAIN;
	out[17] = 0xd8;
}

/* No reader could open the frame again. */
static int too_large(struct b2f_why *why)
{
	return b2f_why_set(why, B2F_ETOOBIG,
			   "more than 256 MiB of header, trailer or index");
}

static int check(const struct b2f_index_parts *parts, struct b2f_why *why)
{
	if (parts->nentries > B2F_NCHUNKS_MAX)
		return b2f_why_set(why, B2F_ETOOBIG, "%llu chunks",
				   (unsigned long long)parts->nentries);
	if (parts->header.header_len > B2F_SECTION_MAX ||
	    parts->trailer_len > B2F_SECTION_MAX)
		return too_large(why);
	if (parts->header.header_len < B2F_FRAME_HEADER_PLAIN ||
	    parts->trailer_len < B2F_FRAME_TRAILER_PLAIN ||
	    (parts->header.nbytes == 0) != (parts->nentries == 0))
		return b2f_why_set(why, -EINVAL,
				   "%llu chunks in a frame of %llu bytes",
				   (unsigned long long)parts->nentries,
				   (unsigned long long)parts->header.nbytes);
	return 0;
}

/* The value of entry @i in the index chunk. */
static uint64_t value_of(const struct b2f_index_parts *parts, uint64_t i)
{
	uint64_t raw = b2f_pages_get(parts->pages, i);

	if (raw >> 63)
		return raw;
	if (parts->header.sparse)
		return raw & B2F_ENTRY_ID;
	return parts->place ? parts->place(parts->place_arg, i, raw) : raw;
}

static struct b2f_page_block *find_values(void *arg, size_t page, uint64_t *key)
{
	const struct b2f_index_parts *parts = arg;

	*key = b2f_index_key(parts->header.header_len, parts->header.sparse);
	return &b2f_pages_know(parts->pages, parts->nentries, page)->values;
}

static void fill_values(void *arg, size_t page, uint8_t *out)
{
	const struct b2f_index_parts *parts = arg;
	uint64_t first = (uint64_t)page * B2F_PAGE_ENTRIES;
	uint32_t n = b2f_pages_count(parts->nentries, page);

	for (uint32_t i = 0; i < n; i++)
		b2f_store_le64(out + i * ENTRY_SIZE, value_of(parts, first + i));
}

/*
 * Do all entries have one value, as after fill_special of C-Blosc2?  A single
 * entry counts only if it is 0, which the encoder would store as a run of zeros
 * instead of bytes.
 */
static bool is_one_value(const struct b2f_index_parts *parts)
{
	if (parts->nentries == 1)
		return value_of(parts, 0) == 0;
	return b2f_pages_is_same(parts->pages, parts->nentries);
}

/* The index chunk at @dst, for which there is room. */
static int write_chunk(const struct b2f_index_parts *parts,
		       struct b2f_encoder *enc, uint8_t *dst, uint32_t *cbytes,
		       struct b2f_why *why)
{
	const struct b2f_encode_options options = b2f_pages_options(ENTRY_SIZE);
	struct b2f_index_parts copy = *parts;
	const struct b2f_page_list list = {
		.nbytes = (uint32_t)(parts->nentries * ENTRY_SIZE),
		.item = ENTRY_SIZE,
		.find = find_values,
		.fill = fill_values,
		.arg = &copy,
	};
	uint8_t value[ENTRY_SIZE];
	bool one_value;
	int err = 0;

	*cbytes = 0;
	if (list.nbytes == 0)
		return 0;
	one_value = is_one_value(parts);
	if (!one_value)
		err = b2f_pages_encode(&list, enc, dst, cbytes, &one_value,
				       why);
	if (err || !one_value)
		return err;
	b2f_store_le64(value, value_of(parts, 0));
	return b2f_chunk_encode_value(&options, list.nbytes,
				      b2f_bytes_at(value, ENTRY_SIZE), dst,
				      cbytes, why);
}

/* Writes header and trailer of an index of @size bytes around its chunk. */
static void write_ends(const struct b2f_index_parts *parts, uint8_t *buf,
		       size_t size)
{
	const struct b2f_frame_header *h = &parts->header;
	uint8_t type = B2F_FINGERPRINT_TYPE;

	if (parts->small)
		type = h->nbytes ? B2F_FINGERPRINT_SMALL : B2F_FINGERPRINT_EMPTY;
	memcpy(buf, parts->header_bytes, h->header_len);
	b2f_frame_header_count(h, size + (h->sparse ? 0 : h->cbytes),
			       told_size(parts), buf);
	memcpy(buf + size - parts->trailer_len, parts->trailer_bytes,
	       parts->trailer_len);
	memset(buf + size - B2F_FINGERPRINT_TAIL, 0, B2F_FINGERPRINT_TAIL);
	if (parts->sealed)
		b2f_fingerprint_set(buf, size, h->header_len, type);
}

/*
 * The longest index that C-Blosc2 writes when it changes one of few chunks.
 * Our index is longer, so that a later one of C-Blosc2 cannot have its length.
 */
static size_t longest_stock(const struct b2f_index_parts *parts)
{
	if (parts->nentries > FEW)
		return 0;
	return parts->header.header_len + B2F_CHUNK_HEADER_MAX +
	       (parts->nentries + MORE) * ENTRY_SIZE + parts->trailer_len;
}

/* Number of zeros that give an index of @len bytes a length of its own. */
static size_t padding(const struct b2f_index_parts *parts, size_t len)
{
	uint64_t least = b2f_max_u64(len, longest_stock(parts) + 1), more;

	/*
	 * Only sparse frames need it: each commit makes a contiguous one
	 * longer.
	 */
	if (!parts->len_before || !parts->nentries || !parts->header.sparse)
		return 0;
	more = parts->len_draw ? parts->len_draw
			       : parts->len_before + 1 - least;
	return least - len + more % NLENGTHS;
}

/* Writes the bytes between the index chunk and the trailer. */
static int write_tags(const struct b2f_index_parts *parts,
		      struct b2f_encoder *enc, size_t len, uint8_t *dst,
		      size_t *size, struct b2f_why *why)
{
	size_t more, n = 0;
	int err;

	*size = 0;
	if (!parts->nentries || !(parts->header.sparse || parts->place))
		return 0;
	err = b2f_tags_write(parts->pages, parts->nentries, enc, dst, &n, why);
	if (err)
		return err;
	more = padding(parts, len + n);
	memset(dst + n, 0, more);
	*size = n + more;
	return 0;
}

/* Writes the whole index into @buf, which has room; *@size bytes. */
static int write_all(const struct b2f_index_parts *parts, uint8_t *buf,
		     size_t *size, struct b2f_why *why)
{
	uint8_t *chunk = buf + parts->header.header_len;
	size_t len = parts->header.header_len + parts->trailer_len, ntags = 0;
	struct b2f_encoder *enc = NULL;
	uint32_t cbytes = 0;
	int err = b2f_encoder_new(&enc);

	if (!err)
		err = write_chunk(parts, enc, chunk, &cbytes, why);
	if (!err)
		err = write_tags(parts, enc, len + cbytes, chunk + cbytes,
				 &ntags, why);
	b2f_encoder_free(enc);
	if (!err && cbytes + ntags > B2F_SECTION_MAX)
		err = too_large(why);
	if (err)
		return err;
	*size = len + cbytes + ntags;
	write_ends(parts, buf, *size);
	return 0;
}

/* Writes an index whose entries are in pages. */
static int write_pages(const struct b2f_index_parts *parts, uint8_t **out,
		       size_t *size, struct b2f_why *why)
{
	size_t room = 0;
	uint8_t *buf;
	int err;

	if (parts->nentries)
		room = b2f_chunk_encode_bound(
			(uint32_t)(parts->nentries * ENTRY_SIZE));
	buf = malloc(parts->header.header_len + parts->trailer_len + room +
		     b2f_tags_bound(parts->nentries) + NLENGTHS +
		     longest_stock(parts) + 1);
	if (!buf)
		return -ENOMEM;
	err = write_all(parts, buf, size, why);
	if (err)
		free(buf);
	else
		*out = buf;
	return err;
}

static int fill(const struct b2f_index_parts *parts, struct b2f_pages *pages)
{
	const uint64_t zeros = b2f_entry_raw(B2F_SPECIAL_ZEROS);
	int err = b2f_pages_reserve(pages, parts->nentries);

	for (uint64_t i = 0; i < parts->nentries && !err; i++)
		b2f_pages_set(pages, i,
			      parts->entries ? parts->entries[i] : zeros);
	return err;
}

int b2f_index_write(const struct b2f_index_parts *parts, uint8_t **out,
		    size_t *size, struct b2f_why *why)
{
	struct b2f_index_parts with_pages = *parts;
	struct b2f_pages pages = {0};
	int err = check(parts, why);

	if (!err && !parts->pages) {
		err = fill(parts, &pages);
		with_pages.pages = &pages;
	}
	if (!err)
		err = write_pages(&with_pages, out, size, why);
	b2f_pages_fini(&pages);
	return err;
}
