/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.c - MessagePack as text
 *
 * Two passes of the same walk: the first one, without a stream, finds out
 * whether the bytes are MessagePack at all.
 */
#include "cli/msgpack.h"

#include <inttypes.h>
#include <string.h>

#include "cli/text.h"

/* Deeper nesting is taken for something else. */
#define DEPTH_MAX 16
/* Items of a list, bytes of a string that are shown. */
#define ITEMS_SHOWN 32
#define BYTES_SHOWN 160

struct reader {
	const uint8_t *p;
	size_t left;
	/* NULL: look, do not print. */
	FILE *out;
	unsigned int depth;
};

static bool read_object(struct reader *r);

static void put(const struct reader *r, const char *text)
{
	if (r->out)
		fputs(text, r->out);
}

static bool take(struct reader *r, size_t n, const uint8_t **out)
{
	if (n > r->left)
		return false;
	*out = r->p;
	r->p += n;
	r->left -= n;
	return true;
}

/* A big-endian number of @n bytes. */
static bool read_uint(struct reader *r, size_t n, uint64_t *out)
{
	const uint8_t *p;
	uint64_t value = 0;

	if (!take(r, n, &p))
		return false;
	for (size_t i = 0; i < n; i++)
		value = value << 8 | p[i];
	*out = value;
	return true;
}

static bool print_uint(struct reader *r, size_t n)
{
	uint64_t value;

	if (!read_uint(r, n, &value))
		return false;
	if (r->out)
		fprintf(r->out, "%" PRIu64, value);
	return true;
}

static bool print_int(struct reader *r, size_t n)
{
	unsigned int unused = 64 - 8 * (unsigned int)n;
	uint64_t value;

	if (!read_uint(r, n, &value))
		return false;
	if (r->out)
		fprintf(r->out, "%" PRId64,
			(int64_t)(value << unused) >> unused);
	return true;
}

static bool print_float(struct reader *r, size_t n)
{
	uint64_t bits;
	uint32_t low;
	double value;
	float single;

	if (!read_uint(r, n, &bits))
		return false;
	if (n == 4) {
		low = (uint32_t)bits;
		memcpy(&single, &low, sizeof(single));
		value = (double)single;
	} else {
		memcpy(&value, &bits, sizeof(value));
	}
	if (r->out)
		fprintf(r->out, n == 4 ? "%.9g" : "%.17g", value);
	return true;
}

static bool print_string(struct reader *r, uint64_t n)
{
	const uint8_t *p;

	if (!take(r, n, &p))
		return false;
	if (!r->out)
		return true;
	fputc('"', r->out);
	cli_text_escape(r->out, (const char *)p,
			n < BYTES_SHOWN ? n : BYTES_SHOWN);
	fputs(n > BYTES_SHOWN ? "\"..." : "\"", r->out);
	return true;
}

static bool print_bytes(struct reader *r, uint64_t n)
{
	const uint8_t *p;

	if (!take(r, n, &p))
		return false;
	if (!r->out)
		return true;
	fputs("h'", r->out);
	for (size_t i = 0; i < n && i < BYTES_SHOWN / 2; i++)
		fprintf(r->out, "%02x", p[i]);
	fputs(n > BYTES_SHOWN / 2 ? "...'" : "'", r->out);
	return true;
}

static bool print_extension(struct reader *r, uint64_t n)
{
	uint64_t type;

	if (!read_uint(r, 1, &type))
		return false;
	if (r->out)
		fprintf(r->out, "ext %d ", (int)(int8_t)type);
	return print_bytes(r, n);
}

/* @n items, or @n pairs of a @map.  What is not shown is read all the same. */
static bool print_items(struct reader *r, uint64_t n, bool map)
{
	FILE *out = r->out;
	bool ok = r->depth++ < DEPTH_MAX;

	put(r, map ? "{" : "[");
	for (uint64_t i = 0; i < n && ok; i++) {
		if (i == ITEMS_SHOWN) {
			put(r, ", ...");
			r->out = NULL;
		}
		if (i > 0)
			put(r, ", ");
		ok = read_object(r);
		if (ok && map) {
			put(r, ": ");
			ok = read_object(r);
		}
	}
	r->out = out;
	put(r, map ? "}" : "]");
	r->depth--;
	return ok;
}

static bool read_short(struct reader *r, uint8_t tag)
{
	if (tag < 0x80) {
		if (r->out)
			fprintf(r->out, "%u", tag);
		return true;
	}
	if (tag >= 0xe0) {
		if (r->out)
			fprintf(r->out, "%d", (int)(int8_t)tag);
		return true;
	}
	if (tag < 0x90)
		return print_items(r, tag & 0x0f, true);
	if (tag < 0xa0)
		return print_items(r, tag & 0x0f, false);
	return print_string(r, tag & 0x1f);
}

/* 0xc4.. 0xc6, 0xc7.. 0xc9, 0xd9.. 0xdb, 0xdc.. 0xdd, 0xde.. 0xdf. */
static bool read_long(struct reader *r, uint8_t tag)
{
	static const uint8_t widths[] = {
		[0x04] = 1, [0x05] = 2, [0x06] = 4, [0x07] = 1, [0x08] = 2,
		[0x09] = 4, [0x19] = 1, [0x1a] = 2, [0x1b] = 4, [0x1c] = 2,
		[0x1d] = 4, [0x1e] = 2, [0x1f] = 4,
	};
	uint64_t n;

	if (!read_uint(r, widths[tag - 0xc0], &n))
		return false;
	if (tag <= 0xc6)
		return print_bytes(r, n);
	if (tag <= 0xc9)
		return print_extension(r, n);
	if (tag <= 0xdb)
		return print_string(r, n);
	return print_items(r, n, tag >= 0xde);
}

static bool read_simple(struct reader *r, uint8_t tag)
{
	static const char *const words[] = {"null", NULL, "false", "true"};

	if (!words[tag - 0xc0])
		return false;
	put(r, words[tag - 0xc0]);
	return true;
}

static bool read_object(struct reader *r)
{
	const uint8_t *p;
	uint8_t tag;

	if (!take(r, 1, &p))
		return false;
	tag = *p;
	if (tag < 0xc0 || tag >= 0xe0)
		return read_short(r, tag);
	if (tag <= 0xc3)
		return read_simple(r, tag);
	if (tag == 0xca || tag == 0xcb)
		return print_float(r, tag == 0xca ? 4 : 8);
	if (tag >= 0xcc && tag <= 0xcf)
		return print_uint(r, (size_t)1 << (tag - 0xcc));
	if (tag >= 0xd0 && tag <= 0xd3)
		return print_int(r, (size_t)1 << (tag - 0xd0));
	if (tag >= 0xd4 && tag <= 0xd8)
		return print_extension(r, UINT64_C(1) << (tag - 0xd4));
	return read_long(r, tag);
}

bool cli_msgpack_print(FILE *out, const uint8_t *data, size_t size)
{
	struct reader r = {.p = data, .left = size};

	if (!read_object(&r) || r.left > 0)
		return false;
	r = (struct reader){.p = data, .left = size, .out = out};
	return read_object(&r);
}
