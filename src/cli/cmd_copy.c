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
#include <sys/file.h>
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
#include "programs/copy_frame.h"
#include "programs/io.h"

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

/* Bytes that are read and written at once. */
#define PIECE ((size_t)1 << 20)

/*
 * The copy is synced after so many bytes: a loss of power can damage only the
 * bytes after the last whole step.
 */
#define STEP (UINT64_C(64) << 20)

/* A transfer under way: the copy has one version of the source, or fails. */
struct job {
	const struct transfer *how;
	const char *path;
	const struct cli_operand *operand;
	const char *output;
	/* @output, if it is a path. */
	struct cli_at to;
	/* The sparse frame; otherwise NULL, and some bytes are the source. */
	struct b2f_frame *frame;
	/* Attributes of the file, object or index; the open file or -1. */
	struct stat like;
	int fd;
	/* The version that was opened. */
	struct b2f_frame_stamp version;
	/* Name of the bytes for messages, and their number. */
	const char *name;
	uint64_t size;
	/* The frame in their file, if it is one; and their object; or NULL. */
	struct b2f_frame *single;
	struct b2f_remote_reader *reader;
	/* Reading them failed, and the error was printed if not @has_changed. */
	bool failed;
	/* Another program has changed the file meanwhile: -ESTALE. */
	bool has_changed;
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
	int err = cli_frames_open(&how, &job->operand->at, &job->frame);

	if (!err)
		job->version = b2f_frame_stamp_get(job->frame);
	return err;
}

/*
 * Files of the kernel, as in /proc, have size 0.  A file that another program
 * has appended to since @st has another size by now.
 */
static bool is_longer(int fd, const struct stat *st)
{
	struct stat now;
	char next;

	return pread(fd, &next, 1, st->st_size) > 0 && fstat(fd, &now) == 0 &&
	       now.st_size == st->st_size;
}

/* C-Blosc2 changes a frame in several steps: do not copy a state in between. */
static int open_single(struct job *job, const struct cli_at *at)
{
	const struct b2f_frame_options quiet = {.nofollow =
							!cli_at_is_named(at)};
	int err = b2f_frame_open(&quiet, at->dir, at->name, &job->single);

	if (err == -EAGAIN)
		return cli_frames_refuse_locked(at->path);
	/* A damaged frame, or a file that is no frame, is copied unchanged. */
	return err == -ENOMEM ? err : 0;
}

/* If another program is changing a frame, waits for the next version. */
static int open_file(struct job *job)
{
	const struct cli_at *at = &job->operand->at;
	const char *path = at->path;
	struct stat *like = &job->like;
	int err;

	job->name = path;
	job->fd = cli_at_open(at, O_RDONLY | O_NONBLOCK);
	if (job->fd < 0)
		return cli_message_errno(path, job->fd);
	if (fstat(job->fd, like) != 0)
		return cli_message_errno(path, -errno);
	if (!S_ISREG(like->st_mode))
		return cli_refuse(-EINVAL, "%s: it is no regular file", path);
	if (is_longer(job->fd, like))
		return cli_refuse(-EINVAL,
				  "%s: it has more bytes than its size says",
				  path);
	err = open_single(job, at);
	/* It may have waited for a writer, so that the size is another one. */
	if (!err && fstat(job->fd, like) != 0)
		err = cli_message_errno(path, -errno);
	job->size = (uint64_t)like->st_size;
	job->version = job->single ? b2f_frame_stamp_get(job->single)
				   : b2f_frame_stamp_of(like);
	return err;
}

static int open_bytes(struct job *job, struct b2f_remote *remote,
		      const struct b2f_remote_stat *version)
{
	job->name = b2f_remote_label(remote);
	job->size = version->size;
	job->version = b2f_remote_stamp(version);
	return cli_message_errno(
		job->name,
		b2f_remote_reader_new(remote, "", version, &job->reader));
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
	return open_bytes(job, remote, &st);
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
		   : cli_frames_source(at, job->frame, &job->like, &job->fd);
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
	return open_file(job);
}

