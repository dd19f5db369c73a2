/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_compress.c - bloscctl compress: plain files into frames
 *
 * The header of a Bloscpack file has the size of the data, which must be known
 * first; and a pipe that begins like a .npy file may turn out not to be one,
 * which the library notices while it writes to a sparse frame.  In these two
 * cases a sparse frame is made first, and converted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "cli/attributes.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/copy.h"
#include "cli/encoding.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/server.h"
#include "cli/target.h"
#include "programs/copy_frame.h"
#include "programs/io.h"

struct compress {
	struct cli_common common;
	struct cli_encoding encoding;
	/* Make a contiguous frame. */
	bool contiguous;
	/* Make a Bloscpack file, with the checksum of b2f_convert_options. */
	bool bloscpack;
	const char *checksum;
	/* Make no arrays of .npy files. */
	bool plain;
};

#define FIELD(name) offsetof(struct compress, name)

static int set_format(const struct cli_option *option, void *field,
		      const char *value)
{
	struct compress *how = field;

	how->bloscpack = strcmp(value, "blp") == 0;
	how->contiguous = strcmp(value, "contiguous") == 0;
	if (how->bloscpack || how->contiguous || strcmp(value, "sparse") == 0)
		return 0;
	return cli_option_refuse(option, value, "sparse, contiguous or blp");
}

static const struct cli_option table[] = {
	CLI_OPTION("output", 'o', "FRAME", cli_option_text,
		   FIELD(common.output),
		   "write to FRAME, or into the directory FRAME; - is\n"
		   "standard output"),
	CLI_FLAG("stdout", 'c', common.to_stdout,
		 "write to standard output (contiguous)"),
	CLI_FLAG("contiguous", 0, contiguous,
		 "make a file instead of a directory"),
	CLI_OPTION("format", 0, "NAME", set_format, 0,
		   "sparse (default), contiguous, or blp: a Bloscpack file,\n"
		   "FILE.blp"),
	{.shared = cli_encoding_checksum, .field = FIELD(checksum)},
	CLI_FLAG("plain", 0, plain, "make no arrays"),
	CLI_FLAG("recursive", 'r', common.recursive,
		 "all files below each directory"),
	CLI_FLAG("force", 'f', common.force,
		 "overwrite; write to a terminal too"),
	CLI_OPTION("keep", 'k', NULL, cli_option_clear, FIELD(common.remove),
		   "keep the files (default)"),
	CLI_FLAG("rm", 0, common.remove,
		 "remove each file once its frame is safe"),
	{.shared = cli_server_options},
	{.shared = cli_server_new_object_options},
	{.shared = cli_encoding_options, .field = FIELD(encoding)},
	{.shared = cli_common_options},
	{0},
};

/* A file that is being compressed. */
struct job {
	const struct compress *how;
	const struct cli_operand *operand;
	struct cli_input in;
	struct b2f_settings settings;
	/* The input is a .npy file; of a pipe, it begins like one. */
	bool npy;
	/* The name of the frame in messages. */
	const char *output;
	/* Like @output, if the user gave no name; malloc'ed. */
	char *name;
	uint64_t nbytes;
	/* Stored bytes, once written. */
	uint64_t cbytes;
};

static mode_t mode_of(const struct job *job)
{
	/* A pipe has no mode that the frame could get. */
	if (job->in.is_file)
		return job->in.st.st_mode & 0777;
	return 0666 & ~cli_attributes_umask();
}

static int choose_typesize(struct job *job)
{
	const struct cli_encoding *user = &job->how->encoding;
	B2F_OWN uint8_t *data = NULL;
	size_t size = 0;
	int err;

	if (user->said[CLI_TYPESIZE] && !cli_encoding_guesses(user))
		return 0;
	err = cli_input_sample(&job->in, &data, &size);
	return err ? err
		   : cli_message_errno(
			     job->in.name,
			     b2f_settings_guess(&job->settings, data, size));
}

/* Only a mount refuses the hidden name of a frame that is being made. */
static bool is_in_mount(const struct cli_target *target, int err)
{
	struct statfs fs;

	return err == -EPERM && fstatfs(target->at.dir, &fs) == 0 &&
	       fs.f_type == FUSE_SUPER_MAGIC;
}

