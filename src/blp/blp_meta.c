/* SPDX-License-Identifier: BSD-3-Clause */
/* blp_meta.c - the metadata of a Bloscpack file */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/checked.h"
#include "base/cursor.h"
#include "blp/blp.h"

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

static int check(const struct section *s, uint8_t options, uint64_t left,
		 struct b2f_why *why)
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
	if (s->stored > s->room ||
	    !b2f_range_fits(s->room, s->sum->size, left))
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
	err = check(&s, options, left - sizeof(raw), why);
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

int b2f_blp_read_meta(const struct b2f_object *file, struct b2f_blp *blp,
		      struct b2f_why *why)
{
	uint64_t at = B2F_BLP_HEADER + B2F_BLP_HEADER;
	uint8_t expected[B2F_SUM_SIZE_MAX], *stored;
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
		blp->meta_len = B2F_BLP_HEADER + (uint64_t)s.room +
				s.sum->size;
	free(stored);
	return err;
}
