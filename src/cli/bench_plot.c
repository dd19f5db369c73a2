/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_plot.c - a picture of what bloscctl bench has measured, by gnuplot */
#include "cli/bench_plot.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "b2frame/names.h"
#include "cli/message.h"
#include "cli/kind.h"

#define PROGRAM "gnuplot"

/* Codes of codecs, from 0 on. */
#define NCODECS 6

extern char **environ;

/*
 * Starts gnuplot with what @in is as its input, or none if that is -1.  Its output,
 * which it does not need, goes nowhere.
 */
static int start(const char *argument, int in, pid_t *pid)
{
	char program[] = PROGRAM, option[16];
	char *argv[] = {program, option, NULL};
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	snprintf(option, sizeof(option), "%s", argument);
	err = in >= 0 ? posix_spawn_file_actions_adddup2(&actions, in,
							 STDIN_FILENO)
		      : 0;
	if (!err)
		err = posix_spawn_file_actions_addopen(
			&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!err)
		err = posix_spawnp(pid, PROGRAM, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

static int await(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -EIO : 0;
}

/* Can a file be made, or written to, at @path? */
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
	pid_t pid;
	int err = check_path(path);

	if (err)
		return cli_message_errno(path, err);
	err = start("--version", -1, &pid);

	if (!err)
		err = await(pid);
	if (err)
		cli_message_error("--plot: no " PROGRAM " runs here (%s); "
				  "--json has all figures",
				  b2f_strerror(err));
	return err;
}

/* Quotes of gnuplot: nothing but ' ends them. */
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
	/* A name is one line. */
	put_quoted(out, strchr(result->path, '\n') ? "" : result->path);
	fputc('\n', out);
	put_graph(out, result, false);
	put_graph(out, result, true);
	fputs("unset multiplot\n", out);
}

static int write_script(int fd, const struct cli_bench_result *result,
			const char *path)
{
	FILE *out = fdopen(fd, "w");

	if (!out) {
		close(fd);
		return -errno;
	}
	put_script(out, result, path);
	return fclose(out) ? -errno : 0;
}

int cli_bench_plot(const struct cli_bench_result *result, const char *path)
{
	int ends[2], err, status;
	pid_t pid;

	if (strchr(path, '\n'))
		return cli_message_errno(path, -EINVAL);
	if (pipe2(ends, O_CLOEXEC))
		return cli_message_errno(path, -errno);
	err = start("-", ends[0], &pid);
	close(ends[0]);
	if (err) {
		close(ends[1]);
		return cli_message_errno(PROGRAM, err);
	}
	err = write_script(ends[1], result, path);
	status = await(pid);
	/* If it has ended early, that is what went wrong. */
	if (status)
		cli_message_error("%s: " PROGRAM " could not make it", path);
	else if (err)
		cli_message_errno(PROGRAM, err);
	return status ? status : err;
}
