/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_copy.c - bloscctl copy: frames and files as stored, to and from servers
 *
 * A second copy of the same goes on where the first one was interrupted, and
 * leaves complete copies alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/attributes.h"
#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/operands.h"
#include "cli/server.h"
#include "cli/target.h"
#include "cli/transfer_bytes.h"
#include "programs/copy_frame.h"

/* A frame that changes meanwhile is copied again for so long. */
#define PATIENCE_MS 10000

/* Chunks copied at a time: more than cores, as each waits for a server. */
#define JOBS 16

struct transfer {
	struct cli_common common;
	/*
	 * All outputs that are URLs are below @remote, whose own URL has @top
	 * characters; NULL: no output is a URL.
	 */
	struct b2f_remote *remote;
	size_t top;
};

#define FIELD(name) offsetof(struct transfer, name)

static const struct cli_option table[] = {
	CLI_FLAG("recursive", 'r', common.recursive,
		"all frames and files below SOURCE"),
	CLI_FLAG("force", 'f', common.force, "replace an existing DESTINATION"),
	CLI_OPTION("threads", 'T', "N", cli_option_threads, FIELD(common.nthreads),
	 "copy N chunks at a time (16)"),
	CLI_OPTION("jobs", 0, "N", cli_option_threads, FIELD(common.nthreads), "the same"),
	{.shared = cli_common_talk_options},
	{.shared = cli_server_reading_options},
	{.shared = cli_server_new_object_options},
	{0},
};

/* A transfer under way. */
struct job {
	const struct transfer *how;
	const char *path;
	const struct cli_operand *operand;
	const char *output;
	/* @output, if it is a path. */
	struct cli_at to;
	/* The sparse frame; otherwise NULL, and @bytes is the source. */
	struct b2f_frame *frame;
	struct cli_bytes bytes;
	/* Attributes of the file, object or index; the open file or -1. */
	struct stat like;
	int like_fd;
	/* The destination was complete before. */
	bool kept;
};

/* The path of job->output below the remote; "": the remote itself. */
static const char *path_below(const struct job *job)
{
	const char *path = job->output + job->how->top;

	return path + strspn(path, "/");
}

static int open_frame(struct job *job)
{
	const struct b2f_frame_options how = {.join_objects = true};

	return cli_frames_open(&how, &job->operand->at, &job->frame);
}

static int open_object(struct job *job, struct b2f_remote *remote)
{
	struct b2f_remote_stat st;
	bool sparse;
	int err;

	cli_message_forget();
	err = b2f_remote_find(remote, "", &sparse, &st);
	if (!err && sparse) {
		cli_server_attributes(&st, &job->like);
		return open_frame(job);
	}
	if (err == -ENOENT) {
		/* The answer to a GET says whether the bucket is missing. */
		err = open_frame(job);
		return err ? err : cli_message_changed(job->path);
	}
	if (err)
		return cli_message_explain(b2f_remote_label(remote), err);
	cli_server_attributes(&st, &job->like);
	return cli_bytes_open_object(&job->bytes, remote, &st);
}

static int open_url(struct job *job)
{
	/* The open file holds a reference. */
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	int err = cli_server_connect(job->path, &remote);

	return err ? err : open_object(job, remote);
}

static int open_directory(struct job *job)
{
	const struct cli_at *at = &job->operand->at;
	int err = cli_frames_stat(at, &job->like);

	if (err == -ENOENT)
		return cli_refuse(err,
				  "%s: it is a directory, but no frame; "
				  "-r copies what is in it",
				  job->path);
	if (err)
		return cli_message_errno(job->path, err);
	err = open_frame(job);
	return err ? err
		   : cli_frames_source(at, job->frame, &job->like,
				       &job->like_fd);
}

static int open_source(struct job *job)
{
	const struct cli_at *at = &job->operand->at;
	struct stat st;
	int err;

	if (at->kind == CLI_KIND_URL)
		return open_url(job);
	err = cli_at_stat(at, &st);
	if (err)
		return cli_message_errno(job->path, err);
	if (S_ISDIR(st.st_mode))
		return open_directory(job);
	return cli_bytes_open_file(&job->bytes, at, &job->like);
}

static struct b2f_frame_stamp version_of(const struct job *job)
{
	return job->frame ? b2f_frame_stamp_get(job->frame)
			  : job->bytes.version;
}

static uint64_t copy_key(const struct job *job)
{
	const struct b2f_frame_stamp version = version_of(job);

	return b2f_copy_key(&version, "");
}

/*
 * Is there a complete copy of this version?  It has the mark, the size and the
 * mtime of its source; a copy gets the mtime last.  Without xattrs the mtime
 * decides, if it is finer than those of servers and archives.
 */
