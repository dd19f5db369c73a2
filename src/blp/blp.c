/* SPDX-License-Identifier: BSD-3-Clause */
/* blp.c - the header and the metadata of a Bloscpack file */
#include "blp/blp.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/checked.h"
#include "base/cursor.h"

enum {
	OPTION_OFFSETS = 0x01,
	OPTION_META = 0x02,
};

static const uint8_t magic[4] = {'b', 'l', 'p', 'k'};

bool b2f_blp_magic(const uint8_t *raw, size_t size)
{
	return size >= sizeof(magic) && !memcmp(raw, magic, sizeof(magic));
}

/* Are the numbers possible, each alone and all together? */
static int check(const struct b2f_blp_header *h, uint64_t available,
		 struct b2f_why *why)
{
	/* A chunk takes at least its offset, or without offsets its header. */
	uint64_t most = available / (h->has_offsets ? 8 : B2F_CHUNK_HEADER_MIN);
	uint64_t total = 0;

	if (h->chunk_size < -1 || h->last_chunk < -1 ||
	    ((h->chunk_size == 0 || h->last_chunk == 0) &&
	     !b2f_blp_is_empty(h)) ||
	    (h->chunk_size != -1 && h->last_chunk > h->chunk_size))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "chunks of %d bytes, the last of %d",
				   h->chunk_size, h->last_chunk);
	if (h->nchunks < -1 || h->room < 0 || (h->nchunks == -1 && h->room))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%lld chunks with room for %lld more",
				   (long long)h->nchunks, (long long)h->room);
	if (h->nchunks == -1 && h->has_offsets)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "offsets of an unknown number of chunks");
	if (h->nchunks >= 0 &&
	    (!b2f_add_u64((uint64_t)h->nchunks,
			  h->has_offsets ? (uint64_t)h->room : 0, &total) ||
	     total > most))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%lld chunks with room for %lld more in "
				   "%llu bytes",
				   (long long)h->nchunks, (long long)h->room,
				   (unsigned long long)available);
	return 0;
}

/*
 * Parses the header of a file of @available bytes, B2F_BLP_HEADER of them @raw.
 */
static int parse_header(const uint8_t *raw, uint64_t available,
			struct b2f_blp_header *out, struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, B2F_BLP_HEADER);
	struct b2f_blp_header h = {0};
	uint8_t version, options, sum;
	int err;

	b2f_cursor_skip(&cur, sizeof(magic));
	version = b2f_cursor_u8(&cur);
	options = b2f_cursor_u8(&cur);
	sum = b2f_cursor_u8(&cur);
	h.typesize = b2f_cursor_u8(&cur);
	h.chunk_size = (int32_t)b2f_cursor_le32(&cur);
	h.last_chunk = (int32_t)b2f_cursor_le32(&cur);
	h.nchunks = (int64_t)b2f_cursor_le64(&cur);
	h.room = (int64_t)b2f_cursor_le64(&cur);
	if (version != B2F_BLP_VERSION)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "Bloscpack format version %u", version);
	if (options & ~(OPTION_OFFSETS | OPTION_META))
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "unknown Bloscpack options 0x%02x", options);
	h.sum = b2f_sum_by_number(sum);
	if (!h.sum)
		return b2f_why_set(why, B2F_ECORRUPT, "unknown checksum %u",
				   sum);
	h.has_offsets = options & OPTION_OFFSETS;
	h.has_meta = options & OPTION_META;
	err = check(&h, available, why);
	if (!err)
		*out = h;
	return err;
}

void b2f_blp_header_write(const struct b2f_blp_header *header, uint8_t *out)
{
	memcpy(out, magic, sizeof(magic));
	out[4] = B2F_BLP_VERSION;
	out[5] = (uint8_t)((header->has_offsets ? OPTION_OFFSETS : 0) |
			   (header->has_meta ? OPTION_META : 0));
	out[6] = b2f_sum_number(header->sum);
	out[7] = header->typesize;
	b2f_store_le32(out + 8, (uint32_t)header->chunk_size);
	b2f_store_le32(out + 12, (uint32_t)header->last_chunk);
	b2f_store_le64(out + 16, (uint64_t)header->nchunks);
	b2f_store_le64(out + 24, (uint64_t)header->room);
}

/* Limit for the metadata, compressed or not. */
#define META_MAX (16u << 20)

enum {
	CODEC_NONE = 0,
	CODEC_ZLIB = 1,
};

/* The header of the section. */
struct section {
	char format[8];
	const struct b2f_sum *sum;
	uint8_t codec;
	/* Bytes of the text, of its stored form, and of the room for that. */
	uint32_t size;
	uint32_t stored;
	uint32_t room;
};

