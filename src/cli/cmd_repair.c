/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_repair.c - bloscctl repair: safe repairs, and those that options allow */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "cli/at.h"
#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/server.h"
#include "cli/target.h"
#include "cli/text.h"
#include "programs/repair.h"
#include "words/value.h"

struct repair {
	struct cli_common common;
	/* Change nothing. */
	bool dry_run;
	/* Remove recent orphans, too. */
	bool force;
	/* Replace damaged chunks by zeros. */
	bool zero_damaged;
	/* Take metalayers that differ from their checksum as they are. */
	bool accept_meta;
	/* For frames in object stores: remove orphans. */
	bool orphans;
	/* Only of this age, in seconds; -1: not given. */
	int64_t older;
	/* Path of a new frame to make if the index is lost; or NULL. */
	const char *output;
	/* Replace an existing file. */
	bool overwrite;
};

#define FIELD(name) offsetof(struct repair, name)

/* Default and longest age: a day and a century. */
#define AGE	86400
#define AGE_MAX 3155760000.

/* Parses "90m" as seconds; a number needs a unit. */
static int store_age(const struct cli_option *option, void *field,
		     const char *value)
{
	char unit = value[strlen(value) - (*value != '\0')];

	return !isalpha((unsigned char)unit) ||
			       b2f_value_whole_seconds(value, "smhd", AGE_MAX,
						       field)
		       ? cli_option_refuse(option, value,
					   "an age, as 90m or 1d")
		       : 0;
}

static const struct cli_option table[] = {
	CLI_FLAG("dry-run", 'n', dry_run, "only say what would be done"),
	CLI_FLAG("force", 0, force,
		 "remove young files that no index names, too: no program\n"
		 "may be writing to the frame"),
	CLI_FLAG("orphans", 0, orphans,
		 "in an object store: remove chunks that no index names"),
	CLI_FLAG("recursive", 'r', common.several,
		 "with --orphans: for all frames below each URL"),
	CLI_OPTION("older", 0, "AGE", store_age, FIELD(older),
		   "only orphans at least this old (1d; s, m, h, d)"),
	CLI_FLAG("zero-damaged", 0, zero_damaged,
		 "replace damaged chunks by zeros"),
	CLI_FLAG("accept-metalayers", 0, accept_meta,
		 "take metalayers that do not agree with the checksum of the\n"
		 "index as they are"),
	CLI_OPTION("output", 'o', "NEW", cli_option_text, FIELD(output),
		   "make the frame NEW of the chunk files of FRAME"),
	CLI_FLAG(NULL, 'f', overwrite, "replace an existing NEW"),
	{.shared = cli_server_options},
	{.shared = cli_common_options},
	{0},
};

/* The frame that is being repaired. */
struct job {
	const struct repair *how;
	const struct cli_operand *operand;
	const char *path;
	/* The findings. */
	struct b2f_leftovers leftovers;
	struct cli_findings found;
	uint64_t nzeroed;
	/* The stored bytes in the index were corrected. */
	bool counted;
	/* The metalayers were taken as they are. */
	bool accepted;
	/* The index told another size of the data than its chunks have. */
	bool resized;
};

static int sweep(struct job *job, struct b2f_frame *frame)
{
	enum b2f_sweep how = B2F_SWEEP_SURE;
	int err;

	if (job->how->force)
		how = B2F_SWEEP_ALL;
	if (job->how->dry_run)
		how = B2F_SWEEP_LOOK;
	if (!b2f_frame_info_get(frame)->sparse)
		return 0;
	err = b2f_frame_sweep(frame, how, &job->leftovers);
	return cli_message_explain(job->path, err);
}

static bool has_to_zero(const struct job *job)
{
	return job->how->zero_damaged && job->found.check.ndamaged;
}

