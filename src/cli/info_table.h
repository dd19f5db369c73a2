/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_table.h - the number of rows of a CTable, for its columns
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
	/* Rows of the table, and items of the column. */
	uint64_t nrows;
	uint64_t nitems;
};

/*
 * Is @frame at @at, by its name, a column of a CTable whose number of rows is
 * known?  If so, sets @out.  Looks for _meta beside _cols; prints no errors.
 */
bool cli_info_table(const struct cli_at *at, const struct b2f_frame *frame,
		    struct cli_table *out);

#endif
