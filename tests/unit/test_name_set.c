/* SPDX-License-Identifier: BSD-3-Clause */
/* test_name_set.c - a set of names */
#include <criterion/criterion.h>
#include <stdio.h>

#include "fuse/name_set.h"

#define MANY 5000

static struct fs_name_hash number(unsigned int n)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", n);
	return fs_name_hash(name);
}

Test(name_set, an_empty_set_has_nothing)
{
	struct fs_name_set set = {0};

	cr_assert_not(fs_name_set_has(&set, fs_name_hash("")));
	fs_name_set_remove(&set, fs_name_hash("x"));
	fs_name_set_fini(&set);
}

Test(name_set, a_name_added_twice_is_removed_at_once)
{
	struct fs_name_set set = {0};

	cr_assert_eq(fs_name_set_add(&set, fs_name_hash("x")), 0);
	cr_assert_eq(fs_name_set_add(&set, fs_name_hash("x")), 0);
	cr_assert_eq(set.nnames, 1);
	cr_assert(fs_name_set_has(&set, fs_name_hash("x")));
	cr_assert_not(fs_name_set_has(&set, fs_name_hash("X")));
	fs_name_set_remove(&set, fs_name_hash("x"));
	cr_assert_eq(set.nnames, 0);
	cr_assert_not(fs_name_set_has(&set, fs_name_hash("x")));
	fs_name_set_fini(&set);
}

Test(name_set, a_stem_has_the_hashes_of_its_names)
{
	struct fs_name_hash all[B2F_SUFFIXES], one;
	const struct fs_name_hash stem = fs_name_hash("a.b2nd.x");
	char name[32];

	fs_name_hash_all("a.b2nd.x", all);
	for (enum b2f_suffix i = 0; i < B2F_SUFFIXES; i++) {
		snprintf(name, sizeof(name), "a.b2nd.x%s", b2f_suffix_text(i));
		one = fs_name_hash(name);
		cr_assert_eq(all[i].low, one.low);
		cr_assert_eq(all[i].high, one.high);
		cr_assert_neq(one.high, stem.high);
		cr_assert_neq(one.high, all[(i + 1) % B2F_SUFFIXES].high);
	}
}

Test(name_set, a_mark_stays_until_the_name_is_added_once_more)
{
	struct fs_name_set set = {0};

	fs_name_set_mark(&set, number(0), true);
	cr_assert_not(fs_name_set_is_marked(&set, number(0)));
	for (unsigned int i = 0; i < MANY; i++) {
		cr_assert_eq(fs_name_set_add(&set, number(i)), 0);
		fs_name_set_mark(&set, number(i), i % 2);
	}
	fs_name_set_remove(&set, number(2));
	for (unsigned int i = 0; i < MANY; i++)
		cr_assert_eq(fs_name_set_is_marked(&set, number(i)), i % 2);
	cr_assert_eq(fs_name_set_add(&set, number(1)), 0);
	fs_name_set_mark(&set, number(3), false);
	for (unsigned int i = 1; i < 5; i += 2) {
		cr_assert(fs_name_set_has(&set, number(i)));
		cr_assert_not(fs_name_set_is_marked(&set, number(i)));
	}
	fs_name_set_fini(&set);
}

Test(name_set, names_that_want_one_slot_find_each_other)
{
	const struct fs_name_hash a = {.low = 63}, b = {.low = 127},
				  c = {.low = 63, .high = 2}, d = {.low = 64};
	struct fs_name_set set = {0};

	cr_assert_eq(fs_name_set_add(&set, a), 0);
	cr_assert_eq(fs_name_set_add(&set, b), 0);
	cr_assert_eq(fs_name_set_add(&set, c), 0);
	cr_assert_eq(fs_name_set_add(&set, d), 0);
	fs_name_set_remove(&set, a);
	cr_assert_not(fs_name_set_has(&set, a));
	cr_assert(fs_name_set_has(&set, b));
	cr_assert(fs_name_set_has(&set, c));
	cr_assert(fs_name_set_has(&set, d));
	fs_name_set_fini(&set);
}

/* Compared with a table without hashes. */
Test(name_set, many_come_and_go_in_any_order)
{
	static bool there[MANY];
	struct fs_name_set set = {0};
	unsigned int x = 1;
	size_t n = 0;

	for (int i = 0; i < 20 * MANY; i++) {
		unsigned int k;

		x = x * 1103515245u + 12345u;
		k = (x >> 8) % MANY;
		if (x >> 31) {
			cr_assert_eq(fs_name_set_add(&set, number(k)), 0);
			n += !there[k];
			there[k] = true;
		} else {
			fs_name_set_remove(&set, number(k));
			n -= there[k];
			there[k] = false;
		}
		cr_assert_eq(set.nnames, n);
	}
	for (unsigned int k = 0; k < MANY; k++)
		cr_assert_eq(fs_name_set_has(&set, number(k)), there[k]);
	fs_name_set_fini(&set);
}
