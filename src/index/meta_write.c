/* SPDX-License-Identifier: BSD-3-Clause */
/* meta_write.c - headers and trailers with metalayers in them */
#include "index/meta_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "index/index_write.h"

enum {
	/* A section without entries; what each adds to it, beside its bytes. */
	SECTION_EMPTY = 10,
	ENTRY_HEAD = 6,
	CONTENT_HEAD = 5,
	/* Where its own size and the number of entries stand in it. */
	OFF_SIZE = 2,
	OFF_ENTRIES = 7,
	/* Where a section begins: in a header, in a trailer. */
	HEADER_SECTION = B2F_FRAME_HEADER_FIXED,
	TRAILER_SECTION = 2,
	/* From the start of an empty trailer to what follows its section. */
	TRAILER_REST = 12,
};

/* Bytes up to the end of the map of names; then come the contents. */
static size_t map_size(const struct b2f_meta_list *metas)
{
	size_t size = OFF_ENTRIES;

	for (size_t i = 0; i < metas->n; i++)
		size += ENTRY_HEAD + metas->items[i].name_len;
	return size;
}

static size_t section_size(const struct b2f_meta_list *metas)
{
	size_t size = map_size(metas) + SECTION_EMPTY - OFF_ENTRIES;

	for (size_t i = 0; i < metas->n; i++)
		size += CONTENT_HEAD + metas->items[i].size;
	return size;
}

static int check(const struct b2f_meta_list *metas, size_t max)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < metas->n; i++) {
		if (metas->items[i].name_len > B2F_META_NAME_MAX)
			return -EINVAL;
		sum += metas->items[i].size;
	}
	if (metas->n > max || sum > INT32_MAX)
		return -EINVAL;
	return 0;
}

/*
 * Writes the section that begins @start bytes behind @base, from which its
 * offsets count; its size counts from @size_from on.
 */
static void write_section(const struct b2f_meta_list *metas, uint8_t *base,
			  size_t start, size_t size_from)
{
	uint8_t *at = base + start;
	size_t content = start + map_size(metas) + SECTION_EMPTY - OFF_ENTRIES;

	at[0] = 0x93;
	at[1] = 0xcd;
	b2f_store_be16(at + OFF_SIZE,
		       (uint16_t)(map_size(metas) - size_from));
	at[4] = 0xde;
	b2f_store_be16(at + 5, (uint16_t)metas->n);
	at += OFF_ENTRIES;
	for (size_t i = 0; i < metas->n; i++) {
		const struct b2f_meta *m = &metas->items[i];

		*at++ = (uint8_t)(0xa0 | m->name_len);
		memcpy(at, m->name, m->name_len);
		at += m->name_len;
		*at++ = 0xd2;
		b2f_store_be32(at, (uint32_t)content);
		at += 4;
		base[content] = 0xc6;
		b2f_store_be32(base + content + 1, (uint32_t)m->size);
		if (m->size)
			memcpy(base + content + CONTENT_HEAD, m->content,
			       m->size);
		content += CONTENT_HEAD + m->size;
	}
	at[0] = 0xdc;
	b2f_store_be16(at + 1, (uint16_t)metas->n);
}

int b2f_header_with_metas(const struct b2f_frame_header *header,
			  const struct b2f_meta_list *metas, uint8_t **out,
			  size_t *size)
{
	struct b2f_frame_header h = *header;
	uint8_t plain[B2F_FRAME_HEADER_PLAIN], *buf;
	int err = check(metas, B2F_META_MAX);

	if (err)
		return err;
	h.header_len = (uint32_t)(HEADER_SECTION + section_size(metas));
	buf = malloc(h.header_len);
	if (!buf)
		return -ENOMEM;
	b2f_frame_header_write(&h, plain);
	memcpy(buf, plain, B2F_FRAME_HEADER_FIXED);
	write_section(metas, buf, HEADER_SECTION, 0);
	*out = buf;
	*size = h.header_len;
	return 0;
}

int b2f_trailer_with_metas(const struct b2f_meta_list *metas, uint8_t **out,
			   size_t *size)
{
	uint8_t plain[B2F_FRAME_TRAILER_PLAIN], *buf;
	size_t section, rest = sizeof(plain) - TRAILER_REST;
	int err = check(metas, B2F_VLMETA_MAX);

	if (err)
		return err;
	section = section_size(metas);
	buf = malloc(TRAILER_SECTION + section + rest);
	if (!buf)
		return -ENOMEM;
	b2f_trailer_write(plain);
	memcpy(buf, plain, TRAILER_SECTION);
	write_section(metas, buf, TRAILER_SECTION, 1);
	memcpy(buf + TRAILER_SECTION + section, plain + TRAILER_REST, rest);
	*size = TRAILER_SECTION + section + rest;
	/* Its own length, behind a mark. */
	b2f_store_be32(buf + TRAILER_SECTION + section + 1, (uint32_t)*size);
	*out = buf;
	return 0;
}
