/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c - the frames in a directory */
#include "cli/walk.h"

#include <argz.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/remote.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/pack_path.h"
#include "cli/target.h"
#include "cli/text.h"
#include "programs/home.h"

/* The prefix of names that a mount hides (docs/commit.md 4). */
#define DELETED ".bloscfs-deleted"

/* A walk below one directory. */
struct steps {
	const struct cli_walk *walk;
	/* Prefix of paths below the root, with a slash, or empty. */
	char *prefix;
	int root;
	/* The first error. */
	int err;
};

static void note(struct steps *s, int err)
{
	s->err = s->err ? s->err : err;
}

static void tell(struct steps *s, const char *below, int err)
{
	char *path = cli_need_text("%s%s", s->prefix, below);

	note(s, cli_message_errno(path, err));
	free(path);
}

static int open_listing(struct steps *s, const char *below)
{
	int fd = cli_at_open_below(s->root, below, O_RDONLY);

	if (fd < 0)
		tell(s, below, fd);
	return fd;
}

/* The names in one directory, and the homes of frames visited there. */
struct listing {
	/* The path below the root; "": the root. */
	const char *below;
	int fd;
	char *homes;
	size_t homes_len;
};

/*
 * Is it a leftover of a killed command or mount?  Any program can use such a
 * name: print skipped entries, unless mounts hide them as well.
 */
static bool is_left(const struct cli_walk_entry *entry)
{
	bool is_temp = cli_target_is_temp(entry->at.name);

	if (is_temp)
		cli_message_warning("%s: skipped: a killed bloscctl has left "
				    "it",
				    entry->path);
	return is_temp ||
	       strncmp(entry->at.name, DELETED, sizeof(DELETED) - 1) == 0;
}

/*
 * Is @name one of several names of a frame?  If it is, @entry becomes that
 * frame, at @home.
 */
static bool look_at_name(struct listing *l, struct cli_walk_entry *entry,
			 struct stat *st, char home[NAME_MAX + 1])
{
	struct b2f_frame_peek peek;
	const char *seen = NULL;

