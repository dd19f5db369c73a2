/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table_rows.h - counts the deleted rows in a column of a CTable
 *
 * A column keeps the items of deleted rows until python-blosc2 compacts the
 * table, and a program that reads the column cannot see which they are.  So an
 * open logs their number, and user.blosc2.deleted_rows shows it.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_TABLE_ROWS_H
#define B2F_FUSE_TABLE_ROWS_H

#include <stdint.h>

#include "b2frame/frame.h"

struct fs;
struct fs_backed;
struct b2f_pack;

#define FS_TABLE_ROWS_FACT "user.blosc2.deleted_rows"

/*
 * Counts the items of @frame, which @node shows, that are deleted rows.
 * Returns 0, -ENODATA (it is no column, or its table does not say), -ENOMEM or
 * another errno.
 */
B2F_MUST_CHECK
int fs_table_rows_count(struct fs *fs, struct fs_backed *node,
			const struct b2f_frame *frame, uint64_t *out);

/* The same for the entry @member of @pack. */
B2F_MUST_CHECK
int fs_table_rows_count_in_pack(const struct b2f_pack *pack, size_t member,
				const struct b2f_frame *frame, uint64_t *out);

/* Logs that @n items of @frame are deleted rows, if any are. */
void fs_table_rows_warn(struct fs *fs, const struct b2f_frame *frame,
			uint64_t n);

#endif
