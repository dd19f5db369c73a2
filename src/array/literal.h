/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * literal.h - a Python literal: what it says, not what it means
 *
 * Reads a subset of ast.literal_eval(): strings in either quote without a
 * prefix, decimal integers >= 0, True, False, None, tuples, lists and dicts.
 * Comments, signs, floats, numbers of other bases, strings side by side and
 * redundant brackets are refused; numpy never writes them.
 *
 * Layer: array.  May include: base/.
 *
 * Threads: pure functions; a parsed literal does not change.
 */
#ifndef B2F_ARRAY_LITERAL_H
#define B2F_ARRAY_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Bytes of a text, and brackets in brackets. */
#define B2F_LITERAL_MAX_TEXT  ((size_t)1 << 16)
#define B2F_LITERAL_MAX_DEPTH 48

enum b2f_literal_kind {
	B2F_LITERAL_STRING,
	B2F_LITERAL_INT,
	B2F_LITERAL_BOOL,
	B2F_LITERAL_NONE,
	B2F_LITERAL_TUPLE,
	B2F_LITERAL_LIST,
	/* Children are key, value, key, value; keys may repeat. */
	B2F_LITERAL_DICT,
};

struct b2f_literal_value {
	enum b2f_literal_kind kind;
	/* INT: 0..INT64_MAX.  BOOL: 0 or 1. */
	int64_t number;
	/* STRING: valid UTF-8, may hold zeros; lives as long as the literal. */
	const char *text;
	size_t len;
	/* TUPLE, LIST, DICT: values directly inside. */
	size_t nchildren;
	/* The first of them, and the next one in the same brackets; or NULL. */
	const struct b2f_literal_value *child;
	const struct b2f_literal_value *next;
};

struct b2f_literal {
	/* The first one holds all others. */
	struct b2f_literal_value *values;
	/* Bytes of all strings. */
	char *strings;
};

/*
 * Reads @len bytes of UTF-8.  Free @out with b2f_literal_fini().
 *
 * Returns 0, B2F_ECORRUPT (not such a literal), B2F_ETOOBIG (longer than
 * B2F_LITERAL_MAX_TEXT, or too deep) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_literal_parse(const char *text, size_t len, struct b2f_literal *out);

void b2f_literal_fini(struct b2f_literal *lit);

/* True if @value is the string @text. */
bool b2f_literal_is(const struct b2f_literal_value *value, const char *text);

/*
 * Puts the values of @dict, a DICT, in the order of the @n @keys; NULL for a
 * missing key.  Returns false if @dict has a key twice, or another key.
 */
B2F_MUST_CHECK
bool b2f_literal_columns(const struct b2f_literal_value *dict,
			 const char *const *keys, size_t n,
			 const struct b2f_literal_value **out);

#endif
