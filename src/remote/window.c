/* SPDX-License-Identifier: BSD-3-Clause */
/* window.c - one open object, with fetched and requested ranges */
#include "remote/window.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/sorted.h"

/* The readers of a chunk need no more; beyond, each read is a request. */
#define WINDOWS_MAX 32
#define HINTS_MAX   4

/* Expected ranges are rounded to pages of this size. */
#define PAGE (UINT64_C(16) << 10)

/* A smaller gap between two expected ranges is fetched with them. */
#define GAP_MAX (UINT64_C(1) << 20)

/*
 * A miss that follows the one before this closely is sequential: it fetches
 * this much more, doubled with each miss, up to RUN_MAX.
 */
#define NEAR	(UINT64_C(64) << 10)
#define RUN_MAX (UINT64_C(1) << 20)

/* Longest expected range. */
#define HINT_MAX (UINT64_C(256) << 20)

struct range {
	/* First, for b2f_compare_u64(). */
	uint64_t off;
	uint64_t end;
};

struct window {
	struct range range;
	struct b2f_fetch *fetch;
};

struct b2f_windows {
	struct b2f_remote *remote;
	struct b2f_remote_stat version;
	bool is_part;
	struct b2f_remote_stat part_of;
	/* The first miss fetches at least this many bytes; then 0. */
	size_t ahead;
	pthread_mutex_t lock;
	/* Under lock; a window is constant once it is counted. */
	struct window windows[WINDOWS_MAX];
	unsigned int nwindows;
	struct range hints[HINTS_MAX];
	unsigned int nhints;
	/* The end of the last miss, and how many extra bytes it asked for. */
	uint64_t miss_end;
	uint64_t run;
	/* Constant. */
	char path[];
};

int b2f_windows_new(struct b2f_remote *remote, const char *path,
		    const struct b2f_remote_stat *version,
		    const struct b2f_remote_stat *part_of, size_t ahead,
		    struct b2f_windows **out)
{
	struct b2f_windows *w = calloc(1, sizeof(*w) + strlen(path) + 1);

	if (!w)
		return -ENOMEM;
	strcpy(w->path, path);
	w->remote = remote;
	w->version = *version;
	w->is_part = part_of != NULL;
	if (part_of)
		w->part_of = *part_of;
	w->ahead = ahead;
	pthread_mutex_init(&w->lock, NULL);
	*out = w;
	return 0;
}

void b2f_windows_free(struct b2f_windows *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; i < w->nwindows; i++)
		b2f_fetch_drop(w->windows[i].fetch);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Adds a window; the lock is held. */
static void add(struct b2f_windows *w, uint64_t off, uint64_t end,
		struct b2f_fetch *fetch)
{
	if (w->nwindows == WINDOWS_MAX) {
		b2f_fetch_drop(fetch);
		return;
	}
	w->windows[w->nwindows++] =
		(struct window){.range = {off, end}, .fetch = fetch};
}

void b2f_windows_add(struct b2f_windows *w, uint64_t off, uint64_t n,
		     struct b2f_fetch *fetch)
{
	pthread_mutex_lock(&w->lock);
	add(w, off, off + n, fetch);
	pthread_mutex_unlock(&w->lock);
}

void b2f_windows_expect(struct b2f_windows *w, uint64_t off, uint64_t n)
{
	struct range hint = {off / PAGE * PAGE, w->version.size};

	if (n == 0 || !b2f_range_fits(off, n, w->version.size))
		return;
	if (off + n < w->version.size - b2f_min_u64(PAGE, w->version.size))
		hint.end = b2f_div_up_u64(off + n, PAGE) * PAGE;
	if (hint.end - hint.off > HINT_MAX)
		return;
	B2F_HOLD(&w->lock);
	if (w->nhints < HINTS_MAX)
		w->hints[w->nhints++] = hint;
}

static int start(struct b2f_windows *w, struct range range, void *into,
		 struct b2f_fetch **out)
{
	const struct b2f_fetch_spec spec = {
		.path = w->path,
		.version = &w->version,
		.part_of = w->is_part ? &w->part_of : NULL,
		.off = range.off,
		.n = range.end - range.off,
		.into = into};

	return b2f_fetch_start(w->remote, &spec, out);
}

/* Starts to fetch @range as a window; the lock is held. */
static void open_window(struct b2f_windows *w, struct range range)
{
	struct b2f_fetch *fetch = NULL;

	/* If it cannot start, the bytes are fetched when they are read. */
	if (w->nwindows < WINDOWS_MAX && range.end > range.off &&
	    start(w, range, NULL, &fetch) == 0)
		add(w, range.off, range.end, fetch);
}

/* Returns @range without the beginning that windows have; the lock is held. */
static struct range without_known(const struct b2f_windows *w,
				  struct range range)
{
	for (unsigned int i = 0; i < w->nwindows; i++) {
		const struct range *known = &w->windows[i].range;

		if (known->off <= range.off && known->end > range.off)
			range.off = b2f_min_u64(known->end, range.end);
	}
	return range;
}