static int edit(struct job *job, struct b2f_editor *editor)
{
	int err = 0;

	for (uint64_t i = 0;
	     has_to_zero(job) && i < job->found.check.nchunks && !err; i++) {
		if (job->found.states[i] != B2F_CHECK_DAMAGED)
			continue;
		err = b2f_editor_zero(editor, i);
		job->nzeroed += !err;
	}
	if (!err)
		b2f_editor_count(editor, &job->counted);
	return err ? err : b2f_editor_commit(editor);
}

/* Not if they surely are wrong: the checksum is all that tells of it. */
static bool has_to_accept(const struct job *job)
{
	const struct b2f_check_result *r = &job->found.check;

	return job->how->accept_meta && r->meta_changed && !r->bad_array;
}

static int change(struct job *job, struct b2f_frame *frame)
{
	const struct b2f_editor_options options = {
		.no_seal = job->how->common.no_seal,
		.any_kind = true,
	};
	struct b2f_editor *editor = NULL;
	int err;

	if (job->how->dry_run) {
		job->nzeroed = has_to_zero(job) ? job->found.check.ndamaged : 0;
		job->counted = job->found.check.tells_less;
		job->accepted = has_to_accept(job);
		return 0;
	}
	/* The check has logged the damage. */
	cli_message_forget();
	err = b2f_editor_open_frame(&options, frame, &editor);
	if (!err)
		err = edit(job, editor);
	b2f_editor_close(editor);
	job->accepted = !err && has_to_accept(job);
	return cli_message_explain(job->path, err);
}

static int judge(const struct job *job)
{
	const struct b2f_check_result *r = &job->found.check;
	uint64_t nleft = r->ndamaged - job->nzeroed;
	uint64_t nunchecked = r->nunsupported + r->nfailed;
	int err = 0;

	if (nleft)
		err = cli_refuse(-EIO,
				 "%s: damaged chunks: %llu; "
				 "--zero-damaged replaces them by zeros",
				 job->path, (unsigned long long)nleft);
	if (r->nbad_metas)
		err = cli_refuse(-EIO,
				 "%s: damaged vlmetalayers, which cannot be "
				 "repaired: %llu",
				 job->path, (unsigned long long)r->nbad_metas);
	if (r->bad_array)
		err = cli_refuse(-EIO,
				 "%s: its chunks do not fit the shape of "
				 "the array, which cannot be repaired",
				 job->path);
	if (nunchecked)
		err = cli_refuse(-EIO, "%s: chunks not checked: %llu",
				 job->path, (unsigned long long)nunchecked);
	return err;
}

/* The repairs, done or for --dry-run. */
#define DONE "{}: [{?dry_run}would have ]"

static const char text[] =
	"[{?removed_indexes}" DONE "removed an index that was never "
	"installed\n]"
	"[" DONE "removed {+removed_chunk_files} chunk "
	"file[{!removed_chunk_files=1}s] that no index names\n]"
	"[{}: {+left_chunk_files} young chunk file[{?left_chunk_files=1} "
	"that|s that] no index names; --force removes such, if no program is "
	"writing\n]"
	"[" DONE "replaced chunk[{!nzeroed=1}s] <zeroed|{.}> by zeros\n]"
	"[{?corrected_cbytes}" DONE "corrected how many bytes the index says "
	"are stored\n]"
	"[{?accepted_metalayers}" DONE "taken the metalayers as they are\n]"
	"[{?corrected_nbytes}" DONE "corrected the size of the data in the "
	"index\n]"
	"[{?sound}{!removed_indexes}{!removed_chunk_files}{!left_chunk_files}"
	"{!nzeroed}{!accepted_metalayers}{!corrected_cbytes}{!corrected_nbytes}"
	"{}: nothing to repair\n]";

static json_t *list_zeroed(const struct job *job)
{
	json_t *list = json_array();

	for (uint64_t i = 0; job->nzeroed && i < job->found.check.nchunks; i++)
		if (job->found.states[i] == B2F_CHECK_DAMAGED)
			json_array_append_new(list, json_integer((json_int_t)i));
	return list;
}

