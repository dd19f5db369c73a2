/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * textbuf.h - a text that grows, and how Python prints into it
 *
 * A buffer that could not grow stays failed and drops what follows, so that a
 * writer asks once, at the end (b2f_textbuf_take()).  All text is UTF-8.
 *
 * Layer: array.  May include: base/.
 *
 * Threads: one buffer belongs to one thread.
 */
#ifndef B2F_ARRAY_TEXTBUF_H
#define B2F_ARRAY_TEXTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Zero-initialize it. */
struct b2f_textbuf {
	/* Malloc'ed; without a 0 behind it. */
	char *data;
	size_t len;
	size_t room;
	bool failed;
};

void b2f_textbuf_fini(struct b2f_textbuf *buf);

/* Appends @len bytes. */
void b2f_textbuf_add(struct b2f_textbuf *buf, const char *text, size_t len);

/* Appends a string. */
void b2f_textbuf_puts(struct b2f_textbuf *buf, const char *text);

/* Appends a decimal number. */
void b2f_textbuf_put_u64(struct b2f_textbuf *buf, uint64_t value);

/*
 * Appends a tuple of @n numbers as Python prints it: (), (1,), (1, 2).
 */
void b2f_textbuf_put_tuple(struct b2f_textbuf *buf, const int64_t *values,
			   size_t n);

/*
 * Appends valid UTF-8 as Python's repr() prints a str.  Characters that no
 * Unicode version has given a meaning yet are printed as they are; Python
 * escapes them until it knows them.
 */
void b2f_textbuf_put_repr(struct b2f_textbuf *buf, const char *text,
			  size_t len);

/*
 * Moves the text out, with a 0 behind it that @len (may be NULL) does not
 * count.  The caller frees *@text; @buf is empty then.
 *
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_textbuf_take(struct b2f_textbuf *buf, char **text, size_t *len);

#endif