static int create(struct job *job, const struct cli_target *target)
{
	int err = choose_typesize(job);

	if (err)
		return err;
	err = b2f_frame_create(&job->settings, target->at.dir, target->at.name,
			       mode_of(job) | 0600, !job->how->contiguous,
			       &cli_message_log);
	if (is_in_mount(target, err))
		return cli_refuse(err,
				  "%s: it would be in a mount, whose files are "
				  "compressed already",
				  job->output);
	return cli_message_explain(job->output, err);
}

/* Writes all data to @file, and closes it. */
static int fill(struct job *job, struct b2f_file *file, bool durable)
{
	const struct b2f_write_options options = {
		.no_seal = job->how->common.no_seal,
		.no_locking = true,
		.npy_arrays = job->npy,
		.chunksize = (uint32_t)job->settings.chunksize,
	};
	struct cli_progress *progress = job->operand->progress;
	struct b2f_file_now now;
	int err = cli_message_explain(job->output,
				      b2f_file_allow_write(file, &options));

	progress->encoder = job->operand->runtime;
	if (!err)
		err = cli_input_copy(&job->in, file, job->output, 0, progress,
				     &job->nbytes);
	if (!err) {
		cli_progress_watch(progress, job->nbytes);
		err = b2f_file_commit(file, durable ? B2F_COMMIT_DURABLE
						    : B2F_COMMIT_VISIBLE);
		cli_progress_unwatch(progress);
		err = cli_message_explain(job->output, err);
	}
	b2f_file_now_get(file, &now);
	job->cbytes = now.cbytes;
	b2f_file_close(file);
	return err;
}

static int write_sparse(struct job *job, const struct cli_target *target,
			bool durable)
{
	const struct b2f_frame_options how = {.label = job->output};
	struct b2f_file *file = NULL;
	int err = create(job, target);

	if (!err)
		err = cli_frames_open_file(job->operand->runtime, &how,
					   &target->at, &file);
	return err ? err : fill(job, file, durable);
}

/* Replaces the frame job->output on a server by the frame in @target. */
static int send(struct job *job, const struct cli_target *target)
{
	const struct b2f_copy_options options = {.progress = NULL};
	const struct b2f_frame_options how = {.label = job->output};
	struct b2f_copied copied = {.nchunks = 0};
	struct b2f_copy_target *to = NULL;
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	int err = cli_frames_open(&how, &target->at, &frame);

	if (!err)
		err = cli_server_connect(job->output, &remote);
	if (!err)
		err = cli_message_errno(job->output,
					b2f_copy_to_remote(remote, "", true,
							   &to));
	if (to)
		err = cli_message_explain(
			job->output, b2f_copy_frame(job->operand->runtime, frame,
						    to, &options, &copied));
	b2f_copy_target_free(to);
	return err;
}

/* Makes the new frame first, because one PUT of its index replaces the old. */
static int replace_url(struct job *job)
{
	CLI_OWN_TARGET struct cli_target target = CLI_TARGET_NONE;
	int err = cli_target_open_scratch(&target, NULL);

	if (!err)
		err = write_sparse(job, &target, false);
	return err ? err : send(job, &target);
}

/*
 * Makes the frame @url, which exists from its first commit on.  Prints -EEXIST
 * unless @quiet.
 */
static int make_at(const struct b2f_settings *settings, const char *url,
		   bool quiet, struct b2f_frame **out)
{
	struct b2f_frame_options options = {.log = &cli_message_log};
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	int err = cli_server_connect(url, &remote);

	if (err)
		return err;
	options.label = b2f_remote_label(remote);
	cli_message_forget();
	err = b2f_remote_make_frame(remote, "", settings, &options, out);
	if (err != -EEXIST)
		err = cli_message_explain(options.label, err);
	else if (!quiet)
		cli_message_error("%s: it exists already; -f replaces it",
				  options.label);
	return err;
}

/* Makes the frame job->output on a server; sends chunks as they are made. */
static int write_url(struct job *job)
{
	bool force = job->how->common.force;
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;
	int err = choose_typesize(job);

	if (!err)
		err = make_at(&job->settings, job->output, force, &frame);
	if (err == -EEXIST && force)
		return replace_url(job);
	if (err)
		return err;
	err = b2f_file_open(job->operand->runtime, frame, &file);
	if (!err)
		return fill(job, file, true);
	b2f_frame_close(frame);
	return cli_message_explain(job->output, err);
}

