/* SPDX-License-Identifier: BSD-3-Clause */
/* meta.c - the metalayer sections of header and trailer */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cursor.h"
#include "index/index_write.h"

/* Offset of the section in a header, and in a trailer: behind 0x94 0x01. */
#define HEADER_SECTION	B2F_FRAME_HEADER_FIXED
#define TRAILER_SECTION 2

/* Bytes from the start of a section to the number of its entries. */
#define SECTION_TO_COUNT 4

static int parse_name(struct b2f_cursor *cur, struct b2f_meta *meta,
		      struct b2f_why *why)
{
	uint8_t mark = b2f_cursor_u8(cur);
	const uint8_t *name;

	meta->name_len = mark & 31;
	name = b2f_cursor_take(cur, meta->name_len);
	if (!name || (mark & 0xe0) != 0xa0)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the name of a metalayer is broken");
	memcpy(meta->name, name, meta->name_len);
	meta->name[meta->name_len] = '\0';
	return 0;
}

/* The content stands elsewhere in the section, at the offset read here. */
static int parse_content(struct b2f_cursor *cur, struct b2f_meta *meta,
			 struct b2f_why *why)
{
	struct b2f_cursor there = *cur;
	uint8_t offset_mark = b2f_cursor_u8(cur);
	uint32_t offset = b2f_cursor_be32(cur);
	uint8_t content_mark;

	b2f_cursor_seek(&there, offset);
	content_mark = b2f_cursor_u8(&there);
	meta->size = b2f_cursor_be32(&there);
	meta->content = b2f_cursor_take(&there, meta->size);
	if (!b2f_cursor_ok(cur) || !b2f_cursor_ok(&there) ||
	    offset_mark != 0xd2 || content_mark != 0xc6)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the content of metalayer \"%s\" is "
				   "broken",
				   meta->name);
	return 0;
}

/* The section at @start of the @size bytes at @raw, up to @max entries. */
static int parse_section(const uint8_t *raw, size_t size, size_t start,
			 size_t max, struct b2f_meta_list *out,
			 struct b2f_why *why)
{
	struct b2f_cursor cur = b2f_cursor_at(raw, size);
	struct b2f_meta_list list = {0};
	uint8_t mark;
	size_t n;
	int err = 0;

	b2f_cursor_seek(&cur, start + SECTION_TO_COUNT);
	mark = b2f_cursor_u8(&cur);
	n = b2f_cursor_be16(&cur);
	if (!b2f_cursor_ok(&cur) || mark != 0xde)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "no metalayers where they should be");
	/* The least a metalayer takes: name mark, offset. */
	if (n > max || n > b2f_cursor_left(&cur) / 6)
		return b2f_why_set(why, B2F_ECORRUPT, "%zu metalayers", n);
	list.items = calloc(n ? n : 1, sizeof(*list.items));
	if (!list.items)
		return -ENOMEM;
	for (; list.n < n && !err; list.n++) {
		err = parse_name(&cur, &list.items[list.n], why);
		if (!err)
			err = parse_content(&cur, &list.items[list.n], why);
	}
	if (err)
		b2f_meta_list_fini(&list);
	else
		*out = list;
	return err;
}

int b2f_meta_parse(const uint8_t *raw, size_t size, struct b2f_meta_list *out,
		   struct b2f_why *why)
{
	return parse_section(raw, size, HEADER_SECTION, B2F_META_MAX, out, why);
}

int b2f_vlmeta_parse(const uint8_t *raw, size_t size, struct b2f_meta_list *out,
		     struct b2f_why *why)
{
	if (size < B2F_FRAME_TAIL || raw[0] != 0x94)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the trailer does not begin where it "
				   "should");
	return parse_section(raw, size, TRAILER_SECTION, B2F_VLMETA_MAX, out,
			     why);
}

void b2f_meta_list_fini(struct b2f_meta_list *list)
{
	free(list->items);
	*list = (struct b2f_meta_list){0};
}

const struct b2f_meta *b2f_meta_find(const struct b2f_meta_list *list,
				     const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < list->n; i++) {
		const struct b2f_meta *m = &list->items[i];

		if (m->name_len == len && memcmp(m->name, name, len) == 0)
			return m;
	}
	return NULL;
}

enum {
	/*
	 * Bytes of a section without entries, and of an entry beside name and
	 * content.
	 */
	SECTION_EMPTY = 10,
	ENTRY_HEAD = 6,
	CONTENT_HEAD = 5,
	/* Offsets in a section: its own size, the number of entries. */
	OFF_SIZE = 2,
	OFF_ENTRIES = 7,
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
	return metas->n > max || sum > INT32_MAX ? -EINVAL : 0;
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
	/* The trailer's own length, behind a marker. */
	b2f_store_be32(buf + TRAILER_SECTION + section + 1, (uint32_t)*size);
	*out = buf;
	return 0;
}
