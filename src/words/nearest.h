/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nearest.h - the name that a mistyped word was most likely meant to be
 *
 * Layer: words, below both programs.  Threads: pure functions.
 */
#ifndef B2F_WORDS_NEAREST_H
#define B2F_WORDS_NEAREST_H

#include <stddef.h>

struct b2f_nearest {
	const char *word;
	/*
	 * A name is near if fewer letters than these have to be put in, left out,
	 * replaced or swapped with the next one to get to @word; falls with each
	 * that is found.
	 */
	size_t limit;
	/* The nearest of those that were tried; NULL: none is near. */
	const char *found;
};

void b2f_nearest_try(struct b2f_nearest *nearest, const char *name);

#endif
