/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_header.c - the fixed part of a frame's header, and its tail */
#include <string.h>

#include "base/checked.h"
#include "base/cursor.h"
#include "index/index.h"

/* Largest possible type size: a block holds at least one item. */
#define TYPESIZE_MAX B2F_BLOCKSIZE_MAX

enum {
	VERSION_MIN = 2,
	VERSION_MAX = 3,
	TYPE_CONTIGUOUS = 0,
	TYPE_SPARSE = 1,
	/* Value in codec_flags: the code stands in the udcodec byte. */
	CODEC_ELSEWHERE = 6,
	/* Offsets into the header; the markers between them are constants. */
	OFF_MAGIC = 0,
	OFF_HEADER_LEN = 11,
	OFF_FRAME_LEN = 16,
	OFF_FLAGS = 25,
	OFF_NBYTES = 30,
	OFF_CBYTES = 39,
	OFF_TYPESIZE = 48,
	OFF_BLOCKSIZE = 53,
	OFF_CHUNKSIZE = 58,
	OFF_FILTERS = 70,
	/* From the end of the frame. */
	TAIL_MARK = B2F_FRAME_TAIL - 23,
	TAIL_LEN = B2F_FRAME_TAIL - 22,
};

static const uint8_t magic[10] = {0x9e, 0xa8, 'b', '2', 'f',
				  'r',	'a',  'm', 'e', 0};

bool b2f_frame_magic(const uint8_t *raw, size_t size)
{
	return size >= sizeof(magic) &&
	       memcmp(raw + OFF_MAGIC, magic, sizeof(magic)) == 0;
}

static int parse_flags(struct b2f_cursor *cur, struct b2f_frame_header *h,
		       struct b2f_why *why)
{
	uint8_t type, codec_flags, other;

	b2f_cursor_seek(cur, OFF_FLAGS);
	h->general_flags = b2f_cursor_u8(cur);
	type = b2f_cursor_u8(cur);
	codec_flags = b2f_cursor_u8(cur);
	other = b2f_cursor_u8(cur);
	h->version = h->general_flags & 15;
	h->sparse = type == TYPE_SPARSE;
	h->codec = codec_flags & 15;
	h->clevel = codec_flags >> 4;
	h->splitmode = (other & 3) + 1;
	if (h->version < VERSION_MIN)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "frame version %u, made by a beta of "
				   "Blosc2",
				   h->version);
	if (h->version > VERSION_MAX)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "frame version %u is newer than this "
				   "program",
				   h->version);
	if (type > TYPE_SPARSE)
		return b2f_why_set(why, B2F_ECORRUPT, "frame type %u", type);
	return 0;
}

static int parse_filters(struct b2f_cursor *cur, struct b2f_frame_header *h,
			 struct b2f_why *why)
{
	const uint8_t *filters, *metas;
	uint8_t n, udcodec;

	b2f_cursor_seek(cur, OFF_FILTERS);
	n = b2f_cursor_u8(cur);
	filters = b2f_cursor_take(cur, B2F_FILTER_SLOTS);
	udcodec = b2f_cursor_u8(cur);
	h->codec_meta = b2f_cursor_u8(cur);
	metas = b2f_cursor_take(cur, B2F_FILTER_SLOTS);
	h->use_dict = b2f_cursor_u8(cur) & 1;
	if (!b2f_cursor_ok(cur))
		return b2f_why_set(why, B2F_ECORRUPT, "the header ends early");
	if (n > B2F_FILTER_SLOTS)
		return b2f_why_set(why, B2F_ECORRUPT, "%u filter slots", n);
	memcpy(h->pipeline.filter, filters, n);
	memcpy(h->pipeline.meta, metas, n);
	if (h->codec == CODEC_ELSEWHERE)
		h->codec = udcodec;
	return 0;
}