static bool is_there(const struct job *job, const struct stat *now)
{
	const struct timespec *time = &job->like.st_mtim;
	struct stat st;
	int is;

	if (cli_at_stat(&job->to, &st) != 0 ||
	    !S_ISDIR(st.st_mode) != !job->frame ||
	    now->st_size != job->like.st_size ||
	    now->st_mtim.tv_sec != time->tv_sec ||
	    now->st_mtim.tv_nsec != time->tv_nsec)
		return false;
	is = cli_attributes_is_copy(&job->to, copy_key(job));
	return is == -ENOTSUP ? time->tv_nsec != 0 : is == 1;
}

/* The same upwards from an open directory, without following links. */
static int check_above(const struct job *job)
{
	size_t depth = 0;

	for (const char *at = job->output; *at; at++)
		depth += *at == '/';
	if (!cli_at_has_above(job->to.dir, B2F_INDEX_NAME, depth))
		return 0;
	return cli_refuse(-EINVAL, "%s: cannot copy into a frame", job->output);
}

/* -EINVAL if job->output is in a frame, whose directory is for its chunks. */
static int check_parents(const struct job *job)
{
	const char *slash = job->output;

	while ((slash = strchr(slash, '/'))) {
		int n = (int)(slash++ - job->output);
		B2F_OWN char *index =
			cli_need_text("%.*s/" B2F_INDEX_NAME, n, job->output);

		if (access(index, F_OK) == 0)
			return cli_refuse(-EINVAL,
					  "%s: cannot copy into the frame %.*s",
					  job->output, n, job->output);
	}
	return 0;
}

static int check_output(struct job *job)
{
	struct stat now;

	if (cli_frames_stat(&job->to, &now))
		return 0;
	if (cli_at_is_same(&now, &job->like))
		return cli_refuse(-EINVAL, "%s: it is the source itself",
				  job->output);
	/* With -f the contents may be damaged: write them again. */
	job->kept = !job->how->common.force && is_there(job, &now);
	return 0;
}

static int copy_chunks(struct job *job, struct b2f_copy_target *to)
{
	const struct b2f_copy_options options = {
		.progress = cli_progress_update, .arg = job->operand->progress};
	struct b2f_copied copied = {.nchunks = 0};
	int err;

	cli_message_forget();
	err = b2f_copy_frame(job->operand->runtime, job->frame, to, &options, &copied);
	if (err == -EEXIST)
		cli_message_error("%s: it exists already; -f overwrites it",
				  job->output);
	else
		err = cli_message_explain(job->output, err);
	if (!err && copied.nkept)
		cli_message_info("%s: %llu of %llu chunks were there",
				 job->output, (unsigned long long)copied.nkept,
				 (unsigned long long)copied.nchunks);
	return err;
}

/* The copy is complete, and unlocked, before it gets its name. */
static int fill_directory(struct job *job, struct cli_target *target)
{
	struct b2f_copy_target *to = NULL;
	int err = b2f_copy_to_directory(target->at.dir, target->at.name,
					job->like.st_mode & 0777, job->output,
					&cli_message_log, &to);

	if (err)
		return cli_target_explain_kept(target, err);
	err = copy_chunks(job, to);
	b2f_copy_target_free(to);
	return err;
}

/*
 * Can this version never be copied completely?  @err is the error of this copy.
 * If the frame is being removed or replaced, usually a file is missing.
 */
static bool is_outdated(const struct job *job, int err)
{
	const struct b2f_frame_stamp then = version_of(job);
	struct b2f_frame_stamp now;
	struct stat st;

	if (err == -ESTALE || !job->frame ||
	    job->operand->at.kind == CLI_KIND_URL)
		return err == -ESTALE;
	if (cli_frames_stat(&job->operand->at, &st) == 0) {
		now = b2f_frame_stamp_of(&st);
		if (b2f_frame_stamp_equal(&now, &then))
			return err == B2F_ECORRUPT;
	}
	return cli_message_changed(job->path) != 0;
}

/* After a failure, a second copy goes on where this one ended. */
static int to_path(struct job *job)
{
	const struct b2f_frame_stamp version = version_of(job);
	CLI_OWN_TARGET struct cli_target target = CLI_TARGET_NONE;
	/* Closed before the target: on NFS it would keep the workshop there. */
	CLI_OWN_FD int fd = -1;
	int err;

	err = cli_target_open_kept(&target, &job->to,
				   cli_replace_if(job->how->common.force),
				   &version);
	if (err)
		return err;
	err = job->frame ? fill_directory(job, &target)
			 : cli_bytes_to_target(&job->bytes, &target, &fd);
	target.outdated = err && is_outdated(job, err);
	if (!err) {
		cli_attributes_mark_copy(&target.at, copy_key(job));
		err = cli_target_set_attributes(&target, &job->like,
						job->frame ? job->like_fd
							   : job->bytes.fd);
	}
	if (!err && fd >= 0 && fsync(fd) != 0)
		err = cli_message_errno(target.at.path, -errno);
	return err ? err : cli_target_commit(&target, true);
}

static int frame_to_url(struct job *job)
{
	struct b2f_copy_target *to = NULL;
	int err = b2f_copy_to_remote(job->how->remote, path_below(job),
				     job->how->common.force, &to);

	if (err)
		return cli_message_errno(job->output, err);
	err = copy_chunks(job, to);
	b2f_copy_target_free(to);
	return err;
}

