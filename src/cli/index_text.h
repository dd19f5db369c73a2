/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index_text.h - "10:20, ::-2, 5" as Python and NumPy read it
 *
 * NumPy's basic indexing: integers, slices and one "..." between commas;
 * dimensions that are missing are whole.  No new axes, no lists.
 *
 * Layer: cli.  Threads: pure functions, but for messages.
 */
#ifndef B2F_CLI_INDEX_TEXT_H
#define B2F_CLI_INDEX_TEXT_H

#include "b2frame/slice.h"

struct cli_index {
	struct b2f_slice slice;
	/* The shape of the result: integers drop their dimension. */
	unsigned int ndim;
	int64_t shape[B2F_ARRAY_MAX_DIM];
};

/* Is @text an index?  Returns 0, or -EINVAL after saying why not. */
B2F_MUST_CHECK
int cli_index_check(const char *text);

/*
 * Reads @text as an index of @array.  Returns 0, or -EINVAL after printing the
 * error, in NumPy's words where NumPy has some.
 */
B2F_MUST_CHECK
int cli_index_parse(const char *text, const struct b2f_array *array,
		    struct cli_index *out);

#endif
