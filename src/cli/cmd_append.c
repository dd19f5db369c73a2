/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_append.c - bloscctl append: plain data to the end of a frame
 *
 * A Bloscpack file cannot be written to.  The command writes the added data to
 * a temporary frame beside the file, makes a new file of both, and replaces the
 * old file by one rename when the new one is on the disk.  So a crash leaves
 * one of the two files, whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "cli/command.h"
#include "cli/common.h"
#include "cli/encoding.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/server.h"
#include "cli/target.h"

struct append {
	struct cli_common common;
	struct b2f_runtime *runtime;
	const char *path;
	struct cli_at at;
	struct b2f_file *file;
	/* For a Bloscpack file: that file; @file has the bytes to add. */
	struct b2f_file *old;
	/* Its attributes; and the temporary frame of @file. */
	struct stat like;
	struct cli_target scratch;
	/* Size before. */
	uint64_t start;
	uint64_t added;
	/* Stored bytes afterwards. */
	uint64_t cbytes;
};

static const struct cli_option table[] = {
	{.shared = cli_server_options},
	{.shared = cli_server_new_object_options},
	{.shared = cli_common_options},
	{0},
};

static int allow_write(struct append *a)
{
	const struct b2f_write_options options = {.no_seal = a->common.no_seal};
	int err;

	err = b2f_file_allow_write(a->file, &options);
	if (err)
		return cli_message_explain(a->path, err);
	/* Foreign changes are counted from here, where the size is taken. */
	(void)b2f_file_take_foreign(a->file);
	a->start = b2f_file_size(a->file);
	return 0;
}

static int open_scratch(struct append *a)
{
	const struct b2f_write_options options = {.no_seal = true,
						  .no_locking = true};
	struct b2f_settings settings = b2f_settings_of(b2f_file_frame(a->old));
	int err;

	settings = cli_encoding_scratch(&settings);
	err = b2f_frame_create(&settings, a->scratch.at.dir, a->scratch.at.name,
			       0600, false, &cli_message_log);
	if (err)
		return cli_message_explain(a->path, err);
	err = cli_frames_open_file(a->runtime, NULL, &a->scratch.at, &a->file);
	return err ? err
		   : cli_message_explain(
			     a->path, b2f_file_allow_write(a->file, &options));
}

static int begin_longer(struct append *a)
{
	int err;

	a->old = a->file;
	a->file = NULL;
	err = cli_at_check_change(&a->at, "");
	if (err)
		return err;
	err = cli_frames_stat(&a->at, &a->like);
	if (err)
		return cli_message_errno(a->path, err);
	err = cli_target_open_scratch(&a->scratch, &a->at);
	return err ? err : open_scratch(a);
}

/* Is the Bloscpack file unchanged, and not replaced, since it was read? */
static int check_unchanged(const struct append *a)
{
	struct b2f_frame_stamp then = b2f_frame_stamp_of(&a->like), now;
	struct stat st;
	int err = cli_frames_stat(&a->at, &st);

	if (err)
		return cli_message_errno(a->path, err);
	now = b2f_frame_stamp_of(&st);
	return b2f_frame_stamp_equal(&then, &now)
		       ? 0
		       : cli_message_changed(a->path);
}

static int begin(struct append *a)
{
	const struct b2f_frame *frame;
	int err = 0;

	/* On a server the kind of the object decides. */
	if (a->at.kind != CLI_KIND_URL)
		err = cli_at_check_change(&a->at, "");
	if (!err)
		err = cli_frames_open_file(a->runtime, NULL, &a->at, &a->file);
	if (err)
		return err;
	frame = b2f_file_frame(a->file);
	if (b2f_frame_info_get(frame)->bloscpack)
		return begin_longer(a);
	if (b2f_frame_array(frame))
		return cli_refuse(-EPERM,
				  "%s: arrays cannot grow; nothing was "
				  "appended",
				  a->path);
	return allow_write(a);
}

static int add_input(struct append *a, const struct cli_input *in)
{
	struct cli_progress progress;
	uint64_t n = 0;
	int err;

	cli_progress_init(&progress, in->name, !a->common.no_progress);
	err = cli_input_copy(in, a->file, a->path, a->start + a->added,
			     &progress, &n);
	cli_progress_fini(&progress);
	a->added += n;
	return err;
}

static int add_file(struct append *a, const char *path)
{
	const struct cli_at at = cli_at_named(path);
	struct cli_input in;
	int err;

	err = cli_input_open(&in, &at);
	if (err)
		return err;
	/* Otherwise the input would never end. */
	if (cli_frames_is(&a->at, &in.st))
		err = cli_refuse(-EINVAL, "%s: it is the frame itself",
				 in.name);
	else
		err = add_input(a, &in);
	cli_input_close(&in);
	return err;
}

