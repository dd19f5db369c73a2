/* SPDX-License-Identifier: BSD-3-Clause */
/* operands.c - runs a command on each operand, and on the files below it */
#include "cli/operands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attributes.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/pack_path.h"
#include "cli/target.h"
#include "cli/text.h"
#include "cli/walk.h"

/* A run over all operands. */
struct run {
	const struct cli_command *command;
	struct cli_common *how;
	struct b2f_runtime *runtime;
	/* The value of -o, or NULL; is it a URL? */
	const char *to;
	bool to_url;
	/* Results go to the directory @to, open as @output (or -1). */
	bool moves;
	int output;
	/* This run has made the directory. */
	bool made_output;
};

/* A file or directory found below an operand; see struct cli_walk_entry. */
struct found_item {
	/* Its strings are malloc'ed, and its directory is closed again. */
	struct cli_at at;
	char *below;
};

struct found {
	const struct run *run;
	struct found_item *items;
	size_t n;
	/* If all is copied: the directories of the items. */
	struct found_item *dirs;
	size_t ndirs;
	/* -EINVAL if an entry is left out. */
	int refused;
	/* The operand is a tree; the error of the search in it. */
	bool is_below;
	int err;
};

/* Leaves out an entry of a kind that the command does not take. */
static void leave_out(struct found *found, const struct cli_walk_entry *entry)
{
	const char *kind = S_ISLNK(entry->st->st_mode) ? "a symbolic link"
						       : "no regular file";

	cli_message_error("%s: it is %s, which is left out", entry->path,
			  entry->peek.is_frame ? "a frame" : kind);
	found->refused = -EINVAL;
}

static void free_items(struct found_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free((char *)(uintptr_t)items[i].at.path);
		free((char *)(uintptr_t)items[i].at.name);
		free((char *)(uintptr_t)items[i].at.key);
		free(items[i].below);
	}
	free(items);
}

static void add(struct found_item **items, size_t *n,
		const struct cli_walk_entry *entry)
{
	*items = cli_need_room(*items, *n, sizeof(**items));
	(*items)[(*n)++] = (struct found_item){
		{.path = cli_need_copy(entry->path),
		 .kind = entry->at.kind,
		 .name = cli_need_copy(entry->at.name),
		 .key = entry->at.key ? cli_need_copy(entry->at.key) : NULL},
		cli_need_copy(entry->below ? entry->below : "")};
}

