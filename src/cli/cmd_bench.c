/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_bench.c - bloscctl bench: finds good settings for some data */
#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/b2frame.h"
#include "b2frame/names.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/encoding.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/need.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "programs/measure.h"
#include "words/value.h"

struct row {
	struct b2f_settings settings;
	struct b2f_measured measured;
	/*
	 * No other row is as good in ratio and both speeds, and better in one
	 * of them.
	 */
	bool front;
};

/* The data that are tried, and the results. */
struct sample {
	const char *path;
	/* The file is a frame; an array, which keeps its type and chunks. */
	bool encodes_again;
	bool keeps_sizes;
	/* Size of the file, and bytes that are tried; malloc'ed. */
	uint64_t total;
	uint64_t size;
	uint8_t *data;
	/* The item size guessed from them. */
	uint32_t typesize;
	/* malloc'ed. */
	struct row *rows;
	size_t n;
	/* Number of settings left out for lack of time. */
	size_t left;
	/* Speed of the disk in bytes/s, and number of threads, to judge for. */
	uint64_t disk;
	unsigned int nthreads;
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
		ssize_t got = read_some(s, out->data + out->size, (size_t)piece,
					off - off % GRID);

		if (got < 0)
			return (int)got;
		out->size += (size_t)got;
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

	if (out->size == 0)
		return cli_refuse(-ENODATA, "%s: there are no data in it",
				  path);
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
	out->total = s.size ? s.size : out->size;
	out->encodes_again = s.file;
	out->keeps_sizes = s.file && b2f_frame_array(b2f_file_frame(s.file));
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
	char typesize[12];

	snprintf(typesize, sizeof(typesize), "%u", sample->typesize);
	for (size_t i = 0; i < count(b); i++) {
		struct b2f_settings s = combine(b, i, typesize);
		size_t k = 0;

		while (k < sample->n &&
		       !is_same(sample->rows[k].settings, s, sample->size))
			k++;
		if (k == sample->n &&
		    (!is_idle(&s) || b->lists[CLI_FILTERS].n == 1))
			sample->rows[sample->n++].settings = s;
	}
}

/* Measures the settings until the time is over; one at least. */
static int measure_all(const struct bench *b, struct sample *sample)
{
	uint64_t end = cli_common_now_ms() + b->seconds * 1000;
	struct cli_progress progress;
	size_t n = sample->n, i = 0;
	int err = 0;

	cli_progress_init(&progress, sample->path, !b->common.no_progress);
	while (i < n && !err && (i == 0 || cli_common_now_ms() < end)) {
		struct row *row = &sample->rows[i++];

		err = b2f_settings_measure(&row->settings, sample->data,
					   sample->size, LEAST_NS,
					   &row->measured);
		cli_progress_update(&progress, i * sample->size,
				    n * sample->size);
	}
	cli_progress_fini(&progress);
	sample->n = i;
	sample->left = n - i;
	return cli_message_errno(sample->path, err);
}

/* Is @a nowhere worse than @b, and better somewhere? */
static bool beats(const struct b2f_measured *a, const struct b2f_measured *b)
{
	return a->cbytes <= b->cbytes && a->encode_ns <= b->encode_ns &&
	       a->decode_ns <= b->decode_ns &&
	       (a->cbytes < b->cbytes || a->encode_ns < b->encode_ns ||
		a->decode_ns < b->decode_ns);
}

static bool is_front(const struct sample *s, size_t i)
{
	for (size_t k = 0; k < s->n; k++)
		if (beats(&s->rows[k].measured, &s->rows[i].measured))
			return false;
	return true;
}

/* Nanoseconds to encode, write, read and decode all tried data. */
static double cost(const struct sample *s, const struct row *row)
{
	const struct b2f_measured *m = &row->measured;

	return (double)(m->encode_ns + m->decode_ns) / s->nthreads +
	       2e9 * (double)m->cbytes / (double)s->disk;
}

