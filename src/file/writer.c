/* SPDX-License-Identifier: BSD-3-Clause */
/* writer.c - the state of a writable file */
#include "file/writer.h"

#include <stdlib.h>
#include <time.h>

#include "base/checked.h"
#include "file/reading.h"
#include "programs/io.h"
#include "txn/txn.h"
#include "txn/garbage.h"

#define CHUNKSIZE_DEFAULT (1u << 20)

struct b2f_writer *b2f_writer_new(const struct b2f_write_options *options,
				  bool is_empty)
{
	struct b2f_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	pthread_mutex_init(&w->write_lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->options = *options;
	w->durability = options->durability;
	if (!w->durability) {
		w->durability = &w->own;
		/* Losing an empty frame loses no data. */
		if (is_empty)
			(void)b2f_durability_move(&w->own, B2F_DISK_DURABLE,
						  B2F_DISK_NEW);
	}
	return w;
}

void b2f_writer_free(struct b2f_writer *w)
{
	if (!w)
		return;
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->write_lock);
	free(w);
}

/*
 * Waits until the current readers, which may use chunk files, have ended.  The
 * file is not locked.
 */
static void wait_readers(struct b2f_file *file)
{
	struct b2f_gate *gate = &file->gate;
	unsigned int round;
	B2F_HOLD(&file->lock);

	while (gate->is_waited_for)
		pthread_cond_wait(&gate->left, &file->lock);
	gate->is_waited_for = true;
	round = gate->round;
	gate->round = !round;
	while (gate->nreadings[round])
		pthread_cond_wait(&gate->left, &file->lock);
	gate->is_waited_for = false;
	pthread_cond_broadcast(&gate->left);
}

void b2f_writer_end_readers(struct b2f_file *file)
{
	b2f_head_forget_all(file);
	wait_readers(file);
	/* The readers that have left may have opened some chunks again. */
	b2f_head_close_all(file->runtime, file);
}

/*
 * Waits until the transaction can be taken away: no record is BUSY, and no
 * thread deletes files.  The file is locked; the lock is given up while
 * waiting.
 */
static void wait_unused(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;

	while (w->nbusy || w->ndeleting)
		pthread_cond_wait(&w->changed, &file->lock);
}

void b2f_writer_end(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;
	struct b2f_txn *txn;

	if (!w)
		return;
	pthread_mutex_lock(&file->lock);
	w->closing = true;
	wait_unused(file);
	b2f_record_remove_from(w, 0);
	txn = w->txn;
	w->txn = NULL;
	pthread_mutex_unlock(&file->lock);
	if (!txn)
		return;
	/* Jobs that decode ahead may still read. */
	wait_readers(file);
	b2f_txn_free(txn);
}

void b2f_writer_stop_encoding(struct b2f_file *file)
{
	pthread_mutex_lock(&file->lock);
	file->writer->closing = true;
	wait_unused(file);
	pthread_mutex_unlock(&file->lock);
}

void b2f_writer_let_encode(struct b2f_file *file)
{
	pthread_mutex_lock(&file->lock);
	file->writer->closing = false;
	pthread_mutex_unlock(&file->lock);
}

struct b2f_txn *b2f_writer_take_txn(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;
	struct b2f_txn *txn;

	w->closing = true;
	wait_unused(file);
	w->closing = false;
	txn = w->txn;
	w->txn = NULL;
	return txn;
}

void b2f_writer_wait_idle(struct b2f_file *file)
{
	while (file->writer->nbusy > 0)
		pthread_cond_wait(&file->writer->changed, &file->lock);
}

void b2f_writer_note(struct b2f_writer *w)
{
	if (w->dirty.since_ns == 0)
		w->dirty.since_ns = b2f_monotonic_ns();
	clock_gettime(CLOCK_REALTIME, &w->dirty.mtime);
	w->dirty.has_mtime = true;
}

uint32_t b2f_writer_chunksize(const struct b2f_writer *w)
{
	uint32_t size = w->options.chunksize;

	if (size == 0)
		size = CHUNKSIZE_DEFAULT;
	return (uint32_t)b2f_min_u64(size, B2F_CHUNK_NBYTES_MAX);
}

uint32_t b2f_writer_cbytes(struct b2f_file *file, uint64_t raw)
{
	struct b2f_txn *txn = file->writer->txn;
	uint32_t cbytes = 0;
	bool known;

	pthread_mutex_lock(&file->lock);
	known = b2f_txn_known_cbytes(txn, raw, &cbytes);
	pthread_mutex_unlock(&file->lock);
	return known ? cbytes : b2f_txn_read_cbytes(txn->store, raw);
}

void b2f_writer_delete_dead(struct b2f_file *file, enum b2f_delete what)
{
	struct b2f_writer *w = file->writer;
	struct b2f_txn *txn;
	bool begun, deleted;

	pthread_mutex_lock(&file->lock);
	txn = w->txn;
	/* A transaction that is being replaced deletes its files itself. */
	begun = txn && !w->closing && b2f_txn_begin_delete(txn, what);
	w->ndeleting += begun;
	pthread_mutex_unlock(&file->lock);
	if (!begun)
		return;
	wait_readers(file);
	/* A deleted chunk file takes room on disk while it is open. */
	b2f_head_close_all(file->runtime, file);
	deleted = b2f_txn_delete(txn);
	pthread_mutex_lock(&file->lock);
	b2f_txn_end_delete(txn, deleted);
	w->ndeleting--;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&file->lock);
}
