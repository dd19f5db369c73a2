/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table_rows.h - how many items of a column are no rows of its CTable
 *
 * A column has its deleted rows until python-blosc2 compacts the table: a program
 * that reads it would not notice.  So an open says so in the log, and
 * user.blosc2.deleted_rows tells how many.
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
 * The value of that attribute of @frame, which @node shows: malloc'ed, without a
 * 0 at its end.  Returns 0, -ENODATA (it is no column, or its table does not tell),
 * -ENOMEM or another errno.
 */
B2F_MUST_CHECK
int fs_table_rows_fact(struct fs *fs, struct fs_backed *node,
		       const struct b2f_frame *frame, char **out, size_t *size);

/* The same of the entry @entry of @pack. */
B2F_MUST_CHECK
int fs_table_rows_fact_in_pack(const struct b2f_pack *pack, size_t entry,
			       const struct b2f_frame *frame, char **out,
			       size_t *size);

/* Logs how many it has, if it has some. */
void fs_table_rows_warn(struct fs *fs, struct fs_backed *node,
			const struct b2f_frame *frame);
void fs_table_rows_warn_in_pack(struct fs *fs, const struct b2f_pack *pack,
				size_t entry, const struct b2f_frame *frame);

#endif
