/* SPDX-License-Identifier: BSD-3-Clause */
/* walk_url.c - the frames below a place on a server */
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/need.h"
#include "cli/pack_path.h"
#include "cli/server.h"
#include "cli/text.h"
#include "cli/walk.h"

/* A walk through one place. */
struct steps {
	const struct cli_walk *walk;
	struct b2f_remote *remote;
	/* The operand without trailing slashes. */
	const char *url;
};

/* The names in one directory. */
struct names {
	struct found {
		char *name;
		bool is_dir;
		struct b2f_remote_stat st;
	} * items;
	size_t n;
};

static int take_name(void *arg, const struct b2f_remote_entry *entry)
{
	struct names *names = arg;

	names->items =
		cli_need_room(names->items, names->n, sizeof(struct found));
	names->items[names->n++] = (struct found){cli_need_copy(entry->name),
						  entry->is_dir, entry->st};
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Visits @path below the place, as a frame unless @frame is NULL. */
static void show(const struct steps *s, const char *path,
		 const struct b2f_remote_stat *st, struct b2f_frame *frame)
{
	struct cli_walk_entry entry = {.frame = frame};
	struct stat attributes;
	char *label = cli_text_join(s->url, path);

	cli_server_attributes(st, &attributes);
	entry.path = label;
	entry.below = path;
	entry.at = cli_at_named(label);
	entry.st = &attributes;
	if (frame) {
		cli_pack_path_fill_peek(&entry.peek, frame);
		entry.peek.sparse = b2f_frame_info_get(frame)->sparse;
		attributes.st_mtime =
			(time_t)(b2f_frame_stamp_get(frame).mtime_ns /
				 1000000000);
	}
	entry.peek.index = attributes;
	s->walk->visit(s->walk->arg, &entry);
	free(label);
}

/* Opens the frame @path; -ENOENT, without a message, if it does not exist. */
static int open_below(const struct steps *s, const char *path,
		      struct b2f_frame **out)
{
	/* The query behind the path may be a signature. */
	char *label = cli_text_join(b2f_remote_label(s->remote), path);
	struct b2f_frame_options how = {.join_objects = true, .label = label};
	int err = b2f_remote_open_frame(s->remote, path, &how, out);

	/* Opens it again to log the cause; the first look logs nothing. */
	if (err && err != -ENOENT && err != B2F_ENOTFRAME) {
		how.log = &cli_message_log;
		err = cli_message_try(
			label,
			b2f_remote_open_frame(s->remote, path, &how, out));
	}
	free(label);
	return err;
}

static int walk_pack(const struct steps *s, const char *path,
		     const struct b2f_remote_stat *st)
{
	const struct b2f_frame_options how = {.log = &cli_message_log};
	struct b2f_pack *pack = NULL;
	struct stat attributes;
	struct cli_at file;
	char *label = cli_text_join(s->url, path);
	int err = b2f_remote_open_pack(s->remote, path, &how, &pack);

	cli_server_attributes(st, &attributes);
	file = cli_at_store(label);
	if (!err)
		err = cli_pack_path_walk_in(s->walk, pack, &attributes, &file,
					    path, "");
	b2f_pack_close(pack);
	free(label);
	return err;
}

static int walk_below(const struct steps *s, const char *dir);

/* Refuses @found, which has no name: no path can lead to it. */
static int refuse_unnamed(const struct steps *s, const char *path,
			  const struct found *found)
{
	return cli_refuse(-EINVAL, "%s/%s%s: left out: %s", s->url, path,
			  found->is_dir ? "/" : "",
			  found->is_dir
				  ? "no path has an empty part"
				  : "the name of an object with content ends "
				    "in a slash");
}

static int step(const struct steps *s, const char *path,
		const struct found *found)
{
	bool looks = found->is_dir || b2f_suffix_stem(found->name, NULL) > 0;
	struct b2f_frame *frame = NULL;
	int err;

	if (!*found->name)
		return refuse_unnamed(s, path, found);
	err = looks ? open_below(s, path, &frame) : B2F_ENOTFRAME;
	/* An object may be named like a directory: it is no frame then. */
	if ((err == -ENOENT || err == B2F_ENOTFRAME) && found->is_dir &&
	    s->walk->recursive)
		return walk_below(s, path);
	if (err && err != -ENOENT && err != B2F_ENOTFRAME)
		return err;
	show(s, path, &found->st, frame);
	b2f_frame_close(frame);
	if (s->walk->recursive && !s->walk->no_stores && !found->is_dir &&
	    b2f_pack_is_name(found->name))
		return walk_pack(s, path, &found->st);
	return 0;
}

static int walk_names(const struct steps *s, const char *dir,
		      const struct names *names)
{
	int first = 0;

	for (size_t i = 0; i < names->n; i++) {
		const struct found *found = &names->items[i];
		/* A name may be empty. */
		char *path = cli_need_text("%s%s%s", dir, *dir ? "/" : "",
					   found->name);
		int err = step(s, path, found);

		free(path);
		first = first ? first : err;
	}
	return first;
}

/* The length of keys limits the depth. */
static int walk_below(const struct steps *s, const char *dir)
{
	struct names names = {.items = NULL};
	int err = b2f_remote_list(s->remote, dir, take_name, &names);

	/* Other errors were logged; a missing directory is no error. */
	if (err == -ENOENT)
		cli_message_error("%s: there is no such bucket",
				  b2f_remote_label(s->remote));
	if (!err) {
		if (names.n)
			qsort(names.items, names.n, sizeof(*names.items),
			      by_name);
		err = walk_names(s, dir, &names);
	}
	for (size_t i = 0; i < names.n; i++)
		free(names.items[i].name);
	free(names.items);
	return err;
}

static int walk_place(const struct steps *s)
{
	const struct b2f_remote_stat none = {.size = 0};
	struct b2f_frame *frame = NULL;
	int err = open_below(s, "", &frame);

	if (!err)
		show(s, "", &none, frame);
	b2f_frame_close(frame);
	if (err == -ENOENT && b2f_remote_has_list(s->remote))
		return walk_below(s, "");
	if (err == -ENOENT || err == B2F_ENOTFRAME)
		cli_message_error("%s: %s", b2f_remote_label(s->remote),
				  err == -ENOENT ? strerror(ENOENT)
						 : "it is no frame");
	return err;
}

int cli_walk_url(const struct cli_walk *walk, const char *url)
{
	char *bare = cli_text_bare(url);
	struct steps s = {.walk = walk, .url = bare};
	int err = cli_server_connect(url, &s.remote);

	if (!err)
		err = walk_place(&s);
	b2f_remote_free(s.remote);
	free(bare);
	return err;
}
