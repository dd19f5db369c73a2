/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.h - how much memory the changes of all files may take
 *
 * A writer takes its bytes before it copies them.  If there is no room, it
 * spills: it has the oldest records encoded, on the workers and on its own
 * thread, until there is: memory does not grow, whatever writers do.
 *
 * Records that could not be encoded (a full disk, say) are counted apart, up to
 * as much again.  When these take all of that, the files with such records get
 * the error, and only they.
 *
 * Layer: file.  May include: base/ frame/ run/.  Threads: any.
 */
#ifndef B2F_FILE_BUDGET_H
#define B2F_FILE_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct b2f_record;
struct b2f_file;
struct b2f_frame;
struct b2f_runtime;
struct b2f_writer;

/*
 * Encodes the record, unless another thread has begun to, and gives back two
 * references: one to it, one to its file.  Returns 0, -EAGAIN (it has) or an
 * error.
 */
typedef int b2f_spill_fn(struct b2f_record *rec);

struct b2f_budget {
	/* Constant. */
	b2f_spill_fn *spill;
	/* Written bytes that may be in memory. */
	uint64_t max;
	/* Bytes that entries of holes may take. */
	uint64_t hole_max;
	pthread_mutex_t lock;
	/* There may be room now, or a record failed. */
	pthread_cond_t changed;
	/* The rest is under lock. */
	uint64_t bytes;
	/* Part of them: bytes of records that could not be encoded. */
	uint64_t stuck_bytes;
	uint64_t hole_bytes;
	struct b2f_record *oldest;
	struct b2f_record *newest;
};

void b2f_budget_init(struct b2f_budget *budget, uint64_t max, uint64_t hole_max,
		     b2f_spill_fn *spill);
void b2f_budget_fini(struct b2f_budget *budget);

/*
 * Takes @bytes, as soon as so many more may be dirty; encodes some records if
 * it has to.  No lock is held but a write_lock.  Returns 0, or, if records of
 * @file take all of the room, the error of encoding them.  For records of other
 * files it waits for one try only.
 */
B2F_MUST_CHECK
int b2f_budget_take(struct b2f_file *file, uint64_t bytes);

/* Written bytes in memory now. */
uint64_t b2f_budget_bytes(struct b2f_budget *budget);

/* Gives back what was taken for no record. */
void b2f_budget_give(struct b2f_budget *budget, uint64_t bytes);

/*
 * Counts @bytes that were taken for @rec; with the first of them it becomes the
 * newest record.  Its file is locked.
 */
void b2f_budget_add(struct b2f_record *rec, uint64_t bytes);

/* Gives back @bytes of @rec. */
void b2f_budget_drop(struct b2f_record *rec, uint64_t bytes);

/* Gives back all, as @rec goes. */
void b2f_budget_remove(struct b2f_record *rec);

/* Notes whether the last try to encode @rec failed. */
void b2f_budget_fail(struct b2f_record *rec, bool failed);

/* holes.c: what the entries of holes take */

/*
 * Before the file grows to @n chunks.  Returns 0, or B2F_ETOOBIG (logged) if
 * that were too many holes.  The file is locked.
 */
B2F_MUST_CHECK
int b2f_holes_grow(struct b2f_file *file, uint64_t n);

/* After it was cut.  The file is locked. */
void b2f_holes_cut(struct b2f_file *file);

/*
 * Before @frame, for which @w is the writer, has a transaction.  Returns 0, or
 * -ENOMEM (logged) unless it is the only file with many holes.
 */
B2F_MUST_CHECK
int b2f_holes_open(struct b2f_runtime *rt, struct b2f_writer *w,
		   const struct b2f_frame *frame);

/* After the transaction of @w has gone. */
void b2f_holes_close(struct b2f_runtime *rt, struct b2f_writer *w);

#endif
