/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_decompress.c - bloscctl decompress: frames into plain files */
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "cli/copy.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/operands.h"
#include "cli/server.h"
#include "cli/text.h"

struct decompress {
	struct cli_common common;
	bool sparse;
};

#define FIELD(name) offsetof(struct decompress, name)

static const struct cli_option table[] = {
	CLI_OPTION("output", 'o', "FILE", cli_option_text, FIELD(common.output),
		   "write to FILE, or into the directory FILE; - is\n"
		   "standard output"),
	{.shared = cli_common_recursive},
	CLI_FLAG("stdout", 'c', common.to_stdout, "write to standard output"),
	{.shared = cli_common_removing},
	CLI_FLAG("sparse", 0, sparse, "holes where there are zeros (default)"),
	CLI_OPTION("no-sparse", 0, NULL, cli_option_clear, FIELD(sparse),
		   "no holes"),
	{.shared = cli_server_reading_options},
	{.shared = cli_common_decoding_options},
	{0},
};

/* Is one of @frames standard input, which has no name for the result? */
static bool has_stdin(char **frames)
{
	while (*frames && cli_kind_of(*frames) != CLI_KIND_STDIN)
		frames++;
	return *frames;
}

static int check(const struct cli_command *self, struct decompress *o,
		 char **frames)
{
	struct cli_common *common = &o->common;
	bool from_stdin = has_stdin(frames);
	bool to_dash = common->output && strcmp(common->output, "-") == 0;
	bool to_stdout =
		common->to_stdout || to_dash || (from_stdin && !common->output);
	const struct cli_misuse misuses[] = {
		{from_stdin && common->remove,
		 "--rm cannot remove standard input"},
		{common->to_stdout && common->output && !to_dash,
		 "-o and -c exclude each other"},
		{to_stdout && cli_json_wanted(),
		 "-c and --json exclude each other"},
		{common->remove && common->frame_offset > 0,
		 "--rm cannot remove a part of a file"},
		{0}};

	/*
	 * Remove nothing, as zstd does: bytes sent to a pipe cannot be checked.
	 */
	if (to_stdout) {
		common->to_stdout = true;
		common->output = NULL;
		common->remove = false;
	}
	return cli_command_check(self, misuses);
}

/* A frame that is being decompressed. */
struct job {
	const struct decompress *options;
	const struct cli_operand *operand;
	/* The path of the frame, owned by @operand. */
	const char *path;
	struct cli_copy copy;
	/* The header for an array; malloc'ed. */
	uint8_t *head;
};

static bool has_suffix(const char *name, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len > n && memcmp(name + len - n, suffix, n) == 0;
}

/* A b2nd array, or an array that is stored as plain data. */
static bool is_array(const struct b2f_frame *frame)
{
	return b2f_frame_array(frame) || b2f_frame_tensor(frame);
}

/* @stem with .npy for a .npy file, without .npy otherwise. */
static char *array_name(const struct job *job, const char *stem, size_t len)
{
	bool npy = has_suffix(stem, len, ".npy");

	if (job->options->common.raw && npy &&
	    stem[len - strlen(".npy") - 1] != '/')
		len -= strlen(".npy");
	return cli_need_text("%.*s%s", (int)len, stem,
			     job->head && !npy ? ".npy" : "");
}

/*
 * The name of the frame without its suffix.  NULL, after a message, if it has
 * no suffix: the result would replace the frame.
 */
static char *usual_name(const struct job *job)
{
	B2F_OWN char *path = cli_text_bare(job->operand->place.path);
	size_t stem = b2f_suffix_stem(path, NULL);

	if (stem == 0 && cli_operand_is_moved(job->operand))
		stem = strlen(path);
	if (job->operand->place.kind == CLI_KIND_MEMBER)
		cli_message_error("%s: stores are read-only; -o names the "
				  "output",
				  job->path);
	else if (stem == 0)
		cli_message_error("%s: its name has no suffix of a frame; "
				  "-o names the output",
				  job->path);
	else if (is_array(b2f_file_frame(job->copy.file)))
		return array_name(job, path, stem);
	else
		return cli_need_part(path, stem);
	return NULL;
}

static int fill_output(const struct job *job, struct cli_output *out)
{
	const struct cli_copy *copy = &job->copy;
	bool careful = job->options->common.remove && out->target.temp;
	int err;

	copy->progress->npasses = 1 + careful;
	err = cli_copy_output(copy, out);
	if (!err)
		err = cli_output_finish(out, careful);
	cli_progress_next(copy->progress);
	if (!err && careful) {
		cli_frames_forget_pages(&out->target.at);
		err = cli_copy_compare_fd(copy, out->fd, 0,
					  out->target.at.path);
	}
	if (!err)
		err = cli_output_commit(out, careful);
	return err;
}

static int write_output(const struct job *job, const char *name, bool *safe)
{
	const struct decompress *o = job->options;
	const struct cli_at at = cli_operand_result(job->operand, name);
	struct cli_output out;
	int err = cli_output_open(&out, &at, o->common.force, &job->operand->at,
				  b2f_file_frame(job->copy.file), "frame");

	*safe = !err && out.target.temp;
	out.sparse = o->sparse && out.target.temp;
	if (!err)
		err = fill_output(job, &out);
	cli_output_close(&out);
	return err;
}

