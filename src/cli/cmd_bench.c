/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_bench.c - bloscctl bench: finds good settings for some data */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "cli/bench_result.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/encoding.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/progress.h"
#include "words/value.h"

struct sample {
	/* malloc'ed; their number is in the result. */
	uint8_t *data;
	/* The item size guessed from them. */
	uint32_t typesize;
	struct cli_bench_result result;
};

/* Limit of the sample; twice as much is in memory. */
#define SAMPLE_MAX (UINT64_C(1) << 30)

/* A measurement is repeated until it has taken so long. */
#define LEAST_NS UINT64_C(20000000)

/* Maximal number of values per option. */
#define VALUES_MAX 16

/* The values to try for one part of the encoding. */
struct list {
	const char *values[VALUES_MAX];
	size_t n;
};

/* The order in which the parts vary: the first one most often. */
static const enum cli_encoding_part order[] = {
	CLI_CODEC, CLI_FILTERS, CLI_CLEVEL, CLI_TYPESIZE, CLI_CHUNKSIZE};

#define NPARTS (sizeof(order) / sizeof(order[0]))

/* The default values to try, the most interesting ones first. */
static const struct list usual[] = {
	[CLI_CODEC] = {{"lz4", "zstd", "blosclz", "lz4hc", "zlib"}, 5},
	[CLI_FILTERS] = {{"shuffle", "none", "bitshuffle", "shuffle,bytedelta"},
			 4},
	[CLI_CLEVEL] = {{"5", "1", "9"}, 3},
	[CLI_TYPESIZE] = {{"auto"}, 1},
	[CLI_CHUNKSIZE] = {{"1m", "256k", "4m"}, 3},
};

static int add(const struct cli_option *option, void *field, const char *value)
{
	size_t part = option->field / sizeof(struct list);
	struct list *list = field;

	value = cli_encoding_check(option, (enum cli_encoding_part)part, value);
	if (!value)
		return -EINVAL;
	if (list->n == VALUES_MAX)
		return cli_refuse(-EINVAL, "--%s: at most %d times",
				  option->name ? option->name : "level",
				  VALUES_MAX);
	list->values[list->n++] = value;
	return 0;
}

#define LIST(part) ((part) * sizeof(struct list))

/* Options of encoding.h, each of which may be given several times. */
static const struct cli_option grid_options[] = {
	CLI_OPTION(NULL, '1', NULL, add, LIST(CLI_CLEVEL),
		   "levels (default: 5, 1, 9)"),
	CLI_OPTION("codec", 0, "NAME", add, LIST(CLI_CODEC),
		   "codecs (default: all)"),
	CLI_OPTION("filter", 0, "LIST", add, LIST(CLI_FILTERS),
		   "filters (default: shuffle; none; bitshuffle;\n"
		   "shuffle,bytedelta)"),
	CLI_OPTION("typesize", 0, "N", add, LIST(CLI_TYPESIZE),
		   "bytes of an item (default: auto)"),
	CLI_OPTION("chunksize", 0, "N", add, LIST(CLI_CHUNKSIZE),
		   "bytes of a chunk (default: 1m, 256k, 4m)\n"
		   "give these options several times to try several values"),
	{0},
};

