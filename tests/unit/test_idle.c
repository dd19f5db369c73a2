/* SPDX-License-Identifier: BSD-3-Clause */
/* test_idle.c - idle decoders and buffers keep memory for the next use */
#include <criterion/criterion.h>

#include "chunk/decoder.h"
#include "file/idle.h"

#define MIB ((size_t)1 << 20)

static struct b2f_idle idle;

static void init(void)
{
	b2f_idle_init(&idle, 0, 10 * MIB);
}

static void fini(void)
{
	b2f_idle_fini(&idle);
}

TestSuite(idle, .init = init, .fini = fini);

/* A decoder whose buffer for stored bytes has at least @size bytes. */
static struct b2f_decoder *get(size_t size)
{
	struct b2f_decoder *dec;

	cr_assert_eq(b2f_idle_get_decoder(&idle, &dec), 0);
	cr_assert_eq(b2f_scratch_reserve(&dec->stored, size), 0);
	return dec;
}

Test(idle, large_buffer_is_there_the_next_time)
{
	b2f_idle_put_decoder(&idle, get(6 * MIB));
	cr_assert_eq(idle.large_bytes, 6 * MIB);
	for (int i = 0; i < 3; i++) {
		struct b2f_decoder *dec = get(0);

		cr_assert_eq(idle.large_bytes, 0);
		cr_assert_eq(dec->stored.size, 6 * MIB);
		b2f_idle_put_decoder(&idle, dec);
	}
	b2f_idle_trim(&idle);
	cr_assert_eq(idle.large_bytes, 0);
}

Test(idle, large_buffers_stay_within_the_bound_together)
{
	struct b2f_decoder *decs[8];

	for (int i = 0; i < 8; i++)
		decs[i] = get((i % 4 + 1) * MIB);
	for (int i = 0; i < 8; i++) {
		b2f_idle_put_decoder(&idle, decs[i]);
		cr_assert_leq(idle.large_bytes, 10 * MIB);
	}
	/* 3 + 4 + 3 MiB: 1 and 2 are not large, and a second 4 was too much. */
	cr_assert_eq(idle.large_bytes, 10 * MIB);
	for (int i = 0; i < 8; i++)
		decs[i] = get(0);
	cr_assert_eq(idle.large_bytes, 0);
	for (int i = 0; i < 8; i++)
		b2f_decoder_free(decs[i]);
}

Test(idle, buffer_beyond_the_bound_goes)
{
	struct b2f_decoder *dec;

	b2f_idle_put_decoder(&idle, get(11 * MIB));
	cr_assert_eq(idle.large_bytes, 0);
	dec = get(0);
	cr_assert_eq(dec->stored.size, 0);
	b2f_decoder_free(dec);
}

Test(idle, short_buffer_of_pages_is_there_the_next_time)
{
	bool in_memory;
	uint8_t *pages = b2f_idle_get_pages(&idle, MIB, false, &in_memory);
	uint8_t *other;

	cr_assert(pages && !in_memory);
	pages[0] = 1;
	b2f_idle_put_pages(&idle, pages, MIB, 4096);
	other = b2f_idle_get_pages(&idle, 2 * MIB, false, &in_memory);
	cr_assert(other && !in_memory, "it has another size");
	b2f_idle_put_pages(&idle, other, 2 * MIB, 4096);
	cr_assert_eq(b2f_idle_get_pages(&idle, MIB, false, &in_memory), pages);
	cr_assert_not(in_memory);
	/* It is unknown which of its pages are in memory. */
	b2f_idle_put_pages(&idle, pages, MIB, MIB - 1);
	cr_assert_eq(idle.short_pages.n + idle.pages.n, 0);
}
