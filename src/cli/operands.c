/* SPDX-License-Identifier: BSD-3-Clause */
/* operands.c - a command on each of its operands, and on what is below them */
#include "cli/operands.h"

#include <argz.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/directories.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/from_url.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/pack_path.h"
#include "cli/text.h"
#include "cli/walk.h"

/* A run over all operands. */
struct run {
	const struct cli_operands *o;
	struct b2f_runtime *runtime;
	/* Results go to the directory o->output. */
	bool moves;
};

/* Entries below a directory, collected before there are new ones. */
struct found {
	bool files;
	bool all;
	char *paths;
	size_t len;
	/* With @all, the directories that these are in. */
	char *dirs;
	size_t dirs_len;
	/* There is no memory; something is there that is not worked on. */
	int err;
	int refused;
};

/* Neither a frame nor a file nor a directory that is gone into. */
static void refuse(struct found *found, const struct cli_walk_entry *entry)
{
	cli_message_error("%s: it is %s, which is left out", entry->path,
			  S_ISLNK(entry->st->st_mode) ? "a symbolic link"
						      : "no regular file");
	found->refused = -EINVAL;
}

static void collect(void *arg, const struct cli_walk_entry *entry)
{
	struct found *found = arg;
	bool wanted = entry->peek.is_frame;

	if (found->all && !wanted && !S_ISDIR(entry->st->st_mode) &&
	    !S_ISREG(entry->st->st_mode))
		refuse(found, entry);
	if (found->all)
		wanted = wanted || S_ISREG(entry->st->st_mode);
	else if (found->files)
		wanted = !wanted && S_ISREG(entry->st->st_mode);
	if (wanted && argz_add(&found->paths, &found->len, entry->path))
		found->err = -ENOMEM;
	if (found->all && !wanted && S_ISDIR(entry->st->st_mode) &&
	    argz_add(&found->dirs, &found->dirs_len, entry->path))
		found->err = -ENOMEM;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_frame(const char *path)
{
	struct b2f_frame_peek peek;
	char *real = realpath(path, NULL);
	bool is = real && b2f_frame_peek(AT_FDCWD, real, &peek) == 0 &&
		  peek.is_frame;

	free(real);
	return is;
}

/* Does -o name a directory for results, not one of them? */
static bool names_directory(const struct cli_operands *o)
{
	size_t len = o->output ? strlen(o->output) : 0;

	if (len == 0)
		return false;
	if (cli_kind_of(o->output) == CLI_KIND_URL)
		return (o->common->recursive && !o->exact) ||
		       o->output[len - 1] == '/';
	if (is_frame(o->output))
		return false;
	return (o->common->recursive && !o->exact) ||
	       o->output[len - 1] == '/' || is_dir(o->output);
}

/* Makes the directories that @path is to be in. */
static int make_parents(char *path)
{
	int err = 0;

	/* An object store has no directories that are made. */
	if (cli_kind_of(path) == CLI_KIND_URL)
		return 0;
	for (size_t i = 1; path[i] && !err; i++) {
		if (path[i] != '/')
			continue;
		path[i] = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			err = cli_message_errno(path, -errno);
		path[i] = '/';
	}
	return err;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* What of @path, found below @root, is behind that; all of it, as below ".". */
static const char *part_below(const char *root, const char *path)
{
	size_t len = strlen(root);

	while (len > 1 && root[len - 1] == '/')
		len--;
	if (strncmp(path, root, len) != 0 ||
	    (path[len] && path[len] != '/' && root[len - 1] != '/'))
		return path;
	return path + len + strspn(path + len, "/");
}

/* Where @path, found below @root, goes; malloc'ed.  @root NULL: by its name. */
static char *place_of(const struct run *run, const char *root, const char *path)
{
	char *bare = cli_text_bare(path), *top = cli_text_bare(run->o->output);
	char *place = NULL;
	const char *below = NULL;

	if (bare)
		below = root ? part_below(root, bare) : last_name(bare);
	if (bare && top &&
	    asprintf(&place, "%s%s%s", top, *below ? "/" : "", below) < 0)
		place = NULL;
	free(top);
	free(bare);
	if (!place)
		cli_message_errno(path, -ENOMEM);
	return place;
}

/* Does @below, the path of a result in a directory, stay in that directory? */
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

/*
 * Where @path goes, and the directories for that.  A server may call its objects as it
 * likes, but they lead to nothing outside.
 */
static int make_place(const struct run *run, const char *root, const char *path,
		      char **out)
{
	char *place = place_of(run, root, path);
	char *top = cli_text_bare(run->o->output);
	int err = place && top ? 0 : -ENOMEM;

	if (!err && !stays_inside(place + strlen(top))) {
		cli_message_error("%s: its name leads out of %s", path,
				  run->o->output);
		err = -EINVAL;
	}
	if (!err)
		err = make_parents(place);
	free(top);
	*out = place;
	return err;
}

/* An operand that failed, unless its command has said so in its own words. */
static void print_failure(const struct run *run, const char *path)
{
	json_t *object = json_pack("{s:s, s:o*}", "command",
				   run->o->command->name, "source",
				   cli_json_name(path));
	char text[CLI_MESSAGE_MAX];

	cli_message_first(text);
	json_object_set_new(object, "error", cli_json_name(text));
	cli_json_print(object);
}

/* Finds out where what becomes of @operand goes; *@place is malloc'ed, or NULL. */
static int choose_place(const struct run *run, const char *root,
			struct cli_operand *operand, char **place)
{
	int err = 0;

	if (run->moves && operand->kind == CLI_KIND_STDIN) {
		cli_message_error("standard input has no name: -o has to give "
				  "it one");
		return -EINVAL;
	}
	if (run->moves)
		err = make_place(run, root, operand->path, place);
	else
		operand->output = run->o->output;
	/* What comes from a server goes here. */
	if (!run->moves && operand->kind == CLI_KIND_URL)
		*place = cli_from_url_name(operand->path);
	if (*place)
		operand->place = *place;
	return err;
}

static int run_one(const struct run *run, const char *root, const char *path)
{
	struct cli_operand operand = {
		.path = path, .kind = cli_kind_of(path), .place = path};
	uint64_t nprinted = cli_json_count();
	char *place = NULL;
	int err = 0;

	cli_message_begin();
	if (run->o->changes)
		err = cli_kind_check_change(path, run->o->changes);
	if (!err)
		err = choose_place(run, root, &operand, &place);
	if (!err)
		err = run->o->run(run->o->arg, run->runtime, &operand);
	if (err && run->o->common->json && cli_json_count() == nprinted)
		print_failure(run, path);
	free(place);
	return err;
}

/* Makes @dir, which is @root or below it, where it goes. */
static int make_directory(const struct run *run, const char *root,
			  const char *dir, struct cli_directories *made)
{
	char *place = NULL;
	int err = make_place(run, root, dir, &place);

	if (!err)
		err = cli_directories_make(made, place, dir);
	free(place);
	return err;
}

/* Makes directories as those of @found, if both it and the results are paths. */
static int make_directories(const struct run *run, const char *root,
			    const struct found *found,
			    struct cli_directories *made)
{
	const char *dir = NULL;
	int first, err;

	if (!found->all || cli_kind_of(root) == CLI_KIND_URL ||
	    cli_kind_of(run->o->output) == CLI_KIND_URL)
		return 0;
	first = make_directory(run, root, root, made);
	while ((dir = argz_next(found->dirs, found->dirs_len, dir))) {
		err = make_directory(run, root, dir, made);
		first = first ? first : err;
	}
	return first;
}

static int run_below(const struct run *run, const char *root)
{
	struct cli_directories made = {.n = 0};
	struct found found = {.files = run->o->files, .all = run->o->all};
	const struct cli_walk walk = {.recursive = true,
				      .no_stores = !run->o->stores,
				      .visit = collect,
				      .arg = &found};
	const char *path = NULL;
	int err, e;

	err = cli_walk_run(&walk, root);
	if (!err)
		err = found.refused;
	if (found.err)
		err = cli_message_errno(root, found.err);
	else if (!err && !found.len && found.all &&
		 cli_kind_of(root) == CLI_KIND_URL) {
		cli_message_error("%s: nothing is there", root);
		err = -ENOENT;
	} else if (!err && !found.len && !found.files && !found.all)
		cli_message_warning("%s: there is no frame in it", root);
	e = found.err ? 0 : make_directories(run, root, &found, &made);
	err = err ? err : e;
	while (!found.err && e != -EPIPE &&
	       (path = argz_next(found.paths, found.len, path))) {
		e = run_one(run, root, path);
		err = err ? err : e;
	}
	if (cli_directories_finish(&made) && !err)
		err = -EIO;
	free(found.paths);
	free(found.dirs);
	return e == -EPIPE ? e : err;
}

/* A store that is a frame itself (.b2e) is one operand unless -r is given. */
static bool is_whole_store(const struct run *run, const char *path)
{
	const char *key;
	char *file = run->o->stores && !run->o->common->frame_offset
			     ? cli_pack_path_split(path, true, &key)
			     : NULL;
	bool is = file && !*key &&
		  (run->o->common->recursive || !is_frame(file));

	free(file);
	return is;
}

static bool goes_below(const struct run *run, const char *path)
{
	if (is_whole_store(run, path))
		return true;
	if (cli_kind_of(path) == CLI_KIND_URL)
		return run->o->common->recursive;
	return run->o->common->recursive && is_dir(path) && !is_frame(path);
}

static bool is_several(const struct run *run, char **paths)
{
	return run->o->array || run->o->common->recursive ||
	       (paths[0] && (paths[1] || goes_below(run, paths[0])));
}

static int run_all(const struct run *run, char **paths)
{
	int status = CLI_EXIT_OK, err = 0;

	if (run->o->common->json)
		cli_json_begin(is_several(run, paths));
	for (; *paths && err != -EPIPE; paths++) {
		if (goes_below(run, *paths))
			err = run_below(run, *paths);
		else
			err = run_one(run, NULL, *paths);
		if (err)
			status = CLI_EXIT_FAILURE;
	}
	if (run->o->common->json)
		cli_json_end();
	return status;
}

int cli_operands_run(const struct cli_operands *o, char **paths)
{
	struct run run = {.o = o};
	int status;

	if (o->output && !o->to_url && cli_kind_check_output(o->output))
		return CLI_EXIT_FAILURE;
	run.moves = names_directory(o) ||
		    (o->output && paths[0] && goes_below(&run, paths[0]));
	if (o->output && !run.moves && paths[0] && paths[1])
		return cli_command_misuse(o->command,
					  "-o takes one operand, unless it is "
					  "a directory");
	if (cli_frames_runtime(o->common->nthreads, &run.runtime))
		return CLI_EXIT_FAILURE;
	status = run_all(&run, paths);
	b2f_runtime_free(run.runtime);
	return status;
}
