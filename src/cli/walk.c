/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c - the frames in a directory */
#include "cli/walk.h"

#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/pack.h"
#include "cli/from_url.h"
#include "cli/kind.h"
#include "cli/message.h"
#include "cli/pack_path.h"
#include "cli/target.h"

/* Of what no mount shows (docs/commit.md 4). */
#define DELETED ".bloscfs-deleted"

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* "./x" as "x": so that names look like what ls prints. */
static const char *without_dot(const FTSENT *ent)
{
	if (ent->fts_level > 0 && strncmp(ent->fts_path, "./", 2) == 0)
		return ent->fts_path + 2;
	return ent->fts_path;
}

static bool is_directory(const FTSENT *ent)
{
	return ent->fts_info == FTS_D;
}

/*
 * A link that the user names is meant to be followed (FTS_COMFOLLOW), which
 * peeking does not do.
 */
static int peek(const FTSENT *ent, struct b2f_frame_peek *out)
{
	char *real;
	int err;

	if (ent->fts_level > 0)
		return b2f_frame_peek(AT_FDCWD, ent->fts_accpath, out);
	real = realpath(ent->fts_accpath, NULL);
	if (!real)
		return -errno;
	err = b2f_frame_peek(AT_FDCWD, real, out);
	free(real);
	return err;
}

/* Goes on into the file of the entry, if that is a store. */
static int visit_pack(const struct cli_walk *walk,
		      const struct cli_walk_entry *entry)
{
	const char *key;
	char *file = NULL;
	int err = 0;

	if (walk->recursive && !walk->no_stores &&
	    S_ISREG(entry->st->st_mode) && b2f_pack_is_name(entry->path))
		file = cli_pack_path_split(entry->path, true, &key);
	if (file)
		err = cli_pack_path_walk(walk, file, key);
	free(file);
	return err;
}

/* What a command, or a mount, that was killed had half made or half deleted. */
static bool is_left(const char *name)
{
	return cli_target_is_temp(name) ||
	       strncmp(name, DELETED, sizeof(DELETED) - 1) == 0;
}

static int visit(const struct cli_walk *walk, FTS *fts, FTSENT *ent)
{
	struct cli_walk_entry entry = {.path = without_dot(ent),
				       .st = ent->fts_statp};
	int err;

	if (ent->fts_level > 0 && is_left(ent->fts_name)) {
		fts_set(fts, ent, FTS_SKIP);
		return 0;
	}
	err = peek(ent, &entry.peek);
	if (err)
		cli_message_errno(without_dot(ent), err);
	/* The root of the walk is what its entries are. */
	if (is_directory(ent) && !entry.peek.is_frame && ent->fts_level == 0)
		return err;
	if (is_directory(ent) && (entry.peek.is_frame || !walk->recursive))
		fts_set(fts, ent, FTS_SKIP);
	if (!err)
		walk->visit(walk->arg, &entry);
	return err ? err : visit_pack(walk, &entry);
}

static int handle(const struct cli_walk *walk, FTS *fts, FTSENT *ent)
{
	switch (ent->fts_info) {
	case FTS_DP:
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return cli_message_errno(without_dot(ent), -ent->fts_errno);
	default:
		return visit(walk, fts, ent);
	}
}

static int walk_tree(const struct cli_walk *walk, const char *path)
{
	char *copy = strdup(path);
	char *paths[] = {copy, NULL};
	FTS *fts = NULL;
	FTSENT *ent;
	int err = 0;

	if (copy)
		fts = fts_open(paths,
			       FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
			       by_name);
	if (!fts) {
		free(copy);
		return cli_message_errno(path, -ENOMEM);
	}
	while ((ent = fts_read(fts))) {
		int e = handle(walk, fts, ent);

		if (e && !err)
			err = e;
	}
	fts_close(fts);
	free(copy);
	return err;
}

int cli_walk_run(const struct cli_walk *walk, const char *path)
{
	const char *key;
	char *file;
	int err;

	if (cli_kind_of(path) == CLI_KIND_URL)
		return cli_from_url_walk(walk, path);
	file = walk->no_stores ? NULL
				     : cli_pack_path_split(path, true, &key);
	err = file ? cli_pack_path_walk(walk, file, key)
		   : walk_tree(walk, path);

	free(file);
	return err;
}
