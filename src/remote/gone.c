/* SPDX-License-Identifier: BSD-3-Clause */
/* gone.c - chunks that earlier indexes named and the current one does not */
#include "remote/gone.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/checked.h"

#define BEGIN ";gone="

/* Longest text of an item with its time, and a 0. */
#define ITEM_SIZE 32

/* The largest id of a chunk. */
#define ID_MAX ((uint64_t)INT32_MAX)

/* A note with more chunks is not believed. */
#define CHUNKS_MAX ((size_t)1 << 20)

static int by_id(const void *a, const void *b)
{
	const struct b2f_gone_chunk *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->since_s > y->since_s) - (x->since_s < y->since_s);
}

static int by_time(const void *a, const void *b)
{
	const struct b2f_gone_chunk *x = a, *y = b;

	if (x->since_s != y->since_s)
		return x->since_s < y->since_s ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Sorts the appended chunks into the list. */
static void put_in_order(struct b2f_gone *gone)
{
	struct b2f_gone_chunk *chunks = gone->chunks;
	size_t n = 0;

	if (gone->n)
		qsort(chunks, gone->n, sizeof(*chunks), by_id);
	for (size_t i = 0; i < gone->n; i++)
		if (!n || chunks[n - 1].id != chunks[i].id)
			chunks[n++] = chunks[i];
	gone->n = n;
}

static int reserve(struct b2f_gone *gone, size_t more)
{
	struct b2f_gone_chunk *chunks = b2f_grown(
		gone->chunks, &gone->cap, gone->n + more, sizeof(*chunks));

	if (!chunks)
		return -ENOMEM;
	gone->chunks = chunks;
	return 0;
}

int b2f_gone_add(struct b2f_gone *gone, const struct b2f_ids *ids,
		 uint64_t since_s)
{
	uint64_t told_s = (since_s + B2F_GONE_STEP_S - 1) / B2F_GONE_STEP_S *
			  B2F_GONE_STEP_S;

	if (reserve(gone, ids->n))
		return -ENOMEM;
	for (size_t i = 0; i < ids->n; i++)
		gone->chunks[gone->n++] =
			(struct b2f_gone_chunk){ids->ids[i], told_s};
	put_in_order(gone);
	return 0;
}

/* Reads a number of up to 8 digits; false: there is none. */
static bool read_number(const char **text, uint64_t *out)
{
	size_t n = b2f_take_hex(text, out);

	return n > 0 && n <= 8;
}

/* Adds the chunks of an item; no more than an index can have. */
static int add_run(struct b2f_gone *gone, uint64_t first, uint64_t more,
		   uint64_t since_s)
{
	if (first > ID_MAX || more > ID_MAX - first ||
	    more >= CHUNKS_MAX || gone->n + more >= CHUNKS_MAX)
		return 0;
	if (reserve(gone, more + 1))
		return -ENOMEM;
	for (uint64_t i = 0; i <= more; i++)
		gone->chunks[gone->n++] =
			(struct b2f_gone_chunk){first + i, since_s};
	return 0;
}

/* Values that the next item is relative to. */
struct place {
	uint64_t since_s;
	/* The chunk id behind the last item. */
	uint64_t id;
};

/* Reads one item, and the comma behind it; false: malformed, or @err is set. */
static bool read_item(struct b2f_gone *gone, const char **text,
		      struct place *place, int *err)
{
	bool is_time = **text == '@';
	uint64_t n, more = 0;

	*text += is_time;
	if (!read_number(text, &n))
		return false;
	if (!is_time && **text == '+') {
		++*text;
		if (!read_number(text, &more))
			return false;
	}
	/* The text was cut off, perhaps inside this number. */
	if (**text != ',')
		return false;
	++*text;
	if (is_time) {
		*place = (struct place){.since_s = n};
		return true;
	}
	*err = add_run(gone, place->id + n, more, place->since_s);
	place->id += n + more + 1;
	return !*err;
}

int b2f_gone_read(struct b2f_gone *gone, const char *text)
{
	/* A chunk without a time never becomes due. */
	struct place place = {.since_s = UINT32_MAX};
	int err = 0;

	text = strstr(text, BEGIN);
	if (!text)
		return 0;
	for (text += strlen(BEGIN); read_item(gone, &text, &place, &err);)
		;
	put_in_order(gone);
	return err;
}

/* Returns how many of the @n chunks at @first fit into one item. */
static size_t count_run(const struct b2f_gone_chunk *first, size_t n)
{
	size_t run = 1;

	while (run < n && first[run].since_s == first->since_s &&
	       first[run].id == first->id + run)
		run++;
	return run;
}

/* Writes the item of the @n chunks at @first, with their time if it differs. */
static size_t write_item(const struct b2f_gone_chunk *first, size_t n,
			 struct place *place, char out[ITEM_SIZE])
{
	int used = 0;

	if (first->since_s != place->since_s) {
		*place = (struct place){.since_s = first->since_s};
		used = snprintf(out, ITEM_SIZE, "@%" PRIX64 ",",
				first->since_s & UINT32_MAX);
	}
	used += snprintf(out + used, ITEM_SIZE - (size_t)used, "%" PRIX64,
			 (first->id - place->id) & UINT32_MAX);
	if (n > 1)
		used += snprintf(out + used, ITEM_SIZE - (size_t)used, "+%zX",
				 n - 1);
	used += snprintf(out + used, ITEM_SIZE - (size_t)used, ",");
	place->id = first->id + n;
	return (size_t)used;
}

int b2f_gone_write(const struct b2f_gone *gone, const struct b2f_ids *ids,
		   uint64_t since_s, char *out, size_t size)
{
	struct place place = {.since_s = UINT64_MAX};
	struct b2f_gone sorted = {.n = 0};
	size_t used = strlen(BEGIN), n;
	int err = reserve(&sorted, gone->n);

	*out = '\0';
	for (; !err && sorted.n < gone->n; sorted.n++)
		sorted.chunks[sorted.n] = gone->chunks[sorted.n];
	if (!err)
		err = b2f_gone_add(&sorted, ids, since_s);
	if (err || !sorted.n || size < used + ITEM_SIZE)
		goto out;
	qsort(sorted.chunks, sorted.n, sizeof(*sorted.chunks), by_time);
	strcpy(out, BEGIN);
	for (size_t at = 0; at < sorted.n && used + ITEM_SIZE <= size; at += n) {
		n = count_run(&sorted.chunks[at], sorted.n - at);
		used += write_item(&sorted.chunks[at], n, &place, out + used);
	}
out:
	b2f_gone_fini(&sorted);
	return err;
}

bool b2f_gone_is_due(const struct b2f_gone *gone, uint64_t until_s)
{
	for (size_t i = 0; i < gone->n; i++)
		if (gone->chunks[i].since_s <= until_s)
			return true;
	return false;
}

int b2f_gone_take(struct b2f_gone *gone, uint64_t until_s, size_t max,
		  struct b2f_ids *out)
{
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < gone->n; i++) {
		const struct b2f_gone_chunk chunk = gone->chunks[i];
		bool goes = !err && chunk.since_s <= until_s && i - n < max;

		if (goes)
			err = b2f_ids_add(out, chunk.id);
		if (err || !goes)
			gone->chunks[n++] = chunk;
	}
	gone->n = n;
	return err;
}

int b2f_gone_take_all(struct b2f_gone *gone, struct b2f_ids *out)
{
	return b2f_gone_take(gone, (uint64_t)time(NULL) + B2F_GONE_LATER_S / 2,
			     SIZE_MAX, out);
}

void b2f_gone_fini(struct b2f_gone *gone)
{
	free(gone->chunks);
	*gone = (struct b2f_gone){.n = 0};
}
