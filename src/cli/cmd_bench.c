/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_bench.c - bloscctl bench: finds good settings for some data */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "cli/bench_grid.h"
#include "cli/bench_plot.h"
#include "cli/bench_result.h"
#include "cli/bench_sample.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "words/value.h"

static const char help[] =
	"Usage: bloscctl bench [OPTION...] FILE\n"
	"Encodes and decodes samples of FILE (a plain file, a frame, or - for "
	"standard\ninput) with many settings. Shows the settings that no other "
	"one beats in ratio\nand both speeds, and the command line with the "
	"best one. Writes nothing.\n\n";

/* Limit of the sample; twice as much is in memory. */
#define SAMPLE_MAX (UINT64_C(1) << 30)

/* A measurement is repeated until it has taken so long. */
#define LEAST_NS UINT64_C(20000000)

struct bench {
	struct cli_common common;
	struct cli_bench_grid grid;
	uint64_t sample;
	uint64_t seconds;
	uint64_t disk;
	bool all;
	const char *plot;
};

static int set_seconds(const struct cli_option *option, void *field,
		       const char *value)
{
	if (b2f_value_number(value, 10, 1000000, field) || !*(int64_t *)field)
		return cli_option_refuse(option, value, "a number of seconds");
	return 0;
}

static int set_size(const struct cli_option *option, void *field,
		    const char *value)
{
	int err = cli_option_size(option, field, value);

	if (!err && *(uint64_t *)field == 0)
		err = cli_option_refuse(option, value, "a possible size");
	return err;
}

static int set_sample(const struct cli_option *option, void *field,
		      const char *value)
{
	int err = set_size(option, field, value);

	if (!err && *(uint64_t *)field > SAMPLE_MAX)
		err = cli_option_refuse(option, value, "at most 1g");
	return err;
}

#define FIELD(name) offsetof(struct bench, name)

static const struct cli_option table[] = {
	{.shared = cli_bench_grid_options, .field = FIELD(grid)},
	CLI_OPTION("sample", 0, "SIZE", set_sample, FIELD(sample),
	 "data to take, from all over FILE (default: 16m)"),
	CLI_OPTION("time", 0, "SECONDS", set_seconds, FIELD(seconds),
	 "begin no further setting after that (default: 30)"),
	CLI_OPTION("disk", 0, "SIZE", set_size, FIELD(disk),
	 "bytes a second of the disk, to choose the best\n(default: 200m)"),
	CLI_OPTION("all", 0, NULL, cli_option_set, FIELD(all),
	 "show all settings that were measured"),
	CLI_OPTION("plot", 0, "FILE.png", cli_option_text, FIELD(plot),
	 "draw the results with gnuplot"),
	CLI_OPTION("threads", 'T', "N", cli_option_threads, FIELD(common.nthreads),
	 "choose the best for N threads; 0 (default): all cores"),
	{.shared = cli_common_talk_options, .field = FIELD(common)},
	{0},
};

static int measure_row(const struct cli_bench_sample *sample,
		       struct cli_bench_result *result,
		       const struct b2f_settings *settings)
{
	struct cli_bench_row *row = &result->rows[result->n];
	int err;

	row->settings = *settings;
	err = b2f_settings_measure(settings, sample->data, sample->size,
				   LEAST_NS, &row->measured);
	if (err)
		return cli_message_errno(result->path, err);
	result->n++;
	return 0;
}

/* Measures the settings of the grid until the time is over. */
static int measure_all(const struct bench *b,
		       const struct cli_bench_sample *sample,
		       struct cli_bench_result *result)
{
	size_t n = cli_bench_grid_count(&b->grid);
	uint64_t end = cli_common_now_ms() + b->seconds * 1000;
	struct cli_progress progress;
	struct b2f_settings settings;
	int err = 0;

	cli_progress_init(&progress, result->path, b->common.progress);
	for (size_t i = 0; i < n && !err; i++) {
		if (!cli_bench_grid_get(&b->grid, i, &settings))
			continue;
		if (result->n > 0 && cli_common_now_ms() >= end)
			result->left++;
		else
			err = measure_row(sample, result, &settings);
		cli_progress_update(&progress, (i + 1) * sample->size,
				    n * sample->size);
	}
	cli_progress_fini(&progress);
	return err;
}

static int bench_sample(struct bench *b, const struct cli_bench_sample *sample,
			struct cli_bench_result *result)
{
	size_t n;
	int err;

	result->size = sample->size;
	result->total = sample->total;
	cli_bench_grid_complete(&b->grid, sample->typesize, sample->size);
	n = cli_bench_grid_count(&b->grid);
	result->rows = calloc(n, sizeof(*result->rows));
	if (!result->rows)
		return cli_message_errno(result->path, -ENOMEM);
	err = measure_all(b, sample, result);
	if (err)
		return err;
	cli_bench_result_judge(result);
	cli_bench_print(result, b->all);
	return b->plot ? cli_bench_plot(result, b->plot) : 0;
}

static unsigned int nthreads(const struct bench *b)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (b->common.nthreads)
		return b->common.nthreads;
	return online > 0 ? (unsigned int)online : 1;
}

static int bench_file(struct bench *b, const char *path)
{
	struct cli_bench_sample sample = {0};
	struct cli_bench_result result = {.path = path,
					  .disk = b->disk,
					  .nthreads = nthreads(b)};
	int err = b->plot ? cli_bench_plot_check(b->plot) : 0;

	if (!err)
		err = cli_bench_sample_take(path, b->sample, &sample);
	if (!err)
		err = bench_sample(b, &sample, &result);
	free(result.rows);
	free(sample.data);
	return err;
}

static int run_bench(const struct cli_command *self, int argc, char **argv)
{
	static struct bench b = {.common.progress = true,
			  .sample = 16 << 20,
			  .seconds = 30,
			  .disk = 200 << 20};
	int status = cli_options_parse(self, argc, argv, &b);

	if (status != CLI_CONTINUE)
		return status;
	if (argc - optind > 1)
		return cli_command_misuse(self, "one file at a time");
	return bench_file(&b, argv[optind]) ? CLI_EXIT_FAILURE : CLI_EXIT_OK;
}

const struct cli_command cli_bench_command = {
	.name = "bench",
	.summary = "find the settings that suit some data",
	.help = help,
	.options = table,
	.missing = "a file is missing",
	.run = run_bench,
};
