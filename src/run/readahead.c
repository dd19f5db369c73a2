/* SPDX-License-Identifier: BSD-3-Clause */
/* readahead.c - notices sequential readers */
#include "run/readahead.h"

#include "base/checked.h"

/* Reads in a row, where expected, that make a stream sequential. */
#define STREAK_SEQUENTIAL 2

/*
 * How far from the expected position a read may start and still be in order:
 * the kernel has up to about 16 requests of one reader in flight.  The bounds
 * keep tiny reads from losing the stream over one late request, and large ones
 * from taking any position of a file for "near".
 */
#define NEAR_READS 16
#define NEAR_MIN   (UINT64_C(64) << 10)
#define NEAR_MAX   (UINT64_C(4) << 20)

/* The first window, in reads. */
#define OPEN_READS 4

void b2f_readahead_init(struct b2f_readahead *ra, uint64_t max_window)
{
	*ra = (struct b2f_readahead){.max_window = max_window};
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times_capped(uint64_t a, uint64_t factor, uint64_t cap)
{
	return a > cap / factor ? cap : a * factor;
}

static bool is_near(const struct b2f_readahead *ra, uint64_t off, uint64_t size)
{
	uint64_t slack = times_capped(size, NEAR_READS, NEAR_MAX);
	uint64_t away =
		off > ra->expected ? off - ra->expected : ra->expected - off;

	return away <= b2f_max_u64(slack, NEAR_MIN);
}

/* Notes the read [@off, @off + @size); true if the stream is sequential. */
static bool follow(struct b2f_readahead *ra, uint64_t off, uint64_t size)
{
	uint64_t end = add_saturated(off, size);

	if (!is_near(ra, off, size)) {
		ra->streak = 0;
		ra->window = 0;
		ra->expected = end;
		return false;
	}
	ra->expected = b2f_max_u64(ra->expected, end);
	if (ra->streak < STREAK_SEQUENTIAL)
		ra->streak++;
	return ra->streak == STREAK_SEQUENTIAL;
}

/* Opens or widens the window; true if its end has moved. */
static bool widen(struct b2f_readahead *ra, uint64_t size, uint64_t file_size)
{
	if (ra->window == 0) {
		ra->window = b2f_max_u64(
			times_capped(size, OPEN_READS, ra->max_window),
			ra->first_window);
		ra->ahead_end = ra->expected;
		return true;
	}
	/* A reader that overtook the window has loaded the gap itself. */
	ra->ahead_end = b2f_max_u64(ra->ahead_end, ra->expected);
	if (ra->ahead_end - ra->expected > ra->window / 2)
		return false;
	if (ra->ahead_end < file_size)
		ra->window = times_capped(ra->window, 2, ra->max_window);
	return true;
}

bool b2f_readahead_note(struct b2f_readahead *ra, uint64_t off, uint64_t size,
			uint64_t file_size, uint64_t *start, uint64_t *end)
{
	uint64_t to;

	if (ra->max_window == 0 || size == 0)
		return false;
	if (!follow(ra, off, size) || !widen(ra, size, file_size))
		return false;
	to = b2f_min_u64(add_saturated(ra->expected, ra->window), file_size);
	if (to <= ra->ahead_end)
		return false;
	*start = ra->ahead_end;
	*end = to;
	ra->ahead_end = to;
	return true;
}

bool b2f_readahead_in_order(const struct b2f_readahead *ra)
{
	return ra->streak == STREAK_SEQUENTIAL;
}
