/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c - the rows of a CTable that has the frame as a column */
#include "programs/table.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/unpack.h"
#include "frame/frame.h"

#define COLUMNS "_cols"
#define SCHEMA	"schema"

bool b2f_table_has_column(const char *path, size_t *table)
{
	const char *slash = strrchr(path, '/'), *begin = slash;

	while (begin && begin > path && begin[-1] != '/')
		begin--;
	if (!begin || (size_t)(slash - begin) != strlen(COLUMNS) ||
	    strncmp(begin, COLUMNS, strlen(COLUMNS)) != 0)
		return false;
	*table = (size_t)(begin - path);
	return true;
}

/* Parses the vlmetalayer, which is JSON. */
static int parse(const uint8_t *content, size_t size, uint64_t *nrows)
{
	struct b2f_cursor cur = b2f_cursor_at(content, size);
	size_t len = 0;
	const char *text = b2f_unpack_text(&cur, &len);
	json_t *schema = text ? json_loadb(text, len, 0, NULL) : NULL;
	const json_t *n = json_object_get(schema, "n_rows");
	int err = schema ? -ENODATA : B2F_ECORRUPT;

	if (json_is_integer(n) && json_integer_value(n) >= 0) {
		*nrows = (uint64_t)json_integer_value(n);
		err = 0;
	}
	json_decref(schema);
	return err;
}

int b2f_table_rows(const struct b2f_frame *meta, uint64_t *nrows)
{
	B2F_OWN uint8_t *content = NULL;
	size_t size = 0;
	int err = b2f_frame_vlmeta_find(meta, SCHEMA, &content, &size);

	return err ? err : parse(content, size, nrows);
}
