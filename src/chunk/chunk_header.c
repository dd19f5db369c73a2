/* SPDX-License-Identifier: BSD-3-Clause */
/* chunk_header.c - the 16 or 32 bytes at the start of a chunk */
#include "chunk/chunk_header.h"

#include <string.h>

#include "base/cursor.h"

enum {
	BFLAG_DICT = 0x01,
	BFLAG_LAZY = 0x08,
	BFLAG_INSTRUMENTED = 0x80,

	FLAG2_VL = 0x01,

	/* Versions up to this one are understood. */
	VERSION_MAX = 6,
	/* Blosc2 alpha: five filter slots. */
	VERSION_FIVE_SLOTS = 3,
	/* Blosc 1 writes up to this one. */
	VERSION_BLOSC1 = 2,
};

static void filters_of_blosc1(uint8_t flags, struct b2f_chunk_header *h)
{
	if (flags & B2F_FLAG_SHUFFLE && h->typesize > 1)
		h->pipeline.filter[5] = B2F_FILTER_SHUFFLE;
	else if (flags & B2F_FLAG_BITSHUFFLE)
		h->pipeline.filter[5] = B2F_FILTER_BITSHUFFLE;
	if (flags & B2F_FLAG_DELTA)
		h->pipeline.filter[4] = B2F_FILTER_DELTA;
}

static int parse_extension(struct b2f_cursor *cur, struct b2f_chunk_header *h,
			   struct b2f_why *why)
{
	const uint8_t *filters = b2f_cursor_take(cur, B2F_FILTER_SLOTS);
	const uint8_t *metas;
	uint8_t flags2, bflags;

	h->udcodec = b2f_cursor_u8(cur);
	h->codec_meta = b2f_cursor_u8(cur);
	metas = b2f_cursor_take(cur, B2F_FILTER_SLOTS);
	flags2 = b2f_cursor_u8(cur);
	bflags = b2f_cursor_u8(cur);
	if (!b2f_cursor_ok(cur))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the chunk is shorter than its header");
	memcpy(h->pipeline.filter, filters, B2F_FILTER_SLOTS);
	memcpy(h->pipeline.meta, metas, B2F_FILTER_SLOTS);
	if (h->version == VERSION_FIVE_SLOTS)
		h->pipeline.filter[5] = h->pipeline.meta[5] = 0;
	if (flags2 & ~FLAG2_VL)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "unknown chunk flags 0x%02x", flags2);
	if (bflags & BFLAG_LAZY)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a lazy chunk, which has no data");
	if (bflags & BFLAG_INSTRUMENTED)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "an instrumented chunk: timings, no data");
	if ((bflags >> 4 & 7) > B2F_SPECIAL_UNINIT)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "unknown kind of special chunk %d",
				   bflags >> 4 & 7);
	h->special = (enum b2f_special)(bflags >> 4 & 7);
	h->vl = flags2 & FLAG2_VL;
	h->has_dict = bflags & BFLAG_DICT;
	return 0;
}

static int check_sizes(const struct b2f_chunk_header *h, struct b2f_why *why)
{
	if (h->nbytes > B2F_CHUNK_NBYTES_MAX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "impossible chunk size %d",
				   (int32_t)h->nbytes);
	if (h->cbytes > INT32_MAX || h->cbytes < h->header_len)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "impossible stored size %d",
				   (int32_t)h->cbytes);
	if (h->blocksize == 0 || h->blocksize > B2F_BLOCKSIZE_MAX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "impossible block size %d",
				   (int32_t)h->blocksize);
	if (h->typesize == 0)
		return b2f_why_set(why, B2F_ECORRUPT, "type size 0");
	return 0;
}

static int check_special(const struct b2f_chunk_header *h, struct b2f_why *why)
{
	uint32_t width = h->cbytes - h->header_len;

	switch (h->special) {
	case B2F_SPECIAL_NONE:
	case B2F_SPECIAL_ZEROS:
		return 0;
	case B2F_SPECIAL_NAN:
		if (h->typesize != 4 && h->typesize != 8)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "NaNs of type size %u", h->typesize);
		break;
	case B2F_SPECIAL_UNINIT:
		break;
	case B2F_SPECIAL_VALUE:
		if (width == 0 || width > h->nbytes || h->nbytes % width)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "a value of %u bytes repeated over "
					   "%u",
					   width, h->nbytes);
		return 0;
	}
	if (h->nbytes % h->typesize)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a special chunk of %u bytes with type "
				   "size %u",
				   h->nbytes, h->typesize);
	return 0;
}

static int check_combinations(const struct b2f_chunk_header *h,
			      struct b2f_why *why)
{
	/* C-Blosc2 writes empty chunks with any mixture of flags. */
	if (h->nbytes == 0)
		return 0;
	if (h->vl && (h->memcpyed || h->special || h->split))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "variable-length blocks in a chunk of "
				   "another kind");
	if (h->memcpyed && h->special)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a special chunk with data");
	if (h->memcpyed && h->cbytes - h->header_len != h->nbytes)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%u bytes stored as they are in %u",
				   h->nbytes, h->cbytes);
	return check_special(h, why);
}

int b2f_chunk_header_parse(const uint8_t *raw, size_t size,
			   struct b2f_chunk_header *out, struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);
	struct b2f_chunk_header h = {0};
	bool extended;
	uint8_t flags;
	int err;

	h.version = b2f_cursor_u8(&cur);
	b2f_cursor_skip(&cur, 1); /* versionlz says nothing */
	flags = b2f_cursor_u8(&cur);
	h.typesize = b2f_cursor_u8(&cur);
	h.nbytes = b2f_cursor_le32(&cur);
	h.blocksize = b2f_cursor_le32(&cur);
	h.cbytes = b2f_cursor_le32(&cur);
	if (!b2f_cursor_ok(&cur))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%zu bytes are too few for a chunk", size);
	if (h.version == 0)
		return b2f_why_set(why, B2F_ECORRUPT, "chunk version 0");
	if (h.version > VERSION_MAX)
		return b2f_why_set(why, B2F_EUNSUPPORTED, "chunk version %u",
				   h.version);
	extended = (flags & B2F_FLAG_EXTENDED) == B2F_FLAG_EXTENDED;
	h.header_len = extended ? B2F_CHUNK_HEADER_MAX : B2F_CHUNK_HEADER_MIN;
	h.memcpyed = flags & B2F_FLAG_MEMCPYED;
	h.split = !(flags & B2F_FLAG_NO_SPLIT);
	h.format = flags >> 5;
	err = check_sizes(&h, why);
	if (err)
		return err;
	if (extended)
		err = parse_extension(&cur, &h, why);
	else
		filters_of_blosc1(flags, &h);
	if (!err)
		err = check_combinations(&h, why);
	if (err)
		return err;
	if (!h.vl && h.nbytes > 0 && h.blocksize > h.nbytes)
		h.blocksize = h.nbytes;
	/* Blosc 1 had no flag for blocks that are not split at first. */
	if (!extended && h.version <= VERSION_BLOSC1 &&
	    !b2f_blosc1_may_split(h.typesize, h.blocksize))
		h.split = false;
	*out = h;
	return 0;
}
