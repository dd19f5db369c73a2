/* SPDX-License-Identifier: BSD-3-Clause */
/* test_arena.c - buffers in slabs of a fixed range */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/aligned.h"
#include "run/arena.h"

#define SLAB ((size_t)2 << 20)
#define KIB  1024u

static struct b2f_arena arena;

static void fini(void)
{
	b2f_arena_fini(&arena);
}

TestSuite(arena, .fini = fini);

/* Takes buffers of @size until there is no room; returns their number. */
static size_t fill(size_t size, uint8_t **out)
{
	size_t n = 0;

	while ((out[n] = b2f_arena_get(&arena, size))) {
		cr_assert_eq((uintptr_t)out[n] % B2F_ALIGN, 0);
		memset(out[n], (int)n + 1, size);
		n++;
	}
	return n;
}

Test(arena, buffers_fill_it_and_do_not_overlap)
{
	uint8_t *data[200];
	size_t n;

	b2f_arena_init(&arena, 2 * SLAB + SLAB / 2);
	n = fill(96 * KIB, data);
	cr_assert_eq(n, 2 * (SLAB / (96 * KIB)));
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(data[i][0], i + 1);
		cr_assert_eq(data[i][96 * KIB - 1], i + 1);
		cr_assert(b2f_arena_put(&arena, data[i]));
	}
	cr_assert_eq(fill(32 * KIB, data), 128, "one bit for each of 64");
}

Test(arena, slab_that_is_empty_takes_another_size)
{
	uint8_t *small[200], *large[4];
	size_t n;

	b2f_arena_init(&arena, 2 * SLAB);
	n = fill(64 * KIB, small);
	cr_assert_eq(n, 64);
	for (size_t i = 1; i < n; i++)
		cr_assert(b2f_arena_put(&arena, small[i]));
	cr_assert_eq(fill(SLAB, large), 1, "the other slab has one in use");
	cr_assert_eq(small[0][64 * KIB - 1], 1);
	cr_assert_eq(fill(64 * KIB, small + 1), 31);
}

Test(arena, sizes_that_do_not_fit_slabs_have_no_place)
{
	b2f_arena_init(&arena, 2 * SLAB);
	cr_assert_null(b2f_arena_get(&arena, 16 * KIB));
	cr_assert_null(b2f_arena_get(&arena, SLAB + B2F_ALIGN));
	cr_assert_null(b2f_arena_get(&arena, 64 * KIB + 1));
	cr_assert_null(b2f_arena_get(&arena, 0));
}

Test(arena, arena_of_nothing_has_no_place)
{
	uint8_t byte = 0;

	b2f_arena_init(&arena, SLAB - 1);
	cr_assert_null(b2f_arena_get(&arena, 64 * KIB));
	cr_assert_not(b2f_arena_put(&arena, &byte));
	cr_assert_not(b2f_arena_put(&arena, NULL));
	b2f_arena_trim(&arena);
}

Test(arena, trim_gives_back_empty_slabs_and_no_others)
{
	uint8_t *one, *two;

	b2f_arena_init(&arena, 2 * SLAB);
	one = b2f_arena_get(&arena, SLAB);
	two = b2f_arena_get(&arena, SLAB);
	cr_assert(one && two);
	memset(one, 1, SLAB);
	memset(two, 2, SLAB);
	cr_assert(b2f_arena_put(&arena, one));
	b2f_arena_trim(&arena);
	cr_assert_eq(b2f_arena_get(&arena, SLAB), one);
	cr_assert_eq(one[SLAB - 1], 0, "memory of the system is zeros");
	cr_assert_eq(two[SLAB - 1], 2);
}

Test(arena, slack_is_what_slabs_hold_besides)
{
	uint8_t *a, *b, *c;

	b2f_arena_init(&arena, 2 * SLAB);
	cr_assert_eq(b2f_arena_slack(&arena), 0);
	a = b2f_arena_get(&arena, SLAB / 4);
	b = b2f_arena_get(&arena, SLAB / 4);
	cr_assert_eq(b2f_arena_slack(&arena), SLAB / 2);
	c = b2f_arena_get(&arena, SLAB);
	cr_assert_eq(b2f_arena_slack(&arena), SLAB / 2);
	cr_assert(b2f_arena_put(&arena, a));
	cr_assert_eq(b2f_arena_slack(&arena), 3 * SLAB / 4);
	cr_assert(b2f_arena_put(&arena, b));
	cr_assert(b2f_arena_put(&arena, c));
	cr_assert_eq(b2f_arena_slack(&arena), 0);
}

Test(arena, slab_that_is_empty_gives_its_memory_back_if_asked_to)
{
	uint8_t *data;

	b2f_arena_init(&arena, SLAB);
	arena.gives_back = true;
	data = b2f_arena_get(&arena, SLAB / 4);
	*data = 5;
	cr_assert(b2f_arena_put(&arena, data));
	cr_assert_eq(b2f_arena_get(&arena, SLAB / 8), data);
	cr_assert_eq(*data, 0);
}