static int check_section(const struct section *s, uint8_t options,
			 uint64_t left, struct b2f_why *why)
{
	static const char json[8] = "JSON";

	if (options)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "unknown options 0x%02x of the metadata",
				   options);
	if (memcmp(s->format, json, sizeof(json)) != 0)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "metadata that are no JSON");
	if (!s->sum)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "an unknown checksum of the metadata");
	if (s->codec > CODEC_ZLIB)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "an unknown codec of the metadata");
	if (s->stored > s->room || !b2f_range_fits(s->room, s->sum->size, left))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%u bytes of metadata in room for %u, of "
				   "which %llu are there",
				   s->stored, s->room,
				   (unsigned long long)left);
	if (s->stored > META_MAX ||
	    (s->codec == CODEC_ZLIB && s->size > META_MAX))
		return b2f_why_set(why, B2F_ETOOBIG, "%u bytes of metadata",
				   s->codec == CODEC_ZLIB ? s->size
							  : s->stored);
	return 0;
}

static int read_section(const struct b2f_object *file, uint64_t left,
			struct section *out, struct b2f_why *why)
{
	uint8_t raw[B2F_BLP_HEADER], options;
	struct b2f_cursor cur = b2f_cursor_at(raw, sizeof(raw));
	struct section s = {.codec = CODEC_NONE};
	int err;

	if (left < sizeof(raw))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the metadata are cut short");
	err = b2f_object_read(file, B2F_BLP_HEADER, raw, sizeof(raw), why);
	if (err)
		return err;
	memcpy(s.format, b2f_cursor_take(&cur, sizeof(s.format)),
	       sizeof(s.format));
	options = b2f_cursor_u8(&cur);
	s.sum = b2f_sum_by_number(b2f_cursor_u8(&cur));
	s.codec = b2f_cursor_u8(&cur);
	b2f_cursor_skip(&cur, 1); /* the level it was packed with */
	s.size = b2f_cursor_le32(&cur);
	s.room = b2f_cursor_le32(&cur);
	s.stored = b2f_cursor_le32(&cur);
	err = check_section(&s, options, left - sizeof(raw), why);
	if (!err)
		*out = s;
	return err;
}

/* The text from the @s->stored bytes at @stored, malloc'ed. */
static int unpack(const struct section *s, const uint8_t *stored, char **out,
		  size_t *len, struct b2f_why *why)
{
	uLongf size = s->codec == CODEC_ZLIB ? s->size : s->stored;
	char *text = malloc((size_t)size + 1);

	if (!text)
		return -ENOMEM;
	if (s->codec == CODEC_NONE) {
		memcpy(text, stored, size);
	} else if (uncompress((Bytef *)text, &size, stored, s->stored) !=
			   Z_OK ||
		   size != s->size) {
		free(text);
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the metadata cannot be unpacked");
	}
	text[size] = '\0';
	*out = text;
	*len = size;
	return 0;
}

/* Reads the metadata of @blp, and their length. */
static int read_meta(const struct b2f_object *file, struct b2f_blp *blp,
		     struct b2f_why *why)
{
	uint64_t at = B2F_BLP_HEADER + B2F_BLP_HEADER;
	uint8_t expected[B2F_SUM_SIZE_MAX];
	B2F_OWN uint8_t *stored = NULL;
	struct section s = {.codec = CODEC_NONE};
	int err;

	if (!blp->header.has_meta)
		return 0;
	err = read_section(file, blp->size - B2F_BLP_HEADER, &s, why);
	if (err)
		return err;
	stored = malloc((size_t)s.stored + 1);
	if (!stored)
		return -ENOMEM;
	err = b2f_object_read(file, at, stored, s.stored, why);
	if (!err)
		err = b2f_object_read(file, at + s.room, expected, s.sum->size,
				      why);
	if (!err)
		err = b2f_sum_check(s.sum, stored, s.stored, expected, why);
	if (!err)
		err = unpack(&s, stored, &blp->json, &blp->json_len, why);
	if (!err)
		blp->meta_len = B2F_BLP_HEADER + (uint64_t)s.room + s.sum->size;
	return err;
}

int b2f_blp_read(const struct b2f_object *file, struct b2f_blp *out,
		 struct b2f_why *why)
{
	struct b2f_blp blp = {.size = file->size};
	uint8_t raw[B2F_BLP_HEADER] = {0};
	int err;

	err = b2f_object_read(file, 0, raw,
			      b2f_min_u64(sizeof(raw), file->size), why);
	if (err)
		return err;
	if (!b2f_blp_magic(raw, sizeof(raw)))
		return b2f_why_set(why, B2F_ENOTFRAME, "no Bloscpack file");
	if (file->size < sizeof(raw))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%llu bytes are too few for a Bloscpack "
				   "file",
				   (unsigned long long)file->size);
	err = parse_header(raw, file->size, &blp.header, why);
	if (!err)
		err = read_meta(file, &blp, why);
	if (!err)
		err = b2f_blp_read_chunks(file, &blp, why);
	if (err)
		b2f_blp_fini(&blp);
	else
		*out = blp;
	return err;
}

void b2f_blp_fini(struct b2f_blp *blp)
{
	free(blp->json);
	free(blp->offs);
	blp->json = NULL;
	blp->offs = NULL;
}
