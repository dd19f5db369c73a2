/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_rm.c - bloscctl rm: removes frames, here and in object stores */
#include <errno.h>
#include <string.h>

#include "cli/common.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/server.h"

struct rm {
	struct cli_common common;
	bool dry_run;
};

#define FIELD(name) offsetof(struct rm, name)

static const struct cli_option table[] = {
	{.shared = cli_common_recursive},
	CLI_FLAG("force", 'f', common.force,
		"also files and objects that are no frames, and frames\n"
		"that cannot be read; a missing one is no error"),
	CLI_FLAG("dry-run", 'n', dry_run, "only say what would be removed"),
	{.shared = cli_server_options},
	{.shared = cli_common_work_options},
	{0},
};

static bool may_miss(const struct rm *rm, int err)
{
	return err == -ENOENT && rm->common.force;
}

/* Removes a file, or a directory that holds nothing but files of a frame. */
static int remove_unread(const struct cli_at *at, const struct stat *st,
			 bool dry_run)
{
	struct stat index;
	int err;

	if (!S_ISDIR(st->st_mode))
		return cli_frames_remove_file(at, st, dry_run);
	if (cli_frames_stat(at, &index) && !cli_frames_has_chunks(at))
		return cli_message_errno(at->path, -EISDIR);
	err = cli_frames_check_removable(at->dir, at->name, at->path);
	if (err || dry_run)
		return err;
	return cli_message_errno(at->path,
				 cli_frames_remove_any(at->dir, at->name));
}

/* With -f the kind of files counts, not the contents of an index. */
static bool is_frame(const struct rm *rm, const struct cli_at *at)
{
	struct b2f_frame_peek peek;

	return !rm->common.force ||
	       (b2f_frame_peek(at->dir, at->name, NULL, &peek) == 0 &&
		peek.is_frame && !peek.broken);
}

static int remove_path(const struct rm *rm, const struct cli_operand *operand)
{
	const struct b2f_frame_options how = {.join_objects = true};
	const struct cli_at *at = &operand->at;
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	struct stat st;
	int err = fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) ? -errno
								       : 0;

	if (err)
		return may_miss(rm, err) ? err
					 : cli_message_errno(at->path, err);
	if (!is_frame(rm, at))
		return remove_unread(at, &st, rm->dry_run);
	err = cli_frames_open(&how, at, &frame);
	return err ? err
		   : cli_frames_remove(at, operand->shown, frame, rm->dry_run);
}

static int find_remote(struct b2f_remote *remote, const char *path,
		       const char *url, bool force, bool *sparse)
{
	const struct b2f_frame_options how = {
		.log = force ? NULL : &cli_message_log,
		.label = url,
		.join_objects = true};
	struct b2f_remote_stat st;
	struct b2f_frame *frame = NULL;
	int err = b2f_remote_open_frame(remote, path, &how, &frame);

	*sparse = true;
	if (!err)
		*sparse = b2f_frame_info_get(frame)->sparse;
	b2f_frame_close(frame);
	if (!force || (err != B2F_ENOTFRAME && err != B2F_ECORRUPT &&
		       err != B2F_EUNSUPPORTED))
		return err;
	/* The index may be unreadable, or @path may be an object. */
	err = *path ? b2f_remote_look(remote, path, &st) : -ENOENT;
	*sparse = err == -ENOENT;
	return *sparse ? 0 : err;
}

static int remove_remote(const struct rm *rm, struct b2f_remote *remote,
			 const char *path, const char *url)
{
	bool sparse;
	int err;

	cli_message_forget();
	err = find_remote(remote, path, url, rm->common.force, &sparse);
	if (!err && !rm->dry_run)
		err = sparse ? b2f_remote_remove_frame(remote, path)
			     : b2f_remote_remove(remote, path);
	return may_miss(rm, err) ? err : cli_message_explain(url, err);
}

static int remove_url(const struct rm *rm, const char *url)
{
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	const char *path;
	int err = cli_server_connect_above(url, &remote, &path);

	return err ? err
		   : remove_remote(rm, remote, path + strspn(path, "/"), url);
}

static void report(const struct rm *rm, const char *path, bool exists)
{
	bool dry_run = exists && rm->dry_run;

	cli_json_say(dry_run ? "{}\n" : "", path,
		     json_pack("{s:s, s:o*, s:b}", "command", "rm", "source",
			       cli_json_name(path), "removed",
			       exists && !dry_run));
	if (exists)
		cli_message_info("%s: %s", path,
				 dry_run ? "would be removed" : "removed");
}

static int remove_one(void *arg, const struct cli_operand *operand)
{
	const struct cli_at *at = &operand->at;
	const struct rm *rm = arg;
	int err;

	if (at->kind == CLI_KIND_URL)
		err = remove_url(rm, at->path);
	else
		err = cli_at_check_change(at, "");
	if (!err && at->kind != CLI_KIND_URL)
		err = remove_path(rm, operand);
	if (err && !may_miss(rm, err))
		return err;
	report(rm, at->path, !err);
	return 0;
}

static int run_rm(const struct cli_command *self, void *options, char **frames)
{
	struct rm *rm = options;

	rm->common.all = rm->common.force;
	return cli_operands_run(self, options, frames);
}

const struct cli_command cli_rm_command = {
	.name = "rm",
	.summary = "remove frames, here and in object stores",
	.operands = "FRAME...",
	.help = "Removes each FRAME, a path or the URL of a frame in an "
		"object store: first its\nindex, so that readers find the "
		"whole frame or none, then its chunks. Refuses\nfiles that "
		"are no frames, and frames that a program has open for "
		"writing.",
	.options = table,
	.size = sizeof(struct rm),
	.missing = "a frame is missing",
	.each = remove_one,
	.run = run_rm,
};
