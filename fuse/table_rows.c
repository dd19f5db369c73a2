/* SPDX-License-Identifier: BSD-3-Clause */
/* table_rows.c - counts the deleted rows in a column of a CTable */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/pack.h"
#include "programs/table.h"
#include "fs.h"
#include "table_rows.h"

/* Takes @meta over, if @err is 0. */
static int count(const struct b2f_frame *frame, struct b2f_frame *meta, int err,
		 uint64_t *out)
{
	const struct b2f_array *array = b2f_frame_array(frame);
	uint64_t nitems = (uint64_t)array->shape[0], nrows = 0;

	if (!err)
		err = b2f_table_rows(meta, &nrows);
	b2f_frame_close(meta);
	if (!err)
		*out = nitems > nrows ? nitems - nrows : 0;
	return err == -ENOENT ? -ENODATA : err;
}

static bool is_array(const struct b2f_frame *frame)
{
	const struct b2f_array *array = b2f_frame_array(frame);

	return array && array->ndim > 0;
}

int fs_table_rows_count(struct fs *fs, struct fs_backed *node,
			const struct b2f_frame *frame, uint64_t *out)
{
	const struct b2f_frame_options quiet = {
		.nofollow = true,
		.reserve = b2f_runtime_reserve(fs->runtime),
	};
	struct b2f_frame *meta = NULL;
	FS_PIN(columns);
	B2F_OWN char *path = NULL;
	char name[FS_NAME_SIZE];
	size_t table;
	int err;

	/* For most frames the label rules a column out. */
	if (fs->source.is_frame || !is_array(frame) ||
	    !b2f_table_has_column(b2f_frame_label(frame), &table))
		return -ENODATA;
	err = fs_tree_path(fs->tree, node, &path);
	if (!err && !b2f_table_has_column(path, &table))
		err = -ENODATA;
	if (!err)
		err = fs_tree_pin_parent(fs->tree, node, &columns, name);
	if (err)
		return err;
	/* _cols is below the root, so its parent is in the mount. */
	err = b2f_frame_open(&quiet, columns.fd, "../" B2F_TABLE_META, &meta);
	return count(frame, meta, err, out);
}

int fs_table_rows_count_in_pack(const struct b2f_pack *pack, size_t member,
				const struct b2f_frame *frame, uint64_t *out)
{
	const struct b2f_frame_options quiet = {.log = NULL};
	const char *path = b2f_pack_entry(pack, member)->path;
	struct b2f_frame *meta = NULL;
	B2F_OWN char *meta_path = NULL;
	size_t table, entry;
	int err;

	if (!is_array(frame) || !b2f_table_has_column(path, &table))
		return -ENODATA;
	meta_path = b2f_io_text("%.*s" B2F_TABLE_META, (int)table, path);
	if (!meta_path)
		return -ENOMEM;
	err = b2f_pack_find(pack, meta_path, &entry);
	if (!err)
		err = b2f_pack_open_frame(pack, entry, &quiet, &meta);
	return count(frame, meta, err, out);
}

void fs_table_rows_warn(struct fs *fs, const struct b2f_frame *frame,
			uint64_t n)
{
	if (n > 0)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: %" PRIu64 " of its items are deleted rows "
				"of a CTable: _valid_rows marks the others",
				b2f_frame_label(frame), n);
}
