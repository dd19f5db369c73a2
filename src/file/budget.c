/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.c - how many written bytes may be in memory
 *
 * A writer takes its bytes before it copies them.  If there are too many, it
 * has the oldest records encoded, on the workers and on its own thread, until
 * there is room: memory does not grow, whatever writers do.
 *
 * Records that could not be encoded (a full disk, say) are counted apart, up to
 * as much again: when these take all of that, files with such records get the
 * error, and only they.
 */
#include <stdlib.h>
#include <time.h>

#include "base/checked.h"
#include "file/writer.h"

#define BATCH_MAX 16

#define WAIT_NS	  20000000
#define SECOND_NS 1000000000

void b2f_budget_enter(struct b2f_dirty *d)
{
	struct b2f_runtime *rt = d->file->runtime;

	pthread_mutex_lock(&rt->dirty_lock);
	d->older = rt->dirty_newest;
	d->newer = NULL;
	if (d->older)
		d->older->newer = d;
	else
		rt->dirty_oldest = d;
	rt->dirty_newest = d;
	pthread_mutex_unlock(&rt->dirty_lock);
}

void b2f_budget_leave(struct b2f_dirty *d)
{
	struct b2f_runtime *rt = d->file->runtime;

	pthread_mutex_lock(&rt->dirty_lock);
	if (d->older)
		d->older->newer = d->newer;
	else
		rt->dirty_oldest = d->newer;
	if (d->newer)
		d->newer->older = d->older;
	else
		rt->dirty_newest = d->older;
	d->older = d->newer = NULL;
	pthread_mutex_unlock(&rt->dirty_lock);
}

void b2f_budget_give(struct b2f_runtime *rt, uint64_t bytes)
{
	if (bytes == 0)
		return;
	pthread_mutex_lock(&rt->dirty_lock);
	rt->dirty_bytes -= bytes;
	pthread_cond_broadcast(&rt->dirty_room);
	pthread_mutex_unlock(&rt->dirty_lock);
}

/* Counts the bytes of the failed @d, or no longer.  Locked. */
static void count_stuck(struct b2f_dirty *d, bool stuck)
{
	struct b2f_runtime *rt = d->file->runtime;
	struct b2f_writer *w = d->file->writer;

	rt->stuck_bytes += stuck ? d->bytes : -d->bytes;
	w->stuck_bytes += stuck ? d->bytes : -d->bytes;
}

/* Changes what @d counts for.  Locked. */
static void set_bytes(struct b2f_dirty *d, uint64_t bytes)
{
	if (d->failed)
		count_stuck(d, false);
	d->bytes = bytes;
	if (d->failed)
		count_stuck(d, true);
}

void b2f_budget_add(struct b2f_dirty *d, uint64_t bytes)
{
	struct b2f_runtime *rt = d->file->runtime;

	pthread_mutex_lock(&rt->dirty_lock);
	set_bytes(d, d->bytes + bytes);
	pthread_mutex_unlock(&rt->dirty_lock);
}

void b2f_budget_drop(struct b2f_dirty *d, uint64_t bytes)
{
	struct b2f_runtime *rt = d->file->runtime;

	if (bytes == 0)
		return;
	pthread_mutex_lock(&rt->dirty_lock);
	set_bytes(d, d->bytes - bytes);
	rt->dirty_bytes -= bytes;
	pthread_cond_broadcast(&rt->dirty_room);
	pthread_mutex_unlock(&rt->dirty_lock);
}

void b2f_budget_fail(struct b2f_dirty *d, bool failed)
{
	struct b2f_runtime *rt = d->file->runtime;

	pthread_mutex_lock(&rt->dirty_lock);
	if (d->failed != failed) {
		count_stuck(d, failed);
		d->failed = failed;
		pthread_cond_broadcast(&rt->dirty_room);
	}
	pthread_mutex_unlock(&rt->dirty_lock);
}

void b2f_budget_encoding(struct b2f_runtime *rt, int more)
{
	pthread_mutex_lock(&rt->dirty_lock);
	rt->nencoding += (size_t)more;
	pthread_cond_broadcast(&rt->dirty_room);
	pthread_mutex_unlock(&rt->dirty_lock);
}

uint8_t *b2f_budget_spare_get(struct b2f_runtime *rt, uint32_t size)
{
	uint8_t *data = NULL;

	pthread_mutex_lock(&rt->dirty_lock);
	if (rt->nspare > 0 && rt->spare_size == size)
		data = rt->spare[--rt->nspare];
	pthread_mutex_unlock(&rt->dirty_lock);
	return data;
}

bool b2f_budget_spare_put(struct b2f_runtime *rt, uint8_t *data, uint32_t size)
{
	bool put = false;

	pthread_mutex_lock(&rt->dirty_lock);
	if (rt->nspare == 0)
		rt->spare_size = size;
	if (rt->nspare < B2F_SPARE_MAX && rt->spare_size == size &&
	    size <= B2F_SPARE_SIZE_MAX) {
		rt->spare[rt->nspare++] = data;
		put = true;
	}
	pthread_mutex_unlock(&rt->dirty_lock);
	return put;
}

