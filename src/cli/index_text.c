/* SPDX-License-Identifier: BSD-3-Clause */
/* index_text.c - "10:20, ::-2, 5" in the syntax of Python and NumPy */
#include "cli/index_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "cli/message.h"

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

struct parser {
	const char *text;
	const char *at;
	struct item items[B2F_ARRAY_MAX_DIM + 1];
	unsigned int nitems;
	unsigned int nellipses;
};

static const char not_basic[] = "not integers, slices and '...' with commas "
				"between them";

static int refuse(const struct parser *p, const char *what)
{
	cli_message_error("'%s': %s", p->text, what);
	return -EINVAL;
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
	int64_t value = 0;

	if (*p->at == '-' || *p->at == '+') {
		p->at++;
		skip_blanks(p);
	}
	if (!isdigit((unsigned char)*p->at))
		return false;
	for (; isdigit((unsigned char)*p->at); p->at++) {
		int digit = *p->at - '0';

		if (value > (INT64_MAX - digit) / 10) {
			value = INT64_MAX;
			*huge = true;
		}
		if (!*huge)
			value = 10 * value + digit;
	}
	*out = minus ? -value : value;
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

/* Clips @value to a dimension. */
static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	if (value < low)
		return low;
	return value > high ? high : value;
}

static int64_t limit(const struct item *item, int i, int64_t n, int64_t low,
		     int64_t high)
{
	int64_t value = item->value[i];

	return clamp(value < 0 ? value + n : value, low, high);
}

/* Clips like PySlice_AdjustIndices(). */
static void set_range(const struct item *item, unsigned int d, int64_t n,
		      struct cli_index *out)
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
		       unsigned int d, int64_t n, struct cli_index *out)
{
	int64_t value = item->value[0];

	if (item->huge || value >= n || value < -n) {
		cli_message_error("'%s': index %s%" PRId64 " is out of bounds "
				  "for axis %u with size %" PRId64,
				  p->text, item->huge ? "beyond " : "", value,
				  d, n);
		return -EINVAL;
	}
	out->slice.start[d] = value < 0 ? value + n : value;
	out->slice.step[d] = 1;
	out->slice.count[d] = 1;
	return 0;
}

/* Selects the whole dimensions [@from, @to). */
static void set_whole(const struct b2f_array *array, unsigned int from,
		      unsigned int to, struct cli_index *out)
{
	static const struct item whole = {.kind = RANGE};

	for (unsigned int d = from; d < to; d++)
		set_range(&whole, d, array->shape[d], out);
}

static int set_items(const struct parser *p, const struct b2f_array *array,
		     struct cli_index *out)
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

int cli_index_check(const char *text)
{
	struct parser p = {.text = text, .at = text};

	return read_items(&p);
}

int cli_index_parse(const char *text, const struct b2f_array *array,
		    struct cli_index *out)
{
	struct parser p = {.text = text, .at = text};
	int err;

	err = read_items(&p);
	if (err)
		return err;
	if (p.nitems - p.nellipses > array->ndim) {
		cli_message_error("'%s': too many indices for array: array is "
				  "%u-dimensional, but %u were indexed",
				  text, array->ndim, p.nitems - p.nellipses);
		return -EINVAL;
	}
	*out = (struct cli_index){.ndim = 0};
	return set_items(&p, array, out);
}
