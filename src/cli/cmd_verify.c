/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_verify.c - bloscctl verify: is every byte of a frame readable?
 *
 * Damage (1) beats things that could not be checked (2), and these beat success
 * (0): for several frames, and inside one.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "b2frame/b2frame.h"
#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/operands.h"
#include "cli/options.h"
#include "cli/pack_path.h"
#include "cli/progress.h"
#include "cli/server.h"
#include "cli/show.h"
#include "cli/walk.h"
#include "programs/repair.h"

struct verify {
	struct cli_common common;
	struct b2f_runtime *runtime;
	bool deep;
	bool quiet;
	bool verbose;
	/* Frames seen below a directory. */
	uint64_t nfound;
	/* The worst status so far. */
	int status;
};

#define FIELD(name) offsetof(struct verify, name)

static const struct cli_option table[] = {
	CLI_FLAG("recursive", 'r', common.recursive,
		"all frames below each DIR"),
	CLI_FLAG("deep", 0, deep,
		"also check what readers do not need: leftovers of\n"
		"writers, and chunk ids too large for C-Blosc2"),
	{.shared = cli_common_reading_options},
	CLI_FLAG("quiet", 'q', quiet, "print nothing for sound frames"),
	CLI_FLAG("verbose", 'v', verbose, "print more, also for each chunk"),
	CLI_OPTION("json", 0, NULL, cli_json_want, 0,
		   "print all of it as JSON; several frames as an array"),
	CLI_FLAG("no-progress", 0, common.no_progress, "no progress bar"),
	{.shared = cli_server_reading_options},
	{0},
};

/* A frame that could not be opened has no counts. */
static const char line[] =
	"{}: {status}[, {nchunks} chunk[{!nchunks=1}s], {nbytes:size}"
	"[{!status=ok} sound]][, {+nsealed} sealed]"
	/* Usually contiguous frames have no checksums. */
	"[{?storage=sparse}, {+nunsealed} unsealed"
	"|{?index_sealed}, {+nunsealed} unsealed]"
	"[, {+ndamaged} damaged][, {+nbad_metalayers} bad metalayers]"
	"[{?metalayers_changed}, metalayers changed after the index was sealed]"
	"[{?bad_checksum}, CRC-32 differs from the store's]"
	"[{?bad_array}, not readable as an array]"
	/* The sum that du and C-Blosc2 print; bloscctl repair corrects it. */
	"[{?bad_cbytes}, index tells of {told_cbytes} stored bytes instead of "
	"{cbytes}]"
	"[, without its data: it stands for {stands_for}]"
	"[, {+nunsupported} unsupported][, {+nfailed} not readable]"
	"[{?suits_c_blosc2=false}, C-Blosc2 cannot open it]"
	"[, {+nleftovers} file[{!nleftovers=1}s] that no index names "
	"({leftover_bytes:size})]";

static const char details[] =
	"[, {cbytes:size} stored, ratio {ratio:ratio}]"
	"[, {+nspecial} in the index alone]\n"
	"[{?storage=sparse}  index: [{?index_sealed}sealed|unsealed]\n"
	"|{?index_sealed}  index: sealed\n]";

static const char *status_name(int status)
{
	if (status == CLI_EXIT_OK)
		return "ok";
	return status == CLI_EXIT_DAMAGED ? "damaged" : "not checked";
}

static const char *const state_names[] = {
	[B2F_CHECK_SEALED] = "sealed",
	[B2F_CHECK_UNSEALED] = "unsealed",
	[B2F_CHECK_SPECIAL] = "special",
	[B2F_CHECK_DAMAGED] = "damaged",
	[B2F_CHECK_UNSUPPORTED] = "unsupported",
	[B2F_CHECK_FAILED] = "not readable",
};

/* Number of sound chunks without a checksum. */
static uint64_t count_unsealed(const struct b2f_check_result *r)
{
	return r->nchunks - r->ndamaged - r->nunsupported - r->nfailed -
	       r->nspecial - r->nsealed;
}

static json_t *list_chunks(const struct cli_findings *found)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < found->check.nchunks; i++)
		json_array_append_new(
			list, json_string(state_names[found->states[i]]));
	return list;
}

