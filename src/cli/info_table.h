/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_table.h - the rows of the CTable that a frame is a column of
 *
 * See b2frame/table.h; the path of the column leads to the table.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_INFO_TABLE_H
#define B2F_CLI_INFO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/frame.h"
#include "cli/at.h"

struct cli_table {
	/* Rows of the table, and items of its column. */
	uint64_t nrows;
	uint64_t nitems;
};

/*
 * Is @frame, by the name of @at, a column of a CTable that tells how many rows it
 * has?  If so, sets @out.  Looks for _meta beside _cols; says nothing if that
 * cannot be read.
 */
bool cli_info_table(const struct cli_at *at, const struct b2f_frame *frame,
		    struct cli_table *out);

#endif
