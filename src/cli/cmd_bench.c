/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_bench.c - bloscctl bench: finds good settings for some data */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "b2frame/error.h"
#include "cli/bench_plot.h"
#include "cli/bench_result.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/encoding.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "words/value.h"

struct sample {
	/* malloc'ed. */
	uint8_t *data;
	size_t size;
	/* Size of the file; of a pipe, the bytes that were read. */
	uint64_t total;
	/* The item size guessed from them. */
	uint32_t typesize;
};

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

/* Maximal number of values per option. */
#define VALUES_MAX 16

/* The order in which they vary: the first one most often. */
enum list_kind {
	CODEC,
	FILTER,
	LEVEL,
	TYPESIZE,
	CHUNKSIZE,
	NLISTS,
};

/* The settings to try. */
struct grid {
	struct list {
		struct cli_encoding values[VALUES_MAX];
		size_t n;
	} lists[NLISTS];
};

/* The default settings, the most interesting ones first. */
static const char *const usual[NLISTS][6] = {
	[CODEC] = {"lz4", "zstd", "blosclz", "lz4hc", "zlib"},
	[FILTER] = {"shuffle", "none", "bitshuffle", "shuffle,bytedelta"},
	[LEVEL] = {"5", "1", "9"},
	[TYPESIZE] = {"auto"},
	[CHUNKSIZE] = {"1m", "256k", "4m"},
};

/* Parses @value of a list, by the row of encoding.h; levels have no name. */
static int add(const struct cli_option *option, void *field, const char *value)
{
	const char *name = option->name ? option->name : "clevel";
	const struct cli_option *row = cli_encoding_options;
	struct cli_encoding e = {.values.codec = 0};
	struct list *list = field;
	int err;

	while (!row->name || strcmp(row->name, name) != 0)
		row++;
	err = row->store(option, &e, value);
	if (!err && list->n == VALUES_MAX) {
		cli_message_error("--%s: at most %d times",
				  option->name ? option->name : "level",
				  VALUES_MAX);
		err = -EINVAL;
	}
	if (!err)
		list->values[list->n++] = e;
	return err;
}

#define LIST(kind) ((kind) * sizeof(struct list))

/* Options of encoding.h, each of which may be given several times. */
static const struct cli_option grid_options[] = {
	CLI_OPTION(NULL, '1', NULL, add, LIST(LEVEL), "levels (default: 5, 1, 9)"),
	CLI_OPTION("codec", 0, "NAME", add, LIST(CODEC), "codecs (default: all)"),
	CLI_OPTION("filter", 0, "LIST", add, LIST(FILTER),
		   "filters (default: shuffle; none; bitshuffle;\n"
		   "shuffle,bytedelta)"),
	CLI_OPTION("typesize", 0, "N", add, LIST(TYPESIZE),
		   "bytes of an item (default: auto)"),
	CLI_OPTION("chunksize", 0, "N", add, LIST(CHUNKSIZE),
		   "bytes of a chunk (default: 1m, 256k, 4m)\n"
		   "give these options several times to try several values"),
	{0},
};

static void add_usual(struct list *list, size_t kind)
{
	struct cli_option option = {.name = "clevel"};

	for (size_t i = 0; i < NLISTS; i++)
		if (grid_options[i].field == kind * sizeof(*list) &&
		    grid_options[i].name)
			option = grid_options[i];
	for (size_t i = 0; usual[kind][i]; i++)
		(void)!add(&option, list, usual[kind][i]);
}

/* If several sizes make one chunk of all data, only the first size is tried. */
static void drop_large(struct list *list, uint64_t size)
{
	bool whole = false;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		bool large = (uint64_t)list->values[i].values.chunksize >= size;

		if (!large || !whole)
			list->values[n++] = list->values[i];
		whole = whole || large;
	}
	list->n = n;
}

