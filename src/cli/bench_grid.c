/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_grid.c - the settings that bloscctl bench tries */
#include "cli/bench_grid.h"

#include <string.h>

#include "b2frame/names.h"
#include "cli/encoding.h"
#include "cli/message.h"

/* The row of encoding.h that @option is a list of. */
static const struct cli_option *single(const struct cli_option *option)
{
	const struct cli_option *row = cli_encoding_options;

	while (option->name ? !row->name || strcmp(row->name, option->name)
			    : row->letter != option->letter)
		row++;
	return row;
}

/* Reads @value, one of a list that has @count already. */
static int read_one(const struct cli_option *option, const char *value,
		    size_t count, struct cli_encoding *out)
{
	int err = single(option)->store(option, out, value);

	if (err || count < CLI_BENCH_VALUES)
		return err;
	cli_message_error("--%s: %d of them are the most",
			  option->name ? option->name : "level",
			  CLI_BENCH_VALUES);
	return -EINVAL;
}

static int add_codec(const struct cli_option *option, void *field,
		     const char *value)
{
	struct cli_encoding e = {0};
	struct cli_bench_grid *g = field;
	int err = read_one(option, value, g->ncodecs, &e);

	if (!err)
		g->codecs[g->ncodecs++] = e.values.codec;
	return err;
}

static int add_level(const struct cli_option *option, void *field,
		     const char *value)
{
	struct cli_encoding e = {0};
	struct cli_bench_grid *g = field;
	int err = read_one(option, value, g->nlevels, &e);

	if (!err)
		g->levels[g->nlevels++] = e.values.clevel;
	return err;
}

static int add_filters(const struct cli_option *option, void *field,
		       const char *value)
{
	struct cli_encoding e = {0};
	struct cli_bench_grid *g = field;
	int err = read_one(option, value, g->nfilters, &e);

	if (err)
		return err;
	memcpy(g->filters[g->nfilters].ids, e.values.filters, B2F_SLOTS);
	memcpy(g->filters[g->nfilters++].metas, e.values.filters_meta,
	       B2F_SLOTS);
	return 0;
}

static int add_typesize(const struct cli_option *option, void *field,
			const char *value)
{
	struct cli_encoding e = {0};
	struct cli_bench_grid *g = field;
	int err = read_one(option, value, g->ntypesizes, &e);

	if (!err && e.guess_typesize)
		g->guess = true;
	else if (!err)
		g->typesizes[g->ntypesizes++] = e.values.typesize;
	return err;
}

static int add_chunksize(const struct cli_option *option, void *field,
			 const char *value)
{
	struct cli_encoding e = {0};
	struct cli_bench_grid *g = field;
	int err = read_one(option, value, g->nchunksizes, &e);

	if (!err)
		g->chunksizes[g->nchunksizes++] = e.values.chunksize;
	return err;
}

const struct cli_option cli_bench_grid_options[] = {
	CLI_ENCODING_LEVELS(add_level),
	{"codec", 0, required_argument, add_codec, 0, NULL},
	{"filter", 0, required_argument, add_filters, 0, NULL},
	{"typesize", 0, required_argument, add_typesize, 0, NULL},
	{"chunksize", 0, required_argument, add_chunksize, 0, NULL},
	{0},
};

/* By code: lz4, zstd, blosclz, lz4hc, zlib. */
static const uint8_t usual_codecs[] = {1, 5, 0, 2, 4};
static const uint8_t usual_levels[] = {5, 1, 9};
/* By id; those of one filter come last, as C-Blosc2 places it. */
static const uint8_t usual_filters[][2] = {{0, 1}, {0, 0}, {0, 2}, {1, 35}};
static const int32_t usual_chunksizes[] = {1 << 20, 1 << 18, 1 << 22};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_usual_filters(struct cli_bench_grid *g)
{
	g->nfilters = COUNT(usual_filters);
	for (size_t i = 0; i < g->nfilters; i++)
		memcpy(g->filters[i].ids + B2F_SLOTS - 2, usual_filters[i], 2);
}

static void add_usual(struct cli_bench_grid *g)
{
	if (g->ncodecs == 0) {
		g->ncodecs = COUNT(usual_codecs);
		memcpy(g->codecs, usual_codecs, sizeof(usual_codecs));
	}
	if (g->nlevels == 0) {
		g->nlevels = COUNT(usual_levels);
		memcpy(g->levels, usual_levels, sizeof(usual_levels));
	}
	if (g->nfilters == 0)
		add_usual_filters(g);
	if (g->nchunksizes == 0) {
		g->nchunksizes = COUNT(usual_chunksizes);
		memcpy(g->chunksizes, usual_chunksizes,
		       sizeof(usual_chunksizes));
	}
}

/* Of the sizes that make one chunk of all data the first one stays. */
static void drop_large(struct cli_bench_grid *g, uint64_t size)
{
	bool whole = false;
	size_t n = 0;

	for (size_t i = 0; i < g->nchunksizes; i++) {
		bool large = (uint64_t)g->chunksizes[i] >= size;

		if (!large || !whole)
			g->chunksizes[n++] = g->chunksizes[i];
		whole = whole || large;
	}
	g->nchunksizes = n;
}

void cli_bench_grid_complete(struct cli_bench_grid *g, uint32_t typesize,
			     uint64_t size)
{
	add_usual(g);
	drop_large(g, size);
	if (g->ntypesizes == CLI_BENCH_VALUES ||
	    (!g->guess && g->ntypesizes > 0))
		return;
	for (size_t i = 0; i < g->ntypesizes; i++)
		if (g->typesizes[i] == typesize)
			return;
	memmove(g->typesizes + 1, g->typesizes,
		g->ntypesizes++ * sizeof(g->typesizes[0]));
	g->typesizes[0] = typesize;
}

size_t cli_bench_grid_count(const struct cli_bench_grid *g)
{
	return g->ncodecs * g->nlevels * g->nfilters * g->ntypesizes *
	       g->nchunksizes;
}

/* Digit of @*i in a base of @n, which is taken off. */
static size_t take(size_t *i, size_t n)
{
	size_t digit = *i % n;

	*i /= n;
	return digit;
}

/* A shuffle of single bytes does nothing. */
static bool is_idle(const struct b2f_settings *s)
{
	return s->typesize == 1 && s->filters[B2F_SLOTS - 1] == 1;
}

bool cli_bench_grid_get(const struct cli_bench_grid *g, size_t i,
			struct b2f_settings *out)
{
	const struct cli_bench_filters *filters;
	struct b2f_settings s = b2f_settings_default();
	int32_t typesize;

	s.codec = g->codecs[take(&i, g->ncodecs)];
	filters = &g->filters[take(&i, g->nfilters)];
	s.clevel = g->levels[take(&i, g->nlevels)];
	s.typesize = g->typesizes[take(&i, g->ntypesizes)];
	s.chunksize = g->chunksizes[i];
	memcpy(s.filters, filters->ids, B2F_SLOTS);
	memcpy(s.filters_meta, filters->metas, B2F_SLOTS);
	typesize = (int32_t)s.typesize;
	s.chunksize = s.chunksize > typesize
			      ? s.chunksize - s.chunksize % typesize
			      : typesize;
	*out = s;
	return !is_idle(&s) || g->nfilters == 1;
}
