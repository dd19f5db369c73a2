/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_table.h - the rows of a CTable, of which a frame is a column
 *
 * A CTable of python-blosc2 is a store with an array per column in _cols.
 * Deleted rows stay in the columns until the table is compacted; _valid_rows
 * tells which ones are left, and _meta how many.
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_INFO_TABLE_H
#define B2F_CLI_INFO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/frame.h"

struct cli_table {
	/* Rows of the table, and items of its column. */
	uint64_t nrows;
	uint64_t nitems;
};

/*
 * Is @frame, by its label, a column of a CTable that tells how many rows it
 * has?  If so, sets @out.  Looks for _meta beside _cols; says nothing if that
 * cannot be read.
 */
bool cli_info_table(const struct b2f_frame *frame, struct cli_table *out);

#endif