/* Sets the item size guessed from the data, without duplicates. */
static void set_typesize(struct list *list, uint32_t typesize)
{
	size_t n = 0, k;

	for (size_t i = 0; i < list->n; i++) {
		if (list->values[i].guess_typesize)
			list->values[i].values.typesize = typesize;
		for (k = 0; k < n && list->values[k].values.typesize !=
					     list->values[i].values.typesize;)
			k++;
		if (k == n)
			list->values[n++] = list->values[i];
	}
	list->n = n;
}

/*
 * Fills in the usual values where the user gave none: @typesize is guessed from
 * the data, @size is the number of bytes to try.  Larger chunk sizes count as
 * one chunk.
 */
static void complete(struct grid *g, uint32_t typesize,
			     uint64_t size)
{
	for (size_t i = 0; i < NLISTS; i++)
		if (g->lists[i].n == 0)
			add_usual(&g->lists[i], i);
	drop_large(&g->lists[CHUNKSIZE], size);
	set_typesize(&g->lists[TYPESIZE], typesize);
}

/* Number of combinations. */
static size_t count(const struct grid *g)
{
	size_t n = 1;

	for (size_t i = 0; i < NLISTS; i++)
		n *= g->lists[i].n;
	return n;
}

/* A shuffle of single bytes does nothing. */
static bool is_idle(const struct b2f_settings *s)
{
	return s->typesize == 1 && s->filters[B2F_SLOTS - 1] == 1;
}

/*
 * Combination number @i; the most useful ones come first.  Returns false if it
 * equals another one.
 */
static bool get_settings(const struct grid *g, size_t i,
			struct b2f_settings *out)
{
	struct b2f_settings s = b2f_settings_default();

	/* The digits of @i in a mixed base: the length of each list. */
	for (size_t k = 0; k < NLISTS; k++) {
		const struct list *list = &g->lists[k];

		cli_encoding_apply(&list->values[i % list->n], &s);
		i /= list->n;
	}
	*out = s;
	return !is_idle(&s) || g->lists[FILTER].n == 1;
}

struct bench {
	struct cli_common common;
	struct grid grid;
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
	{.shared = grid_options, .field = FIELD(grid)},
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
	{.shared = cli_common_talk_options},
	{0},
};

/* Bytes of a piece, some chunks. */
#define PIECE (UINT64_C(4) << 20)

/* Pieces begin at a multiple of it, where items of most sizes begin. */
#define GRID (UINT64_C(48) << 12)

/* The source: a plain file or a frame. */
struct source {
	const char *path;
	struct b2f_runtime *runtime;
	struct b2f_file *file;
	struct cli_input in;
	uint64_t size;
};

static ssize_t read_some(const struct source *s, void *buf, size_t n,
			 uint64_t off)
{
	ssize_t got;

	if (!s->file)
		return cli_input_read(&s->in, buf, n, off);
	got = b2f_file_pread(s->file, NULL, buf, n, off);
	return got < 0 ? cli_message_explain(s->path, (int)got) : got;
}

/* Reads [@off, @off + @n), or less if the file has become shorter. */
static int read_piece(const struct source *s, uint64_t off, uint64_t n,
		      struct sample *out)
{
	ssize_t got = read_some(s, out->data + out->size, (size_t)n, off);

	out->size += got > 0 ? (size_t)got : 0;
	return got < 0 ? (int)got : 0;
}

/* Reads pieces of equal size at equal distances. */
static int read_pieces(const struct source *s, uint64_t limit,
		       struct sample *out)
{
	uint64_t n = limit / PIECE > 1 ? limit / PIECE : 1, piece = limit / n;
	int err = 0;

	for (uint64_t i = 0; i < n && !err; i++) {
		uint64_t off = n > 1 ? (s->size - piece) / (n - 1) * i : 0;

		err = read_piece(s, off - off % GRID, piece, out);
	}
	return err;
}

static int open_source(struct source *s)
{
	const struct b2f_frame_options how = {.label = s->path};
	const struct cli_at at = cli_at_named(s->path);
	struct b2f_frame_peek peek;
	int err;

	if (at.kind != CLI_KIND_PATH ||
	    b2f_frame_peek(at.dir, at.name, &peek) || !peek.is_frame) {
		err = cli_input_open(&s->in, &at);
		s->size = s->in.size;
		return err;
	}
	err = cli_frames_runtime(0, &s->runtime);
	if (!err)
		err = cli_frames_open_file(s->runtime, &how, &at, &s->file);
	if (!err)
		s->size = b2f_file_size(s->file);
	return err;
}

