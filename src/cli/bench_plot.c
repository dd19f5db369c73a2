/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_plot.c - a picture of the results of bloscctl bench, by gnuplot */
#include "cli/bench_plot.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/names.h"
#include "cli/message.h"
#include "cli/at.h"

/* gnuplot's output is not needed. */
#define PROGRAM "gnuplot"
#define CALL	PROGRAM " - >/dev/null"
#define CHECK	PROGRAM " --version >/dev/null 2>&1"

/* Codes of codecs, from 0 on. */
#define NCODECS 6

/* Can @path be created, or written to? */
static int check_path(const char *path)
{
	char *copy;
	int err;

	if (cli_kind_check_output(path))
		return -EROFS;
	if (access(path, W_OK) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	err = access(dirname(copy), W_OK) ? -errno : 0;
	free(copy);
	return err;
}

int cli_bench_plot_check(const char *path)
{
	int err = check_path(path);

	if (err)
		return cli_message_errno(path, err);
	if (system(CHECK) == 0)
		return 0;
	cli_message_error("--plot: no " PROGRAM " runs here; --json has all "
			  "figures");
	return -ENOENT;
}

/* Writes @text in gnuplot's quotes, which only ' ends. */
static void put_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (char[]){*text, 0}, out);
	fputc('\'', out);
}

/* The rows of the codec @code, or the rows of the front. */
static void put_points(FILE *out, const struct cli_bench_result *result,
		       int code, bool reading)
{
	for (size_t i = 0; i < result->n; i++) {
		const struct cli_bench_row *row = &result->rows[i];
		const struct b2f_measured *m = &row->measured;

		if (code < NCODECS ? row->settings.codec != code : !row->front)
			continue;
		fprintf(out, "%g %g\n",
			cli_bench_speed(result, reading ? m->decode_ns
							: m->encode_ns) /
				1e6,
			cli_bench_ratio(result, row));
	}
	fputs("e\n", out);
}

static bool has_codec(const struct cli_bench_result *result, int code)
{
	for (size_t i = 0; i < result->n; i++)
		if (result->rows[i].settings.codec == code)
			return true;
	return code == NCODECS;
}

static void put_graph(FILE *out, const struct cli_bench_result *result,
		      bool reading)
{
	const char *comma = "plot ";

	fprintf(out, "set xlabel '%s, MB/s, one thread'\n",
		reading ? "decoded" : "encoded");
	for (int code = 0; code <= NCODECS; code++) {
		if (!has_codec(result, code))
			continue;
		if (code < NCODECS)
			fprintf(out, "%s'-' with points pt 7 title '%s'", comma,
				b2f_codec_code_name((unsigned int)code));
		else
			fprintf(out, "%s'-' with points pt 6 ps 2 lc 'black' "
				     "title 'not beaten'",
				comma);
		comma = ", ";
	}
	fputc('\n', out);
	for (int code = 0; code <= NCODECS; code++)
		if (has_codec(result, code))
			put_points(out, result, code, reading);
}

static void put_script(FILE *out, const struct cli_bench_result *result,
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
	put_quoted(out, strchr(result->path, '\n') ? "" : result->path);
	fputc('\n', out);
	put_graph(out, result, false);
	put_graph(out, result, true);
	fputs("unset multiplot\n", out);
}

int cli_bench_plot(const struct cli_bench_result *result, const char *path)
{
	FILE *out = strchr(path, '\n') ? NULL : popen(CALL, "we");
	void (*then)(int);
	bool failed;

	if (!out)
		return cli_message_errno(path, -EINVAL);
	/* gnuplot may end early: its exit status tells. */
	then = signal(SIGPIPE, SIG_IGN);
	put_script(out, result, path);
	failed = pclose(out) != 0;
	signal(SIGPIPE, then);
	if (failed)
		cli_message_error("%s: " PROGRAM " could not make it", path);
	return failed ? -EIO : 0;
}