/* Decompresses to a file, and removes the frame unless it is to be kept. */
static int decompress_to_file(const struct job *job)
{
	const struct decompress *o = job->options;
	const char *given = job->operand->output;
	B2F_OWN char *name = given ? cli_need_copy(given) : usual_name(job);
	struct b2f_frame *frame;
	bool safe = false;
	int err;

	if (!name)
		return -EINVAL;
	err = write_output(job, name, &safe);
	frame = b2f_file_frame(job->copy.file);
	if (!err && o->common.remove && safe)
		err = cli_frames_remove(&job->operand->at, job->operand->shown,
					frame, false);
	else if (!err && o->common.remove)
		cli_message_error("%s: not removed: %s is no regular file",
				  job->path, name);
	if (!err)
		cli_operand_report(job->operand, name,
				   job->copy.head_len + job->copy.size,
				   b2f_frame_info_get(frame)->cbytes);
	return err;
}

/*
 * Chooses the layout for an array: a .npy file, perhaps stored as such, or with
 * --raw the items.
 */
static int choose_array(struct job *job)
{
	const struct b2f_frame *frame = b2f_file_frame(job->copy.file);
	bool raw = job->options->common.raw, npy = b2f_frame_is_npy(frame);
	size_t len = 0;
	int err;

	if (raw != npy)
		return 0;
	err = b2f_frame_npy_header(frame, &job->head, &len);
	if (err)
		return cli_frames_refuse_npy(job->path, err);
	if (raw) {
		job->copy.off = len;
		job->copy.size -= len;
		return 0;
	}
	job->copy.head = job->head;
	job->copy.head_len = len;
	return 0;
}

static bool is_named(const struct b2f_meta_info *info, const char *name)
{
	return info->name_len == strlen(name) &&
	       memcmp(info->name, name, info->name_len) == 0;
}

static int refuse(const char *path, const char *kind, const char *name)
{
	return cli_refuse(-EINVAL,
			  "%s: its %s%s would be lost: --rm refused; "
			  "-f removes it all the same",
			  path, kind, name);
}

/*
 * Does the file keep @meta?  The header has shape and dtype of an array, whose
 * partition alone is lost; or is the one that a .npy file began with.
 */
static bool is_kept(const struct b2f_frame *frame, const struct cli_meta *meta)
{
	if (meta->is_vl)
		return b2f_frame_is_npy(frame) && is_named(&meta->info, "npy");
	return b2f_frame_array(frame) && (is_named(&meta->info, "b2nd") ||
					  is_named(&meta->info, "caterva"));
}

/*
 * Refuses to lose metadata with the frame: metalayers and vlmetalayers of the
 * user; of an array written @raw, shape and dtype too.
 */
static int check_losses(const char *path, const struct b2f_frame *frame, bool raw)
{
	int err = 0;

	if (raw && b2f_frame_array(frame))
		return refuse(path, "shape and the type of its items", "");
	for (size_t i = 0; i < cli_frames_nmetas(frame) && !err; i++) {
		struct cli_meta meta;

		err = cli_frames_meta(frame, i, &meta);
		if (!err && !is_kept(frame, &meta))
			err = refuse(path,
				     meta.is_vl ? "vlmetalayer " : "metalayer ",
				     meta.info.name);
		free(meta.decoded);
	}
	return err;
}

static int choose(struct job *job)
{
	struct b2f_frame *frame = b2f_file_frame(job->copy.file);
	const struct decompress *o = job->options;
	int err = 0;

	job->copy.size = b2f_file_size(job->copy.file);
	if (is_array(frame))
		err = choose_array(job);
	if (!err && o->common.remove && !o->common.force)
		err = check_losses(job->path, frame, o->common.raw);
	if (!err && o->common.remove)
		err = cli_frames_hold(job->path, frame);
	return err;
}

static int decompress_frame(void *arg, const struct cli_operand *operand)
{
	const struct decompress *o = arg;
	struct cli_output standard = cli_output_standard();
	struct job job = {.options = o,
			  .operand = operand,
			  .path = operand->at.path,
			  .copy.progress = operand->progress};
	int err;

	err = cli_frames_open_file(operand->runtime, &operand->how,
				   &operand->at, &job.copy.file);
	if (err)
		return err;
	err = choose(&job);
	if (!err && o->common.to_stdout)
		err = cli_copy_output(&job.copy, &standard);
	else if (!err)
		err = decompress_to_file(&job);
	b2f_file_close(job.copy.file);
	free(job.head);
	return err;
}

static int run_decompress(const struct cli_command *self, void *options,
			  char **frames)
{
	struct decompress *o = options;
	int status = check(self, o, frames);

	if (status != CLI_CONTINUE)
		return status;
	o->common.changes = o->common.remove ? "" : NULL;
	o->common.stores = o->common.output != NULL;
	return cli_operands_run(self, options, frames);
}

const struct cli_command cli_decompress_command = {
	.name = "decompress",
	.letter = "d",
	.summary = "write frames as plain files",
	.operands = "FRAME...",
	.help = "Writes each FRAME as a plain file beside it, named without "
		".b2frame,\n.b2f, .b2, .b2nd, .b2eframe or .blp. An array "
		"becomes a .npy file.\nA contiguous FRAME can come through "
		"standard input: -",
	.options = table,
	.size = sizeof(struct decompress),
	.start = &(const struct decompress){.sparse = true},
	.missing = "a frame is missing",
	.each = decompress_frame,
	.run = run_decompress,
};
