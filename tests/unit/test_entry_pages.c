/* SPDX-License-Identifier: BSD-3-Clause */
/* test_entry_pages.c - entries in pages, and indexes made of pages */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "index/entry_pages.h"
#include "index/index_write.h"
#include "index/tags.h"
#include "tests/unit/exact.h"

#define ZEROS (UINT64_C(0x81) << 56)
#define NMAX  (3 * B2F_PAGE_ENTRIES + 100)

/* The entries of a frame, as pages and as a plain list. */
struct model {
	struct b2f_pages pages;
	uint64_t raw[NMAX];
	uint64_t n;
	uint32_t header_len;
	uint64_t seed;
};

static uint32_t below(struct model *m, uint32_t limit)
{
	return exact_random(&m->seed) % limit;
}

static uint64_t some_entry(struct model *m)
{
	uint32_t id = below(m, 100000);

	if (below(m, 9) == 0)
		return ZEROS;
	return id | (below(m, 5) ? (uint64_t)(B2F_TAG_MIN + id * 3) << 32 : 0);
}

static void set(struct model *m, uint64_t i, uint64_t raw)
{
	cr_assert_eq(b2f_pages_own(&m->pages, i, 1), 0);
	b2f_pages_set(&m->pages, i, raw);
	m->raw[i] = raw;
}

static void grow(struct model *m, uint64_t n)
{
	cr_assert_eq(b2f_pages_reserve(&m->pages, n), 0);
	for (uint64_t i = m->n; i < n; i++)
		set(m, i, below(m, 3) ? i : ZEROS);
	m->n = n;
}

static uint64_t place(const void *arg, uint64_t i, uint64_t raw)
{
	(void)arg;
	(void)i;
	return (raw & B2F_ENTRY_ID) * 64;
}

/* The index of @pages, or if that is NULL of the plain list. */
static uint8_t *make(const struct model *m, const struct b2f_pages *pages,
		     bool sparse, size_t *size)
{
	uint8_t *head = calloc(1, m->header_len), *out = NULL;
	uint8_t trailer[B2F_FRAME_TRAILER_PLAIN];
	const struct b2f_index_parts parts = {
		.header = {.header_len = m->header_len,
			   .typesize = 1,
			   .chunksize = 10,
			   .sparse = sparse,
			   .splitmode = 4,
			   .nbytes = 10 * m->n},
		.header_bytes = head,
		.entries = pages ? NULL : m->raw,
		.pages = pages,
		.nentries = m->n,
		.place = sparse ? NULL : place,
		.trailer_bytes = trailer,
		.trailer_len = sizeof(trailer),
		.sealed = true};

	b2f_frame_header_write(&parts.header, head);
	b2f_trailer_write(trailer);
	cr_assert_eq(b2f_index_write(&parts, &out, size, NULL), 0);
	free(head);
	return out;
}

static void expect_same_index(const struct model *m, bool sparse)
{
	size_t size, wanted;
	OWN(free) uint8_t *index = make(m, &m->pages, sparse, &size);
	OWN(free) uint8_t *whole = make(m, NULL, sparse, &wanted);

	cr_assert_eq(size, wanted);
	cr_assert_arr_eq(index, whole, size);
}

static void change_some(struct model *m)
{
	uint32_t n = below(m, 4);

	if (below(m, 6) == 0)
		m->n = 1 + below(m, (uint32_t)m->n);
	if (below(m, 3) == 0)
		grow(m, m->n + below(m, (uint32_t)(NMAX - m->n) + 1));
	if (below(m, 10) == 0)
		m->header_len += 8;
	for (uint32_t i = 0; i < n; i++)
		set(m, below(m, (uint32_t)m->n), some_entry(m));
	/* The tags of a page depend on the last tag of the page before. */
	if (m->n > B2F_PAGE_ENTRIES)
		set(m, B2F_PAGE_ENTRIES - 1, some_entry(m));
}

Test(entry_pages, an_index_that_was_made_in_part_is_as_one_made_anew)
{
	static struct model m = {.header_len = B2F_FRAME_HEADER_PLAIN,
				 .seed = 5};
	struct b2f_pages before = {0};

	grow(&m, 20);
	for (int round = 0; round < 300; round++) {
		change_some(&m);
		expect_same_index(&m, round % 16 < 8);
		b2f_pages_fini(&before);
		/* A commit keeps a copy like this. */
		if (round % 3)
			cr_assert_eq(b2f_pages_copy(&m.pages, &before), 0);
	}
	b2f_pages_fini(&before);
	b2f_pages_fini(&m.pages);
}

Test(entry_pages, a_copy_stays_as_it_was)
{
	static struct model m = {.header_len = B2F_FRAME_HEADER_PLAIN};
	struct b2f_pages copy = {0};
	uint64_t was[NMAX];

	grow(&m, NMAX - 1);
	memcpy(was, m.raw, sizeof(was));
	cr_assert_eq(b2f_pages_copy(&m.pages, &copy), 0);
	cr_assert(b2f_pages_equal(&m.pages, &copy, m.n));
	for (uint64_t i = 0; i < m.n; i += 700)
		set(&m, i, 77777);
	cr_assert_not(b2f_pages_equal(&m.pages, &copy, m.n));
	for (uint64_t i = 0; i < m.n; i++) {
		cr_assert_eq(b2f_pages_get(&copy, i), was[i]);
		cr_assert_eq(b2f_pages_get(&m.pages, i), m.raw[i]);
	}
	b2f_pages_fini(&copy);
	b2f_pages_fini(&m.pages);
}

Test(entry_pages, what_no_change_has_touched_keeps_its_stored_bytes)
{
	static struct model m = {.header_len = B2F_FRAME_HEADER_PLAIN};
	const uint8_t *first, *second;
	struct b2f_pages frozen = {0};
	size_t size;

	grow(&m, 2 * B2F_PAGE_ENTRIES);
	set(&m, 5, some_entry(&m));
	free(make(&m, &m.pages, true, &size));
	first = m.pages.at[0]->values.bytes;
	second = m.pages.at[1]->values.bytes;
	cr_assert_not_null(first);
	cr_assert_eq(b2f_pages_copy(&m.pages, &frozen), 0);
	set(&m, 7, 12345);
	free(make(&m, &m.pages, true, &size));
	cr_expect_eq(frozen.at[0]->values.bytes, first);
	cr_expect_neq(m.pages.at[0]->values.bytes, first);
	cr_expect_eq(m.pages.at[1]->values.bytes, second);
	b2f_pages_fini(&frozen);
	b2f_pages_fini(&m.pages);
}