void b2f_budget_free_spares(struct b2f_runtime *rt)
{
	pthread_mutex_lock(&rt->dirty_lock);
	while (rt->nspare > 0)
		b2f_dirty_unmap(rt->spare[--rt->nspare], rt->spare_size);
	pthread_mutex_unlock(&rt->dirty_lock);
}

/* Records that one writer encodes because there is no room. */
struct spill {
	struct b2f_runtime *rt;
	struct b2f_dirty *picked[BATCH_MAX];
	size_t n;
	int err[BATCH_MAX];
};

/*
 * Picks the oldest records, with a reference to each and to its file: of
 * @failing, if not NULL, those that failed, else all others.  Locked.
 */
static void pick(struct spill *s, const struct b2f_file *failing)
{
	size_t max = b2f_min_u64(b2f_pool_nworkers(s->rt->pool) + 1, BATCH_MAX);

	for (struct b2f_dirty *d = s->rt->dirty_oldest; d && s->n < max;
	     d = d->newer) {
		/* A look without the file's lock: a hint. */
		if (atomic_load(&d->busy) || d->failed != (failing != NULL) ||
		    (failing && d->file != failing))
			continue;
		b2f_dirty_ref(d);
		b2f_file_ref(d->file);
		s->picked[s->n++] = d;
	}
}

static int spill_one(void *arg, size_t i)
{
	struct spill *s = arg;
	struct b2f_dirty *d = s->picked[i];
	struct b2f_file *file = d->file;
	bool begun;

	pthread_mutex_lock(&file->lock);
	begun = b2f_dirty_find(file->writer, d->nchunk) == d &&
		b2f_encode_begin(d);
	pthread_mutex_unlock(&file->lock);
	s->err[i] = begun ? b2f_encode_run(d) : -EAGAIN;
	/* An error of one is no reason not to try the others. */
	return 0;
}

/* Encodes what was picked.  Returns 0 if any of it could be, else an error. */
static int spill_all(struct spill *s)
{
	int err;

	err = b2f_pool_for(s->rt->pool, B2F_POOL_DEMAND, s->n, spill_one, s);
	if (!err)
		err = -EAGAIN;
	for (size_t i = 0; i < s->n; i++) {
		struct b2f_file *file = s->picked[i]->file;

		if (s->err[i] == 0)
			err = 0;
		else if (err && s->err[i] != -EAGAIN)
			err = s->err[i];
		b2f_dirty_unref(s->picked[i]);
		b2f_file_unref(file);
	}
	s->n = 0;
	return err;
}

/*
 * Encodes some records that did not fail, or those of @failing that did.
 * Returns 0, -EAGAIN (others are at it), or an error.
 */
static int make_room(struct b2f_runtime *rt, const struct b2f_file *failing)
{
	struct spill s = {.rt = rt};

	pthread_mutex_lock(&rt->dirty_lock);
	pick(&s, failing);
	pthread_mutex_unlock(&rt->dirty_lock);
	return s.n ? spill_all(&s) : -EAGAIN;
}

/*
 * Those who encode will give bytes back, and tell; those who have taken some
 * for a record that they are about to make do not.  Locked.
 */
static void wait_for_others(struct b2f_runtime *rt)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_NS;
	if (until.tv_nsec >= SECOND_NS) {
		until.tv_nsec -= SECOND_NS;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&rt->dirty_room, &rt->dirty_lock, &until);
}

/* Is there room for @bytes among those that did not fail?  Locked. */
static bool has_room(const struct b2f_runtime *rt, uint64_t bytes)
{
	uint64_t live = rt->dirty_bytes - rt->stuck_bytes;

	/* One write alone is always let in: it could never get smaller. */
	return live == 0 ||
	       (live + bytes <= rt->dirty_max &&
		rt->dirty_bytes + bytes <= 2 * rt->dirty_max);
}

/* Does @file have records that failed, and these no room for more?  Locked. */
static bool is_stuck(const struct b2f_file *file, uint64_t bytes)
{
	const struct b2f_runtime *rt = file->runtime;

	return file->writer->stuck_bytes > 0 &&
	       rt->stuck_bytes + bytes > rt->dirty_max;
}

int b2f_budget_take(struct b2f_file *file, uint64_t bytes)
{
	struct b2f_runtime *rt = file->runtime;
	bool stuck;
	int err = 0;

	pthread_mutex_lock(&rt->dirty_lock);
	for (;;) {
		stuck = bytes && is_stuck(file, bytes);
		if (!stuck && has_room(rt, bytes))
			break;
		pthread_mutex_unlock(&rt->dirty_lock);
		err = make_room(rt, stuck ? file : NULL);
		pthread_mutex_lock(&rt->dirty_lock);
		if (stuck && err && err != -EAGAIN)
			break;
		/* An error of other records is that of their files. */
		if (err == -EAGAIN)
			wait_for_others(rt);
		err = 0;
	}
	if (!err)
		rt->dirty_bytes += bytes;
	pthread_mutex_unlock(&rt->dirty_lock);
	return err;
}
