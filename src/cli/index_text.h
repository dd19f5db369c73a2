/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index_text.h - "10:20, ::-2, 5" in the syntax of Python and NumPy
 *
 * NumPy's basic indexing: integers, slices and one "..." between commas;
 * missing dimensions are whole.  No new axes, no lists.
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

/* Is @text an index? Returns 0, or -EINVAL after a message. */
B2F_MUST_CHECK
int cli_index_check(const char *text);

/*
 * Parses @text as an index of @array.  Returns 0, or -EINVAL after a message,
 * in NumPy's words if possible.
 */
B2F_MUST_CHECK
int cli_index_parse(const char *text, const struct b2f_array *array,
		    struct cli_index *out);

#endif
