/* SPDX-License-Identifier: BSD-3-Clause */
/* ls_tree.c - frames as a tree of directories, with what arrays they are */
#include "cli/ls_tree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "cli/text.h"
#include "meta/escape.h"

/* Room for the text of a shape; a longer one is cut. */
#define SHAPE_SIZE 64

void cli_ls_tree_begin(struct cli_ls_tree *tree, const char *path)
{
	size_t len = strlen(path);
	const char *slash;

	while (len > 1 && path[len - 1] == '/')
		len--;
	slash = memrchr(path, '/', len);
	tree->skip = slash ? (size_t)(slash + 1 - path) : 0;
	cli_ls_tree_fini(tree);
}

void cli_ls_tree_head(void)
{
	printf("%-10s  %10s  %10s  %8s  %-8s  %-16s  %s\n", "STORAGE", "SIZE",
	       "STORED", "RATIO", "DTYPE", "SHAPE", "NAME");
}

struct b2f_frame *cli_ls_tree_open(const struct cli_walk_entry *entry)
{
	const struct b2f_frame_options quiet = {
		.nofollow = !cli_at_is_named(&entry->at)};
	struct b2f_frame *frame = NULL;

	if (entry->frame || !entry->peek.is_frame ||
	    b2f_frame_open(&quiet, entry->at.dir, entry->at.name, &frame))
		return NULL;
	return frame;
}

const struct b2f_array *cli_ls_tree_array(const struct b2f_frame *frame)
{
	const struct b2f_array *array =
		frame ? b2f_frame_array(frame) : NULL;

	return array || !frame ? array : b2f_frame_tensor(frame);
}

/* (3, 4) as NumPy writes it, or "-". */
static void write_shape(const struct b2f_array *array, char buf[SHAPE_SIZE])
{
	size_t n = 0;

	snprintf(buf, SHAPE_SIZE, array ? "(" : "-");
	for (unsigned int i = 0; array && i <= array->ndim; i++) {
		n = strlen(buf);
		if (i == array->ndim)
			snprintf(buf + n, SHAPE_SIZE - n, "%s)",
				 i == 1 ? "," : "");
		else
			snprintf(buf + n, SHAPE_SIZE - n, "%s%" PRId64,
				 i ? ", " : "", array->shape[i]);
	}
}

/* Letters of a dtype that are bytes of the file may be anything. */
static void put_dtype(const struct b2f_array *array)
{
	const char *dtype = array && array->dtype ? array->dtype : "-";

	b2f_escape_put(stdout, dtype, strlen(dtype));
	printf("%*s  ", strlen(dtype) < 8 ? 8 - (int)strlen(dtype) : 0, "");
}

static void put_indent(size_t depth)
{
	printf("%*s", (int)(2 * depth), "");
}

/* Slashes in the first @len characters. */
static size_t depth_of(const char *path, size_t len)
{
	size_t depth = 0;

	for (size_t i = 0; i < len; i++)
		depth += path[i] == '/';
	return depth;
}

/* One line for the directory that ends before @path[@len], a slash. */
static void put_dir(const char *path, size_t len)
{
	const char *name = memrchr(path, '/', len);
	size_t before = name ? (size_t)(name + 1 - path) : 0;

	printf("%74s", "");
	put_indent(depth_of(path, len));
	b2f_escape_put(stdout, path + before, len + 1 - before);
	putchar('\n');
}

/* The directories on the way to @path that were not on that to the last one. */
static void put_dirs(struct cli_ls_tree *tree, const char *path)
{
	const char *last = tree->dir ? tree->dir : "";
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash + 1 - path) : 0, same = 0;

	for (size_t i = 0; i < len && last[i] == path[i]; i++)
		if (path[i] == '/')
			same = i + 1;
	for (size_t i = same; i < len; i++)
		if (path[i] == '/' && i > 0)
			put_dir(path, i);
	free(tree->dir);
	tree->dir = strndup(path, len);
}

void cli_ls_tree_print(struct cli_ls_tree *tree,
		       const struct cli_walk_entry *entry, const char *columns)
{
	struct b2f_frame *own = cli_ls_tree_open(entry);
	const struct b2f_array *array =
		cli_ls_tree_array(own ? own : entry->frame);
	const char *path = entry->path + tree->skip;
	const char *name = strrchr(path, '/');
	char shape[SHAPE_SIZE];

	put_dirs(tree, path);
	fputs(columns, stdout);
	put_dtype(array);
	write_shape(array, shape);
	printf("%-16s  ", shape);
	put_indent(depth_of(path, strlen(path)));
	cli_text_name(stdout, name && name[1] ? name + 1 : path);
	putchar('\n');
	b2f_frame_close(own);
}

void cli_ls_tree_fini(struct cli_ls_tree *tree)
{
	free(tree->dir);
	tree->dir = NULL;
}