static void report(const struct job *job, int err)
{
	const struct b2f_leftovers *l = &job->leftovers;
	uint64_t nremoved = l->nsure + (job->how->force ? l->nyoung : 0);

	if (cli_message_is_quiet() && !job->how->dry_run && !cli_json_wanted())
		return;
	cli_json_say(
		text, job->path,
		json_pack("{s:s, s:o*, s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:b, "
			  "s:b, s:b, s:b}",
			  "command", "repair", "frame",
			  cli_json_name(job->path), "dry_run",
			  job->how->dry_run, "removed_indexes",
			  (json_int_t)l->nindexes, "removed_chunk_files",
			  (json_int_t)nremoved, "left_chunk_files",
			  (json_int_t)(l->nsure + l->nyoung - nremoved),
			  "ndamaged", (json_int_t)job->found.check.ndamaged,
			  "nzeroed", (json_int_t)job->nzeroed, "zeroed",
			  list_zeroed(job), "corrected_cbytes", job->counted,
			  "corrected_nbytes", job->resized && !err,
			  "accepted_metalayers", job->accepted, "sound",
			  err == 0));
}

static int repair_open(struct job *job, struct b2f_frame *frame)
{
	int err;

	err = sweep(job, frame);
	if (!err)
		err = cli_message_explain(
			job->path, b2f_frame_add_up(frame, &job->resized));
	if (err)
		return err;
	err = cli_frames_check(job->operand->runtime, frame, job->path, true,
			       &job->found);
	cli_progress_fini(job->operand->progress);
	return err;
}

static bool has_to_change(const struct job *job)
{
	const struct b2f_check_result *r = &job->found.check;
	bool is_whole = r->ndamaged + r->nunsupported + r->nfailed == 0;

	return has_to_zero(job) || has_to_accept(job) || r->tells_less ||
	       (job->resized && is_whole);
}

static int finish(struct job *job, struct b2f_frame *frame)
{
	int err = 0;

	if (has_to_change(job))
		err = change(job, frame);
	/* Without a commit nothing was replaced or corrected. */
	if (err) {
		job->nzeroed = 0;
		job->counted = false;
	} else {
		err = judge(job);
	}
	report(job, err);
	return err;
}

static const char rebuilt_text[] =
	"{output}: [{?dry_run}would be ]made of {nchunks} chunk "
	"file[{!nchunks=1}s], {nbytes:size}\n"
	"[  damaged chunk files, [{?zeroed}zeros now, or ]left out: "
	"{+ndamaged}\n]"
	"  settings: [{?kept_settings}kept|those of the first chunk]; "
	"metalayers: [{?kept_metalayers}kept|none]; "
	"vlmetalayers: [{?kept_vlmetalayers}kept|none]\n"
	"  The chunks are in the order of their numbers, which may be wrong; "
	"chunks that\n  were index entries alone (zeros, NaNs) are missing.\n";

static void report_rebuilt(const struct job *job,
			   const struct b2f_rebuild_result *r)
{
	cli_json_say(
		rebuilt_text, job->path,
		json_pack(
			"{s:s, s:b, s:o*, s:o*, s:I, s:I, s:I, s:b, s:b, s:b, "
			"s:b}",
			"command", "repair", "dry_run", job->how->dry_run,
			"frame", cli_json_name(job->path), "output",
			cli_json_name(job->how->output), "nchunks",
			(json_int_t)r->nchunks, "nbytes", (json_int_t)r->nbytes,
			"ndamaged", (json_int_t)r->nbad, "zeroed",
			job->how->zero_damaged, "kept_settings",
			r->kept_settings, "kept_metalayers", r->kept_metalayers,
			"kept_vlmetalayers", r->kept_vlmetalayers));
}

/*
 * Opens the file that has the attributes of the frame @at: its index or, if
 * that is lost, its directory.
 */