struct bench {
	struct cli_common common;
	/* The values to try, by enum cli_encoding_part. */
	struct list lists[CLI_ENCODING_PARTS];
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
	{.shared = grid_options, .field = FIELD(lists)},
	CLI_OPTION("sample", 0, "SIZE", set_sample, FIELD(sample),
		   "data to take, from all over FILE (default: 16m)"),
	CLI_OPTION("time", 0, "SECONDS", set_seconds, FIELD(seconds),
		   "begin no further setting after that (default: 30)"),
	CLI_OPTION("disk", 0, "SIZE", set_size, FIELD(disk),
		   "bytes a second of the disk, to choose the best\n(default: "
		   "200m)"),
	CLI_FLAG("all", 0, all, "show all settings that were measured"),
	CLI_OPTION("plot", 0, "FILE.png", cli_option_text, FIELD(plot),
		   "draw the results with gnuplot"),
	CLI_OPTION("threads", 'T', "N", cli_option_threads,
		   FIELD(common.nthreads),
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

/*
 * Reads pieces of equal size at equal distances, or one; less if the file has
 * become shorter.  The size of a pipe, or of a file of /proc, is not known.
 */
static int read_pieces(const struct source *s, uint64_t limit,
		       struct sample *out)
{
	bool several = s->size > limit && limit / PIECE > 1;
	uint64_t n = several ? limit / PIECE : 1, piece = limit / n;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t off = several ? (s->size - piece) / (n - 1) * i : 0;
		ssize_t got = read_some(s, out->data + out->result.size,
					(size_t)piece, off - off % GRID);

		if (got < 0)
			return (int)got;
		out->result.size += (size_t)got;
	}
	return 0;
}

static int open_source(struct source *s)
{
	const struct cli_at at = cli_at_named(s->path);
	int err;

	if (!cli_frames_is_frame(&at)) {
		err = cli_input_open(&s->in, &at);
		s->size = s->in.size;
		return err;
	}
	err = cli_frames_runtime(0, &s->runtime);
	if (!err)
		err = cli_frames_open_file(s->runtime, NULL, &at, &s->file);
	if (!err)
		s->size = b2f_file_size(s->file);
	return err;
}

/* Guess from the beginning: it may be the header of a .npy file. */
static int guess(const char *path, struct sample *out)
{
	struct b2f_settings settings = b2f_settings_default();
	int err;

	if (out->result.size == 0)
		return cli_refuse(-ENODATA, "%s: there are no data in it",
				  path);
	err = b2f_settings_guess(&settings, out->data, out->result.size);
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
	struct cli_bench_result *result = &out->result;
	struct source s = {.path = path, .in.fd = -1};
	int err = open_source(&s);

	if (!err && s.size > 0 && s.size < limit)
		limit = s.size;
	if (!err)
		out->data = malloc((size_t)limit);
	if (!err && !out->data)
		err = cli_message_errno(path, -ENOMEM);
	if (!err)
		err = read_pieces(&s, limit, out);
	if (!err)
		err = guess(path, out);
	result->total = s.size ? s.size : result->size;
	result->encodes_again = s.file;
	result->keeps_sizes = s.file && b2f_frame_array(b2f_file_frame(s.file));
	close_source(&s);
	return err;
}

/* Number of combinations. */
static size_t count(const struct bench *b)
{
	size_t n = 1;

	for (size_t i = 0; i < NPARTS; i++)
		n *= b->lists[order[i]].n;
	return n;
}

/* A shuffle of single bytes does nothing. */
static bool is_idle(const struct b2f_settings *s)
{
	return s->typesize == 1 && s->filters[B2F_SLOTS - 1] == 1;
}

/* Combination @i: its digits in a mixed base, the length of each list. */
static struct b2f_settings combine(const struct bench *b, size_t i,
				   const char *typesize)
{
	struct b2f_settings settings = b2f_settings_default();
	struct cli_encoding encoding = {{NULL}};

	for (size_t k = 0; k < NPARTS; k++) {
		const struct list *list = &b->lists[order[k]];

		encoding.said[order[k]] = list->values[i % list->n];
		i /= list->n;
	}
	if (cli_encoding_guesses(&encoding))
		encoding.said[CLI_TYPESIZE] = typesize;
	cli_encoding_apply(&encoding, &settings);
	return settings;
}

_Static_assert(sizeof(struct b2f_settings) == 16 + 2 * B2F_SLOTS,
	       "settings have no padding, so that memcmp() compares them");

/* Do @a and @b encode @size bytes alike?  All large chunks are one chunk. */
static bool is_same(struct b2f_settings a, struct b2f_settings b, size_t size)
{
	if ((size_t)a.chunksize >= size && (size_t)b.chunksize >= size)
		a.chunksize = b.chunksize;
	return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Puts the settings to try into the result, the most useful ones first. */
static void list_settings(const struct bench *b, struct sample *sample)
{
	struct cli_bench_result *result = &sample->result;
	char typesize[12];

	snprintf(typesize, sizeof(typesize), "%u", sample->typesize);
	for (size_t i = 0; i < count(b); i++) {
		struct b2f_settings s = combine(b, i, typesize);
		size_t k = 0;

		while (k < result->n &&
		       !is_same(result->rows[k].settings, s, result->size))
			k++;
		if (k == result->n &&
		    (!is_idle(&s) || b->lists[CLI_FILTERS].n == 1))
			result->rows[result->n++].settings = s;
	}
}

/* Measures the settings until the time is over; one at least. */
static int measure_all(const struct bench *b, struct sample *sample)
{
	uint64_t end = cli_common_now_ms() + b->seconds * 1000;
	struct cli_bench_result *result = &sample->result;
	struct cli_progress progress;
	size_t n = result->n, i = 0;
	int err = 0;

	cli_progress_init(&progress, result->path, !b->common.no_progress);
	while (i < n && !err && (i == 0 || cli_common_now_ms() < end)) {
		struct cli_bench_row *row = &result->rows[i++];

		err = b2f_settings_measure(&row->settings, sample->data,
					   result->size, LEAST_NS,
					   &row->measured);
		cli_progress_update(&progress, i * result->size,
				    n * result->size);
	}
	cli_progress_fini(&progress);
	result->n = i;
	result->left = n - i;
	return cli_message_errno(result->path, err);
}

static int bench_sample(struct bench *b, struct sample *sample)
{
	struct cli_bench_result *result = &sample->result;
	json_t *object;
	int err;

	for (size_t i = 0; i < NPARTS; i++)
		if (b->lists[order[i]].n == 0)
			b->lists[order[i]] = usual[order[i]];
	result->rows = cli_need(calloc(count(b), sizeof(*result->rows)));
	list_settings(b, sample);
	err = measure_all(b, sample);
	if (err)
		return err;
	object = cli_bench_judge(result);
	cli_bench_print(result->path, json_incref(object), b->all);
	if (b->plot)
		err = cli_bench_plot(result->path,
				     json_object_get(object, "rows"), b->plot);
	json_decref(object);
	return err;
}

static unsigned int nthreads(const struct bench *b)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (b->common.nthreads)
		return b->common.nthreads;
	return online > 0 ? (unsigned int)online : 1;
}

static int run_bench(const struct cli_command *self, void *bench, char **file)
{
	struct bench *b = bench;
	struct sample sample = {.result = {.path = *file,
					   .disk = b->disk,
					   .nthreads = nthreads(b)}};
	int err = b->plot ? cli_bench_plot_check(b->plot) : 0;

	(void)self;
	if (!err)
		err = take_sample(*file, b->sample, &sample);
	if (!err)
		err = bench_sample(b, &sample);
	free(sample.result.rows);
	free(sample.data);
	return err ? CLI_EXIT_FAILURE : CLI_EXIT_OK;
}

const struct cli_command cli_bench_command = {
	.name = "bench",
	.summary = "find the settings that suit some data",
	.operands = "FILE",
	.help = "Encodes and decodes samples of FILE (a plain file, a frame, "
		"or - for standard\ninput) with many settings. Shows the "
		"settings that no other one beats in ratio\nand both speeds, "
		"and the command line with the best one. Writes nothing.",
	.options = table,
	.size = sizeof(struct bench),
	.start = &(const struct bench){.sample = 16 << 20,
				       .seconds = 30,
				       .disk = 200 << 20},
	.missing = "a file is missing",
	.several = "one file at a time",
	.run = run_bench,
};
