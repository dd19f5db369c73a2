/* SPDX-License-Identifier: BSD-3-Clause */
/* literal.c - the syntax of a Python literal, without its meaning */
#include "array/literal.h"

#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "base/utf8.h"

/* The state of a parse.  The first error stays. */
struct reader {
	const char *text;
	size_t len;
	size_t pos;
	unsigned int depth;
	/* Next free byte of lit->strings. */
	size_t string_pos;
	struct b2f_literal *lit;
	/* Values that are in use. */
	size_t nvalues;
};

static int parse_value(struct reader *r, struct b2f_literal_value **out);

/* The next byte, or 0 at the end; no text has a 0 outside of strings. */
static char peek(const struct reader *r)
{
	return r->pos < r->len ? r->text[r->pos] : '\0';
}

/* Python allows more between brackets, but numpy writes spaces only. */
static void skip_space(struct reader *r)
{
	while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n')
		r->pos++;
}

/* Takes the next value; there are as many as bytes of the text. */
static struct b2f_literal_value *new_value(struct reader *r,
					   enum b2f_literal_kind kind)
{
	struct b2f_literal_value *value = &r->lit->values[r->nvalues++];

	value->kind = kind;
	return value;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool parse_hex(struct reader *r, unsigned int ndigits, uint32_t *out)
{
	uint32_t c = 0;

	for (unsigned int i = 0; i < ndigits; i++, r->pos++) {
		int digit = hex_digit(peek(r));

		if (digit < 0)
			return false;
		c = c << 4 | (uint32_t)digit;
	}
	*out = c;
	return c <= 0x10ffff && (c < 0xd800 || c >= 0xe000);
}

/*
 * Parses the rest of an escape sequence.  Python warns of an unknown escape, so
 * no header has one; octal digits are refused, too.
 */
static bool parse_escape(struct reader *r, uint32_t *out)
{
	static const char letters[] = "\\'\"abfnrtv";
	static const char meaning[] = "\\'\"\a\b\f\n\r\t\v";
	char letter = peek(r);
	const char *found = letter ? strchr(letters, letter) : NULL;

	r->pos++;
	if (found) {
		*out = (uint8_t)meaning[found - letters];
		return true;
	}
	switch (letter) {
	case 'x':
		return parse_hex(r, 2, out);
	case 'u':
		return parse_hex(r, 4, out);
	case 'U':
		return parse_hex(r, 8, out);
	default:
		return false;
	}
}

/* The escape of a character is never shorter than the character in UTF-8. */
static int parse_chars(struct reader *r, char quote)
{
	while (peek(r) != quote) {
		uint32_t c;
		bool ok;

		if (r->pos >= r->len)
			return B2F_ECORRUPT;
		if (peek(r) == '\\') {
			r->pos++;
			ok = parse_escape(r, &c);
		} else {
			ok = b2f_utf8_next(r->text, r->len, &r->pos, &c) &&
			     c >= ' ' && c != 0x7f;
		}
		if (!ok)
			return B2F_ECORRUPT;
		r->string_pos +=
			b2f_utf8_put(c, r->lit->strings + r->string_pos);
	}
	r->pos++;
	return 0;
}

static int parse_string(struct reader *r, struct b2f_literal_value **out)
{
	size_t start = r->string_pos;
	char quote = peek(r);
	int err;

	r->pos++;
	err = parse_chars(r, quote);
	if (err)
		return err;
	/* Two empty strings side by side, or the start of '''. */
	if (peek(r) == quote)
		return B2F_ECORRUPT;
	*out = new_value(r, B2F_LITERAL_STRING);
	(*out)->text = r->lit->strings + start;
	(*out)->len = r->string_pos - start;
	return 0;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
	       (uint8_t)c >= 0x80;
}

static int parse_number(struct reader *r, const char *word, size_t len,
			struct b2f_literal_value **out)
{
	int64_t number = 0;

	/* Python refuses 01; 00 is only odd. */
	if (len > 1 && word[0] == '0')
		return B2F_ECORRUPT;
	for (size_t i = 0; i < len; i++) {
		if (word[i] < '0' || word[i] > '9' ||
		    __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, word[i] - '0', &number))
			return B2F_ECORRUPT;
	}
	*out = new_value(r, B2F_LITERAL_INT);
	(*out)->number = number;
	return 0;
}

static bool word_is(const char *word, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(word, text, len) == 0;
}

