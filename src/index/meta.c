/* SPDX-License-Identifier: BSD-3-Clause */
/* meta.c - the metalayer sections of header and trailer */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "index/index.h"

/* Where the section begins: behind the fixed header, behind 0x94 0x01. */
#define META_START   B2F_FRAME_HEADER_FIXED
#define VLMETA_START 2

/* From the start of a section to the number of its entries. */
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
	return parse_section(raw, size, META_START, B2F_META_MAX, out, why);
}

int b2f_vlmeta_parse(const uint8_t *raw, size_t size, struct b2f_meta_list *out,
		     struct b2f_why *why)
{
	if (size < B2F_FRAME_TAIL || raw[0] != 0x94)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the trailer does not begin where it "
				   "should");
	return parse_section(raw, size, VLMETA_START, B2F_VLMETA_MAX, out, why);
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