/*
 * Is job->output a usable key?  Servers list unusual keys each in its own way,
 * or not at all, and no URL leads to them.
 */
static int check_key(const struct job *job)
{
	const char *key = path_below(job);
	json_t *text = json_string(key);
	bool good = text != NULL;

	json_decref(text);
	for (const char *c = key; *c; c++)
		good = good && (unsigned char)*c >= ' ' && *c != 0x7f;
	if (!good)
		return cli_refuse(-EINVAL,
				  "%s: objects have names in UTF-8, "
				  "without control characters",
				  job->output);
	if (!*key && !job->frame)
		return cli_refuse(-EINVAL,
				  "%s: it is a bucket; a slash at its "
				  "end copies into it",
				  job->output);
	return 0;
}

static int to_url(struct job *job)
{
	int err = check_key(job);

	if (err)
		return err;
	return job->frame ? frame_to_url(job)
			  : cli_bytes_to_object(&job->bytes, job->how->remote,
						path_below(job), job->output,
						job->how->common.force,
						&job->kept);
}

static int copy(struct job *job)
{
	int err;

	job->bytes.progress = job->operand->progress;
	if (job->how->remote)
		return to_url(job);
	err = cli_at_is_named(&job->to) ? check_parents(job)
					: check_above(job);
	if (!err)
		err = check_output(job);
	return err || job->kept ? err : to_path(job);
}

static void report(const struct job *job)
{
	uint64_t nbytes = job->bytes.size, cbytes = nbytes;

	if (job->frame) {
		nbytes = b2f_frame_info_get(job->frame)->nbytes;
		cbytes = b2f_frame_info_get(job->frame)->cbytes;
	}
	if (job->kept)
		cli_message_info("%s: was there", job->output);
	cli_operand_report(job->operand, job->output, nbytes, cbytes);
}

/* Copies the present version. */
static int copy_version(struct job *job)
{
	int err = open_source(job);

	if (!err)
		err = copy(job);
	if (!err)
		report(job);
	return err;
}

static void close_source(struct job *job)
{
	cli_bytes_close(&job->bytes);
	cli_at_close(job->like_fd);
	b2f_frame_close(job->frame);
	job->like_fd = -1;
	job->frame = NULL;
}

/*
 * A program may append to the one file of a frame again and again, with pauses
 * that are long enough for a copy.
 */
static int copy_operand(void *transfer, const struct cli_operand *operand)
{
	const uint64_t until_ms = cli_common_now_ms() + PATIENCE_MS;
	struct job job = {
		.how = transfer,
		.path = operand->at.path,
		.operand = operand,
		.output = operand->output ? operand->output
					  : operand->place.path,
		.like_fd = -1,
		.bytes.fd = -1,
	};
	bool has_changed, is_frame;
	int err;

	job.to = cli_operand_result(operand, job.output);
	do {
		err = copy_version(&job);
		has_changed = job.bytes.has_changed;
		is_frame = job.bytes.frame != NULL;
		close_source(&job);
	} while (has_changed && is_frame && cli_common_now_ms() < until_ms);
	if (has_changed)
		cli_message_error("%s: another program changes it meanwhile",
				  job.path);
	return err;
}

static int begin(struct transfer *t)
{
	const char *output = t->common.output, *path;
	int err;

	if (cli_kind_of(output) != CLI_KIND_URL)
		return 0;
	err = cli_server_connect_above(output, &t->remote, &path);
	if (!err)
		t->top = (size_t)(path - output);
	return err;
}

static int run_copy(const struct cli_command *self, void *transfer,
		    char **paths)
{
	struct transfer *t = transfer;
	int status = CLI_EXIT_FAILURE;

	if (!paths[1] || paths[2])
		return cli_command_misuse(self, "it takes a source and a "
						"destination");
	if (t->common.nthreads == 0)
		t->common.nthreads = JOBS;
	t->common.output = paths[1];
	paths[1] = NULL;
	if (!begin(t))
		status = cli_operands_run(self, t, paths);
	b2f_remote_free(t->remote);
	return status;
}

const struct cli_command cli_copy_command = {
	.name = "copy",
	.summary =
		"copy frames and files as they are, also to and from servers",
	.operands = "SOURCE DESTINATION",
	.help = "Copies the frame or file SOURCE, as it is stored; with -r, "
		"all frames and files\nin the directory SOURCE. Both are "
		"paths or s3://BUCKET/KEY; SOURCE may be\nhttp(s)://, too. "
		"Chunks are not decoded. If a copy is interrupted, the "
		"same\ncommand goes on where it ended.",
	.options = table,
	.size = sizeof(struct transfer),
	.start = &(const struct transfer){.common.all = true,
					  .common.exact = true,
					  .common.to_url = true},
	.missing = "a source is missing",
	.each = copy_operand,
	.run = run_copy,
};
