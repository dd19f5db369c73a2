/* SPDX-License-Identifier: BSD-3-Clause */
/* info_table.c - the rows of a CTable, of which a frame is a column */
#include "cli/info_table.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/msgpack.h"
#include "cli/pack_path.h"

#define COLUMNS	"_cols"
#define META	"_meta.b2f"
#define SCHEMA	"schema"

/* The path of _meta of the table that the column @path is of, or NULL. */
static char *meta_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *begin = slash;
	char *meta = NULL;

	while (begin && begin > path && begin[-1] != '/')
		begin--;
	if (!begin || (size_t)(slash - begin) != strlen(COLUMNS) ||
	    strncmp(begin, COLUMNS, strlen(COLUMNS)) != 0)
		return NULL;
	if (asprintf(&meta, "%.*s" META, (int)(begin - path), path) < 0)
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
	char *file = cli_pack_path_split(path, false, &key);
	int err = file ? open_in_pack(&quiet, file, key, out)
		       : b2f_frame_open(&quiet, AT_FDCWD, path, out);

	free(file);
	return err;
}

/* The vlmetalayer is a text that is JSON itself. */
static bool read_rows(const uint8_t *content, size_t size, uint64_t *nrows)
{
	json_t *text = b2f_msgpack_json(content, size), *schema = NULL;
	const json_t *n;
	bool found = false;

	if (json_is_string(text))
		schema = json_loads(json_string_value(text), 0, NULL);
	n = json_object_get(schema, "n_rows");
	if (json_is_integer(n) && json_integer_value(n) >= 0) {
		*nrows = (uint64_t)json_integer_value(n);
		found = true;
	}
	json_decref(schema);
	json_decref(text);
	return found;
}

static bool find_rows(const struct b2f_frame *meta, uint64_t *nrows)
{
	uint8_t *content = NULL;
	size_t size = 0;
	bool found = !b2f_frame_vlmeta_find(meta, SCHEMA, &content, &size) &&
		     read_rows(content, size, nrows);

	free(content);
	return found;
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
		found = find_rows(meta, &out->nrows);
	if (found)
		out->nitems = (uint64_t)array->shape[0];
	b2f_frame_close(meta);
	free(path);
	return found;
}