static ssize_t read_input(void *job, void *buf, size_t size, uint64_t off)
{
	return cli_input_read(&((struct job *)job)->in, buf, size, off);
}

static uint64_t find_input(void *job, uint64_t off)
{
	return cli_input_find(&((struct job *)job)->in, off);
}

/* For a contiguous frame, or a Bloscpack file. */
static struct b2f_convert_options options_of(const struct job *job)
{
	return (struct b2f_convert_options){
		.mode = mode_of(job),
		.progress = cli_progress_update,
		.arg = job->operand->progress,
		.contiguous = true,
		.no_verify = true,
		.no_seal = job->how->common.no_seal,
		.label = job->output,
		.checksum = job->how->checksum,
	};
}

static int write_contiguous(struct job *job, const struct cli_target *target)
{
	const struct b2f_convert_options options = options_of(job);
	struct b2f_data data = {
		.read = read_input,
		.find = find_input,
		.arg = job,
		.nbytes = job->in.size,
		.is_npy = job->npy,
		.log = &cli_message_log,
	};
	int err = choose_typesize(job);

	if (err)
		return err;
	err = b2f_convert_data(job->operand->runtime, &job->settings, &data,
			       &options, target->at.dir, target->at.name);
	job->nbytes = data.nbytes;
	return cli_message_explain(job->output, err);
}

/*
 * Converts the sparse frame @from to @target: contiguous, or a Bloscpack file
 * encoded by @settings.
 */
static int convert(struct job *job, const struct cli_at *from,
		   const struct cli_target *target,
		   const struct b2f_settings *settings)
{
	struct b2f_convert_options options = options_of(job);
	const struct b2f_frame_options how = {.label = job->output};
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	int err;

	options.settings = settings;
	err = cli_frames_open(&how, from, &frame);
	if (err)
		return err;
	err = (settings ? b2f_convert_bloscpack : b2f_convert_frame)(
		job->operand->runtime, frame, &options, target->at.dir,
		target->at.name);
	return cli_message_explain(job->output, err);
}

static int write_by_scratch(struct job *job, const struct cli_target *target)
{
	struct b2f_settings wanted = job->settings;
	bool bloscpack = job->how->bloscpack;
	CLI_OWN_TARGET struct cli_target scratch = CLI_TARGET_NONE;
	int err;

	if (bloscpack)
		job->settings = cli_encoding_scratch(&wanted);
	err = cli_target_open_scratch(&scratch, &target->at);
	if (!err)
		err = write_sparse(job, &scratch, false);
	/* The item size may have been guessed from the data. */
	wanted.typesize = job->settings.typesize;
	cli_progress_next(job->operand->progress);
	return err ? err
		   : convert(job, &scratch.at, target,
			     bloscpack ? &wanted : NULL);
}

/* Reads the frame from the disk, and compares it with the input. */
static int compare(struct job *job, const struct cli_at *at)
{
	const struct b2f_frame_options how = {.label = job->output};
	struct b2f_file *file = NULL;
	struct cli_copy all;
	int err;

	cli_frames_forget_pages(at);
	err = cli_input_claim(&job->in);
	if (!err)
		err = cli_frames_open_file(job->operand->runtime, &how, at, &file);
	if (err)
		return err;
	all = (struct cli_copy){.file = file,
				.size = b2f_file_size(file),
				.progress = job->operand->progress};
	err = cli_copy_compare_fd(&all, job->in.fd, job->in.base, job->output);
	b2f_file_close(file);
	return err;
}

static bool is_removable(const struct job *job)
{
	return job->how->common.remove && job->in.is_file &&
	       job->in.fd != STDIN_FILENO;
}

static int remove_input(const struct job *job)
{
	int err = cli_input_check_unchanged(&job->in);

	return err ? err
		   : cli_frames_remove_file(&job->operand->at, &job->in.st,
					    false);
}