static int open_like(const struct cli_at *at, struct stat *like)
{
	int dir, fd = cli_at_open_index(at, O_RDONLY, &dir);

	if (fd < 0)
		fd = dir;
	else
		cli_at_close(dir);
	if (fd < 0 || fstat(fd, like) != 0)
		*like = (struct stat){.st_mode = 0600};
	like->st_mode &= 0666;
	like->st_atim.tv_nsec = like->st_mtim.tv_nsec = UTIME_NOW;
	return fd;
}

static int rebuild(struct job *job)
{
	struct b2f_rebuild_options options = {
		.log = &cli_message_log,
		.no_seal = job->how->common.no_seal,
		.zero_damaged = job->how->zero_damaged,
	};
	CLI_OWN_TARGET struct cli_target target = CLI_TARGET_NONE;
	const struct cli_at at = cli_at_path(job->how->output);
	struct b2f_rebuild_result result = {0};
	struct stat like;
	CLI_OWN_FD int from = -1;
	int err;

	err = cli_target_open(&target, &at,
			      cli_replace_if(job->how->overwrite));
	if (err)
		return err;
	from = open_like(&job->operand->at, &like);
	options.mode = like.st_mode;
	err = b2f_frame_rebuild(&options, job->operand->at.dir,
				job->operand->at.name, target.at.dir,
				target.at.name, &result);
	if (err)
		cli_message_explain(job->path, err);
	else
		err = cli_target_set_attributes(&target, &like, from);
	if (!err && !job->how->dry_run)
		err = cli_target_commit(&target, true);
	if (!err)
		report_rebuilt(job, &result);
	return err;
}

static int open_frame(const struct job *job, bool damaged_meta,
		      struct b2f_frame **out)
{
	const struct b2f_frame_options options = {.join_objects = true,
						  .damaged_meta = damaged_meta};

	return cli_frames_open(&options, &job->operand->at, out);
}

/* Is all of the frame but its metalayers as it was? */
static bool has_bad_meta(const struct job *job)
{
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	int err;

	/* It would say the same again. */
	cli_message_pause(true);
	err = open_frame(job, true, &frame);
	cli_message_pause(false);
	return !err;
}

/* Handles a frame whose index is unreadable, as was printed. */
static int repair_broken(struct job *job, int err)
{
	struct stat st;

	if (!b2f_is_format_error(err))
		return err;
	if (!job->how->output && !job->how->accept_meta && has_bad_meta(job))
		return cli_refuse(err,
				  "%s: only its metalayers are damaged; "
				  "--accept-metalayers takes them as they are",
				  job->path);
	if (cli_at_stat(&job->operand->at, &st) != 0 || !S_ISDIR(st.st_mode))
		return err;
	if (job->how->output)
		return rebuild(job);
	return cli_refuse(err,
			  "%s: its index is lost; -o NEW makes a new "
			  "frame of its chunk files",
			  job->path);
}

/* Returns 0 if the frame is sound now (or would be). */
static int repair_frame(void *how, const struct cli_operand *operand)
{
	const char *path = operand->at.path;
	struct job job = {.how = how,
			  .operand = operand,
			  .path = path,
			  .found.progress = operand->progress};
	CLI_OWN_FRAME struct b2f_frame *frame = NULL;
	int err;

	err = open_frame(&job, job.how->accept_meta, &frame);
	if (err)
		return repair_broken(&job, err);
	if (job.how->output) {
		cli_message_error("%s: its index can be read: -o is for frames "
				  "that have lost it",
				  path);
		err = -EINVAL;
	}
	if (!err)
		err = repair_open(&job, frame);
	if (!err)
		err = finish(&job, frame);
	free(job.found.states);
	return err;
}

static const char orphans_text[] =
	"{}: [{?dry_run}would remove|removed] {norphans} orphaned chunks "
	"({nbytes} bytes); {nyoung} younger ones stay"
	"[; [{?dry_run}would remove|removed] {+nprobes} probes]\n";

