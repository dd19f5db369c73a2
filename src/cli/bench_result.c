/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_result.c - the results of bloscctl bench: judged, printed, plotted */
#include "cli/bench_result.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/names.h"
#include "cli/at.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/show.h"

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

/* "shuffle,bytedelta", as --filter has it; "none" for none. malloc'ed. */
static char *filters_of(const struct b2f_settings *settings)
{
	const char *comma = "";
	char *text = NULL;
	size_t size;
	FILE *out = cli_need(open_memstream(&text, &size));

	for (int i = 0; i < B2F_SLOTS; i++) {
		if (settings->filters[i] == 0)
			continue;
		fprintf(out, "%s%s", comma,
			b2f_filter_name(settings->filters[i]));
		if (settings->filters_meta[i])
			fprintf(out, ":%u", settings->filters_meta[i]);
		comma = ",";
	}
	fputs(*comma ? "" : "none", out);
	fclose(out);
	return text;
}

/* A size as options take it. */
static char *size_of(uint32_t size)
{
	if (size % (1 << 20) == 0)
		return cli_need_text("%um", size >> 20);
	return size % (1 << 10) == 0 ? cli_need_text("%uk", size >> 10)
				     : cli_need_text("%u", size);
}

static char *command_of(const struct cli_bench_result *result,
			const struct b2f_settings *s)
{
	B2F_OWN char *filters = filters_of(s);
	B2F_OWN char *size = size_of((uint32_t)s->chunksize);
	B2F_OWN char *sizes = cli_need_text(" --typesize=%u --chunksize=%s",
					    s->typesize, size);

	return cli_need_text("bloscctl %scompress -%u --codec=%s --filter=%s%s",
			     result->encodes_again ? "re" : "", s->clevel,
			     b2f_codec_code_name(s->codec), filters,
			     result->keeps_sizes ? "" : sizes);
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

static json_t *describe(const struct cli_bench_result *result,
			const struct cli_bench_row *row)
{
	const struct b2f_settings *s = &row->settings;
	const struct b2f_measured *m = &row->measured;
	double size = (double)result->size;
	B2F_OWN char *filters = filters_of(s);

	return json_pack(
		"{s:s, s:i, s:s, s:I, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:I, "
		"s:b}",
		"codec", b2f_codec_code_name(s->codec), "clevel",
		(int)s->clevel, "filter", filters, "typesize",
		(json_int_t)s->typesize, "chunksize", (int)s->chunksize,
		"cbytes", (json_int_t)m->cbytes, "encode_ns",
		(json_int_t)m->encode_ns, "decode_ns", (json_int_t)m->decode_ns,
		"ratio", size / (double)m->cbytes, "encode_bytes_per_s",
		size * 1e9 / (double)m->encode_ns, "decode_bytes_per_s",
		size * 1e9 / (double)m->decode_ns, "memory",
		(json_int_t)m->memory, "front", row->front);
}

json_t *cli_bench_judge(struct cli_bench_result *result)
{
	const struct cli_bench_row *best = NULL, *row = result->rows;
	json_t *rows = json_array();
	B2F_OWN char *command = NULL;

	for (size_t i = 0; i < result->n; i++)
		result->rows[i].front = is_front(result, i);
	qsort(result->rows, result->n, sizeof(*row), compare_ratio);
	for (; row < result->rows + result->n; row++) {
		json_array_append_new(rows, describe(result, row));
		if (!best || cost(result, row) < cost(result, best))
			best = row;
	}
	command = best ? command_of(result, &best->settings) : NULL;
	return json_pack(
		"{s:o, s:I, s:I, s:I, s:I, s:i, s:o, s:o*, s:s*}", "file",
		cli_json_name(result->path), "nbytes",
		(json_int_t)result->total, "sample", (json_int_t)result->size,
		"left_out", (json_int_t)result->left, "disk_bytes_per_s",
		(json_int_t)result->disk, "threads", (int)result->nthreads,
		"rows", rows, "best", best ? describe(result, best) : NULL,
		"command", command);
}

void cli_bench_print(const char *path, json_t *object, bool all)
{
	const json_t *rows = json_object_get(object, "rows");

	if (cli_json_wanted()) {
		cli_json_print(object);
		return;
	}
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

/* gnuplot's output is not needed. */
#define PROGRAM "gnuplot"
#define CALL	PROGRAM " - >/dev/null"
#define CHECK	PROGRAM " --version >/dev/null 2>&1"

/* Codes of codecs, from 0 on. */
#define NCODECS 6

/* Can @path be created, or written to? */
static int check_path(const char *path)
{
	B2F_OWN char *copy = NULL;

	if (cli_kind_check_output(path))
		return -EROFS;
	if (access(path, W_OK) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	copy = cli_need_copy(path);
	return access(dirname(copy), W_OK) ? -errno : 0;
}

int cli_bench_plot_check(const char *path)
{
	int err = check_path(path);

	if (err)
		return cli_message_errno(path, err);
	if (system(CHECK) == 0)
		return 0;
	return cli_refuse(-ENOENT, "--plot: no " PROGRAM
				   " runs here; --json has all figures");
}

/* Writes @text in gnuplot's quotes, which only ' ends. */
static void put_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (char[]){*text, 0}, out);
	fputc('\'', out);
}

/* Is @row one of the codec or, with NULL, on the front? */
static bool is_of(const json_t *row, const char *codec)
{
	return codec ? strcmp(json_string_value(json_object_get(row, "codec")),
			      codec) == 0
		     : json_is_true(json_object_get(row, "front"));
}

/* Writes the points of one graph; returns how many. */
static size_t put_points(FILE *out, const json_t *rows, const char *codec,
			 const char *speed)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (!is_of(row, codec))
			continue;
		fprintf(out, "%g %g\n",
			json_number_value(json_object_get(row, speed)) / 1e6,
			json_number_value(json_object_get(row, "ratio")));
		n++;
	}
	return n;
}