static int parse_word(struct reader *r, struct b2f_literal_value **out)
{
	const char *word = r->text + r->pos;
	size_t len = 0;

	for (; r->pos < r->len && is_word(peek(r)); r->pos++)
		len++;
	if (len == 0)
		return B2F_ECORRUPT;
	if (word_is(word, len, "None")) {
		*out = new_value(r, B2F_LITERAL_NONE);
	} else if (word_is(word, len, "True") || word_is(word, len, "False")) {
		*out = new_value(r, B2F_LITERAL_BOOL);
		(*out)->number = word[0] == 'T';
	} else {
		return parse_number(r, word, len, out);
	}
	return 0;
}

/* Skips @c and the space around it, if @c is next. */
static bool accept(struct reader *r, char c)
{
	skip_space(r);
	if (peek(r) != c)
		return false;
	r->pos++;
	skip_space(r);
	return true;
}

/*
 * Parses one item, whose address goes to *@at; *@at moves to the place of the
 * next one.
 */
static int parse_item(struct reader *r, struct b2f_literal_value *parent,
		      const struct b2f_literal_value ***at)
{
	struct b2f_literal_value *item = NULL;
	int err = parse_value(r, &item);

	if (err)
		return err;
	**at = item;
	*at = &item->next;
	parent->nchildren++;
	return 0;
}

static int parse_items(struct reader *r, struct b2f_literal_value *parent,
		       char end)
{
	const struct b2f_literal_value **at = &parent->child;
	bool comma = true;
	int err;

	skip_space(r);
	while (peek(r) != end) {
		if (!comma)
			return B2F_ECORRUPT;
		err = parse_item(r, parent, &at);
		if (!err && parent->kind == B2F_LITERAL_DICT)
			err = accept(r, ':') ? parse_item(r, parent, &at)
					     : B2F_ECORRUPT;
		if (err)
			return err;
		comma = accept(r, ',');
	}
	r->pos++;
	/* To Python, (1) is not a tuple but 1. */
	return end == ')' && parent->nchildren == 1 && !comma ? B2F_ECORRUPT
							      : 0;
}

static int parse_container(struct reader *r, enum b2f_literal_kind kind,
			   char end, struct b2f_literal_value **out)
{
	int err;

	if (r->depth == B2F_LITERAL_MAX_DEPTH)
		return B2F_ETOOBIG;
	r->depth++;
	r->pos++;
	*out = new_value(r, kind);
	err = parse_items(r, *out, end);
	r->depth--;
	return err;
}

static int parse_value(struct reader *r, struct b2f_literal_value **out)
{
	switch (peek(r)) {
	case '\'':
	case '"':
		return parse_string(r, out);
	case '(':
		return parse_container(r, B2F_LITERAL_TUPLE, ')', out);
	case '[':
		return parse_container(r, B2F_LITERAL_LIST, ']', out);
	case '{':
		return parse_container(r, B2F_LITERAL_DICT, '}', out);
	default:
		return parse_word(r, out);
	}
}

/* Outside of brackets Python looks at how far a line is indented. */
static void skip_blanks(struct reader *r)
{
	while (peek(r) == ' ' || peek(r) == '\t')
		r->pos++;
}

int b2f_literal_parse(const char *text, size_t len, struct b2f_literal *out)
{
	struct b2f_literal lit = {0};
	struct reader r = {.text = text, .len = len, .lit = &lit};
	struct b2f_literal_value *root;
	int err;

	if (len > B2F_LITERAL_MAX_TEXT)
		return B2F_ETOOBIG;
	lit.strings = malloc(len + B2F_UTF8_MAX);
	lit.values = calloc(len + 1, sizeof(*lit.values));
	err = lit.strings && lit.values ? 0 : -ENOMEM;
	skip_blanks(&r);
	if (!err)
		err = parse_value(&r, &root);
	skip_blanks(&r);
	while (peek(&r) == '\n')
		r.pos++;
	if (!err && r.pos < len)
		err = B2F_ECORRUPT;
	if (err)
		b2f_literal_fini(&lit);
	else
		*out = lit;
	return err;
}

void b2f_literal_fini(struct b2f_literal *lit)
{
	free(lit->values);
	free(lit->strings);
	*lit = (struct b2f_literal){0};
}

bool b2f_literal_is(const struct b2f_literal_value *value, const char *text)
{
	return value->kind == B2F_LITERAL_STRING &&
	       word_is(value->text, value->len, text);
}

bool b2f_literal_columns(const struct b2f_literal_value *dict,
			 const char *const *keys, size_t n,
			 const struct b2f_literal_value **out)
{
	const struct b2f_literal_value *key = dict->child;

	memset(out, 0, n * sizeof(*out));
	for (; key; key = key->next->next) {
		size_t i = 0;

		while (i < n && !b2f_literal_is(key, keys[i]))
			i++;
		if (i == n || out[i])
			return false;
		out[i] = key->next;
	}
	return true;
}