static void report_orphans(const char *url,
			   const struct b2f_remote_orphans *found,
			   bool dry_run)
{
	cli_json_say(orphans_text, url,
		     json_pack("{s:s, s:o*, s:b, s:I, s:I, s:I, s:I}",
			       "command", "repair", "frame", cli_json_name(url),
			       "dry_run", dry_run, "norphans",
			       (json_int_t)found->n, "nbytes",
			       (json_int_t)found->nbytes, "nyoung",
			       (json_int_t)found->nyoung, "nprobes",
			       (json_int_t)found->nprobes));
}

/* The orphans below a place. */
struct below {
	const char *label;
	bool dry_run;
	uint64_t n;
};

static void report_orphans_below(void *arg, const char *path,
				 const struct b2f_remote_orphans *found)
{
	struct below *below = arg;
	B2F_OWN char *url = cli_text_join(below->label, path);

	below->n++;
	report_orphans(url, found, below->dry_run);
}

static int remove_below(struct b2f_remote *remote, uint64_t age, bool dry_run)
{
	struct below below = {b2f_remote_label(remote), dry_run, 0};
	const struct b2f_remote_orphans none = {.n = 0};
	int err = b2f_remote_sweep_below(remote, "", age, dry_run,
					 report_orphans_below, &below);

	if (!err && !below.n)
		report_orphans(below.label, &none, dry_run);
	return err;
}

static int remove_one(struct b2f_remote *remote, uint64_t age, bool dry_run)
{
	struct b2f_remote_orphans found;
	int err = b2f_remote_sweep(remote, "", age, dry_run, &found);

	if (!err)
		report_orphans(b2f_remote_label(remote), &found, dry_run);
	return err;
}

static int remove_orphans(const char *url, const struct repair *how)
{
	CLI_OWN_REMOTE struct b2f_remote *remote = NULL;
	uint64_t age = how->older < 0 ? AGE : (uint64_t)how->older;
	int err;

	if (cli_kind_of(url) != CLI_KIND_URL)
		return cli_refuse(-EINVAL,
				  "%s: --orphans is for frames in an "
				  "object store",
				  url);
	err = cli_server_connect(url, &remote);
	if (err)
		return err;
	cli_message_forget();
	err = how->common.several ? remove_below(remote, age, how->dry_run)
				  : remove_one(remote, age, how->dry_run);
	/* Other frames below it may have been reported. */
	if (cli_message_explain(b2f_remote_label(remote), err))
		cli_json_fail("repair", url);
	return err;
}

static int repair_one(void *how, const struct cli_operand *operand)
{
	const struct repair *r = how;

	if (r->orphans)
		return remove_orphans(operand->at.path, r);
	return repair_frame(how, operand);
}

static int run_repair(const struct cli_command *self, void *options,
		      char **frames)
{
	struct repair *r = options;
	const struct cli_misuse misuses[] = {
		{r->older >= 0 && !r->orphans, "--older is for --orphans"},
		{r->common.several && !r->orphans, "-r is for --orphans"},
		{r->output && frames[1], "-o takes one frame"},
		{0}};
	int status = cli_command_check(self, misuses);

	/* Frames in a store are changed only by writers of the store. */
	r->common.changes = r->orphans ? NULL : "";
	return status == CLI_CONTINUE ? cli_operands_run(self, options, frames)
				      : status;
}

static const struct repair start = {.older = -1};

const struct cli_command cli_repair_command = {
	.name = "repair",
	.summary = "remove leftovers, replace damaged chunks",
	.operands = "FRAME...",
	.help = "Removes leftovers of crashed writers from each FRAME, looks "
		"for damage, and\nrepairs it as the options say.",
	.options = table,
	.size = sizeof(start),
	.start = &start,
	.missing = "a frame is missing",
	.each = repair_one,
	.run = run_repair,
};
