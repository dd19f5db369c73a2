/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.h - turns words of a command line, or of an attribute, into values, and
 * guesses the name that an unknown word stands for
 *
 * The functions that return int return 0, or leave *@out alone and return
 * -EINVAL (b2f_value_text(): -ENOMEM).
 *
 * Layer: words.  Threads: pure functions.
 */
#ifndef B2F_WORDS_VALUE_H
#define B2F_WORDS_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "b2frame/frame.h"

/*
 * Copies @text to *@out; frees the earlier value there, which is malloc'ed or
 * NULL.
 */
B2F_MUST_CHECK
int b2f_value_text(const char *text, char **out);

/*
 * Overwrites the query of @word, an argument of the program, if it is a URL of
 * a web server: it may be a signature, and all users can read arguments.
 */
void b2f_value_hide_query(char *word);

/*
 * A size up to 63 bits: digits, and a unit: k m g t or KiB MiB GiB TiB (powers
 * of 1024, in either case) or none.
 */
B2F_MUST_CHECK
int b2f_value_size(const char *text, int64_t *out);

/* Digits of base @base, up to @max. */
B2F_MUST_CHECK
int b2f_value_number(const char *text, int base, uint64_t max, int64_t *out);

/*
 * A decimal number, up to @max seconds; a unit in @units, some of "smhd", may
 * follow.
 */
B2F_MUST_CHECK
int b2f_value_seconds(const char *text, const char *units, double max,
		      double *out);

/* Like b2f_value_seconds(), for values without a fraction of a second. */
B2F_MUST_CHECK
int b2f_value_whole_seconds(const char *text, const char *units, double max,
			    int64_t *out);

/* A number, or the name of a user or group of this machine. */
B2F_MUST_CHECK
int b2f_value_user(const char *text, int64_t *out);
B2F_MUST_CHECK
int b2f_value_group(const char *text, int64_t *out);

/* The position of @text in @words, which end with NULL. */
B2F_MUST_CHECK
int b2f_value_choice(const char *text, const char *const *words, int64_t *out);

/* A codec that can encode, in either case; its code in the format. */
B2F_MUST_CHECK
int b2f_value_codec(const char *text, int64_t *out);

/*
 * Lossless filters, in either case, with + or commas between them, in the order
 * in which they are applied.  They go to the last slots of a frame.  Unless
 * @metas is NULL, a number may follow each (NAME:NUMBER).
 */
B2F_MUST_CHECK
int b2f_value_filters(const char *text, uint8_t slots[B2F_SLOTS],
		      uint8_t metas[B2F_SLOTS]);

struct b2f_nearest {
	const char *word;
	/*
	 * A name is near if it becomes @word by fewer than @limit changes: a
	 * letter inserted, removed, replaced or swapped with the next one.
	 * Falls with each nearer name.
	 */
	size_t limit;
	/* The nearest name so far; NULL: none is near. */
	const char *found;
};

void b2f_value_nearest(struct b2f_nearest *nearest, const char *name);

#endif
