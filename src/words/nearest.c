/* SPDX-License-Identifier: BSD-3-Clause */
/* nearest.c - the name that a mistyped word was most likely meant to be */
#include <string.h>

#include "words/nearest.h"

#define WORD_MAX 31

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* More than 2 where either is longer than any name of ours. */
static size_t distance(const char *a, const char *b)
{
	/* [i][j]: from the first i letters of @a to the first j of @b. */
	unsigned char cost[WORD_MAX + 1][WORD_MAX + 1];
	size_t na = strlen(a), nb = strlen(b), best;

	if (na > WORD_MAX || nb > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= na; i++) {
		for (size_t j = 0; j <= nb; j++) {
			if (i == 0 || j == 0) {
				cost[i][j] = (unsigned char)(i + j);
				continue;
			}
			best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			best = least(best, cost[i - 1][j] + 1U);
			best = least(best, cost[i][j - 1] + 1U);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				best = least(best, cost[i - 2][j - 2] + 1U);
			cost[i][j] = (unsigned char)best;
		}
	}
	return cost[na][nb];
}

void b2f_nearest_try(struct b2f_nearest *nearest, const char *name)
{
	size_t n = distance(nearest->word, name);

	if (n >= nearest->limit)
		return;
	nearest->limit = n;
	nearest->found = name;
}