/* @bad_sum: its ZIP file has another checksum for it, or none. */
static json_t *describe(const struct b2f_frame *frame,
			const struct cli_findings *found, bool bad_sum)
{
	const struct b2f_check_result *r = &found->check;

	return json_pack(
		"{s:s, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:b, s:b, s:b, s:b, s:I, s:s?, s:b, s:o*}",
		"storage",
		b2f_frame_info_get(frame)->sparse ? "sparse" : "contiguous",
		"nbytes", (json_int_t)r->nbytes, "cbytes",
		(json_int_t)r->cbytes, "ratio",
		cli_json_ratio(r->nbytes, r->cbytes), "nchunks",
		(json_int_t)r->nchunks, "nsealed", (json_int_t)r->nsealed,
		"nunsealed", (json_int_t)count_unsealed(r), "nspecial",
		(json_int_t)r->nspecial, "ndamaged", (json_int_t)r->ndamaged,
		"nunsupported", (json_int_t)r->nunsupported, "nfailed",
		(json_int_t)r->nfailed, "nbad_metalayers",
		(json_int_t)r->nbad_metas, "metalayers_changed",
		r->meta_changed, "bad_array", r->bad_array, "bad_checksum",
		bad_sum, "bad_cbytes", r->tells_less, "told_cbytes",
		(json_int_t)(r->tells_less ? r->told_cbytes : r->cbytes),
		"stands_for", b2f_frame_stands_for(frame), "index_sealed",
		r->index_sealed, "chunks",
		found->states ? list_chunks(found) : NULL);
}

/* Neighbouring chunks with the same state are one line. */
static void print_chunks(const json_t *list)
{
	size_t n = json_array_size(list), next;

	for (size_t i = 0; i < n; i = next) {
		const json_t *state = json_array_get(list, i);

		for (next = i + 1; next < n; next++)
			if (!json_equal(json_array_get(list, next), state))
				break;
		if (next == i + 1)
			printf("  chunk %zu: ", i);
		else
			printf("  chunks %zu to %zu: ", i, next - 1);
		puts(json_string_value(state));
	}
}

static void print_text(const char *path, json_t *object, bool verbose)
{
	cli_show(stdout, line, path, object);
	if (verbose && json_object_get(object, "nchunks")) {
		cli_show(stdout, details, path, object);
		print_chunks(json_object_get(object, "chunks"));
	} else {
		putchar('\n');
	}
	json_decref(object);
}

static void worsen(struct verify *v, int status)
{
	if (v->status != CLI_EXIT_DAMAGED && status != CLI_EXIT_OK)
		v->status = status;
}

static int judge(const struct b2f_check_result *r)
{
	if (r->ndamaged || r->nbad_metas || r->bad_array || r->tells_less)
		return CLI_EXIT_DAMAGED;
	if (r->nunsupported || r->nfailed)
		return CLI_EXIT_UNCHECKED;
	return CLI_EXIT_OK;
}

static int judge_error(int err)
{
	return err == B2F_ECORRUPT ? CLI_EXIT_DAMAGED : CLI_EXIT_UNCHECKED;
}

/* If the report cannot be written, do not exit 0. */
static void flush(struct verify *v)
{
	if (ferror(stdout) || fflush(stdout) != 0)
		worsen(v, CLI_EXIT_UNCHECKED);
}

/* Frees @facts, which are empty for a frame that could not be opened. */
static void report(struct verify *v, const char *path, int status,
		   json_t *facts)
{
	json_t *object = json_pack("{s:o*, s:s}", "frame", cli_json_name(path),
				   "status", status_name(status));
	char why[CLI_MESSAGE_MAX];

	cli_message_first(why);
	if (status != CLI_EXIT_OK && why[0])
		json_object_set_new(object, "why", cli_json_name(why));
	json_object_update_new(object, facts);
	if (cli_json_wanted())
		cli_json_print(object);
	else if (!v->quiet || status != CLI_EXIT_OK)
		print_text(path, object, v->verbose);
	else
		json_decref(object);
	flush(v);
	worsen(v, status);
	cli_message_begin();
}

static int check_frame(struct verify *v, struct b2f_frame *frame,
		       const char *path, struct cli_findings *out)
{
	struct cli_progress progress;
	int err;

	cli_progress_init(&progress, path, !v->common.no_progress && !v->quiet);
	out->progress = &progress;
	err = cli_frames_check(v->runtime, frame, path,
			       v->verbose || cli_json_wanted(), out);
	cli_progress_fini(&progress);
	return err;
}

/*
 * Looks for leftovers in the directory of @frame, adds them to @facts, and
 * returns the new status.  A frame in a store, or on a server, has no
 * directory.
 */
static int look_around(const struct verify *v, enum cli_kind kind,
		       struct b2f_frame *frame, json_t *facts, int status)
{
	struct b2f_leftovers l = {0};
	bool suits;

	if (!v->deep || !b2f_frame_info_get(frame)->sparse ||
	    kind != CLI_KIND_PATH)
		return status;
	if (b2f_frame_sweep(frame, B2F_SWEEP_LOOK, &l))
		return status == CLI_EXIT_OK ? CLI_EXIT_UNCHECKED : status;
	/* C-Blosc2 refuses a frame with some ids and sizes. */
	suits = b2f_frame_suits_stock(frame);
	json_object_update_new(
		facts, json_pack("{s:I, s:I, s:b}", "nleftovers",
				 (json_int_t)(l.nindexes + l.nsure + l.nyoung),
				 "leftover_bytes", (json_int_t)l.nbytes,
				 "suits_c_blosc2", suits));
	return suits ? status : CLI_EXIT_DAMAGED;
}

