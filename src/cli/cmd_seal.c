/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_seal.c - bloscctl seal: checksums for frames without them */
#include "cli/common.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/operands.h"

/* A commit is made after so many stored bytes, which then exist twice. */
#define COMMIT_BYTES (UINT64_C(1) << 30)

static const struct cli_option table[] = {
	{.shared = cli_common_recursive},
	{.shared = cli_common_work_options},
	{0},
};

/* Seals one frame. */
struct job {
	const struct cli_operand *operand;
	const char *path;
	struct b2f_editor *editor;
	uint64_t nsealed;
	/* Chunks since the last commit, and the stored bytes of new ones. */
	uint64_t npending;
	uint64_t nwritten;
};

static int commit(struct job *job)
{
	int err = b2f_editor_commit(job->editor);

	job->nwritten = 0;
	if (!err) {
		job->nsealed += job->npending;
		job->npending = 0;
	}
	return cli_message_explain(job->path, err);
}

static int seal_chunk(struct job *job, uint64_t nchunk)
{
	uint64_t chunksize = (uint32_t)b2f_editor_chunksize(job->editor);
	bool done = false;
	int err;

	err = b2f_editor_seal(job->editor, nchunk, &done);
	if (err)
		return cli_message_explain(job->path, err);
	if (!done)
		return 0;
	job->npending++;
	job->nwritten += chunksize ? chunksize : COMMIT_BYTES / 1024;
	return job->nwritten >= COMMIT_BYTES ? commit(job) : 0;
}

/* Seals all chunks that can be sealed; returns the first error. */
static int seal_chunks(struct job *job)
{
	uint64_t n = b2f_editor_nchunks(job->editor);
	uint64_t nbytes = b2f_editor_nbytes(job->editor);
	int err = 0, first = 0;

	for (uint64_t i = 0; i < n; i++) {
		err = seal_chunk(job, i);
		if (err && !first)
			first = err;
		/* After one damaged chunk, go on with the others. */
		if (err && err != B2F_ECORRUPT && err != B2F_EUNSUPPORTED)
			break;
		cli_progress_update(job->operand->progress, nbytes / n * (i + 1),
				    nbytes);
	}
	return first;
}

static void report(const struct job *job, int status)
{
	uint64_t n = b2f_editor_nchunks(job->editor);

	json_t *object = json_pack(
		"{s:s, s:o*, s:I, s:I, s:b}", "command", "seal", "frame",
		cli_json_name(job->path), "nchunks", (json_int_t)n, "nsealed",
		(json_int_t)job->nsealed, "complete", status == 0);

	cli_message_result("{frame}: sealed {nsealed} of {nchunks} chunks",
			   object);
	cli_json_say("", job->path, object);
}

static int run(struct job *job)
{
	int err, commit_err = 0;

	err = seal_chunks(job);
	if (job->nwritten || !b2f_editor_index_is_sealed(job->editor))
		commit_err = commit(job);
	cli_progress_fini(job->operand->progress);
	err = err ? err : commit_err;
	report(job, err);
	return err;
}

static int seal_frame(void *arg, const struct cli_operand *operand)
{
	const struct b2f_editor_options options = {.any_kind = true};
	const char *path = operand->at.path;
	struct job job = {.operand = operand, .path = path};
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	int err;

	(void)arg;
	err = cli_frames_open(NULL, &operand->at, &frame);
	if (err)
		return err;
	err = cli_message_explain(
		path, b2f_editor_open_frame(&options, frame, &job.editor));
	if (!err)
		err = run(&job);
	b2f_editor_close(job.editor);
	return err;
}

const struct cli_command cli_seal_command = {
	.name = "seal",
	.summary = "add checksums to frames that have none",
	.operands = "FRAME...",
	.help = "Adds checksums to the chunks and the index of each FRAME "
		"that have none, after\ndecoding them. C-Blosc2 ignores "
		"checksums, and drops them where it writes.",
	.options = table,
	.size = sizeof(struct cli_common),
	.start = &(const struct cli_common){.changes = ""},
	.missing = "a frame is missing",
	.each = seal_frame,
	.run = cli_operands_run,
};
