/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_slice.c - bloscctl slice: a part of an array */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/slice.h"
#include "cli/common.h"
#include "cli/exit_codes.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/server.h"

/*
 * NumPy's basic indexing, "10:20, ::-2, 5": integers, slices and one "..."
 * between commas; missing dimensions are whole.  No new axes, no lists.
 */
struct index {
	struct b2f_slice slice;
	/* The shape of the result: integers drop their dimension. */
	unsigned int ndim;
	int64_t shape[B2F_ARRAY_MAX_DIM];
};

enum kind { INTEGER, RANGE, ELLIPSIS };

/* The text between two commas. */
struct item {
	enum kind kind;
	/* The integer; or start, stop and step, if they are given. */
	int64_t value[3];
	bool given[3];
	/* The integer exceeds every dimension. */
	bool huge;
};

/* An index, and how much of it has been parsed. */
struct parser {
	const char *text;
	const char *at;
	struct item items[B2F_ARRAY_MAX_DIM + 1];
	unsigned int nitems;
	unsigned int nellipses;
};

struct slice {
	struct cli_common common;
	/* NULL: standard output. */
	const char *output;
	struct parser index;
};

#define FIELD(name) offsetof(struct slice, name)

static const struct cli_option table[] = {
	CLI_OPTION("output", 'o', "FILE", cli_option_text, FIELD(output),
		   "write to FILE; - is standard output"),
	{.shared = cli_server_reading_options},
	{.shared = cli_common_decoding_options},
	{0},
};

static const char not_basic[] = "an index has integers, slices and '...', with "
				"commas between them";

static int refuse(const struct parser *p, const char *what)
{
	return cli_refuse(-EINVAL, "'%s': %s", p->text, what);
}

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

/*
 * Reads an integer of any length; beyond 64 bits it becomes the nearest that
 * fits, which is the same to a slice.  False: there is none.
 */
static bool read_integer(struct parser *p, int64_t *out, bool *huge)
{
	bool minus = *p->at == '-';
	long long value;
	char *end;

	if (*p->at == '-' || *p->at == '+') {
		p->at++;
		skip_blanks(p);
	}
	if (!isdigit((unsigned char)*p->at))
		return false;
	errno = 0;
	value = strtoll(p->at, &end, 10);
	*huge = errno == ERANGE;
	*out = minus ? -value : value;
	p->at = end;
	return true;
}

static bool begins_integer(const struct parser *p)
{
	return *p->at && strchr("+-0123456789", *p->at);
}

/* Reads an integer, or up to three with colons between them. */
static int read_range(struct parser *p, struct item *item)
{
	int i = 0;

	for (;;) {
		skip_blanks(p);
		if (begins_integer(p)) {
			if (!read_integer(p, &item->value[i], &item->huge))
				return refuse(p, "a sign without a number");
			item->given[i] = true;
			skip_blanks(p);
		}
		if (*p->at != ':')
			break;
		if (++i == 3)
			return refuse(p, "too many colons");
		item->kind = RANGE;
		p->at++;
	}
	if (item->kind == INTEGER && !item->given[0])
		return refuse(p, *p->at && *p->at != ','
					 ? not_basic
					 : "an index is missing");
	if (item->given[2] && item->value[2] == 0)
		return refuse(p, "slice step cannot be zero");
	return 0;
}

static int read_item(struct parser *p)
{
	struct item *item = &p->items[p->nitems];

	if (p->nitems == B2F_ARRAY_MAX_DIM + 1)
		return refuse(p, "too many indices for array");
	*item = (struct item){.kind = INTEGER};
	p->nitems++;
	if (strncmp(p->at, "...", 3) == 0) {
		item->kind = ELLIPSIS;
		p->at += 3;
		if (++p->nellipses > 1)
			return refuse(p, "an index can only have a single "
					 "ellipsis ('...')");
		return 0;
	}
	return read_range(p, item);
}

/* Like a Python tuple, the list may end with a comma. */
static int read_items(struct parser *p)
{
	int err;

	do {
		skip_blanks(p);
		if (!*p->at && p->nitems > 0)
			return 0;
		err = read_item(p);
		if (err)
			return err;
		skip_blanks(p);
	} while (*p->at++ == ',');
	return p->at[-1] ? refuse(p, not_basic) : 0;
}

static int64_t limit(const struct item *item, int i, int64_t n, int64_t low,
		     int64_t high)
{
	int64_t value = item->value[i];

	value = value < 0 ? value + n : value;
	return value < low ? low : value > high ? high : value;
}