static int make_longer(struct append *a, struct b2f_frame *added,
		       const struct cli_target *target,
		       struct cli_progress *progress)
{
	const struct b2f_convert_options options = {
		.before = b2f_file_frame(a->old),
		.mode = a->like.st_mode & 0777,
		.progress = cli_progress_update,
		.arg = progress,
	};
	struct stat like = a->like;
	CLI_OWN_FD int fd = -1;
	int err = b2f_convert_bloscpack(a->runtime, added, &options,
					target->at.dir, target->at.name);

	if (err)
		return cli_message_explain(a->path, err);
	/* The new file has a new mtime. */
	err = cli_frames_source(&a->at, options.before, &like, &fd);
	like.st_mtim.tv_nsec = UTIME_NOW;
	return err ? err : cli_target_set_attributes(target, &like, fd);
}

/*
 * Gives the new file its name.  Another append that ends now waits for the lock
 * of the old file, and finds that it was replaced.
 */
static int commit_target(const struct append *a, struct cli_target *target)
{
	CLI_OWN_FD int fd = cli_at_open(&a->at, O_RDONLY | O_NONBLOCK);
	int err;

	/* Filesystems without locks go unlocked. */
	while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
		;
	err = check_unchanged(a);
	return err ? err : cli_target_commit(target, true);
}

static int replace(struct append *a, struct b2f_frame *added,
		   struct cli_progress *progress)
{
	CLI_OWN_TARGET struct cli_target target = CLI_TARGET_NONE;
	struct stat st;
	int err = cli_target_open(&target, &a->at, CLI_REPLACE_SOURCE);

	if (!err)
		err = make_longer(a, added, &target, progress);
	if (!err && cli_frames_stat(&target.at, &st) == 0)
		a->cbytes = (uint64_t)st.st_size;
	return err ? err : commit_target(a, &target);
}

static int commit_longer(struct append *a)
{
	CLI_OWN_FRAME struct b2f_frame *added = NULL;
	struct cli_progress progress;
	int err = b2f_file_commit(a->file, B2F_COMMIT_VISIBLE);

	if (err)
		return cli_message_explain(a->path, err);
	cli_progress_init(&progress, a->path, !a->common.no_progress);
	err = cli_frames_open(NULL, &a->scratch.at, &added);
	if (!err)
		err = replace(a, added, &progress);
	cli_progress_fini(&progress);
	a->start = b2f_file_size(a->old);
	return err;
}

static int commit(struct append *a)
{
	struct b2f_file_now now;
	int err;

	if (a->old)
		return commit_longer(a);
	/*
	 * If another program has added data while this one waited for input,
	 * the first write would overwrite them.
	 */
	if (b2f_file_take_foreign(a->file))
		return cli_message_changed(a->path);
	err = b2f_file_commit(a->file, B2F_COMMIT_DURABLE);
	b2f_file_now_get(a->file, &now);
	a->cbytes = now.cbytes;
	return cli_message_explain(a->path, err);
}

static int add_all(struct append *a, char **files)
{
	int err = 0;

	if (!*files)
		err = add_file(a, "-");
	for (; *files && !err; files++)
		err = add_file(a, *files);
	if (!err)
		err = commit(a);
	if (err)
		cli_message_error(err == B2F_EINDOUBT
					  ? "%s: not known whether anything was "
					    "appended"
					  : "%s: nothing was appended",
				  a->path);
	return err;
}

static int run_append(const struct cli_command *self, void *append,
		      char **paths)
{
	struct cli_progress progress;
	const struct cli_operand operand = {.command = self->name,
					    .progress = &progress};
	struct append *a = append;
	int err;

	a->path = *paths;
	a->at = cli_at_named(a->path);
	if (cli_frames_runtime(a->common.nthreads, &a->runtime))
		return CLI_EXIT_FAILURE;
	cli_progress_init(&progress, a->path, false);
	err = begin(a);
	if (!err)
		err = add_all(a, paths + 1);
	if (!err)
		cli_operand_report(&operand, NULL, a->start + a->added,
				   a->cbytes);
	b2f_file_close(a->file);
	b2f_file_close(a->old);
	cli_target_close(&a->scratch);
	b2f_runtime_free(a->runtime);
	return err ? CLI_EXIT_FAILURE : CLI_EXIT_OK;
}

const struct cli_command cli_append_command = {
	.name = "append",
	.summary = "add plain data to the end of a frame",
	.operands = "FRAME [FILE...]",
	.help = "Adds the bytes of all FILEs (- or none: standard input) to "
		"the end of FRAME; if\nanything fails, adds nothing. FRAME "
		"may be a Bloscpack file, too.",
	.options = table,
	.size = sizeof(struct append),
	.start = &(const struct append){.scratch = CLI_TARGET_NONE},
	.missing = "a frame is missing",
	.run = run_append,
};
