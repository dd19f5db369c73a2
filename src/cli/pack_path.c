/* SPDX-License-Identifier: BSD-3-Clause */
/* pack_path.c - frames in stores that are one file (.b2z, .b2e), by path */
#include "cli/pack_path.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/remote.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/server.h"
#include "cli/text.h"

/* Is @path a store? Follows a link. */
static bool is_pack(const char *path)
{
	char *real;
	bool is = false;

	if (!b2f_pack_is_name(path))
		return false;
	real = realpath(path, NULL);
	if (real && b2f_pack_look(AT_FDCWD, real, &is))
		is = false;
	free(real);
	return is;
}

/* For a URL the suffixes tell; a .b2e is a frame, too. */
static char *split_url(const char *url, bool whole, const char **key)
{
	size_t n = cli_text_store(url);

	*key = url + n + strspn(url + n, "/");
	return n && (**key || url[n - 1] == 'z' || whole)
		       ? cli_need_part(url, n)
		       : NULL;
}

char *cli_pack_path_split(const char *path, bool whole, const char **key)
{
	char *file, *slash;
	struct stat st;
	int ret;

	if (b2f_remote_is_url(path))
		return split_url(path, whole, key);
	file = cli_need_copy(path);
	ret = stat(path, &st);
	/* If the path leads into a file, look at its parents. */
	while (ret && errno == ENOTDIR && (slash = strrchr(file, '/')) &&
	       slash > file) {
		*slash = '\0';
		ret = stat(file, &st);
		whole = true;
	}
	if (ret || !whole || !S_ISREG(st.st_mode) || !is_pack(file)) {
		free(file);
		return NULL;
	}
	*key = path + strlen(file);
	*key += strspn(*key, "/");
	return file;
}

bool cli_pack_path_leads_in(const char *path, bool whole)
{
	const char *key;
	char *file = b2f_remote_is_url(path)
			     ? NULL
			     : cli_pack_path_split(path, whole, &key);

	free(file);
	return file != NULL;
}

static int open_remote(const char *url, const struct b2f_frame_options *options,
		       struct b2f_pack **out)
{
	struct b2f_remote *remote = NULL;
	int err = cli_server_connect(url, &remote);

	if (err)
		return err;
	err = cli_message_try(url,
			      b2f_remote_open_pack(remote, "", options, out));
	b2f_remote_free(remote);
	return err;
}

static int open_pack(const struct cli_at *file, struct b2f_pack **out)
{
	const struct b2f_frame_options options = {
		.log = &cli_message_log,
		.label = file->path,
		.nofollow = !cli_at_is_named(file),
	};

	if (file->kind == CLI_KIND_URL)
		return open_remote(file->path, &options, out);
	return cli_message_try(
		file->path, b2f_pack_open(&options, file->dir, file->name, out));
}

static int find(const struct b2f_pack *pack, const char *file, const char *key,
		size_t *out)
{
	int err = b2f_pack_find(pack, key, out);

	if (err == -ENOENT || err == -ENOTDIR)
		cli_message_error("%s: there is no %s in it", file, key);
	else
		cli_message_errno(file, err);
	return err;
}

static int open_in(const struct b2f_frame_options *options,
		   const struct b2f_pack *pack, const char *file,
		   const char *key, struct b2f_frame **out)
{
	size_t entry = 0;
	int err = find(pack, file, key, &entry);

	if (!err && b2f_pack_entry(pack, entry)->kind == B2F_PACK_DIR) {
		err = B2F_ENOTFRAME;
		cli_message_error("%s: it is a directory of frames: name one "
				  "in it (ls -r lists them)",
				  options->label);
	} else if (!err) {
		err = cli_message_try(
			options->label,
			b2f_pack_open_frame(pack, entry, options, out));
	}
	return err;
}

int cli_pack_path_open(const struct b2f_frame_options *options,
		       const struct cli_at *file, const char *key,
		       struct b2f_frame **out)
{
	struct b2f_pack *pack = NULL;
	int err = open_pack(file, &pack);

	if (!err)
		err = open_in(options, pack, file->path, key, out);
	b2f_pack_close(pack);
	return err;
}

/* A walk through one pack. */
struct steps {
	const struct cli_walk *walk;
	const struct b2f_pack *pack;
	/* The file, and its path below the root of the walk. */
	const struct cli_at *at;
	const char *below;
	/* Length of the path at which the walk begins. */
	size_t top;
	struct stat st;
	/* The first error. */
	int err;
};

