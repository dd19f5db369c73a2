/* SPDX-License-Identifier: BSD-3-Clause */
/* ls_tree.c - frames as a tree of directories, with what arrays they are */
#include "cli/ls_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "cli/json.h"
#include "cli/text.h"
#include "meta/escape.h"

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

/* Opens the frame of @entry, if it is a frame and not open yet; close it. */
static struct b2f_frame *open_frame(const struct cli_walk_entry *entry)
{
	const struct b2f_frame_options quiet = {
		.nofollow = !cli_at_is_named(&entry->at)};
	struct b2f_frame *frame = NULL;

	if (entry->frame || !entry->peek.is_frame ||
	    b2f_frame_open(&quiet, entry->at.dir, entry->at.name, &frame))
		return NULL;
	return frame;
}

void cli_ls_tree_add_array(json_t *object, const struct cli_walk_entry *entry)
{
	struct b2f_frame *own = open_frame(entry);
	const struct b2f_frame *frame = own ? own : entry->frame;
	const struct b2f_array *array = frame ? b2f_frame_array(frame) : NULL;
	json_t *shape = json_array();

	if (frame && !array)
		array = b2f_frame_tensor(frame);
	for (unsigned int i = 0; array && i < array->ndim; i++)
		json_array_append_new(shape, json_integer(array->shape[i]));
	/* Letters of a dtype that are bytes of the file may be anything. */
	if (array && array->dtype)
		json_object_set_new(object, "dtype",
				    cli_json_name(array->dtype));
	if (array)
		json_object_set(object, "shape", shape);
	json_decref(shape);
	b2f_frame_close(own);
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

void cli_ls_tree_enter(struct cli_ls_tree *tree, const char *whole)
{
	const char *path = whole + tree->skip;
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

void cli_ls_tree_put_name(const struct cli_ls_tree *tree, const char *whole)
{
	const char *path = whole + tree->skip;
	const char *name = strrchr(path, '/');

	put_indent(depth_of(path, strlen(path)));
	cli_text_name(stdout, name && name[1] ? name + 1 : path);
}

void cli_ls_tree_fini(struct cli_ls_tree *tree)
{
	free(tree->dir);
	tree->dir = NULL;
}
