/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_decompress.c - bloscctl decompress: frames into plain files */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/copy.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/losses.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/text.h"

static const char help[] =
	"Usage: bloscctl decompress [OPTION...] FRAME...\n"
	"Writes each FRAME as a plain file beside it, named without .b2frame,"
	"\n.b2f, .b2, .b2nd or .b2eframe. An array becomes a .npy file.\n\n"
	"  -o, --output=FILE     write to FILE; - is standard output\n"
	"  -c, --stdout          write to standard output\n"
	"  -f, --force           overwrite; write to a terminal too\n"
	"  -k, --keep            keep the frames (default)\n"
	"      --rm              remove each frame once its copy is safe\n"
	"      --raw             of arrays the items alone, in C order\n"
	"      --no-sparse       write zeros instead of holes\n"
	"  -T, --threads=N       decode on N threads; 0 (default): all cores\n"
	"      --frame-offset=N  the frame begins at byte N of the file\n"
	"  -q, --quiet           errors only\n"
	"  -v, --verbose         say what was written\n"
	"      --no-progress     no progress bar\n"
	"  -h, --help            this text\n";

struct options {
	/* NULL: from the frame's name. */
	const char *output;
	uint64_t frame_offset;
	unsigned int nthreads;
	bool to_stdout;
	bool force;
	bool remove;
	bool raw;
	bool sparse;
	bool progress;
};

enum {
	OPT_RM = 256,
	OPT_RAW,
	OPT_NO_SPARSE,
	OPT_FRAME_OFFSET,
	OPT_NO_PROGRESS
};

static const struct option longopts[] = {
	{"output", required_argument, NULL, 'o'},
	{"stdout", no_argument, NULL, 'c'},
	{"force", no_argument, NULL, 'f'},
	{"keep", no_argument, NULL, 'k'},
	{"rm", no_argument, NULL, OPT_RM},
	{"raw", no_argument, NULL, OPT_RAW},
	{"no-sparse", no_argument, NULL, OPT_NO_SPARSE},
	{"threads", required_argument, NULL, 'T'},
	{"frame-offset", required_argument, NULL, OPT_FRAME_OFFSET},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int set_flag(struct options *o, int opt)
{
	switch (opt) {
	case 'c':
		o->to_stdout = true;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	case 'k':
		o->remove = false;
		return 0;
	case OPT_RM:
		o->remove = true;
		return 0;
	case OPT_RAW:
		o->raw = true;
		return 0;
	case OPT_NO_SPARSE:
		o->sparse = false;
		return 0;
	case OPT_NO_PROGRESS:
		o->progress = false;
		return 0;
	case 'q':
		cli_message_set_level(B2F_LOG_ERROR);
		o->progress = false;
		return 0;
	case 'v':
		cli_message_set_level(B2F_LOG_INFO);
		return 0;
	default:
		return -EINVAL;
	}
}

static int set_option(struct options *o, int opt)
{
	switch (opt) {
	case 'o':
		o->output = optarg;
		return 0;
	case 'T':
		return cli_options_threads("--threads", optarg, &o->nthreads);
	case OPT_FRAME_OFFSET:
		return cli_options_size("--frame-offset", optarg,
					&o->frame_offset);
	default:
		return set_flag(o, opt);
	}
}

static int check(const struct cli_command *self, struct options *o, int nframes)
{
	if (nframes == 0)
		return cli_command_misuse(self, "a frame is missing");
	if (o->output && strcmp(o->output, "-") == 0)
		o->to_stdout = true;
	else if (o->output && o->to_stdout)
		return cli_command_misuse(self, "-o and -c exclude each other");
	else if (o->output && nframes > 1)
		return cli_command_misuse(self, "-o takes one frame");
	if (o->remove && o->frame_offset > 0)
		return cli_command_misuse(
			self, "--rm cannot remove a part of a file");
	/* As in zstd: what a pipe swallowed cannot be checked. */
	if (o->to_stdout)
		o->remove = false;
	return CLI_CONTINUE;
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct options *o)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "o:cfkT:qvh", longopts, NULL)) !=
	       -1) {
		if (opt == 'h')
			return cli_command_help(self);
		if (set_option(o, opt))
			return cli_command_usage(self);
	}
	return check(self, o, argc - optind);
}

/* What a frame is turned into. */
struct job {
	const struct options *options;
	const char *path;
	struct cli_copy copy;
	/* A header that was made for an array; malloc'ed. */
	uint8_t *head;
};

static bool has_suffix(const char *name, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len > n && memcmp(name + len - n, suffix, n) == 0;
}

/*
 * @stem with .npy if it is a .npy file, and without if it is not any more.
 * NULL: no memory.
 */
static char *array_name(const struct job *job, const char *stem, size_t len)
{
	bool npy = has_suffix(stem, len, ".npy");
	char *name = NULL;

	if (job->options->raw && npy && stem[len - strlen(".npy") - 1] != '/')
		len -= strlen(".npy");
	if (asprintf(&name, "%.*s%s", (int)len, stem,
		     job->head && !npy ? ".npy" : "") < 0)
		name = NULL;
	return name;
}

/* Of the frame without its suffix.  NULL after a message. */
static char *usual_name(const struct job *job)
{
	size_t len = strlen(job->path), stem = 0;
	char *copy = strdup(job->path), *name = NULL;

	if (!copy)
		goto out;
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	stem = cli_frames_stem(copy);
	if (stem == 0) {
		cli_message_error("%s: its name has no suffix of a frame; "
				  "-o names the output",
				  job->path);
		goto out;
	}
	if (b2f_frame_array(b2f_file_frame(job->copy.file)))
		name = array_name(job, copy, stem);
	else
		name = strndup(copy, stem);
out:
	if (!copy || (stem && !name))
		cli_message_error("%s: %s", job->path, strerror(ENOMEM));
	free(copy);
	return name;
}

