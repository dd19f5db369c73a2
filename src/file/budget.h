/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.h - limits the memory for the changes of all files
 *
 * A writer takes its bytes before it copies them.  If there is no room, it
 * spills: it has the oldest records encoded, on the workers and on its own
 * thread, until there is room.
 *
 * Records that could not be encoded (a full disk, say) are counted apart, up to
 * the same limit.  When these reach it, only writes to files with such records
 * fail, with the error of encoding; when they reach four times the limit, all
 * writes do, because each file could add some.
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
 * references: to the record and to its file.  Returns 0, -EAGAIN (another
 * thread has begun) or an error.
 */
typedef int b2f_spill_fn(struct b2f_record *rec);

struct b2f_budget {
	/* Constant. */
	b2f_spill_fn *spill;
	/* Written bytes that may be in memory. */
	uint64_t max;
	pthread_mutex_t lock;
	/* There may be room now, or a record failed. */
	pthread_cond_t changed;
	/* The following fields are under lock. */
	uint64_t bytes;
	/* The part of @bytes in records that could not be encoded. */
	uint64_t stuck_bytes;
	/* The oldest first. */
	struct b2f_record *records;
};

void b2f_budget_init(struct b2f_budget *budget, uint64_t max,
		     b2f_spill_fn *spill);
void b2f_budget_fini(struct b2f_budget *budget);

/*
 * Takes @bytes as soon as there is room for them; encodes records to make room.
 * No lock is held but a write_lock.  Returns 0; if failed records leave no
 * room, the error of encoding them; or -EINTR (the request was
 * cancelled before there was room).
 */
B2F_MUST_CHECK
int b2f_budget_take(struct b2f_file *file, uint64_t bytes);

/* Written bytes in memory now. */
uint64_t b2f_budget_bytes(struct b2f_budget *budget);

/* Gives back taken bytes that went to no record. */
void b2f_budget_give(struct b2f_budget *budget, uint64_t bytes);

/*
 * Counts taken @bytes for @rec, which becomes the newest record with its first
 * bytes.  Its file is locked.
 */
void b2f_budget_add(struct b2f_record *rec, uint64_t bytes);

/* Gives back @bytes of @rec. */
void b2f_budget_drop(struct b2f_record *rec, uint64_t bytes);

/* Gives back all bytes of @rec, which is about to be freed. */
void b2f_budget_remove(struct b2f_record *rec);

/* Notes whether the last try to encode @rec failed. */
void b2f_budget_fail(struct b2f_record *rec, bool failed);

/* holes.c: memory of entries */

/*
 * Counts the holes of a file about to grow to @n chunks.  Returns 0, or
 * B2F_ETOOBIG (logged) if there would be too many.  The file is locked.
 */
B2F_MUST_CHECK
int b2f_holes_grow(struct b2f_file *file, uint64_t n);

/* Counts fewer holes after the file was cut.  The file is locked. */
void b2f_holes_cut(struct b2f_file *file);

/*
 * Counts the entries of @frame before its writer @w opens a transaction.
 * Returns 0, or -ENOMEM (logged) if other indexes leave no room.
 */
B2F_MUST_CHECK
int b2f_holes_open(struct b2f_runtime *rt, struct b2f_writer *w,
		   const struct b2f_frame *frame);

/* Gives the room back after the transaction of @w was freed. */
void b2f_holes_close(struct b2f_writer *w);

#endif