/* Clips like PySlice_AdjustIndices(). */
static void set_range(const struct item *item, unsigned int d, int64_t n,
		      struct index *out)
{
	int64_t step = item->given[2] ? item->value[2] : 1;
	int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
	int64_t start = step < 0 ? high : low, stop = step < 0 ? low : high;
	uint64_t way = 0, pace;

	if (item->given[0])
		start = limit(item, 0, n, low, high);
	if (item->given[1])
		stop = limit(item, 1, n, low, high);
	if (step > 0 && start < stop)
		way = (uint64_t)(stop - start);
	else if (step < 0 && stop < start)
		way = (uint64_t)(start - stop);
	pace = step < 0 ? (uint64_t)-step : (uint64_t)step;
	out->slice.start[d] = start;
	out->slice.step[d] = step;
	out->slice.count[d] = way ? (way - 1) / pace + 1 : 0;
	out->shape[out->ndim++] = (int64_t)out->slice.count[d];
}

static int set_integer(const struct parser *p, const struct item *item,
		       unsigned int d, int64_t n, struct index *out)
{
	int64_t value = item->value[0];

	if (item->huge || value >= n || value < -n)
		return cli_refuse(-EINVAL,
				  "'%s': index %s%" PRId64 " is out "
				  "of bounds for axis %u with size %" PRId64,
				  p->text, item->huge ? "beyond " : "", value,
				  d, n);
	out->slice.start[d] = value < 0 ? value + n : value;
	out->slice.step[d] = 1;
	out->slice.count[d] = 1;
	return 0;
}

static void set_whole(const struct b2f_array *array, unsigned int from,
		      unsigned int to, struct index *out)
{
	static const struct item whole = {.kind = RANGE};

	for (unsigned int d = from; d < to; d++)
		set_range(&whole, d, array->shape[d], out);
}

static int set_items(const struct parser *p, const struct b2f_array *array,
		     struct index *out)
{
	unsigned int nleft = array->ndim - (p->nitems - p->nellipses), d = 0;
	int err = 0;

	for (unsigned int i = 0; i < p->nitems && !err; i++) {
		const struct item *item = &p->items[i];

		switch (item->kind) {
		case INTEGER:
			err = set_integer(p, item, d, array->shape[d], out);
			d++;
			break;
		case RANGE:
			set_range(item, d, array->shape[d], out);
			d++;
			break;
		case ELLIPSIS:
			set_whole(array, d, d + nleft, out);
			d += nleft;
			break;
		}
	}
	if (!err)
		set_whole(array, d, array->ndim, out);
	return err;
}

/*
 * Applies the index @p to @array.  Returns 0, or -EINVAL after a message, in
 * NumPy's words if possible.
 */
static int apply(const struct parser *p, const struct b2f_array *array,
		 struct index *out)
{
	unsigned int n = p->nitems - p->nellipses;

	if (n > array->ndim)
		return cli_refuse(-EINVAL,
				  "'%s': too many indices for array: "
				  "array is %u-dimensional, but %u were "
				  "indexed",
				  p->text, array->ndim, n);
	*out = (struct index){.ndim = 0};
	return set_items(p, array, out);
}

/* A slice that is being written. */
struct job {
	const struct slice *options;
	const struct cli_operand *operand;
	const char *path;
	struct b2f_file *file;
	struct index index;
	/* The header before the items; malloc'ed. */
	uint8_t *head;
	size_t head_len;
	struct cli_output out;
	uint64_t done;
	uint64_t size;
};

/* "-3:" is an index, though it looks like an option. */
static bool is_index(const char *arg)
{
	return arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9';
}

/*
 * Takes the first index out of @argv that looks like an option.  No option of
 * this command is a digit.
 */
static int take_index(void *slice, int argc, char **argv)
{
	struct slice *o = slice;
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0 && !is_index(argv[i]))
		i++;
	if (i == argc || !is_index(argv[i]))
		return argc;
	o->index.text = argv[i];
	for (; i < argc; i++)
		argv[i] = argv[i + 1];
	return argc - 1;
}

static int write_piece(void *arg, const void *data, size_t size)
{
	struct job *job = arg;
	int err = cli_output_write(&job->out, data, size);

	job->done += size;
	if (!err)
		cli_progress_update(job->operand->progress, job->done, job->size);
	return err;
}

static int write_all(struct job *job)
{
	int err = 0;

	if (job->head_len > 0)
		err = cli_output_write(&job->out, job->head, job->head_len);
	if (err)
		return err;
	err = b2f_slice_read(job->file, &job->index.slice, write_piece, job);
	return err == -EPIPE ? err : cli_message_explain(job->path, err);
}

