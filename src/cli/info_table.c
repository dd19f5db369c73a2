/* SPDX-License-Identifier: BSD-3-Clause */
/* info_table.c - the rows of a CTable, of which a frame is a column */
#include "cli/info_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/table.h"
#include "cli/kind.h"
#include "cli/pack_path.h"

/* The path of _meta of the table that the column @path is of, or NULL. */
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
			const char *file, const char *key,
			struct b2f_frame **out)
{
	struct b2f_pack *pack = NULL;
	size_t entry = 0;
	int err = b2f_pack_open(options, AT_FDCWD, file, &pack);

	if (!err)
		err = b2f_pack_find(pack, key, &entry);
	if (!err)
		err = b2f_pack_open_frame(pack, entry, options, out);
	b2f_pack_close(pack);
	return err;
}

static int open_meta(const char *path, struct b2f_frame **out)
{
	const struct b2f_frame_options quiet = {.log = NULL};
	const char *key;
	char *file;
	int err;

	/* On a server it would cost requests. */
	if (cli_kind_of(path) == CLI_KIND_URL)
		return -ENOENT;
	file = cli_pack_path_split(path, false, &key);
	err = file ? open_in_pack(&quiet, file, key, out)
		       : b2f_frame_open(&quiet, AT_FDCWD, path, out);

	free(file);
	return err;
}

bool cli_info_table(const struct b2f_frame *frame, struct cli_table *out)
{
	const struct b2f_array *array = b2f_frame_array(frame);
	struct b2f_frame *meta = NULL;
	char *path;
	bool found = false;

	if (!array || array->ndim == 0)
		return false;
	path = meta_path(b2f_frame_label(frame));
	if (path && open_meta(path, &meta) == 0)
		found = b2f_table_rows(meta, &out->nrows) == 0;
	if (found)
		out->nitems = (uint64_t)array->shape[0];
	b2f_frame_close(meta);
	free(path);
	return found;
}
