/* SPDX-License-Identifier: BSD-3-Clause */
/* verify_report.c - what bloscctl verify says of a frame */
#include "cli/verify_report.h"

#include <stdio.h>
#include <string.h>

#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/text.h"
#include "meta/escape.h"

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

/* Sound chunks without a checksum. */
static uint64_t count_unsealed(const struct b2f_check_result *r)
{
	return r->nchunks - r->ndamaged - r->nunsupported - r->nfailed -
	       r->nspecial - r->nsealed;
}

static void print_count(uint64_t n, const char *what)
{
	if (n)
		printf(", %llu %s", (unsigned long long)n, what);
}

static void print_details(const struct b2f_check_result *r)
{
	char stored[CLI_TEXT_SIZE], ratio[CLI_TEXT_SIZE];

	printf(", %s stored, ratio %s", cli_text_size(r->cbytes, stored),
	       cli_text_ratio(r->nbytes, r->cbytes, ratio));
	print_count(r->nspecial, "in the index alone");
}

/* Neighbours that are alike are one line. */
static void print_chunks(const struct cli_verify_report *report)
{
	uint64_t n = report->result->nchunks, next;

	if (report->tells_seals)
		printf("  index: %s\n",
		       report->result->index_sealed ? "sealed" : "unsealed");
	for (uint64_t i = 0; i < n; i = next) {
		for (next = i + 1; next < n; next++)
			if (report->states[next] != report->states[i])
				break;
		if (next == i + 1)
			printf("  chunk %llu: ", (unsigned long long)i);
		else
			printf("  chunks %llu to %llu: ", (unsigned long long)i,
			       (unsigned long long)next - 1);
		puts(state_name((enum b2f_check_state)report->states[i]));
	}
}

/* What no reader of the frame needs. */
static void print_leftovers(const struct b2f_leftovers *l)
{
	uint64_t n = l->nindexes + l->nsure + l->nyoung;
	char size[CLI_TEXT_SIZE];

	if (n)
		printf(", %llu file%s that no index names (%s)",
		       (unsigned long long)n, n == 1 ? "" : "s",
		       cli_text_size(l->nbytes, size));
}

/* What du and C-Blosc2 say; bloscctl repair mends it. */
static void print_told(const struct b2f_check_result *r)
{
	printf(", index tells of %llu stored bytes instead of %llu",
	       (unsigned long long)r->told_cbytes,
	       (unsigned long long)r->cbytes);
}

void cli_verify_report_text(const struct cli_verify_report *report,
			    bool verbose)
{
	const struct b2f_check_result *r = report->result;
	char size[CLI_TEXT_SIZE];

	cli_text_name(stdout, report->path);
	printf(": %s", status_name(report->status));
	if (!r) {
		putchar('\n');
		return;
	}
	printf(", %llu chunk%s, %s", (unsigned long long)r->nchunks,
	       r->nchunks == 1 ? "" : "s", cli_text_size(r->nbytes, size));
	if (report->status != CLI_EXIT_OK)
		fputs(" sound", stdout);
	print_count(r->nsealed, "sealed");
	if (report->tells_seals)
		print_count(count_unsealed(r), "unsealed");
	print_count(r->ndamaged, "damaged");
	print_count(r->nbad_metas, "bad metalayers");
	if (report->bad_sum)
		fputs(", not as the store's checksum has it", stdout);
	if (r->bad_array)
		fputs(", not readable as an array", stdout);
	if (r->tells_less)
		print_told(r);
	if (report->stands_for) {
		fputs(", without its data: it stands for ", stdout);
		b2f_escape_put(stdout, report->stands_for,
				strlen(report->stands_for));
	}
	print_count(r->nunsupported, "unsupported");
	print_count(r->nfailed, "not readable");
	if (report->shuts_out_stock)
		fputs(", not to be opened by C-Blosc2", stdout);
	if (report->leftovers)
		print_leftovers(report->leftovers);
	if (verbose)
		print_details(r);
	putchar('\n');
	if (report->states)
		print_chunks(report);
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
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, "
		"s:b, s:s?, s:b, s:o*}",
		"nbytes", (json_int_t)r->nbytes, "cbytes",
		(json_int_t)r->cbytes, "nchunks", (json_int_t)r->nchunks,
		"nsealed", (json_int_t)r->nsealed, "nunsealed",
		(json_int_t)count_unsealed(r), "nspecial",
		(json_int_t)r->nspecial, "ndamaged", (json_int_t)r->ndamaged,
		"nunsupported", (json_int_t)r->nunsupported, "nfailed",
		(json_int_t)r->nfailed, "nbad_metalayers",
		(json_int_t)r->nbad_metas, "bad_array", r->bad_array,
		"bad_checksum", report->bad_sum, "bad_cbytes", r->tells_less,
		"stands_for", report->stands_for, "index_sealed",
		r->index_sealed, "chunks", list_chunks(report));
}

static json_t *describe_leftovers(const struct cli_verify_report *report)
{
	const struct b2f_leftovers *l = report->leftovers;

	return json_pack("{s:I, s:I, s:b}", "nleftovers",
			 (json_int_t)(l->nindexes + l->nsure + l->nyoung),
			 "leftover_bytes", (json_int_t)l->nbytes,
			 "suits_c_blosc2", !report->shuts_out_stock);
}

void cli_verify_report_json(const struct cli_verify_report *report)
{
	json_t *object =
		json_pack("{s:o*, s:s}", "frame", cli_json_name(report->path),
			  "status", status_name(report->status));

	if (report->result)
		json_object_update_new(object, describe(report));
	if (report->leftovers)
		json_object_update_new(object, describe_leftovers(report));
	cli_json_print(object);
}
