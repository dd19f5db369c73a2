/* SPDX-License-Identifier: BSD-3-Clause */
/* budget.c - how many written bytes may be in memory */
#include "file/budget.h"

#include <time.h>

#include "base/checked.h"
#include "file/file_state.h"
#include "file/record.h"
#include "file/writer.h"

#define BATCH_MAX 16

#define WAIT_NS	  20000000
#define SECOND_NS 1000000000

void b2f_budget_init(struct b2f_budget *budget, uint64_t max, uint64_t hole_max,
		     b2f_spill_fn *spill)
{
	*budget = (struct b2f_budget){
		.spill = spill, .max = max, .hole_max = hole_max};
	pthread_mutex_init(&budget->lock, NULL);
	pthread_cond_init(&budget->changed, NULL);
}

void b2f_budget_fini(struct b2f_budget *budget)
{
	pthread_cond_destroy(&budget->changed);
	pthread_mutex_destroy(&budget->lock);
}

static struct b2f_budget *budget_of(const struct b2f_record *d)
{
	return &d->file->runtime->budget;
}

/* Makes @d the newest record.  Locked. */
static void enter(struct b2f_record *d)
{
	struct b2f_budget *b = budget_of(d);

	d->listed = true;
	d->older = b->newest;
	d->newer = NULL;
	if (d->older)
		d->older->newer = d;
	else
		b->oldest = d;
	b->newest = d;
}

/* Locked. */
static void leave(struct b2f_record *d)
{
	struct b2f_budget *b = budget_of(d);

	if (d->older)
		d->older->newer = d->newer;
	else
		b->oldest = d->newer;
	if (d->newer)
		d->newer->older = d->older;
	else
		b->newest = d->older;
	d->older = d->newer = NULL;
	d->listed = false;
}

/* Gives @bytes back to all.  Locked. */
static void give(struct b2f_budget *b, uint64_t bytes)
{
	b->bytes -= bytes;
	pthread_cond_broadcast(&b->changed);
}

void b2f_budget_give(struct b2f_budget *budget, uint64_t bytes)
{
	pthread_mutex_lock(&budget->lock);
	give(budget, bytes);
	pthread_mutex_unlock(&budget->lock);
}

/* Counts the bytes of the failed @d, or no longer.  Locked. */
static void count_stuck(struct b2f_record *d, bool stuck)
{
	struct b2f_budget *b = budget_of(d);
	struct b2f_writer *w = d->file->writer;

	b->stuck_bytes += stuck ? d->bytes : -d->bytes;
	w->stuck_bytes += stuck ? d->bytes : -d->bytes;
}

/* Changes what @d counts for.  Locked. */
static void set_bytes(struct b2f_record *d, uint64_t bytes)
{
	if (d->failed)
		count_stuck(d, false);
	d->bytes = bytes;
	if (d->failed)
		count_stuck(d, true);
}

void b2f_budget_add(struct b2f_record *d, uint64_t bytes)
{
	struct b2f_budget *b = budget_of(d);

	pthread_mutex_lock(&b->lock);
	set_bytes(d, d->bytes + bytes);
	if (d->bytes && !d->listed)
		enter(d);
	pthread_mutex_unlock(&b->lock);
}

void b2f_budget_drop(struct b2f_record *d, uint64_t bytes)
{
	struct b2f_budget *b = budget_of(d);

	pthread_mutex_lock(&b->lock);
	set_bytes(d, d->bytes - bytes);
	give(b, bytes);
	pthread_mutex_unlock(&b->lock);
}

void b2f_budget_remove(struct b2f_record *d)
{
	struct b2f_budget *b = budget_of(d);

	pthread_mutex_lock(&b->lock);
	if (d->listed)
		leave(d);
	give(b, d->bytes);
	set_bytes(d, 0);
	pthread_mutex_unlock(&b->lock);
}

