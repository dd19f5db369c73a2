/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_slice.c - bloscctl slice: a part of an array */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common.h"
#include "b2frame/error.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/index_text.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/server.h"

static const char help[] =
	"Usage: bloscctl slice [OPTION...] FRAME INDEX\n"
	"Writes a part of the array FRAME as a .npy file to standard output. "
	"INDEX is a\nbasic index of NumPy: '10:20, ::-2, 5', '..., 0', '-1'.\n"
	"\n";

struct slice {
	/* NULL: standard output. */
	const char *output;
	const char *index;
	struct cli_common common;
};

#define FIELD(name) offsetof(struct slice, name)

static const struct cli_option table[] = {
	CLI_OPTION("output", 'o', "FILE", cli_option_text, FIELD(output),
	 "write to FILE; - is standard output"),
	{.shared = cli_server_reading_options},
	{.shared = cli_common_decoding_options, .field = FIELD(common)},
	{0},
};

/* A slice that is being written. */
struct job {
	const struct slice *options;
	const struct cli_operand *operand;
	const char *path;
	struct b2f_file *file;
	struct cli_index index;
	/* The header before the items; malloc'ed. */
	uint8_t *head;
	size_t head_len;
	struct cli_output out;
	uint64_t done;
	uint64_t size;
};

/* "-3:" is an index, though it looks like an option. */
static bool is_index(const char *arg)
{
	return arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9';
}

/*
 * Takes the first index out of @argv that looks like an option; returns it, or
 * NULL.  No option of this command is a digit.
 */
static const char *take_index(int *argc, char **argv)
{
	for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++) {
		const char *index = argv[i];

		if (!is_index(index))
			continue;
		for (int k = i; k < *argc; k++)
			argv[k] = argv[k + 1];
		--*argc;
		return index;
	}
	return NULL;
}

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct slice *o)
{
	const char *index = take_index(&argc, argv);
	int want = index ? 1 : 2, status;

	status = cli_options_parse(self, argc, argv, o);
	if (status != CLI_CONTINUE)
		return status;
	if (argc - optind != want)
		return cli_command_misuse(self, "a frame and an index are "
						"needed");
	if (o->output && strcmp(o->output, "-") == 0)
		o->output = NULL;
	o->index = index ? index : argv[optind + 1];
	argv[optind + 1] = NULL;
	return CLI_CONTINUE;
}

static int write_piece(void *arg, const void *data, size_t size)
{
	struct job *job = arg;
	int err = cli_output_write(&job->out, data, size);

	job->done += size;
	if (!err)
		cli_progress_update(job->operand->progress, job->done, job->size);
	return err;
}

static int write_all(struct job *job)
{
	int err = 0;

	if (job->head_len > 0)
		err = cli_output_write(&job->out, job->head, job->head_len);
	if (err)
		return err;
	err = b2f_slice_read(job->file, &job->index.slice, write_piece, job);
	return err == -EPIPE ? err : cli_message_explain(job->path, err);
}

static int write_file(struct job *job)
{
	const struct slice *o = job->options;
	struct cli_output *out = &job->out;
	const struct cli_at at = cli_at_path(o->output);
	struct stat like;
	int err, fd;

	err = cli_frames_source(&job->operand->at, b2f_file_frame(job->file), &like, &fd);
	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	/* Permissions as of the array, but the times of a new file. */
	like.st_atim.tv_nsec = like.st_mtim.tv_nsec = UTIME_NOW;
	err = cli_output_open(out, &at, o->common.force, false);
	if (err)
		return err;
	err = cli_output_check_distinct(out, &like, "array");
	if (!err)
		err = write_all(job);
	if (!err)
		err = cli_output_finish(out, &like, false);
	if (!err)
		err = cli_output_commit(out, false);
	cli_output_close(out);
	return err;
}

static int make_head(struct job *job)
{
	const struct b2f_frame *frame = b2f_file_frame(job->file);
	int err;

	if (job->options->common.raw)
		return 0;
	err = b2f_slice_npy_header(frame, job->index.ndim, job->index.shape,
				   &job->head, &job->head_len);
	if (err)
		cli_message_error("%s: no .npy file can tell the type of its "
				  "items (%s); --raw writes them alone",
				  job->path, b2f_strerror(err));
	return err;
}

static int begin(struct job *job)
{
	const struct slice *o = job->options;
	const struct b2f_frame_options how = {.offset =
						      o->common.frame_offset};
	const struct b2f_array *array;
	int err;

	err = cli_frames_open_file(job->operand->runtime, &how, &job->operand->at,
				   &job->file);
	if (err)
		return err;
	array = b2f_frame_array(b2f_file_frame(job->file));
	if (!array) {
		cli_message_error("%s: not an array", job->path);
		return -EINVAL;
	}
	err = cli_index_parse(o->index, array, &job->index);
	if (!err)
		err = make_head(job);
	job->size = array->itemsize;
	for (unsigned int d = 0; d < job->index.ndim && !err; d++)
		job->size *= (uint64_t)job->index.shape[d];
	return err;
}

static void report(const struct job *job)
{
	const char *output = job->options->output;
	json_t *object = json_pack(
		"{s:s, s:o*, s:o*, s:I, s:o}", "command", "slice", "source",
		cli_json_name(job->path), "output",
		cli_json_name(output ? output : "-"), "nbytes",
		(json_int_t)(job->head_len + job->size), "shape", json_array());

	for (unsigned int d = 0; d < job->index.ndim; d++)
		json_array_append_new(json_object_get(object, "shape"),
				      json_integer(job->index.shape[d]));
	cli_message_result("{source}: {shape:shape}, {nbytes} bytes written to "
			   "[{?output=-}standard output|{output}]",
			   object);
	cli_json_say("", job->path, object);
}

static int slice_frame(const void *arg, const struct cli_operand *operand)
{
	const struct slice *o = arg;
	struct job job = {
		.options = o,
		.operand = operand,
		.path = operand->at.path,
		.out = cli_output_standard(),
	};
	int err;

	err = begin(&job);
	if (!err)
		err = o->output ? write_file(&job) : write_all(&job);
	cli_progress_fini(operand->progress);
	if (!err)
		report(&job);
	b2f_file_close(job.file);
	free(job.head);
	return err;
}

static int run_slice(const struct cli_command *self, int argc, char **argv)
{
	struct slice o = {.common.progress = true};
	const struct cli_operands operands = {.command = self,
					      .common = &o.common,
					      .run = slice_frame,
					      .arg = &o};
	int status = parse(self, argc, argv, &o);

	if (status != CLI_CONTINUE)
		return status;
	if (cli_index_check(o.index))
		return CLI_EXIT_USAGE;
	if (!o.output && cli_json_wanted())
		return cli_command_misuse(self, "--json needs -o: standard "
						"output is for the items");
	if (!o.output && !cli_common_may_print(&o.common))
		return CLI_EXIT_FAILURE;
	return cli_operands_run(&operands, argv + optind);
}

const struct cli_command cli_slice_command = {
	.name = "slice",
	.summary = "write a part of an array",
	.help = help,
	.options = table,
	.run = run_slice,
};
