/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_mounted.c - what a file of a mount says about the frame behind it
 *
 * The daemon answers for the frame, by an extended attribute that is the JSON
 * of b2f_frame_describe(): the frame itself may be out of reach.
 */
#include <fcntl.h>
#include <jansson.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "b2frame/frame.h"
#include "cli/info_mounted.h"
#include "cli/message.h"
#include "cli/text.h"
#include "meta/escape.h"

#define ATTRIBUTE "user.blosc2.info"

char *cli_info_mounted(const struct cli_at *at)
{
	struct b2f_frame_peek peek;
	char *text;
	char by_fd[40];
	ssize_t n;
	int fd;

	/* A frame that lies in a mount is a file that speaks for itself. */
	if (b2f_frame_peek(at->dir, at->name, &peek) == 0 && peek.is_frame)
		return NULL;
	/* What is no plain bytes may not be opened, but tells what it is. */
	fd = cli_at_open(at, O_PATH);
	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	text = fd < 0 ? NULL : malloc(XATTR_SIZE_MAX + 1);
	n = text ? getxattr(by_fd, ATTRIBUTE, text, XATTR_SIZE_MAX) : -1;
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

static void put_text(const char *text)
{
	b2f_escape_put(stdout, text, strlen(text));
}

/* The names of a list of objects; all other lists as they are. */
static void put_list(const json_t *list)
{
	const char *name;
	json_t *item;
	char *text;
	size_t i;

	json_array_foreach(list, i, item)
	{
		name = json_string_value(json_object_get(item, "name"));
		text = name ? NULL : json_dumps(item, JSON_ENCODE_ANY);
		fputs(i ? ", " : "", stdout);
		put_text(name ? name : text ? text : "?");
		free(text);
	}
}

static void put_value(const json_t *value)
{
	char *text;

	if (json_is_string(value)) {
		put_text(json_string_value(value));
		return;
	}
	if (json_is_array(value)) {
		put_list(value);
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	put_text(text ? text : "?");
	free(text);
}

/* One line per fact; those of an array follow its own line. */
static void put_facts(json_t *object, const char *indent)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		if (json_is_null(value) ||
		    (json_is_array(value) && json_array_size(value) == 0))
			continue;
		printf("%s%-16s ", indent, key);
		if (!json_is_object(value))
			put_value(value);
		putchar('\n');
		/* Its facts have no facts of their own. */
		if (json_is_object(value) && !indent[2])
			put_facts(value, "    ");
	}
}

int cli_info_print_mounted(const char *path, const char *text)
{
	json_error_t error;
	json_t *object = json_loads(text, 0, &error);

	if (!json_is_object(object)) {
		cli_message_error("%s: the attribute " ATTRIBUTE
				  " is no JSON object",
				  path);
		json_decref(object);
		return B2F_ECORRUPT;
	}
	cli_text_name(stdout, path);
	putchar('\n');
	put_facts(object, "  ");
	json_decref(object);
	return 0;
}