static int compare_ratio(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

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

static char *command_of(const struct sample *s, const struct b2f_settings *to)
{
	B2F_OWN char *filters = filters_of(to);
	B2F_OWN char *size = size_of((uint32_t)to->chunksize);
	B2F_OWN char *sizes = cli_need_text(" --typesize=%u --chunksize=%s",
					    to->typesize, size);

	return cli_need_text("bloscctl %scompress -%u --codec=%s --filter=%s%s",
			     s->encodes_again ? "re" : "", to->clevel,
			     b2f_codec_code_name(to->codec), filters,
			     s->keeps_sizes ? "" : sizes);
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

static json_t *describe(const struct sample *s, const struct row *row)
{
	const struct b2f_settings *to = &row->settings;
	const struct b2f_measured *m = &row->measured;
	double size = (double)s->size;
	B2F_OWN char *filters = filters_of(to);

	return json_pack(
		"{s:s, s:i, s:s, s:I, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:I, "
		"s:b}",
		"codec", b2f_codec_code_name(to->codec), "clevel",
		(int)to->clevel, "filter", filters, "typesize",
		(json_int_t)to->typesize, "chunksize", (int)to->chunksize,
		"cbytes", (json_int_t)m->cbytes, "encode_ns",
		(json_int_t)m->encode_ns, "decode_ns", (json_int_t)m->decode_ns,
		"ratio", size / (double)m->cbytes, "encode_bytes_per_s",
		size * 1e9 / (double)m->encode_ns, "decode_bytes_per_s",
		size * 1e9 / (double)m->decode_ns, "memory",
		(json_int_t)m->memory, "front", row->front);
}

/*
 * Finds the front and the best row, and describes the result; free it.  Rows
 * are sorted by ratio, which is that of the sample.  The best row takes least
 * time to encode, write to the disk, read, and decode.
 */
static json_t *judge(struct sample *s)
{
	const struct row *best = NULL, *row = s->rows;
	json_t *rows = json_array();
	B2F_OWN char *command = NULL;

	for (size_t i = 0; i < s->n; i++)
		s->rows[i].front = is_front(s, i);
	qsort(s->rows, s->n, sizeof(*row), compare_ratio);
	for (; row < s->rows + s->n; row++) {
		json_array_append_new(rows, describe(s, row));
		if (!best || cost(s, row) < cost(s, best))
			best = row;
	}
	command = best ? command_of(s, &best->settings) : NULL;
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:i, s:o, s:o*, s:s*}",
			 "file", cli_json_name(s->path), "nbytes",
			 (json_int_t)s->total, "sample", (json_int_t)s->size,
			 "left_out", (json_int_t)s->left, "disk_bytes_per_s",
			 (json_int_t)s->disk, "threads", (int)s->nthreads,
			 "rows", rows, "best", best ? describe(s, best) : NULL,
			 "command", command);
}

/* Prints the front (@all or --json: every row) and the best command line. */
static void print_result(const char *path, json_t *object, bool all)
{
	const json_t *rows = json_object_get(object, "rows");

	if (cli_json_wanted()) {
		cli_json_print(json_incref(object));
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

/* Call before measuring: is there gnuplot, and a directory for @path? */
static int check_plot(const char *path)
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
	B2F_OWN char *text = NULL;
	size_t size;
	FILE *then = cli_need(open_memstream(&text, &size));

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
	fprintf(out, "END\n%s\n", text);
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

/*
 * Plots ratio over both speeds, one colour per codec, of the rows @rows to the
 * PNG file @path.
 */
static int plot(const char *title, const json_t *rows, const char *path)
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

static int bench_sample(struct bench *b, struct sample *sample)
{
	json_t *object;
	int err;

	for (size_t i = 0; i < NPARTS; i++)
		if (b->lists[order[i]].n == 0)
			b->lists[order[i]] = usual[order[i]];
	sample->rows = cli_need(calloc(count(b), sizeof(*sample->rows)));
	list_settings(b, sample);
	err = measure_all(b, sample);
	if (err)
		return err;
	object = judge(sample);
	print_result(sample->path, object, b->all);
	if (b->plot)
		err = plot(sample->path, json_object_get(object, "rows"),
			   b->plot);
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
	struct sample sample = {
		.path = *file, .disk = b->disk, .nthreads = nthreads(b)};
	int err = b->plot ? check_plot(b->plot) : 0;

	(void)self;
	if (!err)
		err = take_sample(*file, b->sample, &sample);
	if (!err)
		err = bench_sample(b, &sample);
	free(sample.rows);
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
