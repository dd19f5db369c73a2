/* SPDX-License-Identifier: BSD-3-Clause */
/* longer.c - appending to a Bloscpack file */
#include "cli/longer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/bloscpack.h"
#include "cli/frames.h"
#include "cli/message.h"

static int open_scratch(struct cli_longer *longer, struct b2f_file **out)
{
	const struct b2f_write_options options = {.no_seal = true,
						  .no_locking = true};
	const struct b2f_frame_options how = {.label = longer->path};
	const struct cli_at at = cli_target_at(&longer->scratch);
	struct b2f_settings settings = b2f_settings_of(longer->old);
	int err;

	settings = cli_bloscpack_scratch(&settings);
	err = b2f_frame_create(&settings, longer->scratch.dirfd,
			       longer->scratch.base, 0600, false,
			       &cli_message_log);
	if (err)
		return cli_message_explain(longer->path, err);
	return cli_frames_open_writable(longer->runtime, &how,
					&at, &options, out);
}

int cli_longer_begin(struct cli_longer *longer, struct b2f_runtime *runtime,
		     const char *path, struct b2f_frame *old,
		     struct b2f_file **out)
{
	int err;

	longer->runtime = runtime;
	longer->path = path;
	longer->at = cli_at_path(path);
	longer->old = old;
	err = cli_kind_check_change(path, cli_kind_of(path), "");
	if (err)
		return err;
	err = cli_frames_stat(&longer->at, &longer->like);
	if (err)
		return cli_message_errno(path, err);
	err = cli_target_open_scratch(&longer->scratch, &longer->at);
	return err ? err : open_scratch(longer, out);
}

/* Is the file unchanged, and not replaced, since it was read? */
static int check_unchanged(const struct cli_longer *longer)
{
	struct b2f_frame_stamp then = b2f_frame_stamp_of(&longer->like), now;
	struct stat st;
	int err = cli_frames_stat(&longer->at, &st);

	if (err)
		return cli_message_errno(longer->path, err);
	now = b2f_frame_stamp_of(&st);
	if (b2f_frame_stamp_equal(&then, &now))
		return 0;
	cli_message_error("%s: another program has changed it meanwhile",
			  longer->path);
	return -ESTALE;
}

static int make(struct cli_longer *longer, struct b2f_frame *added,
		const struct cli_target *target, struct cli_progress *progress)
{
	const struct b2f_convert_options options = {
		.before = longer->old,
		.mode = longer->like.st_mode & 0777,
		.progress = cli_progress_update,
		.arg = progress,
	};
	struct stat like = longer->like;
	int fd = -1, err = b2f_convert_bloscpack(longer->runtime, added, &options,
					target->dirfd, target->base);

	if (err)
		return cli_message_explain(longer->path, err);
	/* The new file has a new mtime. */
	err = cli_frames_source(&longer->at, longer->old, &like, &fd);
	like.st_mtim.tv_nsec = UTIME_NOW;
	if (!err)
		err = cli_target_set_attributes(target, &like, fd);
	if (fd >= 0)
		close(fd);
	return err ? err : check_unchanged(longer);
}

static int replace(struct cli_longer *longer, struct b2f_frame *added,
		   struct cli_progress *progress, uint64_t *cbytes)
{
	struct cli_target target = {.parent = -1, .dirfd = -1};
	struct cli_at at;
	struct stat st;
	int err = cli_target_open(&target, &longer->at,
				  CLI_REPLACE_SOURCE);

	if (!err)
		err = make(longer, added, &target, progress);
	at = cli_target_at(&target);
	if (!err && cli_frames_stat(&at, &st) == 0)
		*cbytes = (uint64_t)st.st_size;
	if (!err)
		err = cli_target_commit(&target, true);
	cli_target_close(&target);
	return err;
}

int cli_longer_finish(struct cli_longer *longer, struct cli_progress *progress,
		      uint64_t *cbytes)
{
	const struct b2f_frame_options how = {.label = longer->path};
	const struct cli_at at = cli_target_at(&longer->scratch);
	struct b2f_frame *added = NULL;
	int err = cli_frames_open(&how, &at, &added);

	if (err)
		return err;
	err = replace(longer, added, progress, cbytes);
	b2f_frame_close(added);
	return err;
}

void cli_longer_end(struct cli_longer *longer)
{
	cli_target_close(&longer->scratch);
}