static int write_file(struct job *job)
{
	const struct slice *o = job->options;
	struct cli_output *out = &job->out;
	const struct cli_at at = cli_at_path(o->output);
	int err = cli_output_open(out, &at, o->common.force, &job->operand->at,
				  b2f_file_frame(job->file), "array");

	/* Permissions as of the array, but the times of a new file. */
	out->like.st_atim.tv_nsec = out->like.st_mtim.tv_nsec = UTIME_NOW;
	if (!err)
		err = write_all(job);
	if (!err)
		err = cli_output_finish(out, false);
	if (!err)
		err = cli_output_commit(out, false);
	cli_output_close(out);
	return err;
}

static int make_head(struct job *job)
{
	const struct b2f_frame *frame = b2f_file_frame(job->file);
	int err;

	if (job->options->common.raw)
		return 0;
	err = b2f_slice_npy_header(frame, job->index.ndim, job->index.shape,
				   &job->head, &job->head_len);
	return err ? cli_frames_refuse_npy(job->path, err) : 0;
}

static int refuse_plain(const struct job *job)
{
	const struct b2f_frame *frame = b2f_file_frame(job->file);
	bool is_tensor = b2f_frame_tensor(frame) != NULL;

	return cli_refuse(-EINVAL,
			  is_tensor
				  ? "%s: an array stored as plain data; "
				    "'bloscctl convert --b2nd' makes a b2nd "
				    "array of it"
				  : "%s: plain data, not an array; 'bloscctl "
				    "cat --offset=N --length=N' writes a part",
			  job->path);
}

static int begin(struct job *job)
{
	const struct cli_operand *operand = job->operand;
	const struct b2f_array *array;
	int err;

	err = cli_frames_open_file(operand->runtime, &operand->how,
				   &operand->at, &job->file);
	if (err)
		return err;
	/* The index is for the shape of this version. */
	b2f_file_stay(job->file);
	array = b2f_frame_array(b2f_file_frame(job->file));
	if (!array)
		return refuse_plain(job);
	err = apply(&job->options->index, array, &job->index);
	if (!err)
		err = make_head(job);
	job->size = array->itemsize;
	for (unsigned int d = 0; d < job->index.ndim && !err; d++)
		job->size *= (uint64_t)job->index.shape[d];
	return err;
}

static void report(const struct job *job)
{
	const char *output = job->options->output;
	json_t *object = json_pack(
		"{s:s, s:o*, s:o*, s:I, s:o}", "command", "slice", "source",
		cli_json_name(job->path), "output",
		cli_json_name(output ? output : "-"), "nbytes",
		(json_int_t)(job->head_len + job->size), "shape", json_array());

	for (unsigned int d = 0; d < job->index.ndim; d++)
		json_array_append_new(json_object_get(object, "shape"),
				      json_integer(job->index.shape[d]));
	cli_message_result("{source}: {shape:shape}, {nbytes} bytes written to "
			   "[{?output=-}standard output|{output}]",
			   object);
	cli_json_say("", job->path, object);
}

static int slice_frame(void *arg, const struct cli_operand *operand)
{
	const struct slice *o = arg;
	struct job job = {
		.options = o,
		.operand = operand,
		.path = operand->at.path,
		.out = cli_output_standard(),
	};
	int err;

	err = begin(&job);
	if (!err)
		err = o->output ? write_file(&job) : write_all(&job);
	cli_progress_fini(operand->progress);
	if (!err)
		report(&job);
	b2f_file_close(job.file);
	free(job.head);
	return err;
}

static int run_slice(const struct cli_command *self, void *options,
		     char **operands)
{
	struct slice *o = options;
	int n = 0;

	while (operands[n])
		n++;
	if (n != (o->index.text ? 1 : 2))
		return cli_command_misuse(self, "a frame and an index are "
						"needed");
	if (o->output && strcmp(o->output, "-") == 0)
		o->output = NULL;
	o->index.text = o->index.text ? o->index.text : operands[1];
	o->index.at = o->index.text;
	operands[1] = NULL;
	if (read_items(&o->index))
		return CLI_EXIT_USAGE;
	if (!o->output && cli_json_wanted())
		return cli_command_misuse(self, "--json needs -o, because the "
						"items go to standard output");
	o->common.to_stdout = !o->output;
	return cli_operands_run(self, options, operands);
}

const struct cli_command cli_slice_command = {
	.name = "slice",
	.summary = "write a part of an array",
	.operands = "FRAME INDEX",
	.help = "Writes a part of the array FRAME as a .npy file to standard "
		"output. INDEX is a\nbasic index of NumPy: '10:20, ::-2, 5', "
		"'..., 0', '-1'.",
	.options = table,
	.size = sizeof(struct slice),
	.prepare = take_index,
	.each = slice_frame,
	.run = run_slice,
};
