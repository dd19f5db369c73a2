/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_zip.c - any bytes as a ZIP file
 *
 * Members that are handed out lie inside of the file, do not overlap, and have
 * names that a file can have.
 */
#include <stdlib.h>
#include <string.h>

#include "store/zip.h"
#include "tests/fuzz/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_place(const void *a, const void *b)
{
	const struct b2f_zip_member *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

static void check_name(const char *name)
{
	if (!*name || *name == '/' || strstr(name, "//") ||
	    strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 ||
	    strstr(name, "/../"))
		abort();
}

static void check(struct b2f_zip *zip, size_t size)
{
	for (size_t i = 0; i < zip->n; i++) {
		check_name(zip->members[i].name);
		if (i > 0 && strcmp(zip->members[i - 1].name,
				    zip->members[i].name) >= 0)
			abort();
	}
	qsort(zip->members, zip->n, sizeof(*zip->members), by_place);
	for (size_t i = 0; i < zip->n; i++) {
		const struct b2f_zip_member *m = &zip->members[i];

		if (m->off > size || m->size > size - m->off)
			abort();
		if (i + 1 < zip->n && m->off + m->size > m[1].off)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct b2f_store *store = NULL;
	struct b2f_object object;
	struct b2f_zip zip = {0};
	struct b2f_why why = {""};
	uint8_t *raw = copy_of(data, size);

	if (b2f_store_new_memory(raw, size, &store) ||
	    b2f_object_open(store, B2F_OBJECT_INDEX, &object, &why))
		abort();
	if (!b2f_zip_parse(&object, &zip, &why)) {
		check(&zip, size);
		b2f_zip_fini(&zip);
	}
	b2f_object_close(&object);
	b2f_store_free(store);
	free(raw);
	return 0;
}