void b2f_budget_fail(struct b2f_record *d, bool failed)
{
	struct b2f_budget *b = budget_of(d);

	pthread_mutex_lock(&b->lock);
	if (d->failed != failed) {
		count_stuck(d, failed);
		d->failed = failed;
	}
	/* The writer that waits for it to be encoded has to look again. */
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

/* Records that one writer has encoded because there is no room. */
struct spill {
	struct b2f_runtime *rt;
	struct b2f_record *picked[BATCH_MAX];
	size_t n;
	int err[BATCH_MAX];
};

/*
 * Picks the oldest records, with a reference to each and to its file: those of
 * @failing that failed, or, if that is NULL, all that did not.  Locked.
 */
static void pick(struct spill *s, const struct b2f_file *failing)
{
	size_t max = b2f_min_u64(b2f_pool_nworkers(s->rt->pool) + 1, BATCH_MAX);

	for (struct b2f_record *d = s->rt->budget.oldest; d && s->n < max;
	     d = d->newer) {
		/* Read without the lock of the file: a hint. */
		if (atomic_load(&d->busy) || d->failed != (failing != NULL) ||
		    (failing && d->file != failing))
			continue;
		b2f_record_ref(d);
		b2f_file_ref(d->file);
		s->picked[s->n++] = d;
	}
}

static int spill_one(void *arg, size_t i)
{
	struct spill *s = arg;

	s->err[i] = s->rt->budget.spill(s->picked[i]);
	/* An error of one is no reason not to try the others. */
	return 0;
}

/* Encodes what was picked.  Returns 0 if any of it could be, or an error. */
static int spill_all(struct spill *s)
{
	int err;

	err = b2f_pool_for(s->rt->pool, B2F_POOL_DEMAND, s->n, spill_one, s);
	if (!err)
		err = -EAGAIN;
	for (size_t i = 0; i < s->n; i++) {
		if (s->err[i] == 0)
			err = 0;
		else if (err && s->err[i] != -EAGAIN)
			err = s->err[i];
	}
	return err;
}

/*
 * Encodes some records that did not fail, or those of @failing that did.
 * Returns 0, -EAGAIN (other threads are at it), or an error.
 */
static int make_room(struct b2f_runtime *rt, const struct b2f_file *failing)
{
	struct spill s = {.rt = rt};

	pthread_mutex_lock(&rt->budget.lock);
	pick(&s, failing);
	pthread_mutex_unlock(&rt->budget.lock);
	return s.n ? spill_all(&s) : -EAGAIN;
}

/*
 * A thread that encodes will give bytes back, and tell; one that has taken some
 * for a record that it is about to make does not.  Locked.
 */
static void wait_for_others(struct b2f_budget *b)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_NS;
	if (until.tv_nsec >= SECOND_NS) {
		until.tv_nsec -= SECOND_NS;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&b->changed, &b->lock, &until);
}

/* Is there room for @bytes among those that did not fail?  Locked. */
static bool has_room(const struct b2f_budget *b, uint64_t bytes)
{
	uint64_t live = b->bytes - b->stuck_bytes;

	/* One write alone is always let in: it could never get smaller. */
	return live == 0 ||
	       (live + bytes <= b->max && b->bytes + bytes <= 2 * b->max);
}

/* Does @file have records that failed, and these no room for more?  Locked. */
static bool is_stuck(const struct b2f_file *file, uint64_t bytes)
{
	const struct b2f_budget *b = &file->runtime->budget;

	return file->writer->stuck_bytes > 0 && b->stuck_bytes + bytes > b->max;
}

int b2f_budget_take(struct b2f_file *file, uint64_t bytes)
{
	struct b2f_budget *b = &file->runtime->budget;
	bool stuck;
	int err = 0;

	pthread_mutex_lock(&b->lock);
	for (;;) {
		stuck = bytes && is_stuck(file, bytes);
		if (!stuck && has_room(b, bytes))
			break;
		pthread_mutex_unlock(&b->lock);
		err = make_room(file->runtime, stuck ? file : NULL);
		pthread_mutex_lock(&b->lock);
		if (stuck && err && err != -EAGAIN)
			break;
		/* An error of other records is that of their files. */
		if (err == -EAGAIN)
			wait_for_others(b);
		err = 0;
	}
	if (!err)
		b->bytes += bytes;
	pthread_mutex_unlock(&b->lock);
	return err;
}
