/* SPDX-License-Identifier: BSD-3-Clause */
/* info_meta.c - metalayers, as readable text */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/info.h"
#include "meta/escape.h"
#include "meta/msgpack.h"

/* Longer texts, and longer hex dumps, are cut. */
#define TEXT_SHOWN 160
#define HEX_SHOWN  32

static bool is_text(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] < 0x20 && data[i] != '\n' && data[i] != '\t')
			return false;
	return size > 0;
}

static void put_text(const uint8_t *data, size_t size)
{
	size_t n = size < TEXT_SHOWN ? size : TEXT_SHOWN;

	b2f_escape_put(stdout, (const char *)data, n);
	if (n < size)
		fputs("...", stdout);
}

static void put_hex(const uint8_t *data, size_t size)
{
	size_t n = size < HEX_SHOWN ? size : HEX_SHOWN;

	for (size_t i = 0; i < n; i++)
		printf("%s%02x", i ? " " : "", data[i]);
	if (n < size)
		fputs(" ...", stdout);
}

static void put_content(const uint8_t *data, size_t size)
{
	if (b2f_msgpack_print(stdout, data, size))
		return;
	if (is_text(data, size))
		put_text(data, size);
	else
		put_hex(data, size);
}

static void put_meta(const char *kind, const struct b2f_meta_info *info,
		     const uint8_t *content)
{
	printf("  %-10s  %8zu bytes  ", kind, info->size);
	b2f_escape_put(stdout, info->name, info->name_len);
	fputs(": ", stdout);
	put_content(content, info->size);
	putchar('\n');
}

static int put_vlmeta(const struct b2f_frame *frame, size_t i)
{
	struct b2f_meta_info info;
	uint8_t *content = NULL;
	int err;

	err = b2f_frame_vlmeta(frame, i, &info, &content);
	if (err)
		printf("  %-10s  unreadable\n", "vlmeta");
	else
		put_meta("vlmeta", &info, content);
	free(content);
	return err;
}

int cli_info_metas(const struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = b2f_frame_info_get(frame);
	int first = 0;

	for (size_t i = 0; i < info->nmeta; i++) {
		const uint8_t *content;
		struct b2f_meta_info meta = b2f_frame_meta(frame, i, &content);

		put_meta("meta", &meta, content);
	}
	for (size_t i = 0; i < info->nvlmeta; i++) {
		int err = put_vlmeta(frame, i);

		if (err && !first)
			first = err;
	}
	return first;
}