static uint64_t copy_key(const struct job *job)
{
	return b2f_copy_key(&job->version, "");
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

/* Checks that the open file has not changed: its bytes are one version. */
static int check_version(const struct job *job)
{
	struct b2f_frame_stamp now;
	struct stat st;

	if (fstat(job->fd, &st) != 0)
		return -errno;
	now = b2f_frame_stamp_of(&st);
	if (!b2f_frame_stamp_equal(&now, &job->version))
		return -ESTALE;
	return job->single ? b2f_frame_check_same(job->single) : 0;
}

static int read_file(const struct job *job, uint64_t off, void *buf, size_t n)
{
	ssize_t got = b2f_io_read(job->fd, buf, n, (int64_t)off);

	if (got < 0)
		return (int)got;
	if ((size_t)got < n)
		return -ESTALE;
	return off + n == job->size ? check_version(job) : 0;
}

/* The read function of struct b2f_remote_source. */
static int read_bytes(void *arg, uint64_t off, void *buf, size_t n)
{
	struct job *job = arg;
	int err;

	if (job->reader)
		err = b2f_remote_reader_read(job->reader, off, buf, n);
	else
		err = read_file(job, off, buf, n);
	if (err == -ESTALE && !job->reader)
		job->has_changed = true;
	else if (err)
		(void)!cli_message_explain(job->name, err);
	job->failed = err != 0;
	if (!err)
		cli_progress_update(job->operand->progress, off + n, job->size);
	return err;
}

/* Appends everything from offset @off on to the file @fd, named @name. */
static int fill(struct job *job, int fd, uint64_t off, const char *name)
{
	B2F_OWN char *buf = cli_need(malloc(PIECE));
	int err = 0;

	while (off < job->size && !err) {
		uint64_t left = job->size - off;
		size_t n = left < PIECE ? (size_t)left : PIECE;
		int wrote = 0;

		err = read_bytes(job, off, buf, n);
		if (!err)
			wrote = b2f_io_write(fd, buf, n, (int64_t)off);
		off += n;
		if (!err && !wrote && off % STEP == 0 && fdatasync(fd) != 0)
			wrote = -errno;
		err = err ? err : cli_message_errno(name, wrote);
	}
	return err;
}

/* Opens the file in the workshop; *@is_new: it was created. */
static int open_named(const struct cli_target *target, bool *is_new)
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(target->at.dir, target->at.name, flags | O_EXCL, 0600);

	*is_new = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = openat(target->at.dir, target->at.name, flags, 0600);
	return fd < 0 ? -errno : fd;
}

/* Is @now still the file of @target, and begun by this user? */
static int check_begun(const struct cli_target *target, const struct stat *now)
{
	struct stat named;

	/* The copy may have been completed, and renamed. */
	if (fstatat(target->at.dir, target->at.name, &named,
		    AT_SYMLINK_NOFOLLOW) ||
	    !cli_at_is_same(&named, now))
		return -EBUSY;
	/* In a directory like /tmp, any user can make a file of that name. */
	return S_ISREG(now->st_mode) && now->st_uid == geteuid() ? 0 : -EEXIST;
}

/* Finds bytes to keep from an earlier run: steps with bytes behind them. */
static int open_begun(const struct cli_target *target, uint64_t size, int *fd,
		      uint64_t *off)
{
	struct stat st;
	bool is_new;
	int err = 0;

	*fd = open_named(target, &is_new);
	if (*fd < 0)
		return *fd;
	if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	if (fstat(*fd, &st) != 0)
		return -errno;
	if (!is_new)
		err = check_begun(target, &st);
	if (err)
		return err;
	*off = (uint64_t)st.st_size <= size ? (uint64_t)st.st_size : 0;
	*off = *off ? (*off - 1) / STEP * STEP : 0;
	return ftruncate(*fd, (off_t)*off) != 0 ? -errno : 0;
}

/*
 * Writes all to the file of @target, behind what a copy that was interrupted
 * has left there.  *@fd is that file, locked, also after an error; -1: none.
 */