static int check_lengths(const struct b2f_frame_header *h, uint64_t available,
			 struct b2f_why *why)
{
	if (h->frame_len < B2F_FRAME_MIN || h->frame_len > available)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the frame says it has %llu bytes, %llu "
				   "are there",
				   (unsigned long long)h->frame_len,
				   (unsigned long long)available);
	if (h->header_len < B2F_FRAME_HEADER_FIXED ||
	    h->header_len > h->frame_len - B2F_FRAME_TAIL)
		return b2f_why_set(why, B2F_ECORRUPT, "a header of %d bytes",
				   (int32_t)h->header_len);
	if (h->typesize == 0 || h->typesize > TYPESIZE_MAX)
		return b2f_why_set(why, B2F_ECORRUPT, "type size %d",
				   (int32_t)h->typesize);
	return 0;
}

static int check_sizes(const struct b2f_frame_header *h, struct b2f_why *why)
{
	uint64_t room = h->frame_len - h->header_len - B2F_FRAME_TAIL;

	if (h->nbytes > INT64_MAX || h->cbytes > INT64_MAX)
		return b2f_why_set(why, B2F_ECORRUPT, "a negative size");
	/* C-Blosc2 may count deleted chunks that are no longer in the file. */
	if (!h->sparse && h->nbytes > 0 && h->cbytes > room)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%llu bytes of chunks in a frame of %llu",
				   (unsigned long long)h->cbytes,
				   (unsigned long long)h->frame_len);
	if (h->nbytes == 0)
		return 0;
	if (h->chunksize < 0 || (uint32_t)h->chunksize > B2F_CHUNK_NBYTES_MAX)
		return b2f_why_set(why, B2F_ECORRUPT, "chunk size %d",
				   h->chunksize);
	if (h->chunksize > 0 &&
	    b2f_div_up_u64(h->nbytes, (uint32_t)h->chunksize) > B2F_NCHUNKS_MAX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%llu bytes in chunks of %d",
				   (unsigned long long)h->nbytes, h->chunksize);
	return 0;
}

int b2f_frame_header_parse(const uint8_t *raw, size_t size, uint64_t available,
			   struct b2f_frame_header *out, struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);
	struct b2f_frame_header h = {0};
	int err;

	if (!b2f_frame_magic(raw, size))
		return b2f_why_set(why, B2F_ENOTFRAME, "not a Blosc2 frame");
	b2f_cursor_seek(&cur, OFF_HEADER_LEN);
	h.header_len = b2f_cursor_be32(&cur);
	b2f_cursor_seek(&cur, OFF_FRAME_LEN);
	h.frame_len = b2f_cursor_be64(&cur);
	b2f_cursor_seek(&cur, OFF_NBYTES);
	h.nbytes = b2f_cursor_be64(&cur);
	b2f_cursor_seek(&cur, OFF_CBYTES);
	h.cbytes = b2f_cursor_be64(&cur);
	b2f_cursor_seek(&cur, OFF_TYPESIZE);
	h.typesize = b2f_cursor_be32(&cur);
	b2f_cursor_seek(&cur, OFF_BLOCKSIZE);
	h.blocksize = b2f_cursor_be32(&cur);
	b2f_cursor_seek(&cur, OFF_CHUNKSIZE);
	h.chunksize = (int32_t)b2f_cursor_be32(&cur);
	err = parse_flags(&cur, &h, why);
	if (!err)
		err = parse_filters(&cur, &h, why);
	if (!err)
		err = check_lengths(&h, available, why);
	if (!err)
		err = check_sizes(&h, why);
	if (!err)
		*out = h;
	return err;
}

int b2f_trailer_len_parse(const uint8_t *tail,
			  const struct b2f_frame_header *header,
			  uint32_t *trailer_len, struct b2f_why *why)
{
	uint64_t room = header->frame_len - header->header_len;
	uint32_t len = b2f_load_be32(tail + TAIL_LEN);

	if (!header->sparse && header->nbytes > 0)
		room -= header->cbytes;
	if (tail[TAIL_MARK] != 0xce)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "no trailer at the end of the frame");
	if (len < B2F_FRAME_TAIL || len > room)
		return b2f_why_set(why, B2F_ECORRUPT, "a trailer of %d bytes",
				   (int32_t)len);
	*trailer_len = len;
	return 0;
}
