/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype_scalar.c - types like <f8 and <M8[us] */
#include <inttypes.h>
#include <string.h>

#include "array/dtype.h"
#include "b2frame/error.h"

/* The byte order for a missing order, or '='. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER_NATIVE '<'
#else
#define ORDER_NATIVE '>'
#endif

/* numpy has this size only where a C long double has it. */
#define HAS_F16 (sizeof(long double) == 16)

static const char *const units[] = {"Y",  "M",	"W",  "D",  "h",  "m", "s",
				    "ms", "us", "ns", "ps", "fs", "as"};

/*
 * A number that is neither empty nor starts with a 0, up to INT32_MAX; moves
 * *@text behind it.
 */
static bool take_number(const char **text, const char *end, uint32_t *out)
{
	const char *p = *text;
	uint64_t n = 0;

	if (p == end || *p < '1' || *p > '9')
		return false;
	while (p < end && *p >= '0' && *p <= '9') {
		n = n * 10 + (uint64_t)(*p++ - '0');
		if (n > INT32_MAX)
			return false;
	}
	*text = p;
	*out = (uint32_t)n;
	return true;
}

static bool is_unit(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == len && !memcmp(units[i], text, len))
			return true;
	return false;
}

/* Parses the unit behind M8 or m8: nothing, or text such as [25us]. */
static bool read_unit(const char *text, const char *end, struct b2f_dtype *t)
{
	static const char generic[] = "[generic]";
	size_t len = (size_t)(end - text);

	t->nunits = 1;
	if (len == 0 || (len == strlen(generic) && !memcmp(text, generic, len)))
		return true;
	if (*text++ != '[' || *--end != ']')
		return false;
	if (text < end && *text >= '0' && *text <= '9' &&
	    !take_number(&text, end, &t->nunits))
		return false;
	if (text >= end || !is_unit(text, (size_t)(end - text)))
		return false;
	memcpy(t->unit, text, (size_t)(end - text));
	return true;
}

static bool is_size(char kind, uint32_t n)
{
	switch (kind) {
	case 'b':
		return n == 1;
	case 'i':
	case 'u':
		return n == 1 || n == 2 || n == 4 || n == 8;
	case 'f':
		return n == 2 || n == 4 || n == 8 || (n == 16 && HAS_F16);
	case 'c':
		return n == 8 || n == 16 || (n == 32 && HAS_F16);
	case 'S':
	case 'V':
		return true;
	case 'U':
		return n <= INT32_MAX / 4;
	case 'M':
	case 'm':
		return n == 8;
	default:
		return false;
	}
}

static uint32_t alignment(char kind, uint32_t size)
{
	switch (kind) {
	case 'S':
	case 'V':
		return 1;
	case 'U':
		return 4;
	case 'c':
		return size / 2;
	default:
		return size;
	}
}

/* S, U and V may have no size or 0. */
static bool read_size(const char **text, const char *end, struct b2f_dtype *t)
{
	bool may_be_0 = strchr("SUV", t->kind) != NULL;

	t->size = 0;
	if (take_number(text, end, &t->size))
		return is_size(t->kind, t->size);
	if (!may_be_0)
		return false;
	if (*text < end && **text == '0')
		++*text;
	return true;
}

/* "?", which is short for "b1". */
static bool read_bool(const char *text, const char *end, struct b2f_dtype *t)
{
	if (end - text != 1 || *text != '?')
		return false;
	t->kind = 'b';
	t->order = '|';
	t->size = t->alignment = 1;
	return true;
}

/* '|' means no order; numpy takes the native one where it needs one. */
static void read_order(const char **text, struct b2f_dtype *t)
{
	t->order = ORDER_NATIVE;
	if (**text == '<' || **text == '>')
		t->order = **text;
	else if (**text != '=' && **text != '|')
		return;
	++*text;
}

/* Parses all but the byte order. */
static bool read_rest(const char *text, const char *end, struct b2f_dtype *t)
{
	if (read_bool(text, end, t))
		return true;
	if (text == end || !*text || !strchr("biufcSUVMm", *text))
		return false;
	t->kind = *text++;
	if (!read_size(&text, end, t))
		return false;
	t->alignment = alignment(t->kind, t->size);
	if (t->kind == 'M' || t->kind == 'm')
		return read_unit(text, end, t);
	if (t->kind == 'U')
		t->size *= 4;
	else if (t->size == 1 || t->kind == 'S' || t->kind == 'V')
		t->order = '|';
	return text == end;
}

int b2f_dtype_read_scalar(const char *text, size_t len, struct b2f_dtype *out)
{
	struct b2f_dtype t = {.form = B2F_DTYPE_SCALAR};
	const char *end = text + len;

	if (len == 0)
		return B2F_ECORRUPT;
	read_order(&text, &t);
	if (!read_rest(text, end, &t))
		return B2F_EUNSUPPORTED;
	*out = t;
	return 0;
}

void b2f_dtype_put_scalar(const struct b2f_dtype *t, bool brief, FILE *out)
{
	uint32_t n = t->kind == 'U' ? t->size / 4 : t->size;

	if (brief && t->kind == 'b') {
		fputc('?', out);
		return;
	}
	if (!brief || t->order != '|')
		fputc(t->order, out);
	fputc(t->kind, out);
	if (!brief || n > 0)
		fprintf(out, "%" PRIu32, n);
	if (t->unit[0] && t->nunits != 1)
		fprintf(out, "[%" PRIu32 "%s]", t->nunits, t->unit);
	else if (t->unit[0])
		fprintf(out, "[%s]", t->unit);
}
