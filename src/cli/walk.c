/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c - the frames in a directory, in a store, or on a server */
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
#include "cli/server.h"
#include "cli/target.h"
#include "cli/text.h"
#include "programs/home.h"

/* A walk through one store that is a file. */
struct pack_walk {
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

/*
 * Fills in @peek as b2f_frame_peek() would; @frame is NULL if the frame is
 * broken.
 */
static void fill_peek(struct b2f_frame_peek *peek,
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
	peek->sparse = b2f_frame_info_get(frame)->sparse;
}

static struct cli_at at_of(const struct pack_walk *s, const char *path,
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

static void visit_member(struct pack_walk *s, size_t i, const char *path,
			 const char *below)
{
	const struct b2f_pack_entry *e = b2f_pack_entry(s->pack, i);
	const struct b2f_frame_options options = {
		.log = &cli_message_log, .label = path, .join_objects = true};
	struct cli_walk_entry entry = {.path = path,
				       .below = below,
				       .at = at_of(s, path, e),
				       .st = &s->st,
				       .peek.index = s->st,
				       .pack = s->pack,
				       .in_pack = i};
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	int err = 0;

	if (e->refused) {
		cli_message_error("%s: not readable: %s", path, e->refused);
		err = B2F_EUNSUPPORTED;
	} else if (e->kind == B2F_PACK_FRAME) {
		err = cli_message_try(
			path,
			b2f_pack_open_frame(s->pack, i, &options, &frame));
		fill_peek(&entry.peek, frame);
	}
	entry.frame = frame;
	if (!e->refused)
		s->walk->visit(s->walk->arg, &entry);
	if (err && !s->err)
		s->err = err;
}

/* @file and @path in it; malloc'ed. */
static char *join_key(const char *file, const char *path)
{
	return cli_text_join(file, path + strspn(path, "/"));
}

/* @top: the walk's own entry is entered, whatever the options are. */
static void step_in(struct pack_walk *s, size_t i, bool top)
{
	const struct b2f_pack_entry *e = b2f_pack_entry(s->pack, i);
	size_t n = b2f_pack_nchildren(s->pack, i);
	B2F_OWN char *path = join_key(s->at->path, e->path);
	B2F_OWN char *below = join_key(s->below, e->path + s->top);

	if (!top || e->kind != B2F_PACK_DIR)
		visit_member(s, i, path, below);
	if (e->kind != B2F_PACK_DIR || (!top && !s->walk->recursive))
		return;
	/* The format limits the depth of paths. */
	for (size_t k = 0; k < n; k++)
		step_in(s, b2f_pack_child(s->pack, i, k), false);
}

/*
 * Visits the entries of the directory @key of @pack, whose file is @st, or the
 * frame @key; @below is the path of @file below the root of the walk.
 */
static int walk_pack(const struct cli_walk *walk, const struct b2f_pack *pack,
		     const struct stat *st, const struct cli_at *file,
		     const char *below, const char *key)
{
	struct pack_walk s = {.walk = walk,
			      .pack = pack,
			      .at = file,
			      .below = below,
			      .st = *st};
	size_t entry = 0;
	int err = cli_pack_path_find(pack, file->path, key, &entry);

	if (err)
		return err;
	s.top = strlen(b2f_pack_entry(pack, entry)->path);
	step_in(&s, entry, true);
	return s.err;
}

static int walk_store(const struct cli_walk *walk, const struct cli_at *file,
		      const char *below, const char *key)
{
	struct b2f_pack *pack = NULL;
	struct stat st;
	int err = cli_pack_path_open_pack(file, &pack);

	if (!err)
		err = file->kind == CLI_KIND_URL
			      ? cli_server_stat(file->path, &st)
			      : cli_message_errno(file->path,
						  cli_at_stat(file, &st));
	if (!err)
		err = walk_pack(walk, pack, &st, file, below, key);
	b2f_pack_close(pack);
	return err;
}

/* A walk below one place on a server. */
struct url_walk {
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

static int by_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Visits @path below the place, as a frame unless @frame is NULL. */
static void show(const struct url_walk *s, const char *path,
		 const struct b2f_remote_stat *st, struct b2f_frame *frame)
{
	struct cli_walk_entry entry = {.frame = frame};
	struct stat attributes;
	B2F_OWN char *label = cli_text_join(s->url, path);

	cli_server_attributes(st, &attributes);
	entry.path = label;
	entry.below = path;
	entry.at = cli_at_named(label);
	entry.st = &attributes;
	if (frame) {
		fill_peek(&entry.peek, frame);
		attributes.st_mtime =
			(time_t)(b2f_frame_stamp_get(frame).mtime_ns /
				 1000000000);
	}
	entry.peek.index = attributes;
	s->walk->visit(s->walk->arg, &entry);
}

/* Opens the frame @path; -ENOENT, without a message, if it does not exist. */
static int open_below(const struct url_walk *s, const char *path,
		      struct b2f_frame **out)
{
	/* The query behind the path may be a signature. */
	B2F_OWN char *label = cli_text_join(b2f_remote_label(s->remote), path);
	struct b2f_frame_options how = {.join_objects = true, .label = label};
	int err = b2f_remote_open_frame(s->remote, path, &how, out);

	/* Opens it again to log the cause; the first look logs nothing. */
	if (err && err != -ENOENT && err != B2F_ENOTFRAME) {
		how.log = &cli_message_log;
		err = cli_message_try(
			label,
			b2f_remote_open_frame(s->remote, path, &how, out));
	}
	return err;
}

static int walk_object(const struct url_walk *s, const char *path,
		       const struct b2f_remote_stat *st)
{
	const struct b2f_frame_options how = {.log = &cli_message_log};
	struct b2f_pack *pack = NULL;
	struct stat attributes;
	struct cli_at file;
	B2F_OWN char *label = cli_text_join(s->url, path);
	int err = b2f_remote_open_pack(s->remote, path, &how, &pack);

	cli_server_attributes(st, &attributes);
	file = cli_at_store(label);
	if (!err)
		err = walk_pack(s->walk, pack, &attributes, &file, path, "");
	b2f_pack_close(pack);
	return err;
}

static int walk_url_below(const struct url_walk *s, const char *dir);

/* Refuses @found, which has no name: no path can lead to it. */
static int refuse_unnamed(const struct url_walk *s, const char *path,
			  const struct found *found)
{
	return cli_refuse(-EINVAL, "%s/%s%s: left out: %s", s->url, path,
			  found->is_dir ? "/" : "",
			  found->is_dir
				  ? "no path has an empty part"
				  : "the name of an object with content ends "
				    "in a slash");
}

static int step(const struct url_walk *s, const char *path,
		const struct found *found)
{
	bool looks = found->is_dir || b2f_suffix_stem(found->name, NULL) > 0;
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	int err;

	if (!*found->name)
		return refuse_unnamed(s, path, found);
	err = looks ? open_below(s, path, &frame) : B2F_ENOTFRAME;
	/* An object may be named like a directory: it is no frame then. */
	if ((err == -ENOENT || err == B2F_ENOTFRAME) && found->is_dir &&
	    s->walk->recursive)
		return walk_url_below(s, path);
	if (err && err != -ENOENT && err != B2F_ENOTFRAME)
		return err;
	show(s, path, &found->st, frame);
	if (s->walk->recursive && !s->walk->no_stores && !found->is_dir &&
	    b2f_pack_is_name(found->name))
		return walk_object(s, path, &found->st);
	return 0;
}

/* The length of keys limits the depth. */
static int walk_url_below(const struct url_walk *s, const char *dir)
{
	struct names names = {.items = NULL};
	int err = b2f_remote_list(s->remote, dir, take_name, &names);
	bool listed = !err;

	/* Other errors were logged; a missing directory is no error. */
	if (err == -ENOENT)
		cli_message_error("%s: there is no such bucket",
				  b2f_remote_label(s->remote));
	if (names.n)
		qsort(names.items, names.n, sizeof(*names.items), by_found);
	for (size_t i = 0; i < names.n; i++) {
		struct found *found = &names.items[i];
		/* A name may be empty. */
		B2F_OWN char *path = cli_need_text(
			"%s%s%s", dir, *dir ? "/" : "", found->name);
		int e = listed ? step(s, path, found) : 0;

		err = err ? err : e;
		free(found->name);
	}
	free(names.items);
	return err;
}

static int walk_place(const struct url_walk *s)
{
	const struct b2f_remote_stat none = {.size = 0};
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	int err = open_below(s, "", &frame);

	if (!err)
		show(s, "", &none, frame);
	if (err == -ENOENT && b2f_remote_has_list(s->remote))
		return walk_url_below(s, "");
	if (err == -ENOENT || err == B2F_ENOTFRAME)
		cli_message_error("%s: %s", b2f_remote_label(s->remote),
				  err == -ENOENT ? strerror(ENOENT)
						 : "it is no frame");
	return err;
}

static int walk_url(const struct cli_walk *walk, const char *url)
{
	B2F_OWN char *bare = cli_text_bare(url);
	struct url_walk s = {.walk = walk, .url = bare};
	int err = cli_server_connect(url, &s.remote);

	if (!err)
		err = walk_place(&s);
	b2f_remote_free(s.remote);
	return err;
}

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
	B2F_OWN char *path = cli_need_text("%s%s", s->prefix, below);

	note(s, cli_message_errno(path, err));
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
		note(s, walk_store(s->walk, &entry->at, entry->below, ""));
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
	B2F_OWN char *below = cli_text_join(l->below, name);
	B2F_OWN char *path = cli_need_text("%s%s", s->prefix, below);

	entry.below = below;
	entry.path = entry.at.path = path;
	visit(s, l, &entry);
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
	B2F_OWN char *file =
		walk->no_stores ? NULL : cli_pack_path_split(path, true, &key);

	if (!file)
		return cli_kind_of(path) == CLI_KIND_URL
			       ? walk_url(walk, path)
			       : walk_named(walk, path);
	store = cli_at_store(file);
	return walk_store(walk, &store, "", key);
}
