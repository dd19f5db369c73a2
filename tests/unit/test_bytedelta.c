/* SPDX-License-Identifier: BSD-3-Clause */
/* test_bytedelta.c - the bytedelta filters, the right one and the old one */
#include <criterion/criterion.h>

#include "b2frame/error.h"
#include "filter/filter.h"
#include "tests/unit/exact.h"

/*
 * Encodes each of @nchannels channels; the difference starts from 0 again after
 * @restart bytes of a channel.
 */
static uint8_t *encode(const uint8_t *data, size_t nbytes, size_t nchannels,
		       size_t restart)
{
	size_t n = nbytes / nchannels, at;
	uint8_t *out = exact_copy(data, nbytes);

	for (size_t c = 0; c < nchannels; c++) {
		for (size_t i = 1; i < n; i++) {
			at = c * n + i;
			if (i != restart)
				out[at] = (uint8_t)(data[at] - data[at - 1]);
		}
	}
	return out;
}

static void expect_back(const struct b2f_filter *filter, uint8_t meta,
			size_t nchannels, size_t nbytes)
{
	struct b2f_filter_block block = {
		.typesize = 1,
		.schunk_typesize = meta ? 0 : (uint32_t)nchannels,
		.chunk_version = 5,
	};
	size_t n = nbytes / nchannels;
	size_t restart = filter->id == B2F_FILTER_BYTEDELTA ? n : n - n % 16;
	OWN(free) uint8_t *data = exact_noise(nbytes, nbytes);
	OWN(free) uint8_t *delta = encode(data, nbytes, nchannels, restart);

	cr_assert_eq(filter->check(&block, meta, nbytes, NULL), 0);
	filter->decode(&block, meta, delta, delta, nbytes);
	cr_assert_eq(memcmp(delta, data, nbytes), 0,
		     "%s, %zu channels, %zu bytes", filter->name, nchannels,
		     nbytes);
}

static void expect_back_all(const struct b2f_filter *filter)
{
	static const size_t lengths[] = {1,   15,  16,	17,   64,
					 100, 255, 480, 1000, 4099};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		for (size_t c = 1; c <= 40; c++) {
			expect_back(filter, (uint8_t)c, c, lengths[i]);
			expect_back(filter, 0, c, lengths[i]);
		}
		expect_back(filter, 255, 255, lengths[i]);
		expect_back(filter, 0, 300, lengths[i]);
		expect_back(filter, 0, 100000, lengths[i]);
	}
}

Test(bytedelta, every_number_of_channels_comes_back)
{
	expect_back_all(&b2f_filter_bytedelta);
}

Test(bytedelta, the_old_one_starts_anew_after_the_last_vector)
{
	expect_back_all(&b2f_filter_bytedelta_old);
}

Test(bytedelta, the_fast_sum_is_that_of_the_slow_one)
{
	for (size_t n = 0; n < 200; n++) {
		uint8_t *fast = exact_noise(n, n), *slow = exact_noise(n, n);

		b2f_bytedelta_sum(fast, n);
		b2f_bytedelta_sum_scalar(slow, n);
		cr_assert_eq(memcmp(fast, slow, n), 0, "%zu bytes", n);
		free(fast);
		free(slow);
	}
}

Test(bytedelta, without_meta_and_type_size_it_is_refused)
{
	struct b2f_filter_block block = {.typesize = 4, .chunk_version = 5};
	struct b2f_why why = {""};

	cr_assert_eq(b2f_filter_bytedelta.check(&block, 0, 128, &why),
		     B2F_EUNSUPPORTED);
	cr_assert_str_eq(why.text, "bytedelta needs the frame's type size");
	cr_assert_eq(b2f_filter_bytedelta_old.check(&block, 0, 128, &why),
		     B2F_EUNSUPPORTED);
}

Test(bytedelta, the_tail_stays_as_stored)
{
	struct b2f_filter_block block = {.typesize = 1, .chunk_version = 5};
	uint8_t data[] = {1, 1, 1, 1, 9, 8};

	b2f_filter_bytedelta.decode(&block, 4, data, data, 6);
	cr_assert_eq(memcmp(data, "\1\1\1\1\x09\x08", 6), 0);
	b2f_filter_bytedelta.decode(&block, 2, data, data, 5);
	cr_assert_eq(memcmp(data, "\1\2\1\2\x09\x08", 6), 0);
}
