/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nearest.h - the name that a mistyped word was most likely meant to be
 *
 * Layer: words, below both programs.  Threads: pure functions.
 */
#ifndef B2F_WORDS_NEAREST_H
#define B2F_WORDS_NEAREST_H

#include <stddef.h>

/*
 * How many letters have to be put in, left out, replaced or swapped with the
 * next one to get from @a to @b; more than 2 where either is longer than any
 * name of ours.
 */
size_t b2f_nearest_distance(const char *a, const char *b);

#endif
