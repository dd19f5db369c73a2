/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_grid.c - the settings that bloscctl bench tries */
#include "cli/bench_grid.h"

#include <string.h>

#include "cli/message.h"

/* The default settings; those of most interest come first. */
static const char *const usual[CLI_BENCH_LISTS][6] = {
	[CLI_BENCH_CODEC] = {"lz4", "zstd", "blosclz", "lz4hc", "zlib"},
	[CLI_BENCH_FILTER] = {"shuffle", "none", "bitshuffle", "shuffle,bytedelta"},
	[CLI_BENCH_LEVEL] = {"5", "1", "9"},
	[CLI_BENCH_TYPESIZE] = {"auto"},
	[CLI_BENCH_CHUNKSIZE] = {"1m", "256k", "4m"},
};

/* Parses @value of a list, by the row of encoding.h; levels have no name. */
static int add(const struct cli_option *option, void *field, const char *value)
{
	const char *name = option->name ? option->name : "clevel";
	const struct cli_option *row = cli_encoding_options;
	struct cli_encoding e = {.values.codec = 0};
	struct cli_bench_list *list = field;
	int err;

	while (!row->name || strcmp(row->name, name) != 0)
		row++;
	err = row->store(option, &e, value);
	if (!err && list->n == CLI_BENCH_VALUES) {
		cli_message_error("--%s: %d of them are the most",
				  option->name ? option->name : "level",
				  CLI_BENCH_VALUES);
		err = -EINVAL;
	}
	if (!err)
		list->values[list->n++] = e;
	return err;
}

#define LIST(kind) (CLI_BENCH_##kind * sizeof(struct cli_bench_list))

/* In the order of the lists. */
const struct cli_option cli_bench_grid_options[] = {
	CLI_OPTION(NULL, '1', NULL, add, LIST(LEVEL), "levels (default: 5, 1, 9)"),
	CLI_OPTION("codec", 0, "NAME", add, LIST(CODEC), "codecs (default: all)"),
	CLI_OPTION("filter", 0, "LIST", add, LIST(FILTER),
		   "filters (default: shuffle; none; bitshuffle;\n"
		   "shuffle,bytedelta)"),
	CLI_OPTION("typesize", 0, "N", add, LIST(TYPESIZE),
		   "bytes of an item (default: auto)"),
	CLI_OPTION("chunksize", 0, "N", add, LIST(CHUNKSIZE),
		   "bytes of a chunk (default: 1m, 256k, 4m)\n"
		   "each of these also several times"),
	{0},
};

static void add_usual(struct cli_bench_list *list, size_t kind)
{
	struct cli_option option = {.name = "clevel"};

	for (size_t i = 0; i < CLI_BENCH_LISTS; i++)
		if (cli_bench_grid_options[i].field == kind * sizeof(*list) &&
		    cli_bench_grid_options[i].name)
			option = cli_bench_grid_options[i];
	for (size_t i = 0; usual[kind][i]; i++)
		(void)!add(&option, list, usual[kind][i]);
}

/* If several sizes make one chunk of all data, only the first size is tried. */
static void drop_large(struct cli_bench_list *list, uint64_t size)
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
static void set_typesize(struct cli_bench_list *list, uint32_t typesize)
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

void cli_bench_grid_complete(struct cli_bench_grid *g, uint32_t typesize,
			     uint64_t size)
{
	for (size_t i = 0; i < CLI_BENCH_LISTS; i++)
		if (g->lists[i].n == 0)
			add_usual(&g->lists[i], i);
	drop_large(&g->lists[CLI_BENCH_CHUNKSIZE], size);
	set_typesize(&g->lists[CLI_BENCH_TYPESIZE], typesize);
}

size_t cli_bench_grid_count(const struct cli_bench_grid *g)
{
	size_t n = 1;

	for (size_t i = 0; i < CLI_BENCH_LISTS; i++)
		n *= g->lists[i].n;
	return n;
}

/* A shuffle of single bytes does nothing. */
static bool is_idle(const struct b2f_settings *s)
{
	return s->typesize == 1 && s->filters[B2F_SLOTS - 1] == 1;
}

bool cli_bench_grid_get(const struct cli_bench_grid *g, size_t i,
			struct b2f_settings *out)
{
	struct b2f_settings s = b2f_settings_default();

	/* The digits of @i in a mixed base: the length of each list. */
	for (size_t k = 0; k < CLI_BENCH_LISTS; k++) {
		const struct cli_bench_list *list = &g->lists[k];

		cli_encoding_apply(&list->values[i % list->n], &s);
		i /= list->n;
	}
	*out = s;
	return !is_idle(&s) || g->lists[CLI_BENCH_FILTER].n == 1;
}