/* An axis just longer than the data; by itself gnuplot takes whole decades. */
static void put_range(FILE *out, char axis, const json_t *rows, const char *key,
		      double unit)
{
	double min = 0, max = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		double value =
			json_number_value(json_object_get(row, key)) / unit;

		min = i == 0 || value < min ? value : min;
		max = value > max ? value : max;
	}
	fprintf(out, "set %crange [%g:%g]\n", axis, min / 1.5, max * 1.5);
}

static void put_graph(FILE *out, const json_t *rows, bool reading)
{
	const char *speed =
		reading ? "decode_bytes_per_s" : "encode_bytes_per_s";
	unsigned int index = 0;
	B2F_OWN char *plot = NULL;
	size_t size;
	FILE *then = cli_need(open_memstream(&plot, &size));

	fprintf(out, "set xlabel '%s, MB/s, one thread'\n",
		reading ? "decoded" : "encoded");
	put_range(out, 'x', rows, speed, 1e6);
	put_range(out, 'y', rows, "ratio", 1);
	fputs("$points << END\n", out);
	for (unsigned int code = 0; code <= NCODECS; code++) {
		const char *codec =
			code < NCODECS ? b2f_codec_code_name(code) : NULL;

		if (put_points(out, rows, codec, speed) == 0)
			continue;
		fputs("\n\n", out);
		fprintf(then, "%s $points index %u with points %s title '%s'",
			index ? "," : "plot", index,
			codec ? "pt 7" : "pt 6 ps 2 lc 'black'",
			codec ? codec : "not beaten");
		index++;
	}
	fclose(then);
	fprintf(out, "END\n%s\n", plot);
}

static void put_script(FILE *out, const char *title, const json_t *rows,
		       const char *path)
{
	fputs("set terminal pngcairo noenhanced size 1200,600\nset output ",
	      out);
	put_quoted(out, path);
	fputs("\nset logscale x\nset logscale y\nset ylabel 'ratio'\nset grid\n"
	      "set key outside bottom center horizontal\n"
	      "set lmargin 11\nset rmargin 4\nset bmargin 7\n"
	      "set multiplot layout 1,2 title ",
	      out);
	/* A title is one line. */
	put_quoted(out, strchr(title, '\n') ? "" : title);
	fputc('\n', out);
	put_graph(out, rows, false);
	put_graph(out, rows, true);
	fputs("unset multiplot\n", out);
}

int cli_bench_plot(const char *title, const json_t *rows, const char *path)
{
	FILE *out = strchr(path, '\n') ? NULL : popen(CALL, "we");
	void (*then)(int);
	bool failed;

	if (!out)
		return cli_message_errno(path, -EINVAL);
	/* gnuplot may end early: its exit status tells. */
	then = signal(SIGPIPE, SIG_IGN);
	put_script(out, title, rows, path);
	failed = pclose(out) != 0;
	signal(SIGPIPE, then);
	if (failed)
		cli_message_error("%s: " PROGRAM " could not make it", path);
	return failed ? -EIO : 0;
}