static int make(struct job *job, struct cli_target *target)
{
	bool single = job->how->contiguous || job->how->bloscpack;
	bool by_scratch =
		job->how->bloscpack || (single && job->npy && !job->in.is_file);
	int err;

	job->operand->progress->npasses = 1 + by_scratch + is_removable(job);
	if (by_scratch)
		err = write_by_scratch(job, target);
	else
		err = single ? write_contiguous(job, target)
			     : write_sparse(job, target, true);
	cli_progress_next(job->operand->progress);
	if (!err && is_removable(job))
		err = compare(job, &target->at);
	if (!err && job->in.is_file)
		err = cli_target_set_attributes(target, &job->in.st,
						job->in.fd);
	return err;
}

static int read_head(struct job *job, uint8_t **out, size_t *size)
{
	ssize_t n;

	*out = cli_need(malloc(B2F_NPY_HEADER_MAX));
	n = cli_input_read(&job->in, *out, B2F_NPY_HEADER_MAX, 0);
	*size = n < 0 ? 0 : (size_t)n;
	return n < 0 ? (int)n : 0;
}

/* Is the input a .npy file that can become an array, or may a pipe be one? */
static int look_at_input(struct job *job)
{
	B2F_OWN uint8_t *head = NULL;
	size_t n = 0;
	uint64_t nbytes = 0;
	int err = job->in.is_file ? read_head(job, &head, &n)
				  : cli_input_sample(&job->in, &head, &n);

	if (!err)
		job->npy = !b2f_npy_look(&job->settings, head, n, &nbytes) &&
			   (!job->in.is_file || nbytes == job->in.size);
	return err;
}

static int choose(struct job *job)
{
	job->settings = b2f_settings_default();
	job->settings.chunksize = 1 << 20;
	cli_encoding_apply(&job->how->encoding, &job->settings);
	return job->how->plain ? 0 : look_at_input(job);
}

/* Takes @place with a suffix, unless the user gave another name. */
static void name_output(struct job *job, const char *place)
{
	enum b2f_suffix suffix = job->how->contiguous ? B2F_SUFFIX_CONTIGUOUS
						      : B2F_SUFFIX_SPARSE;
	size_t len = strlen(place);

	if (job->output)
		return;
	if (job->how->bloscpack)
		suffix = B2F_SUFFIX_BLOSCPACK;
	else if (job->npy)
		suffix = B2F_SUFFIX_ARRAY;
	/* A mount shows items as NAME, and an array as NAME.npy. */
	if (job->how->bloscpack && job->npy && len > 4 &&
	    strcmp(place + len - 4, ".npy") == 0)
		len -= 4;
	job->name = cli_need_text("%.*s%s", (int)len, place,
				  b2f_suffix_text(suffix));
	job->output = job->name;
}

static int begin(struct job *job, const struct cli_operand *operand)
{
	int err;

	/* The user most likely meant something else. */
	if (cli_frames_is_frame(&operand->at))
		return cli_refuse(-EINVAL,
				  "%s: it is a frame already; see "
				  "recompress and convert",
				  operand->at.path);
	err = cli_input_open(&job->in, &operand->at);
	if (err)
		return err;
	operand->progress->label = job->in.name;
	err = choose(job);
	if (!err)
		name_output(job, operand->place.path);
	return err;
}

static int copy_to_stdout(const struct cli_at *at)
{
	struct cli_output out = cli_output_standard();
	static char buf[1 << 16];
	CLI_OWN_FD int fd = cli_at_open(at, O_RDONLY);
	ssize_t n = fd < 0 ? fd : 1;
	int err = 0;

	while (n > 0 && !err) {
		n = b2f_io_read(fd, buf, sizeof(buf), B2F_IO_NEXT);
		if (n > 0)
			err = cli_output_write(&out, buf, (size_t)n);
	}
	if (n < 0)
		err = cli_message_errno(at->path, (int)n);
	return err;
}

static int compress_to_url(struct job *job)
{
	struct cli_at at;
	int err;

	if (job->how->contiguous || job->how->bloscpack)
		return cli_refuse(-EINVAL,
				  "%s: a frame on a server is made of "
				  "one object per chunk",
				  job->output);
	at = cli_at_named(job->output);
	job->operand->progress->npasses = 1 + is_removable(job);
	err = write_url(job);
	cli_progress_next(job->operand->progress);
	if (!err && is_removable(job))
		err = compare(job, &at);
	if (!err && is_removable(job))
		err = remove_input(job);
	if (!err)
		cli_operand_report(job->operand, job->output, job->nbytes,
				   job->cbytes);
	return err;
}