/* Fetches all expected ranges; the lock is held. */
static void open_hints(struct b2f_windows *w)
{
	struct range sum = {0, 0};

	qsort(w->hints, w->nhints, sizeof(w->hints[0]), b2f_compare_u64);
	for (unsigned int i = 0; i < w->nhints; i++) {
		struct range hint = without_known(w, w->hints[i]);

		if (hint.off == hint.end)
			continue;
		if (sum.end > 0 && hint.off <= sum.end + GAP_MAX) {
			sum.end = b2f_max_u64(sum.end, hint.end);
			continue;
		}
		open_window(w, sum);
		sum = hint;
	}
	open_window(w, sum);
	w->nhints = 0;
}

/* Returns the window with byte @off, or in *@next where the next one begins. */
static const struct window *find(const struct b2f_windows *w, uint64_t off,
				 uint64_t failed, uint64_t *next)
{
	for (unsigned int i = 0; i < w->nwindows; i++) {
		const struct window *window = &w->windows[i];

		if (failed & (UINT64_C(1) << i))
			continue;
		if (window->range.off <= off && off < window->range.end)
			return window;
		if (window->range.off > off && window->range.off < *next)
			*next = window->range.off;
	}
	return NULL;
}

/* Returns how many bytes from @off on to fetch; 0: only those that are read. */
static uint64_t ahead_of(struct b2f_windows *w, uint64_t off)
{
	uint64_t ahead = w->ahead;

	w->ahead = 0;
	if (off >= w->miss_end && off - w->miss_end <= NEAR && w->miss_end > 0)
		w->run = b2f_min_u64(b2f_max_u64(2 * w->run, NEAR), RUN_MAX);
	else
		w->run = 0;
	return b2f_max_u64(ahead, w->run);
}

/*
 * Like find(), after fetching the expected ranges; *@next: the end of the range
 * of @off.
 */
static const struct window *find_or_open(struct b2f_windows *w, uint64_t off,
					 uint64_t limit, uint64_t failed,
					 uint64_t *next)
{
	B2F_HOLD(&w->lock);
	const struct window *window = find(w, off, failed, next);
	uint64_t end;

	if (!window && w->nhints > 0) {
		open_hints(w);
		window = find(w, off, failed, next);
	}
	/* After an error, fetch only the bytes that are read. */
	if (!window && !failed) {
		end = off + ahead_of(w, off);
		if (end > *next)
			open_window(w,
				    (struct range){off, b2f_min_u64(limit, end)});
		w->miss_end = b2f_max_u64(b2f_min_u64(limit, end), *next);
		window = find(w, off, failed, next);
	}
	return window;
}

/* Fetches the @n bytes at @off and nothing else. */
static int read_exactly(struct b2f_windows *w, uint64_t off, void *buf, size_t n,
			struct b2f_why *why)
{
	struct b2f_fetch *fetch = NULL;
	struct b2f_fetched got = {.n = 0};
	int err = start(w, (struct range){off, off + n}, buf, &fetch);

	if (err)
		return err;
	err = b2f_fetch_wait(fetch, &got, why);
	b2f_fetch_drop(fetch);
	if (!err && got.n != n)
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the object ends at byte %llu",
				  (unsigned long long)(off + got.n));
	return err;
}

/* Copies the bytes of @window in [@off, @off + *@n), at least one. */
static int copy(const struct window *window, uint64_t off, void *buf, size_t *n)
{
	struct b2f_fetched got = {.n = 0};
	uint64_t skip = off - window->range.off;
	int err = b2f_fetch_wait(window->fetch, &got, NULL);

	if (err)
		return err;
	if (skip >= got.n)
		return B2F_ECORRUPT;
	*n = b2f_min_u64(*n, got.n - skip);
	memcpy(buf, got.bytes + skip, *n);
	return 0;
}

int b2f_windows_read(struct b2f_windows *w, uint64_t off, void *buf, size_t n,
		     uint64_t limit, struct b2f_why *why)
{
	uint64_t failed = 0;
	uint8_t *to = buf;

	if (!b2f_range_fits(off, n, w->version.size))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the object ends at byte %llu",
				   (unsigned long long)w->version.size);
	limit = b2f_min_u64(b2f_max_u64(limit, off + n), w->version.size);
	while (n > 0) {
		uint64_t next = off + n;
		const struct window *window =
			find_or_open(w, off, limit, failed, &next);
		size_t part = next - off;
		int err;

		if (window) {
			part = n;
			err = copy(window, off, to, &part);
			/* A second request will return the error. */
			if (err) {
				failed |= UINT64_C(1) << (window - w->windows);
				continue;
			}
		} else {
			err = read_exactly(w, off, to, part, why);
		}
		if (err)
			return err;
		to += part;
		off += part;
		n -= part;
	}
	return 0;
}