static void collect(void *arg, const struct cli_walk_entry *entry)
{
	struct found *found = arg;
	const struct cli_common *how = found->run->how;
	bool frame = entry->peek.is_frame, dir = S_ISDIR(entry->st->st_mode);
	bool file = !frame && S_ISREG(entry->st->st_mode);
	bool wanted = how->all ? frame || file : how->files ? file : frame;
	/* A frame with several names was changed by the first one. */
	bool once = how->changes && !how->remove;

	/* The results make a tree like this one: name what is missing there. */
	if (!wanted && (frame || !dir) &&
	    (how->all || (how->files && found->run->moves)))
		leave_out(found, entry);
	if (wanted && entry->at.kind == CLI_KIND_PATH)
		(void)cli_target_know(&entry->at);
	if (wanted && !(once && entry->again))
		add(&found->items, &found->n, entry);
	if (how->all && !wanted && dir)
		add(&found->dirs, &found->ndirs, entry);
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* 1: @path is a frame; 0: no; or an errno. */
static int peek(const char *path)
{
	struct b2f_frame_peek peek;
	int err = cli_frames_peek(path, &peek);

	return err ? err : peek.is_frame;
}

static bool is_frame(const char *path)
{
	return peek(path) == 1;
}

/* Is it a directory on this machine, and surely no frame? */
static bool is_tree(const char *path)
{
	return cli_kind_of(path) == CLI_KIND_PATH && is_dir(path) &&
	       peek(path) == 0;
}

/* Does -o name a directory for results, not a result? */
static bool names_directory(const struct run *run)
{
	size_t len = run->to ? strlen(run->to) : 0;

	if (len == 0 || (!run->to_url && is_frame(run->to)))
		return false;
	return (run->how->recursive && !run->how->exact) ||
	       run->to[len - 1] == '/' || (!run->to_url && is_dir(run->to));
}

/*
 * A source may only be removed once the names of all new directories above its
 * result are on the disk; and copies are safe at the end.
 */
static enum cli_make how_to_make(const struct run *run)
{
	return run->how->remove || run->how->all ? CLI_MAKE_DURABLE : CLI_MAKE;
}

/* Makes the directory @path.  Returns 0, 1 (it exists) or an errno. */
static int make_named(const struct run *run, const char *path, mode_t mode)
{
	const char *name;
	CLI_OWN_FD int dir = cli_at_open_holder(path, O_PATH, &name);
	int err = 1;

	if (dir < 0)
		return cli_message_errno(path, dir);
	if (*name)
		err = cli_at_make(dir, name, mode, how_to_make(run));
	return err < 0 ? cli_message_errno(path, err) : err;
}

static int make_parents(const struct run *run, char *path)
{
	int err = 0;

	for (size_t i = 1; path[i] && err >= 0; i++) {
		if (path[i] != '/')
			continue;
		path[i] = '\0';
		err = make_named(run, path, 0777);
		path[i] = '/';
	}
	return err < 0 ? err : 0;
}

/* The path of the result for @below of an operand; malloc'ed. */
static char *place_of(const struct run *run, const char *below)
{
	B2F_OWN char *top = cli_text_bare(run->to);

	return cli_text_join(top, below);
}

/* Is @below, the path of a result in a directory, inside that directory? */
static bool stays_inside(const char *below)
{
	while (*below) {
		size_t n = strcspn(below, "/");

		if ((n == 2 && strncmp(below, "..", 2) == 0) ||
		    (n == 1 && *below == '.'))
			return false;
		below += n;
		below += strspn(below, "/");
	}
	return true;
}

/* Opens the directory for results, which the first call makes. */
static int open_output(struct run *run)
{
	B2F_OWN char *top = NULL;
	int err;

	if (run->output >= 0)
		return 0;
	top = cli_text_bare(run->to);
	err = make_parents(run, top);
	/* Closed at first: the attributes of the source come at the end. */
	if (!err)
		err = make_named(run, top, run->how->all ? 0700 : 0777);
	run->made_output = err == 0;
	if (err >= 0)
		run->output = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (err >= 0 && run->output < 0)
		err = cli_message_errno(run->to, -errno);
	return err < 0 ? err : 0;
}

/*
 * Makes the directories of the result for @below of the operand @path, and
 * opens the last one; *@at is moved there.  No name of an object on a server
 * leads outside.
 */
static int make_place(struct run *run, const char *path, const char *below,
		      struct cli_at *at)
{
	const char *name;
	char *place;
	int dir, err;

	if (!stays_inside(below))
		return cli_refuse(-EINVAL, "%s: its name leads out of %s", path,
				  run->to);
	place = place_of(run, below);
	*at = cli_at_path(place);
	/* An object store has no directories to make. */
	if (run->to_url)
		return 0;
	/* The result of the operand itself. */
	if (!*below)
		return make_parents(run, place);
	err = open_output(run);
	if (err)
		return err;
	dir = cli_at_open_parent(run->output, below, how_to_make(run), &name);
	if (dir < 0)
		return cli_message_errno(place, dir);
	at->dir = dir;
	at->name = place + strlen(place) - strlen(name);
	return 0;
}

/* Frees the path of the result, and closes its directory. */
static void free_place(struct cli_operand *operand)
{
	if (!cli_operand_is_moved(operand))
		return;
	free((char *)(uintptr_t)operand->place.path);
	cli_at_close(operand->place.dir);
}

/* Prints a failure, unless the command has printed one. */
static void note_failure(const struct run *run, const char *path,
			 uint64_t nprinted, int err)
{
	if (err && cli_json_count() == nprinted)
		cli_json_fail(run->command->name, path);
}

void cli_operand_report(const struct cli_operand *operand, const char *output,
			uint64_t nbytes, uint64_t cbytes)
{
	const char *source = operand->progress->label;
	uint64_t ms = cli_common_now_ms() - operand->progress->start_ms;
	json_t *object = json_pack(
		"{s:s, s:o*, s:o*, s:I, s:I, s:o, s:f, s:b}", "command",
		operand->command, "source", cli_json_name(source), "output",
		cli_json_name(output ? output : source), "nbytes",
		(json_int_t)nbytes, "cbytes", (json_int_t)cbytes, "ratio",
		cli_json_ratio(nbytes, cbytes), "seconds", (double)ms / 1000,
		"elsewhere", output != NULL);

	cli_progress_fini(operand->progress);
	/* Names the result only if it has another name. */
	cli_message_result("{source}: [{?command=decompress}{cbytes:size} -> "
			   "{nbytes:size}|{nbytes:size} -> {cbytes:size}, "
			   "{ratio:ratio}], {seconds:seconds}"
			   "[{?elsewhere}, {output}]",
			   object);
	json_object_del(object, "elsewhere");
	cli_json_say("", source, object);
}

/* Runs the command, unless @err: something has failed before. */
static int run_operand(const struct run *run, struct cli_operand *operand,
		       int err)
{
	uint64_t nprinted = cli_json_count();
	struct cli_progress progress;

	if (!err) {
		cli_progress_init(&progress, operand->at.path,
				  !run->how->no_progress);
		operand->command = run->command->name;
		operand->runtime = run->runtime;
		operand->how.offset = run->how->frame_offset;
		operand->progress = &progress;
		err = run->command->each(run->how, operand);
		cli_progress_fini(&progress);
	}
	note_failure(run, operand->at.path, nprinted, err);
	free_place(operand);
	return err;
}

/* The last part of @url's path, which names results; malloc'ed. */
static char *name_of(const char *url)
{
	const char *path = strstr(url, "://") + 3;
	/* A key may contain '?' and '#'. */
	size_t n = strcspn(path, b2f_remote_is_s3(url) ? "" : "?#"), start;

	while (n > 0 && path[n - 1] == '/')
		n--;
	for (start = n; start > 0 && path[start - 1] != '/'; start--)
		;
	return cli_need_part(path + start, n - start);
}

static int choose_place(struct run *run, struct cli_operand *operand)
{
	const char *path = operand->at.path, *name;
	B2F_OWN char *bare = NULL;

	if (run->moves && operand->at.kind == CLI_KIND_STDIN)
		return cli_refuse(-EINVAL, "standard input has no name: -o has "
					   "to give it one");
	if (run->moves) {
		bare = cli_text_bare(path);
		name = basename(bare);
		return make_place(run, path, *name ? name : bare,
				  &operand->place);
	}
	operand->output = run->to;
	/* The result of a URL is made in the current directory. */
	if (operand->at.kind == CLI_KIND_URL)
		operand->place = cli_at_path(name_of(path));
	return 0;
}

static int check_change(const struct run *run, const struct cli_at *at)
{
	return run->how->changes ? cli_at_check_change(at, run->how->changes)
				 : 0;
}

int cli_operands_refuse_tree(const char *path)
{
	if (!is_tree(path))
		return 0;
	return cli_refuse(-EISDIR, "%s: a directory; add -r for what is in it",
			  path);
}

static bool takes_r(const struct cli_command *command)
{
	const struct cli_option *option = command->options;

	while (option->name || option->shared) {
		if (option->shared == cli_common_recursive)
			return true;
		option++;
	}
	return false;
}

static int refuse_tree(const struct run *run, const char *path)
{
	if (run->how->exact || (!run->how->files && !takes_r(run->command)))
		return 0;
	return cli_operands_refuse_tree(path);
}

static int run_one(struct run *run, const char *path)
{
	const struct cli_at at = cli_at_named(path);
	struct cli_operand operand = {.at = at, .place = at};
	int err;

	cli_message_begin();
	err = refuse_tree(run, path);
	if (!err)
		err = check_change(run, &at);
	if (!err)
		err = choose_place(run, &operand);
	return run_operand(run, &operand, err);
}

/* Opens the directory of @item below @root; *@at is the item. */
static int find_item(const struct found_item *item, int root, struct cli_at *at)
{
	size_t n = strlen(item->below);
	B2F_OWN char *file = NULL;
	const char *name;

	*at = cli_at_path(item->at.path);
	at->kind = item->at.kind;
	if (at->kind == CLI_KIND_URL || root < 0)
		return -1;
	*at = item->at;
	if (at->key)
		n -= strlen(at->key) + 1;
	file = cli_need_part(item->below, n);
	at->dir = cli_at_open_parent(root, file, CLI_MAKE_NONE, &name);
	return at->dir;
}

static int run_item(struct run *run, const struct found_item *item, int root)
{
	struct cli_operand operand = {.output = NULL};
	CLI_OWN_FD int dir = -1;
	int err = 0;

	cli_message_begin();
	dir = find_item(item, root, &operand.at);
	if (dir < -1)
		err = cli_message_errno(item->at.path, dir);
	if (!err)
		err = check_change(run, &operand.at);
	operand.place = operand.at;
	/* A frame at a home is called by one of its names. */
	operand.shown = operand.place.name = basename(item->below);
	if (!err && run->moves)
		err = make_place(run, item->at.path, item->below,
				 &operand.place);
	return run_operand(run, &operand, err);
}

/*
 * The directories of a tree that is copied.  Each is made before its contents,
 * writable for its owner alone, and gets its owner, permissions, times and
 * attributes when its contents are complete.  Both use descriptors of the
 * source and the copy, because the names may change meanwhile.
 */
struct copied {
	/* The top directories of both trees. */
	int from;
	int to;
	/* Directories made so far. */
	struct copied_directory {
		/* Path below both tops. */
		char *below;
		struct stat like;
		struct stat as;
	} *made;
	size_t n;
};

static int stat_below(int top, const char *below, struct stat *out)
{
	CLI_OWN_FD int fd = cli_at_open_below(top, below, O_PATH);

	return fd < 0 ? fd : fstat(fd, out) != 0 ? -errno : 0;
}

/* Returns 1 if the directory exists already. */
static int make_one(int top, const char *below, mode_t mode)
{
	const char *name;
	CLI_OWN_FD int dir =
		cli_at_open_parent(top, below, CLI_MAKE_DURABLE, &name);

	return dir < 0 ? dir : cli_at_make(dir, name, mode, CLI_MAKE_DURABLE);
}

/*
 * Makes the directory @below, named @path in messages, or (@was_made) notes
 * that it was made.  An existing directory is not changed.  Returns 0, or an
 * errno after printing it.
 */
static int copy_directory(struct copied *d, const char *path, const char *below,
			  bool was_made)
{
	struct stat like, as;
	int err = stat_below(d->from, below, &like), there = 0;

	/*
	 * Until all is in it, no other user may write to it: links could
	 * redirect the copy.  The mode is nearly the final one, in case of
	 * an interruption.
	 */
	if (!err && !was_made)
		there = make_one(d->to, below, (like.st_mode & 0755) | S_IRWXU);
	if (!err)
		err = there < 0 ? there : stat_below(d->to, below, &as);
	if (there > 0 && (err == -ENOTDIR || err == -ELOOP))
		err = -EEXIST;
	if (err || there)
		return cli_message_errno(path, err);
	d->made = cli_need_room(d->made, d->n, sizeof(*d->made));
	d->made[d->n++] =
		(struct copied_directory){cli_need_copy(below), like, as};
	return 0;
}

/* Opens @below if it is still the file @st, or returns an errno. */
static int open_same(int top, const char *below, const struct stat *st)
{
	int fd = cli_at_open_below(top, below, O_RDONLY);
	struct stat now;

	if (fd < 0)
		return fd;
	if (fstat(fd, &now) == 0 && cli_at_is_same(&now, st))
		return fd;
	close(fd);
	return -ESTALE;
}

static int finish_directory(const struct copied *d,
			    const struct copied_directory *made)
{
	CLI_OWN_FD int fd = open_same(d->to, made->below, &made->as);
	CLI_OWN_FD int from = open_same(d->from, made->below, &made->like);

	return fd < 0 ? fd
		      : cli_attributes_set_directory(fd, &made->like, from);
}

/* Finishes those below @path; prints all errors, and returns the first. */
static int finish_directories(struct copied *d, const char *path)
{
	int first = 0;

	/*
	 * A change in a directory changes its mtime, so set the times of the
	 * innermost first; the parents still belong to us.
	 */
	while (d->n > 0) {
		struct copied_directory *made = &d->made[--d->n];
		int err = finish_directory(d, made);

		if (err)
			cli_message_error("%s/%s: %s", path, made->below,
					  b2f_strerror(err));
		first = first ? first : err;
		free(made->below);
	}
	free(d->made);
	return first;
}

/* Copies the directories of @found, if source and results are paths. */
static int make_directories(struct run *run, int fd, const struct found *found,
			    struct copied *made)
{
	int first, err;

	if (!run->how->all || !run->to || fd < 0 || run->to_url)
		return 0;
	first = open_output(run);
	if (first)
		return first;
	*made = (struct copied){.from = fd, .to = run->output};
	if (run->made_output)
		first = copy_directory(made, run->to, "", true);
	for (size_t i = 0; i < found->ndirs; i++) {
		const char *below = found->dirs[i].below;
		B2F_OWN char *place = place_of(run, below);

		err = copy_directory(made, place, below, false);
		first = first ? first : err;
	}
	return first;
}

/* Prints the error of the search below @root, if any. */
static int judge(const struct found *found, const char *root, int err)
{
	const struct cli_common *how = found->run->how;

	if (!err)
		err = found->refused;
	if (err || found->n || how->files)
		return err;
	if (how->all && cli_kind_of(root) == CLI_KIND_URL)
		return cli_refuse(-ENOENT, "%s: nothing is there", root);
	if (!how->all)
		cli_message_warning("%s: there is no frame in it", root);
	return 0;
}

/* Processes everything @found below the directory or server @root. */
static int run_below(struct run *run, const char *root,
		     const struct found *found)
{
	struct copied made = {.n = 0};
	CLI_OWN_FD int fd = -1;
	int err, e;

	if (cli_kind_of(root) == CLI_KIND_PATH && is_dir(root))
		fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cli_message_begin();
	err = e = make_directories(run, fd, found, &made);
	note_failure(run, root, cli_json_count(), err);
	for (size_t i = 0; i < found->n && e != -EPIPE; i++) {
		e = run_item(run, &found->items[i], fd);
		err = err ? err : e;
	}
	cli_message_begin();
	if (finish_directories(&made, run->to)) {
		note_failure(run, root, cli_json_count(), -EIO);
		err = err ? err : -EIO;
	}
	if (e == -EPIPE)
		return e;
	return found->err ? found->err : err;
}

static void find_below(const struct run *run, const char *root,
		       struct found *found)
{
	const struct cli_walk walk = {.recursive = true,
				      .no_stores = !run->how->stores,
				      .visit = collect,
				      .arg = found};

	found->run = run;
	cli_message_begin();
	found->err = judge(found, root, cli_walk_run(&walk, root));
	note_failure(run, root, cli_json_count(), found->err);
}

/* A store that is itself a frame (.b2e) is one operand unless -r is given. */
static bool is_whole_store(const struct run *run, const char *path)
{
	const char *key;
	B2F_OWN char *file = run->how->stores && !run->how->frame_offset
				     ? cli_pack_path_split(path, true, &key)
				     : NULL;

	return file && !*key && (run->how->recursive || !is_frame(file));
}

static bool goes_below(const struct run *run, const char *path)
{
	return is_whole_store(run, path) ||
	       (run->how->recursive &&
		(cli_kind_of(path) == CLI_KIND_URL || is_tree(path)));
}

static bool is_several(const struct run *run, char **paths)
{
	return run->how->recursive || run->how->several ||
	       (paths[0] && (paths[1] || goes_below(run, paths[0])));
}

/*
 * Finds all that the operands @paths name, before a result could replace any of
 * it.  Each has one of @found.
 */
static void find_all(const struct run *run, char **paths, struct found *found)
{
	for (; *paths; paths++, found++) {
		const struct cli_at at = cli_at_named(*paths);

		found->is_below = goes_below(run, *paths);
		if (at.kind == CLI_KIND_PATH)
			(void)cli_target_know(&at);
		if (found->is_below)
			find_below(run, *paths, found);
	}
}

static int run_all(struct run *run, char **paths)
{
	int status = CLI_EXIT_OK, err = 0;
	B2F_OWN struct found *all = NULL;
	size_t n = 0;

	while (paths[n])
		n++;
	all = cli_need(calloc(n + 1, sizeof(*all)));
	cli_json_begin(is_several(run, paths));
	find_all(run, paths, all);
	for (size_t i = 0; i < n && err != -EPIPE; i++) {
		err = all[i].is_below ? run_below(run, paths[i], &all[i])
				      : run_one(run, paths[i]);
		if (err)
			status = CLI_EXIT_FAILURE;
	}
	cli_json_end();
	for (size_t i = 0; i < n; i++) {
		free_items(all[i].items, all[i].n);
		free_items(all[i].dirs, all[i].ndirs);
	}
	return status;
}

int cli_operands_run(const struct cli_command *command, void *options,
		     char **paths)
{
	struct cli_common *how = options;
	struct run run = {.command = command,
			  .how = how,
			  .to = how->output,
			  .output = -1};
	int status;

	if (how->to_stdout && !how->force && isatty(STDOUT_FILENO))
		return cli_refuse(CLI_EXIT_FAILURE, "standard output is a "
						    "terminal; -f writes to it");
	if (run.to && !how->to_url && cli_kind_check_output(run.to))
		return CLI_EXIT_FAILURE;
	run.to_url = run.to && cli_kind_of(run.to) == CLI_KIND_URL;
	run.moves = names_directory(&run) ||
		    (run.to && paths[0] && goes_below(&run, paths[0]));
	if (run.to && !run.moves && paths[0] && paths[1])
		return cli_command_misuse(command,
					  "-o takes one operand, unless it is "
					  "a directory");
	if (cli_frames_runtime(how->nthreads, &run.runtime))
		return CLI_EXIT_FAILURE;
	status = run_all(&run, paths);
	b2f_runtime_free(run.runtime);
	cli_at_close(run.output);
	return status;
}
