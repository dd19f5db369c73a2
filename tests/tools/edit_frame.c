/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_frame.c - changes a sparse frame chunk by chunk, for a test
 *
 *   edit_frame PATH OPERATION...
 *
 * Operations: append FILE, insert N FILE, update N FILE, delete N, resize N,
 * reorder N,N,..., zeros N, nan N, uninit N (add a chunk of N bytes), encoded
 * FILE, commit.  Operations behind the last commit are undone.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"

static void print(void *arg, enum b2f_log_level level, const char *message)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "edit_frame: %s\n", message);
}

static uint8_t *read_file(const char *path, uint32_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(64u << 20);

	if (!f || !data)
		exit(2);
	*size = (uint32_t)fread(data, 1, 64u << 20, f);
	fclose(f);
	return data;
}

/* Takes the next argument. */
static const char *next(char ***args)
{
	if (!**args)
		exit(2);
	return *(*args)++;
}

static uint64_t next_number(char ***args)
{
	return strtoull(next(args), NULL, 10);
}

static int reorder(struct b2f_editor *editor, const char *list)
{
	uint64_t n = b2f_editor_nchunks(editor), i = 0;
	uint64_t *order = calloc(n + 1, sizeof(*order));
	char *end;
	int err;

	if (!order)
		exit(2);
	for (; *list && i < n; list = *end ? end + 1 : end)
		order[i++] = strtoull(list, &end, 10);
	err = b2f_editor_reorder(editor, order);
	free(order);
	return err;
}

static int special(struct b2f_editor *editor, const char *name, uint64_t nbytes)
{
	enum b2f_chunk_kind kind = B2F_CHUNK_ZEROS;

	if (strcmp(name, "nan") == 0)
		kind = B2F_CHUNK_NAN;
	if (strcmp(name, "uninit") == 0)
		kind = B2F_CHUNK_UNINIT;
	return b2f_editor_append_special(editor, kind, (uint32_t)nbytes);
}

/* Operations that take the data of a file. */
static int with_data(struct b2f_editor *editor, const char *name, char ***args)
{
	uint64_t nchunk = 0;
	uint8_t *data;
	uint32_t size;
	int err;

	if (strcmp(name, "insert") == 0 || strcmp(name, "update") == 0)
		nchunk = next_number(args);
	data = read_file(next(args), &size);
	if (strcmp(name, "append") == 0)
		err = b2f_editor_append(editor, data, size);
	else if (strcmp(name, "insert") == 0)
		err = b2f_editor_insert(editor, nchunk, data, size);
	else if (strcmp(name, "update") == 0)
		err = b2f_editor_update(editor, nchunk, data, size);
	else if (strcmp(name, "encoded") == 0)
		err = b2f_editor_append_encoded(editor, data, size);
	else
		exit(2);
	free(data);
	return err;
}

static int run(struct b2f_editor *editor, char ***args)
{
	const char *name = next(args);

	if (strcmp(name, "commit") == 0)
		return b2f_editor_commit(editor);
	if (strcmp(name, "delete") == 0)
		return b2f_editor_delete(editor, next_number(args));
	if (strcmp(name, "resize") == 0)
		return b2f_editor_resize(editor, next_number(args));
	if (strcmp(name, "reorder") == 0)
		return reorder(editor, next(args));
	if (strcmp(name, "zeros") == 0 || strcmp(name, "nan") == 0 ||
	    strcmp(name, "uninit") == 0)
		return special(editor, name, next_number(args));
	return with_data(editor, name, args);
}

int main(int argc, char **argv)
{
	const struct b2f_log log = {.write = print,
				    .max_level = B2F_LOG_WARNING};
	const struct b2f_editor_options options = {.log = &log};
	struct b2f_editor *editor = NULL;
	char **args = argv + 2;
	int err;

	if (argc < 3)
		return 2;
	err = b2f_editor_open(&options, AT_FDCWD, argv[1], &editor);
	while (!err && *args)
		err = run(editor, &args);
	b2f_editor_close(editor);
	if (err)
		fprintf(stderr, "edit_frame: %s\n", b2f_strerror(err));
	return err ? 1 : 0;
}