static int fill_file(struct job *job, struct cli_target *target, int *fd)
{
	uint64_t off = 0;
	int err = cli_target_explain_kept(
		target, open_begun(target, job->size, fd, &off));

	if (!err)
		err = fill(job, *fd, off, target->at.path);
	/* An empty file was not read, so check it here. */
	if (err || job->fd < 0)
		return err;
	err = check_version(job);
	job->has_changed = err == -ESTALE;
	return job->has_changed ? err : cli_message_errno(job->name, err);
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
	struct b2f_frame_stamp now;
	struct stat st;

	if (err == -ESTALE || !job->frame ||
	    job->operand->at.kind == CLI_KIND_URL)
		return err == -ESTALE;
	if (cli_frames_stat(&job->operand->at, &st) == 0) {
		now = b2f_frame_stamp_of(&st);
		if (b2f_frame_stamp_equal(&now, &job->version))
			return err == B2F_ECORRUPT;
	}
	return cli_message_changed(job->path) != 0;
}

/* After a failure, a second copy goes on where this one ended. */
static int to_path(struct job *job)
{
	CLI_OWN_TARGET struct cli_target target = CLI_TARGET_NONE;
	/* Closed before the target: on NFS it would keep the workshop there. */
	CLI_OWN_FD int fd = -1;
	int err;

	err = cli_target_open_kept(&target, &job->to,
				   cli_replace_if(job->how->common.force),
				   &job->version);
	if (err)
		return err;
	err = job->frame ? fill_directory(job, &target)
			 : fill_file(job, &target, &fd);
	target.outdated = err && is_outdated(job, err);
	if (!err) {
		cli_attributes_mark_copy(&target.at, copy_key(job));
		err = cli_target_set_attributes(&target, &job->like, job->fd);
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

static int bytes_to_url(struct job *job)
{
	const struct b2f_remote_source source = {
		.read = read_bytes,
		.arg = job,
		.size = job->size,
		.key = copy_key(job),
	};
	int err;

	cli_message_forget();
	err = b2f_remote_send(job->how->remote, path_below(job), &source,
			      job->how->common.force, &job->kept);
	if (err == -EEXIST)
		cli_message_error("%s: it exists already; -f overwrites it",
				  job->output);
	else if (!job->failed)
		err = cli_message_explain(job->output, err);
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
	return job->frame ? frame_to_url(job) : bytes_to_url(job);
}

static int copy(struct job *job)
{
	int err;

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
	uint64_t nbytes = job->size, cbytes = nbytes;

	if (job->frame) {
		nbytes = b2f_frame_info_get(job->frame)->nbytes;
		cbytes = b2f_frame_info_get(job->frame)->cbytes;
	}
	if (job->kept)
		cli_message_info("%s: was there", job->output);
	cli_operand_report(job->operand, job->output, nbytes, cbytes);
}

/* Copies the present version; is it a frame, and has it changed meanwhile? */
static int copy_version(const struct transfer *how,
			const struct cli_operand *operand, bool *is_frame,
			bool *has_changed)
{
	struct job job = {
		.how = how,
		.path = operand->at.path,
		.operand = operand,
		.output =
			operand->output ? operand->output : operand->place.path,
		.fd = -1,
	};
	int err;

	job.to = cli_operand_result(operand, job.output);
	err = open_source(&job);
	if (!err)
		err = copy(&job);
	if (!err)
		report(&job);
	*is_frame = job.single != NULL;
	*has_changed = job.has_changed;
	cli_at_close(job.fd);
	b2f_frame_close(job.frame);
	b2f_frame_close(job.single);
	b2f_remote_reader_free(job.reader);
	return err;
}

/*
 * A program may append to the one file of a frame again and again, with pauses
 * that are long enough for a copy.
 */
static int copy_operand(void *transfer, const struct cli_operand *operand)
{
	const uint64_t until_ms = cli_common_now_ms() + PATIENCE_MS;
	bool is_frame, has_changed;
	int err;

	do
		err = copy_version(transfer, operand, &is_frame, &has_changed);
	while (has_changed && is_frame && cli_common_now_ms() < until_ms);
	if (has_changed)
		cli_message_error("%s: another program changes it meanwhile",
				  operand->at.path);
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