/*
 * @opened: the frame, if it is open already.  @sum: the result of the check of
 * its store's checksum.
 */
static void verify_frame(struct verify *v, const struct cli_at *at,
			 struct b2f_frame *opened, int sum)
{
	const struct b2f_frame_options how = {.offset = v->common.frame_offset,
					      .join_objects = true};
	struct cli_findings found = {.states = NULL};
	struct b2f_frame *frame = opened;
	json_t *facts = json_object();
	int status, err = 0;

	if (!frame && !v->common.recursive)
		err = cli_operands_refuse_tree(at->path);
	if (!frame && !err)
		err = cli_frames_open(&how, at, &frame);
	if (!err)
		err = check_frame(v, frame, at->path, &found);
	status = err ? judge_error(err) : judge(&found.check);
	if (sum && status != CLI_EXIT_DAMAGED)
		status = judge_error(sum);
	if (!err) {
		if (b2f_frame_stands_for(frame) && status == CLI_EXIT_OK)
			status = CLI_EXIT_UNCHECKED;
		json_object_update_new(facts, describe(frame, &found, sum));
		if (!opened)
			status = look_around(v, at->kind, frame, facts, status);
	}
	report(v, at->path, status, facts);
	free(found.states);
	if (!opened)
		b2f_frame_close(frame);
}

/*
 * Was it a frame, by its name?  For instance a file that has lost its magic, or
 * a directory with chunks but without an index; other directories may be
 * stores.
 */
static bool was_frame(const struct cli_walk_entry *entry)
{
	if (b2f_suffix_stem(entry->path, NULL) == 0)
		return false;
	return S_ISREG(entry->st->st_mode) ||
	       (S_ISDIR(entry->st->st_mode) &&
		cli_frames_has_chunks(&entry->at));
}

static void visit(void *arg, const struct cli_walk_entry *entry)
{
	struct verify *v = arg;
	int sum = 0;

	if (entry->pack)
		sum = b2f_pack_check_sum(entry->pack, entry->in_pack);
	if (!entry->peek.is_frame && !was_frame(entry)) {
		if (sum)
			worsen(v, judge_error(sum));
		return;
	}
	v->nfound++;
	/* The frame was checked under another of its names. */
	if (entry->again)
		return;
	verify_frame(v, &entry->at, entry->frame, sum);
}

static bool is_in_store(const struct verify *v, const char *path)
{
	return !v->common.frame_offset && cli_pack_path_leads_in(path, true);
}

static void verify_tree(struct verify *v, const char *path)
{
	const struct cli_walk walk = {
		.recursive = true, .visit = visit, .arg = v};

	v->nfound = 0;
	if (cli_walk_run(&walk, path)) {
		cli_json_fail("verify", path);
		worsen(v, CLI_EXIT_UNCHECKED);
	} else if (v->nfound == 0 && !v->quiet && !is_in_store(v, path)) {
		cli_message_error("%s: there is no frame in it", path);
	}
}

/*
 * A store that is a file counts as a directory; a .b2e is first checked as a
 * frame.
 */
static void verify_path(struct verify *v, const char *path)
{
	const struct cli_at at = cli_at_named(path);
	struct b2f_frame_peek peek = {0};
	bool store = is_in_store(v, path);

	cli_message_begin();
	if (store && b2f_frame_peek(AT_FDCWD, path, NULL, &peek) == 0 &&
	    peek.is_frame)
		verify_frame(v, &at, NULL, 0);
	if (store || v->common.recursive)
		verify_tree(v, path);
	else
		verify_frame(v, &at, NULL, 0);
}

static int run_verify(const struct cli_command *self, void *options,
		      char **paths)
{
	struct verify *v = options;

	if (!*paths)
		return cli_command_misuse(
			self, v->common.recursive ? "a directory is missing"
						  : "a frame is missing");
	cli_need_fail_as(CLI_EXIT_UNCHECKED);
	if (v->verbose)
		cli_message_set_level(B2F_LOG_INFO);
	if (cli_frames_runtime(v->common.nthreads, &v->runtime))
		return CLI_EXIT_UNCHECKED;
	cli_json_begin(v->common.recursive || paths[1] ||
		       is_in_store(v, *paths));
	for (; *paths; paths++)
		verify_path(v, *paths);
	cli_json_end();
	b2f_runtime_free(v->runtime);
	return v->status;
}

const struct cli_command cli_verify_command = {
	.name = "verify",
	.letter = "t",
	.summary = "decode everything, report damage",
	.operands = "FRAME...\n       bloscctl verify -r [OPTION...] DIR...",
	.help = "Decodes every chunk of each FRAME, and names damaged chunks; "
		"- stands for a\ncontiguous frame on standard input.",
	.notes = "\nExit status: 0 all sound; 1 damage; 2 something could not "
		 "be checked,\nand no damage was seen.\n",
	.options = table,
	.size = sizeof(struct verify),
	.run = run_verify,
};
