/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - counts the rows of a CTable
 *
 * A CTable of python-blosc2 is a store with an array per column in _cols.
 * Deleted rows stay in the columns until the table is compacted; _valid_rows
 * tells which ones are left, and a vlmetalayer of _meta how many.
 *
 * Layer: for bloscfs and bloscctl alone (made by frame/).
 *
 * Threads: pure functions.
 */
#ifndef B2F_PROGRAMS_TABLE_H
#define B2F_PROGRAMS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/error.h"
#include "b2frame/frame.h"

/* The table's description: a frame without data beside _cols. */
#define B2F_TABLE_META "_meta.b2f"

/*
 * Is @path the path of a column, TABLE/_cols/NAME or _cols/NAME?  If so,
 * *@table is the number of its bytes before "_cols", the slash included.
 */
bool b2f_table_has_column(const char *path, size_t *table);

/*
 * Counts the rows of the table whose B2F_TABLE_META is @meta.  Returns 0,
 * -ENODATA (@meta has no count), B2F_ECORRUPT or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_table_rows(const struct b2f_frame *meta, uint64_t *nrows);

#endif
