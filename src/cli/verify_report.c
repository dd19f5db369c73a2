/* SPDX-License-Identifier: BSD-3-Clause */
/* verify_report.c - the report of bloscctl verify */
#include "cli/verify_report.h"

#include <stdio.h>

#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/show.h"

/* A frame that could not be opened has no counts. */
static const char line[] =
	"{}: {status}[, {nchunks} chunk[{!nchunks=1}s], {nbytes:size}"
	"[{!status=ok} sound]][, {+nsealed} sealed]"
	/* Usually contiguous frames have no checksums. */
	"[{?storage=sparse}, {+nunsealed} unsealed"
	"|{?index_sealed}, {+nunsealed} unsealed]"
	"[, {+ndamaged} damaged][, {+nbad_metalayers} bad metalayers]"
	"[{?bad_checksum}, not as the store's checksum has it]"
	"[{?bad_array}, not readable as an array]"
	/* The sum that du and C-Blosc2 print; bloscctl repair corrects it. */
	"[{?bad_cbytes}, index tells of {told_cbytes} stored bytes instead of "
	"{cbytes}]"
	"[, without its data: it stands for {stands_for}]"
	"[, {+nunsupported} unsupported][, {+nfailed} not readable]"
	"[{?suits_c_blosc2=false}, not to be opened by C-Blosc2]"
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

static const char *state_name(enum b2f_check_state state)
{
	switch (state) {
	case B2F_CHECK_SEALED:
		return "sealed";
	case B2F_CHECK_UNSEALED:
		return "unsealed";
	case B2F_CHECK_SPECIAL:
		return "special";
	case B2F_CHECK_DAMAGED:
		return "damaged";
	case B2F_CHECK_UNSUPPORTED:
		return "unsupported";
	case B2F_CHECK_FAILED:
		return "not readable";
	}
	return "unknown";
}

/* Number of sound chunks without a checksum. */
static uint64_t count_unsealed(const struct b2f_check_result *r)
{
	return r->nchunks - r->ndamaged - r->nunsupported - r->nfailed -
	       r->nspecial - r->nsealed;
}

static json_t *list_chunks(const struct cli_verify_report *report)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < report->result->nchunks; i++)
		json_array_append_new(
			list,
			json_string(state_name(
				(enum b2f_check_state)report->states[i])));
	return list;
}

static json_t *describe(const struct cli_verify_report *report)
{
	const struct b2f_check_result *r = report->result;

	return json_pack(
		"{s:s, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:b, s:b, s:b, s:I, s:s?, s:b, s:o*}",
		"storage", report->sparse ? "sparse" : "contiguous", "nbytes",
		(json_int_t)r->nbytes, "cbytes", (json_int_t)r->cbytes, "ratio",
		cli_json_ratio(r->nbytes, r->cbytes), "nchunks",
		(json_int_t)r->nchunks, "nsealed", (json_int_t)r->nsealed,
		"nunsealed", (json_int_t)count_unsealed(r), "nspecial",
		(json_int_t)r->nspecial, "ndamaged", (json_int_t)r->ndamaged,
		"nunsupported", (json_int_t)r->nunsupported, "nfailed",
		(json_int_t)r->nfailed, "nbad_metalayers",
		(json_int_t)r->nbad_metas, "bad_array", r->bad_array,
		"bad_checksum", report->bad_sum, "bad_cbytes", r->tells_less,
		"told_cbytes",
		(json_int_t)(r->tells_less ? r->told_cbytes : r->cbytes),
		"stands_for", report->stands_for, "index_sealed",
		r->index_sealed, "chunks",
		report->states ? list_chunks(report) : NULL);
}

static json_t *describe_leftovers(const struct cli_verify_report *report)
{
	const struct b2f_leftovers *l = report->leftovers;

	return json_pack("{s:I, s:I, s:b}", "nleftovers",
			 (json_int_t)(l->nindexes + l->nsure + l->nyoung),
			 "leftover_bytes", (json_int_t)l->nbytes,
			 "suits_c_blosc2", !report->shuts_out_stock);
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

void cli_verify_report_say(const struct cli_verify_report *report, bool verbose)
{
	json_t *object =
		json_pack("{s:o*, s:s}", "frame", cli_json_name(report->path),
			  "status", status_name(report->status));
	char why[CLI_MESSAGE_MAX];

	cli_message_first(why);
	if (report->status != CLI_EXIT_OK && why[0])
		json_object_set_new(object, "why", cli_json_name(why));
	if (report->result)
		json_object_update_new(object, describe(report));
	if (report->leftovers)
		json_object_update_new(object, describe_leftovers(report));
	if (cli_json_wanted())
		cli_json_print(object);
	else
		print_text(report->path, object, verbose);
}