/* The frame itself must not be what is overwritten. */
static int check_distinct(const struct cli_output *out, const struct stat *like)
{
	struct stat st;

	if (stat(out->path, &st) != 0 || st.st_dev != like->st_dev ||
	    st.st_ino != like->st_ino)
		return 0;
	cli_message_error("%s: it is the frame itself", out->path);
	return -EINVAL;
}

/* Writes and, if the frame is to go, makes sure of it. */
static int fill_output(const struct job *job, struct cli_output *out,
		       const struct stat *like)
{
	const struct cli_copy *copy = &job->copy;
	bool careful = job->options->remove && out->temp;
	int err;

	err = check_distinct(out, like);
	if (!err)
		err = cli_copy_output(copy, out);
	if (!err)
		err = cli_output_finish(out, like, careful);
	if (!err && careful)
		err = cli_copy_compare(copy, out);
	if (!err)
		err = cli_output_commit(out, careful);
	return err;
}

static int write_output(const struct job *job, const char *name, bool *safe)
{
	const struct options *o = job->options;
	struct cli_output out = {0};
	struct stat like;
	int err;

	err = cli_frames_stat(job->path, &like);
	if (err) {
		cli_message_error("%s: %s", job->path, strerror(-err));
		return err;
	}
	err = cli_output_open(&out, name, o->force, o->sparse);
	if (err)
		return err;
	*safe = out.temp != NULL;
	err = fill_output(job, &out, &like);
	cli_output_close(&out);
	return err;
}

static void report(const struct job *job, const char *name)
{
	uint64_t nbytes = job->copy.head_len + job->copy.size;
	char size[CLI_TEXT_SIZE];

	cli_message_info("%s: %s (%llu bytes) written to %s", job->path,
			 cli_text_size(nbytes, size),
			 (unsigned long long)nbytes, name);
}

/* To a file, and then without the frame if it is not to be kept. */
static int decompress_to_file(const struct job *job)
{
	const struct options *o = job->options;
	char *name = o->output ? strdup(o->output) : usual_name(job);
	bool safe = false;
	int err;

	if (!name)
		return -EINVAL;
	err = write_output(job, name, &safe);
	cli_progress_fini(job->copy.progress);
	if (!err)
		report(job, name);
	if (!err && o->remove && safe)
		err = cli_frames_remove(job->path,
					b2f_file_frame(job->copy.file));
	else if (!err && o->remove)
		cli_message_error("%s: not removed: %s is no regular file",
				  job->path, name);
	free(name);
	return err;
}

/*
 * What is to be written of an array: a .npy file, as which it may be shown
 * already, or with --raw the items.
 */
static int choose_array(struct job *job)
{
	const struct b2f_frame *frame = b2f_file_frame(job->copy.file);
	bool raw = job->options->raw, npy = b2f_frame_is_npy(frame);
	size_t len = 0;
	int err;

	if (raw != npy)
		return 0;
	err = b2f_frame_npy_header(frame, &job->head, &len);
	if (err) {
		cli_message_error("%s: no .npy file can tell the type of its "
				  "items (%s); --raw writes them alone",
				  job->path, strerror(-err));
		return err;
	}
	if (raw) {
		job->copy.off = len;
		job->copy.size -= len;
		return 0;
	}
	job->copy.head = job->head;
	job->copy.head_len = len;
	return 0;
}

static int choose(struct job *job)
{
	const struct b2f_frame *frame = b2f_file_frame(job->copy.file);
	const struct options *o = job->options;
	int err = 0;

	job->copy.size = b2f_file_size(job->copy.file);
	if (b2f_frame_array(frame))
		err = choose_array(job);
	if (!err && o->remove && !o->force)
		err = cli_losses_check(job->path, frame, o->raw);
	return err;
}

static int decompress_frame(const void *arg, struct b2f_runtime *runtime,
			    const char *path)
{
	const struct options *o = arg;
	struct cli_progress progress;
	struct job job = {
		.options = o, .path = path, .copy.progress = &progress};
	int err;

	err = cli_frames_open_file(runtime, path, o->frame_offset,
				   &job.copy.file);
	if (err)
		return err;
	cli_progress_init(&progress, path, o->progress);
	err = choose(&job);
	if (!err && o->to_stdout)
		err = cli_copy_stream(&job.copy, STDOUT_FILENO,
				      "standard output");
	else if (!err)
		err = decompress_to_file(&job);
	cli_progress_fini(&progress);
	b2f_file_close(job.copy.file);
	free(job.head);
	return err;
}

static int run_decompress(const struct cli_command *self, int argc, char **argv)
{
	struct options o = {.sparse = true, .progress = true};
	int status;

	status = parse(self, argc, argv, &o);
	if (status != CLI_CONTINUE)
		return status;
	if (o.to_stdout && isatty(STDOUT_FILENO) && !o.force) {
		cli_message_error("standard output is a terminal; -f writes "
				  "to it");
		return CLI_EXIT_FAILURE;
	}
	return cli_frames_each(o.nthreads, argv + optind, decompress_frame, &o);
}

const struct cli_command cli_decompress_command = {
	.name = "decompress",
	.summary = "write frames as plain files",
	.help = help,
	.run = run_decompress,
};