void cli_pack_path_fill_peek(struct b2f_frame_peek *peek,
			     const struct b2f_frame *frame)
{
	peek->is_frame = true;
	peek->broken = !frame || (b2f_frame_shown_error(frame) != 0 &&
				  !b2f_frame_objects(frame));
	if (!frame)
		return;
	peek->nbytes = b2f_frame_shown_nbytes(frame);
	peek->cbytes = b2f_frame_info_get(frame)->cbytes;
	peek->bloscpack = b2f_frame_info_get(frame)->bloscpack;
}

static struct cli_at at_of(const struct steps *s, const char *path,
			   const struct b2f_pack_entry *e)
{
	struct cli_at at = cli_at_path(path);

	at.kind = s->at->kind == CLI_KIND_URL ? CLI_KIND_URL : CLI_KIND_MEMBER;
	if (cli_at_is_named(s->at))
		return at;
	at.dir = s->at->dir;
	at.name = s->at->name;
	at.key = e->path;
	return at;
}

static void visit(struct steps *s, size_t i, const char *path,
		  const char *below)
{
	const struct b2f_pack_entry *e = b2f_pack_entry(s->pack, i);
	const struct b2f_frame_options options = {
		.log = &cli_message_log, .label = path, .join_objects = true};
	struct cli_walk_entry entry = {
		.path = path, .below = below, .at = at_of(s, path, e),
		.st = &s->st, .peek.index = s->st,
		.pack = s->pack, .in_pack = i};
	struct b2f_frame *frame = NULL;
	int err = 0;

	if (e->refused) {
		cli_message_error("%s: not readable: %s", path, e->refused);
		err = B2F_EUNSUPPORTED;
	} else if (e->kind == B2F_PACK_FRAME) {
		err = cli_message_try(
			path, b2f_pack_open_frame(s->pack, i, &options, &frame));
		cli_pack_path_fill_peek(&entry.peek, frame);
	}
	entry.frame = frame;
	if (!e->refused)
		s->walk->visit(s->walk->arg, &entry);
	b2f_frame_close(frame);
	if (err && !s->err)
		s->err = err;
}

/* @file and @path in it; malloc'ed. */
static char *join(const char *file, const char *path)
{
	return cli_text_join(file, path + strspn(path, "/"));
}

/* @top: the walk's own entry is entered, whatever the options are. */
static void step(struct steps *s, size_t i, bool top)
{
	const struct b2f_pack_entry *e = b2f_pack_entry(s->pack, i);
	size_t n = b2f_pack_nchildren(s->pack, i);
	char *path = join(s->at->path, e->path);
	char *below = join(s->below, e->path + s->top);

	if (!top || e->kind != B2F_PACK_DIR)
		visit(s, i, path, below);
	free(path);
	free(below);
	if (e->kind != B2F_PACK_DIR || (!top && !s->walk->recursive))
		return;
	/* The format limits the depth of paths. */
	for (size_t k = 0; k < n; k++)
		step(s, b2f_pack_child(s->pack, i, k), false);
}

int cli_pack_path_walk_in(const struct cli_walk *walk,
			  const struct b2f_pack *pack, const struct stat *st,
			  const struct cli_at *file, const char *below,
			  const char *key)
{
	struct steps s = {.walk = walk,
			  .pack = pack,
			  .at = file,
			  .below = below,
			  .st = *st};
	size_t entry = 0;
	int err = find(pack, file->path, key, &entry);

	if (err)
		return err;
	s.top = strlen(b2f_pack_entry(pack, entry)->path);
	step(&s, entry, true);
	return s.err;
}

int cli_pack_path_walk(const struct cli_walk *walk, const struct cli_at *file,
		       const char *below, const char *key)
{
	struct b2f_pack *pack = NULL;
	struct stat st;
	int err = open_pack(file, &pack);

	if (!err)
		err = file->kind == CLI_KIND_URL
			      ? cli_server_stat(file->path, &st)
			      : cli_message_errno(file->path,
						  cli_at_stat(file, &st));
	if (!err)
		err = cli_pack_path_walk_in(walk, pack, &st, file, below, key);
	b2f_pack_close(pack);
	return err;
}
