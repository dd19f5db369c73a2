/* SPDX-License-Identifier: BSD-3-Clause */
/* budget.c - how many written bytes may be in memory */
#include "file/budget.h"

#include <utlist.h>

#include "base/checked.h"
#include "base/waiting.h"
#include "file/file_state.h"
#include "file/record.h"
#include "file/writer.h"
#include "programs/io.h"

#define BATCH_MAX 16

#define WAIT_MS	  20

/* Failed records of other files stop a file at this multiple of the limit. */
#define STUCK_FACTOR 4

void b2f_budget_init(struct b2f_budget *budget, uint64_t max,
		     b2f_spill_fn *spill)
{
	*budget = (struct b2f_budget){.spill = spill, .max = max};
	pthread_mutex_init(&budget->lock, NULL);
	pthread_cond_init(&budget->changed, NULL);
}

void b2f_budget_fini(struct b2f_budget *budget)
{
	pthread_cond_destroy(&budget->changed);
	pthread_mutex_destroy(&budget->lock);
}

static struct b2f_budget *budget_of(const struct b2f_record *rec)
{
	return &rec->file->runtime->budget;
}

/* Gives @bytes back to all.  Locked. */
static void give(struct b2f_budget *b, uint64_t bytes)
{
	b->bytes -= bytes;
	pthread_cond_broadcast(&b->changed);
}

uint64_t b2f_budget_bytes(struct b2f_budget *budget)
{
	B2F_HOLD(&budget->lock);

	return budget->bytes;
}

void b2f_budget_give(struct b2f_budget *budget, uint64_t bytes)
{
	pthread_mutex_lock(&budget->lock);
	give(budget, bytes);
	pthread_mutex_unlock(&budget->lock);
}

/* Counts the bytes of the failed @rec as stuck, or stops that.  Locked. */
static void count_stuck(struct b2f_record *rec, bool stuck)
{
	struct b2f_budget *b = budget_of(rec);
	struct b2f_writer *w = rec->file->writer;

	b->stuck_bytes += stuck ? rec->bytes : -rec->bytes;
	w->stuck_bytes += stuck ? rec->bytes : -rec->bytes;
}

/* Sets the bytes counted for @rec.  Locked. */
static void set_bytes(struct b2f_record *rec, uint64_t bytes)
{
	if (rec->failed)
		count_stuck(rec, false);
	rec->bytes = bytes;
	if (rec->failed)
		count_stuck(rec, true);
}

void b2f_budget_add(struct b2f_record *rec, uint64_t bytes)
{
	struct b2f_budget *b = budget_of(rec);
	B2F_HOLD(&b->lock);

	set_bytes(rec, rec->bytes + bytes);
	if (rec->bytes && !rec->listed)
		DL_APPEND2(b->records, rec, older, newer);
	rec->listed |= rec->bytes != 0;
}

void b2f_budget_drop(struct b2f_record *rec, uint64_t bytes)
{
	struct b2f_budget *b = budget_of(rec);
	B2F_HOLD(&b->lock);

	set_bytes(rec, rec->bytes - bytes);
	give(b, bytes);
}

void b2f_budget_remove(struct b2f_record *rec)
{
	struct b2f_budget *b = budget_of(rec);
	B2F_HOLD(&b->lock);

	if (rec->listed)
		DL_DELETE2(b->records, rec, older, newer);
	rec->listed = false;
	give(b, rec->bytes);
	set_bytes(rec, 0);
}

void b2f_budget_fail(struct b2f_record *rec, bool failed)
{
	struct b2f_budget *b = budget_of(rec);
	B2F_HOLD(&b->lock);

	if (rec->failed != failed) {
		count_stuck(rec, failed);
		rec->failed = failed;
	}
	/* A writer that waits for @rec to be encoded has to look again. */
	pthread_cond_broadcast(&b->changed);
}

/* Records that one writer encodes because there is no room. */
struct spill {
	struct b2f_runtime *rt;
	struct b2f_record *picked[BATCH_MAX];
	size_t n;
	int err[BATCH_MAX];
};

/*
 * Picks the oldest records, with references to them and their files: failed
 * ones of @failing (of any file if it has none), or, if it is NULL, any that
 * did not fail.  Locked.
 */
static void pick(struct spill *s, const struct b2f_file *failing)
{
	size_t max = b2f_min_u64(b2f_pool_nworkers(s->rt->pool) + 1, BATCH_MAX);
	bool is_own = failing && failing->writer->stuck_bytes > 0;

	for (struct b2f_record *rec = s->rt->budget.records; rec && s->n < max;
	     rec = rec->newer) {
		/* Only a hint: the file is not locked. */
		if (atomic_load(&rec->busy) ||
		    rec->failed != (failing != NULL) ||
		    (is_own && rec->file != failing))
			continue;
		b2f_record_ref(rec);
		b2f_file_ref(rec->file);
		s->picked[s->n++] = rec;
	}
}

static int spill_one(void *arg, size_t i)
{
	struct spill *s = arg;

	s->err[i] = s->rt->budget.spill(s->picked[i]);
	/* Go on: an error of one record says nothing about the others. */
	return 0;
}

/* Encodes the picked records.  Returns 0 if one could be, or an error. */
static int spill_all(struct spill *s)
{
	int err =
		b2f_pool_for(s->rt->pool, B2F_POOL_DEMAND, s->n, spill_one, s);

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
 * Encodes some records that did not fail, or the failed records of @failing.
 * Returns 0, -EAGAIN (other threads encode them), or an error.
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
 * A time-out is needed: a thread that encodes gives bytes back and signals, a
 * thread that is about to make a record does not.  Locked.
 */
static void wait_for_others(struct b2f_budget *b)
{
	const struct timespec until = b2f_monotonic_in_ms(WAIT_MS);

	pthread_cond_clockwait(&b->changed, &b->lock, CLOCK_MONOTONIC, &until);
}

/* Is there room for @bytes beside the records that did not fail?  Locked. */
static bool has_room(const struct b2f_budget *b, uint64_t bytes)
{
	uint64_t live = b->bytes - b->stuck_bytes;

	/* A write alone always gets room, or it could wait for ever. */
	return live == 0 ||
	       (live + bytes <= b->max && b->bytes + bytes <= 2 * b->max);
}

/*
 * Does @file have failed records, while failed ones leave no room?  Or are
 * there so many of any files that the first write to @file gets none, either?
 * Locked.
 */
static bool is_stuck(const struct b2f_file *file, uint64_t bytes)
{
	const struct b2f_budget *b = &file->runtime->budget;

	if (file->writer->stuck_bytes == 0)
		return b->stuck_bytes / STUCK_FACTOR > b->max;
	return b->stuck_bytes + bytes > b->max;
}

int b2f_budget_take(struct b2f_file *file, uint64_t bytes)
{
	struct b2f_budget *b = &file->runtime->budget;
	bool stuck, is_over;
	int err = 0;

	pthread_mutex_lock(&b->lock);
	for (;;) {
		stuck = bytes && is_stuck(file, bytes);
		if (!stuck && has_room(b, bytes))
			break;
		pthread_mutex_unlock(&b->lock);
		err = make_room(file->runtime, stuck ? file : NULL);
		is_over = b2f_patience_is_over();
		pthread_mutex_lock(&b->lock);
		if (stuck && err && err != -EAGAIN)
			break;
		/* Each file reports the errors of its own records. */
		if (err == -EAGAIN && !is_over)
			wait_for_others(b);
		err = is_over ? -EINTR : 0;
		if (err)
			break;
	}
	if (!err)
		b->bytes += bytes;
	pthread_mutex_unlock(&b->lock);
	return err;
}
