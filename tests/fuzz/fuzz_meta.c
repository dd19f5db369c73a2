/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_meta.c - any bytes as metalayers, vlmetalayers, or a b2nd metalayer
 */
#include <stdlib.h>
#include <string.h>

#include "array/b2nd.h"
#include "index/index.h"
#include "tests/fuzz/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches every byte that the list points to. */
static void walk(struct b2f_meta_list *list)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct b2f_meta *m = &list->items[i];

		for (size_t k = 0; k < m->size && k < 4096; k++)
			sum += m->content[k];
		if (m->size)
			sum += m->content[m->size - 1];
		if (strlen(m->name) > m->name_len)
			abort();
	}
	if (b2f_meta_find(list, "b2nd") && list->n == 0)
		abort();
	(void)sum;
	b2f_meta_list_fini(list);
}

static void locate(const struct b2f_array *a)
{
	uint64_t items[] = {0, a->nitems / 3, a->nitems / 2, a->nitems - 1};

	for (size_t i = 0; i < 4 && a->nitems > 0; i++) {
		struct b2f_array_piece p = b2f_array_locate(a, items[i]);
		uint64_t end = p.chunk_off + p.nitems * a->itemsize;

		if (p.nitems == 0 || p.nchunk >= a->nchunks ||
		    end > a->chunk_items * a->itemsize)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct b2f_meta_list list = {0};
	struct b2f_why why = {""};
	struct b2f_array array;
	uint8_t *raw = copy_of(data, size);

	if (!b2f_meta_parse(raw, size, &list, &why))
		walk(&list);
	if (!b2f_vlmeta_parse(raw, size, &list, &why))
		walk(&list);
	if (!b2f_array_parse(raw, size, size ? data[size - 1] + 1u : 1, &array,
			     &why)) {
		locate(&array);
		b2f_array_fini(&array);
	}
	free(raw);
	return 0;
}
