/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_result.c - the results of bloscctl bench, and their judgement */
#include "cli/bench_result.h"

#include <stdio.h>
#include <stdlib.h>

#include "b2frame/names.h"
#include "cli/json.h"
#include "cli/show.h"

double cli_bench_ratio(const struct cli_bench_result *result,
		       const struct cli_bench_row *row)
{
	return (double)result->size / (double)row->measured.cbytes;
}

double cli_bench_speed(const struct cli_bench_result *result, uint64_t ns)
{
	return (double)result->size * 1e9 / (double)ns;
}

/* Is @a nowhere worse than @b, and better somewhere? */
static bool beats(const struct b2f_measured *a, const struct b2f_measured *b)
{
	return a->cbytes <= b->cbytes && a->encode_ns <= b->encode_ns &&
	       a->decode_ns <= b->decode_ns &&
	       (a->cbytes < b->cbytes || a->encode_ns < b->encode_ns ||
		a->decode_ns < b->decode_ns);
}

static bool is_front(const struct cli_bench_result *result, size_t i)
{
	for (size_t k = 0; k < result->n; k++)
		if (beats(&result->rows[k].measured, &result->rows[i].measured))
			return false;
	return true;
}

/* Nanoseconds to encode, write, read and decode all tried data. */
static double cost(const struct cli_bench_result *result,
		   const struct cli_bench_row *row)
{
	const struct b2f_measured *m = &row->measured;

	return (double)(m->encode_ns + m->decode_ns) / result->nthreads +
	       2e9 * (double)m->cbytes / (double)result->disk;
}

static int compare_ratio(const void *a, const void *b)
{
	const struct cli_bench_row *x = a, *y = b;

	return (x->measured.cbytes > y->measured.cbytes) -
	       (x->measured.cbytes < y->measured.cbytes);
}

void cli_bench_result_judge(struct cli_bench_result *result)
{
	const struct cli_bench_row *best = NULL;

	for (size_t i = 0; i < result->n; i++)
		result->rows[i].front = is_front(result, i);
	if (result->n > 0)
		qsort(result->rows, result->n, sizeof(*result->rows),
		      compare_ratio);
	for (size_t i = 0; i < result->n; i++)
		if (!best ||
		    cost(result, &result->rows[i]) < cost(result, best))
			best = &result->rows[i];
	result->best = best;
}

/* "shuffle,bytedelta", as --filter has it; "none" for none. */
static void put_filters(FILE *out, const struct b2f_settings *settings)
{
	const char *comma = "";

	for (int i = 0; i < B2F_SLOTS; i++) {
		if (settings->filters[i] == 0)
			continue;
		fprintf(out, "%s%s", comma,
			b2f_filter_name(settings->filters[i]));
		if (settings->filters_meta[i])
			fprintf(out, ":%u", settings->filters_meta[i]);
		comma = ",";
	}
	if (!*comma)
		fputs("none", out);
}

static char *filters_of(const struct b2f_settings *settings)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_filters(out, settings);
	fclose(out);
	return text;
}

/* A size as options take it. */
static void put_size(FILE *out, uint32_t size)
{
	if (size % (1 << 20) == 0)
		fprintf(out, "%um", size >> 20);
	else if (size % (1 << 10) == 0)
		fprintf(out, "%uk", size >> 10);
	else
		fprintf(out, "%u", size);
}

/* The command line that makes such a frame; NULL: out of memory. */
static char *command_of(const struct cli_bench_result *result)
{
	const struct b2f_settings *s = &result->best->settings;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "bloscctl compress -%u --codec=%s --filter=", s->clevel,
		b2f_codec_code_name(s->codec));
	put_filters(out, s);
	fprintf(out, " --typesize=%u --chunksize=", s->typesize);
	put_size(out, (uint32_t)s->chunksize);
	fclose(out);
	return text;
}

static const char head_text[] =
	"{}: {sample:size} of {nbytes:size}; {measured} settings measured, on "
	"one thread[{!all}; those that no other one beats:]\n"
	"[{+left_out} more were left out: --time allows more\n]"
	"  codec    level  filter               typesize      chunk    ratio"
	"    write     read     memory\n"
	"                                                                    "
	"     MB/s     MB/s\n";

static const char row_text[] =
	"[{?front}*| ] {codec,-8}{clevel,6}  {filter,-20}{typesize,9}"
	"{chunksize:size,11}{ratio:ratio,9}{encode_bytes_per_s:mega,9}"
	"{decode_bytes_per_s:mega,9}[{+memory:size,11}|          -]\n";

static const char best_text[] =
	"[\nFastest to write to a disk of {disk_bytes_per_s:size}/s and to "
	"read again, with {threads} thread[{!threads=1}s]:\n  {command} {}\n]";

static void print_text(const char *path, json_t *object, bool all)
{
	const json_t *rows = json_object_get(object, "rows");

	json_object_set_new(object, "all", json_boolean(all));
	json_object_set_new(object, "measured",
			    json_integer((json_int_t)json_array_size(rows)));
	cli_show(stdout, head_text, path, object);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (all || json_is_true(json_object_get(row, "front")))
			cli_show(stdout, row_text, path, row);
	}
	cli_show(stdout, best_text, path, object);
	json_decref(object);
}

static json_t *row_json(const struct cli_bench_result *result,
			const struct cli_bench_row *row)
{
	const struct b2f_settings *s = &row->settings;
	const struct b2f_measured *m = &row->measured;
	char *filters = filters_of(s);
	json_t *object = json_pack(
		"{s:s, s:i, s:s, s:I, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:I, "
		"s:b}",
		"codec",
		b2f_codec_code_name(s->codec), "clevel", (int)s->clevel,
		"filter", filters ? filters : "", "typesize",
		(json_int_t)s->typesize, "chunksize", (int)s->chunksize,
		"cbytes", (json_int_t)m->cbytes, "encode_ns",
		(json_int_t)m->encode_ns, "decode_ns",
		(json_int_t)m->decode_ns, "ratio",
		cli_bench_ratio(result, row), "encode_bytes_per_s",
		cli_bench_speed(result, m->encode_ns), "decode_bytes_per_s",
		cli_bench_speed(result, m->decode_ns), "memory",
		(json_int_t)m->memory, "front", row->front);

	free(filters);
	return object;
}

void cli_bench_print(const struct cli_bench_result *result, bool all)
{
	char *command = result->best ? command_of(result) : NULL;
	json_t *rows = json_array(), *object;

	for (size_t i = 0; i < result->n; i++)
		json_array_append_new(rows, row_json(result, &result->rows[i]));
	object = json_pack("{s:o, s:I, s:I, s:I, s:I, s:i, s:o}", "file",
			   cli_json_name(result->path), "nbytes",
			   (json_int_t)result->total, "sample",
			   (json_int_t)result->size, "left_out",
			   (json_int_t)result->left, "disk_bytes_per_s",
			   (json_int_t)result->disk, "threads",
			   (int)result->nthreads, "rows", rows);
	if (command)
		json_object_set_new(object, "best",
				    row_json(result, result->best));
	if (command)
		json_object_set_new(object, "command", json_string(command));
	free(command);
	if (cli_json_wanted())
		cli_json_print(object);
	else
		print_text(result->path, object, all);
}
