/* SPDX-License-Identifier: BSD-3-Clause */
/* info_table.c - the number of rows of a CTable, for its columns */
#include "cli/info_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/table.h"
#include "cli/pack_path.h"

/* The path of _meta of the table that the column @path belongs to, or NULL. */
static char *meta_path(const char *path)
{
	char *meta = NULL;
	size_t table;

	if (!b2f_table_has_column(path, &table) ||
	    asprintf(&meta, "%.*s" B2F_TABLE_META, (int)table, path) < 0)
		return NULL;
	return meta;
}

static int open_in_pack(const struct b2f_frame_options *options,
			const struct cli_at *file, const char *key,
			struct b2f_frame **out)
{
	struct b2f_pack *pack = NULL;
	size_t entry = 0;
	int err = b2f_pack_open(options, file->dir, file->name, &pack);

	if (!err)
		err = b2f_pack_find(pack, key, &entry);
	if (!err)
		err = b2f_pack_open_frame(pack, entry, options, out);
	b2f_pack_close(pack);
	return err;
}

/* Opens _meta of a column given by the user, by path. */
static int open_named(const char *column, struct b2f_frame **out)
{
	const struct b2f_frame_options quiet = {.log = NULL};
	char *path = meta_path(column), *file;
	struct cli_at store;
	const char *key;
	int err;

	if (!path)
		return -ENOENT;
	file = cli_pack_path_split(path, false, &key);
	if (file)
		store = cli_at_path(file);
	err = file ? open_in_pack(&quiet, &store, key, out)
		   : b2f_frame_open(&quiet, AT_FDCWD, path, out);
	free(file);
	free(path);
	return err;
}

/* Opens _meta of a column in the directory at->dir. */
static int open_beside(const struct cli_at *at, struct b2f_frame **out)
{
	const struct b2f_frame_options quiet = {.nofollow = true};
	size_t table;

	return b2f_table_has_column(at->path, &table)
		       ? b2f_frame_open(&quiet, at->dir, "../" B2F_TABLE_META,
					out)
		       : -ENOENT;
}

static int open_meta(const struct cli_at *at, struct b2f_frame **out)
{
	const struct b2f_frame_options quiet = {.nofollow = true};
	char *key;
	int err = -ENOENT;

	/* On a server it would cost requests. */
	if (at->kind == CLI_KIND_URL || at->kind == CLI_KIND_STDIN)
		return err;
	if (cli_at_is_named(at))
		return open_named(at->name, out);
	if (at->kind == CLI_KIND_PATH)
		return open_beside(at, out);
	key = meta_path(at->key);
	if (key)
		err = open_in_pack(&quiet, at, key, out);
	free(key);
	return err;
}

bool cli_info_table(const struct cli_at *at, const struct b2f_frame *frame,
		    struct cli_table *out)
{
	const struct b2f_array *array = b2f_frame_array(frame);
	struct b2f_frame *meta = NULL;
	bool found = false;

	if (!array || array->ndim == 0)
		return false;
	if (open_meta(at, &meta) == 0)
		found = b2f_table_rows(meta, &out->nrows) == 0;
	if (found)
		out->nitems = (uint64_t)array->shape[0];
	b2f_frame_close(meta);
	return found;
}