static int compress_to_path(struct job *job)
{
	bool to_stdout = job->how->common.to_stdout;
	CLI_OWN_TARGET struct cli_target target = CLI_TARGET_NONE;
	struct cli_at at = cli_operand_result(job->operand, job->output);
	int err = to_stdout ? cli_target_open_scratch(&target, NULL)
			    : cli_target_open(
				      &target, &at,
				      cli_replace_if(job->how->common.force));

	if (!err)
		err = make(job, &target);
	if (!err)
		err = to_stdout ? copy_to_stdout(&target.at)
				: cli_target_commit(&target, true);
	if (!err && is_removable(job))
		err = remove_input(job);
	if (!err)
		cli_operand_report(
			job->operand, job->output, job->nbytes,
			cli_frames_cbytes(to_stdout ? &target.at : &target.to));
	return err;
}

static int compress_file(void *compress, const struct cli_operand *operand)
{
	const struct compress *how = compress;
	struct job job = {
		.how = how,
		.operand = operand,
		.in.fd = -1,
		.output = how->common.to_stdout ? "standard output"
						: operand->output,
	};
	int err = begin(&job, operand);

	if (!err)
		err = cli_kind_of(job.output) == CLI_KIND_URL
			      ? compress_to_url(&job)
			      : compress_to_path(&job);
	cli_input_close(&job.in);
	free(job.name);
	return err;
}

static int check(const struct cli_command *self, struct compress *o,
		 char **files)
{
	struct cli_common *common = &o->common;
	bool from_stdin = !*files, several = !from_stdin && files[1];
	bool to_dash = common->output && strcmp(common->output, "-") == 0;
	bool to_stdout = common->to_stdout || to_dash;

	for (; *files; files++)
		from_stdin = from_stdin || strcmp(*files, "-") == 0;
	const struct cli_misuse misuses[] = {
		{common->to_stdout && common->output && !to_dash,
		 "-o and -c exclude each other"},
		{to_stdout && (several || common->recursive),
		 "-c takes one file"},
		{from_stdin && !common->output && !to_stdout,
		 "standard input needs -o or -c"},
		{o->checksum && !o->bloscpack,
		 "--checksum goes with --format=blp"},
		{o->bloscpack && common->remove,
		 "--rm does not go with --format=blp, which keeps the data "
		 "alone"},
		{o->bloscpack && o->contiguous,
		 "--contiguous and --format=blp exclude each other"},
		{to_stdout && cli_json_wanted(),
		 "-c and --json exclude each other"},
		{0}};

	/*
	 * Remove nothing, as zstd does: bytes sent to a pipe cannot be checked.
	 */
	if (to_stdout) {
		common->to_stdout = true;
		o->contiguous = !o->bloscpack;
		common->output = NULL;
		common->remove = false;
	}
	return cli_command_check(self, misuses);
}

static int run_compress(const struct cli_command *self, void *options,
			char **files)
{
	static char dash[] = "-";
	char *from_stdin[] = {dash, NULL};
	struct compress *o = options;
	int status = check(self, o, files);

	if (status != CLI_CONTINUE)
		return status;
	if (cli_encoding_take_environment(&o->encoding) ||
	    cli_common_take_environment(&o->common))
		return CLI_EXIT_USAGE;
	return cli_operands_run(self, o, *files ? files : from_stdin);
}

const struct cli_command cli_compress_command = {
	.name = "compress",
	.letter = "c",
	.summary = "write plain files as frames",
	.operands = "[FILE...]",
	.help = "Writes each FILE (- or none: standard input) as a frame "
		"beside it, named\nFILE.b2frame, a directory; or FILE.b2f, a "
		"file. A .npy file becomes an array,\nFILE.b2nd, if it holds "
		"exactly one array.",
	.options = table,
	.size = sizeof(struct compress),
	.start = &(const struct compress){.common.files = true,
					  .common.to_url = true},
	.each = compress_file,
	.run = run_compress,
};