static int read_source(const struct source *s, uint64_t limit,
		       struct sample *out)
{
	/* The size of a pipe, or of a file of /proc, is not known. */
	if (!s->file && s->size == 0)
		return read_piece(s, 0, limit, out);
	return s->size <= limit ? read_piece(s, 0, s->size, out)
				: read_pieces(s, limit, out);
}

/* Guess from the beginning: it may be the header of a .npy file. */
static int guess(const char *path, struct sample *out)
{
	struct b2f_settings settings = b2f_settings_default();
	int err;

	if (out->size == 0) {
		cli_message_error("%s: there are no data in it", path);
		return -ENODATA;
	}
	err = b2f_settings_guess(&settings, out->data, out->size);
	out->typesize = settings.typesize;
	return cli_message_errno(path, err);
}

static void close_source(struct source *s)
{
	b2f_file_close(s->file);
	b2f_runtime_free(s->runtime);
	cli_input_close(&s->in);
}

/*
 * Takes up to @limit (> 0) bytes of @path, in pieces from its whole length: of
 * a plain file, of the data of a frame, or from the start of standard input
 * ("-"). -ENODATA: there are no data.
 */
static int take_sample(const char *path, uint64_t limit,
		       struct sample *out)
{
	struct sample sample = {0};
	struct source s = {.path = path, .in.fd = -1};
	int err = open_source(&s);

	if (!err && s.size > 0 && s.size < limit)
		limit = s.size;
	if (!err) {
		sample.data = malloc((size_t)limit);
		if (!sample.data)
			err = cli_message_errno(path, -ENOMEM);
	}
	if (!err)
		err = read_source(&s, limit, &sample);
	if (!err)
		err = guess(path, &sample);
	sample.total = s.size ? s.size : sample.size;
	close_source(&s);
	if (err)
		free(sample.data);
	else
		*out = sample;
	return err;
}

static int measure_row(const struct sample *sample,
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
		       const struct sample *sample,
		       struct cli_bench_result *result)
{
	size_t n = count(&b->grid);
	uint64_t end = cli_common_now_ms() + b->seconds * 1000;
	struct cli_progress progress;
	struct b2f_settings settings;
	int err = 0;

	cli_progress_init(&progress, result->path, !b->common.no_progress);
	for (size_t i = 0; i < n && !err; i++) {
		if (!get_settings(&b->grid, i, &settings))
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

static int bench_sample(struct bench *b, const struct sample *sample,
			struct cli_bench_result *result)
{
	size_t n;
	int err;

	result->size = sample->size;
	result->total = sample->total;
	complete(&b->grid, sample->typesize, sample->size);
	n = count(&b->grid);
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
	struct sample sample = {0};
	struct cli_bench_result result = {.path = path,
					  .disk = b->disk,
					  .nthreads = nthreads(b)};
	int err = b->plot ? cli_bench_plot_check(b->plot) : 0;

	if (!err)
		err = take_sample(path, b->sample, &sample);
	if (!err)
		err = bench_sample(b, &sample, &result);
	free(result.rows);
	free(sample.data);
	return err;
}

static int run_bench(const struct cli_command *self, void *bench, char **file)
{
	(void)self;
	return bench_file(bench, *file) ? CLI_EXIT_FAILURE : CLI_EXIT_OK;
}

static const struct bench start = {
	.sample = 16 << 20, .seconds = 30, .disk = 200 << 20};

const struct cli_command cli_bench_command = {
	.name = "bench",
	.summary = "find the settings that suit some data",
	.help = help,
	.options = table,
	.size = sizeof(start),
	.start = &start,
	.missing = "a file is missing",
	.several = "one file at a time",
	.run = run_bench,
};