	if (!S_ISLNK(st->st_mode) ||
	    !b2f_home_of(l->fd, entry->at.name, home) ||
	    strcmp(home, entry->at.name) == 0 ||
	    b2f_frame_peek(l->fd, home, NULL, &peek) || !peek.is_frame ||
	    fstatat(l->fd, home, st, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	entry->peek = peek;
	entry->at.name = home;
	while (!entry->again &&
	       (seen = argz_next(l->homes, l->homes_len, seen)))
		entry->again = strcmp(seen, home) == 0;
	return argz_add(&l->homes, &l->homes_len, home) == 0;
}

/*
 * A home is hidden if the frame has other names, which are visited; also if the
 * disk does not tell.
 */
static bool is_hidden(const struct listing *l,
		      const struct cli_walk_entry *entry, const struct stat *st)
{
	const char *name = entry->at.name;

	if (is_left(entry))
		return true;
	if (!b2f_home_is(name) && !b2f_home_is_aside(name))
		return false;
	/* A link to itself is a leftover. */
	if (S_ISLNK(st->st_mode))
		return true;
	return b2f_home_is(name) ? b2f_home_has_name(l->fd, name, NULL) != 0
				 : b2f_home_find_aside(l->fd, name, NULL) !=
					   B2F_HOME_ALONE;
}

static void walk_below(struct steps *s, const char *below);

/* Goes into a directory; only one is open at a time, however deep. */
static void go_below(struct steps *s, struct listing *l, const char *below)
{
	close(l->fd);
	walk_below(s, below);
	l->fd = open_listing(s, l->below);
}

/* Is the file @at, found below a directory, a store? */
static bool is_store(const struct cli_at *at)
{
	bool is = false;

	return b2f_pack_is_name(at->name) &&
	       !b2f_pack_look(at->dir, at->name, &is) && is;
}

static void visit_store(struct steps *s, const struct cli_walk_entry *entry)
{
	if (s->walk->recursive && !s->walk->no_stores &&
	    S_ISREG(entry->st->st_mode) && is_store(&entry->at))
		note(s, cli_pack_path_walk(s->walk, &entry->at, entry->below,
					   ""));
}

static void visit(struct steps *s, struct listing *l,
		  struct cli_walk_entry *entry)
{
	char home[NAME_MAX + 1];
	struct stat st;
	int err = 0;

	if (fstatat(l->fd, entry->at.name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		note(s, cli_message_errno(entry->path, -errno));
		return;
	}
	if (is_hidden(l, entry, &st))
		return;
	entry->st = &st;
	if (!look_at_name(l, entry, &st, home))
		err = b2f_frame_peek(l->fd, entry->at.name, NULL, &entry->peek);
	if (err) {
		note(s, cli_message_errno(entry->path, err));
		return;
	}
	s->walk->visit(s->walk->arg, entry);
	visit_store(s, entry);
	if (S_ISDIR(st.st_mode) && !entry->peek.is_frame && s->walk->recursive)
		go_below(s, l, entry->below);
}

static void visit_name(struct steps *s, struct listing *l, const char *name)
{
	struct cli_walk_entry entry = {
		.at = {.kind = CLI_KIND_PATH, .dir = l->fd, .name = name}};
	char *below = cli_text_join(l->below, name);
	char *path = cli_need_text("%s%s", s->prefix, below);

	entry.below = below;
	entry.path = entry.at.path = path;
	visit(s, l, &entry);
	free(path);
	free(below);
}

static int no_dots(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void visit_names(struct steps *s, struct listing *l)
{
	struct dirent **names = NULL;
	int n = scandirat(l->fd, ".", &names, no_dots, by_name);

	if (n < 0)
		tell(s, l->below, -errno);
	for (int i = 0; i < n; i++) {
		if (l->fd >= 0)
			visit_name(s, l, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

static void walk_below(struct steps *s, const char *below)
{
	struct listing l = {.below = below};

	l.fd = open_listing(s, below);
	if (l.fd >= 0)
		visit_names(s, &l);
	free(l.homes);
	cli_at_close(l.fd);
}

/* "." adds no prefix, as in the output of ls. */
static char *prefix_of(const char *path)
{
	size_t n = strlen(path);

	if (strcmp(path, ".") == 0 || strcmp(path, "./") == 0)
		return cli_need_copy("");
	if (strncmp(path, "./", 2) == 0 && path[2] && path[2] != '/')
		path += 2, n -= 2;
	return cli_need_text("%s%s", path, n && path[n - 1] == '/' ? "" : "/");
}

static int walk_directory(const struct cli_walk *walk, const char *path)
{
	struct steps s = {.walk = walk, .prefix = prefix_of(path)};

	s.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.root < 0)
		note(&s, cli_message_errno(path, -errno));
	else
		walk_below(&s, "");
	cli_at_close(s.root);
	free(s.prefix);
	return s.err;
}

static int walk_named(const struct cli_walk *walk, const char *path)
{
	struct cli_walk_entry entry = {
		.path = path, .below = "", .at = cli_at_path(path)};
	struct stat st;
	int err = 0;

	if (stat(path, &st) != 0)
		err = -errno;
	if (!err)
		err = cli_frames_peek(path, &entry.peek);
	if (err)
		return cli_message_errno(path, err);
	/* Visits the entries of a directory, not the directory itself. */
	if (S_ISDIR(st.st_mode) && !entry.peek.is_frame)
		return walk_directory(walk, path);
	entry.st = &st;
	walk->visit(walk->arg, &entry);
	return 0;
}

int cli_walk_run(const struct cli_walk *walk, const char *path)
{
	struct cli_at store;
	const char *key;
	char *file = walk->no_stores ? NULL
				     : cli_pack_path_split(path, true, &key);
	int err;

	if (!file)
		return cli_kind_of(path) == CLI_KIND_URL
			       ? cli_walk_url(walk, path)
			       : walk_named(walk, path);
	store = cli_at_store(file);
	err = cli_pack_path_walk(walk, &store, "", key);
	free(file);
	return err;
}
