/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shape_plain.c - changes to a file that shows its data as they are stored
 *
 * The file grows first, then bytes are copied: a reader may see zeros for a
 * moment, but no other bytes.
 */
#include <string.h>

#include "array/npy.h"
#include "base/checked.h"
#include "file/change.h"
#include "file/shape.h"
#include "txn/txn.h"

/* A write to the first bytes may change the magic of a .npy file. */
static void forget_hint(struct b2f_writer *w, uint64_t off)
{
	if (off < B2F_NPY_MAGIC_SIZE)
		w->hint = B2F_NPY_UNKNOWN;
}

/* Spares the commit a look at the first bytes, if they were just written. */
static void note_hint(struct b2f_writer *w, const uint8_t *buf, uint64_t size,
		      uint64_t off)
{
	if (off == 0 && size >= B2F_NPY_MAGIC_SIZE &&
	    memcmp(buf, B2F_NPY_MAGIC, B2F_NPY_MAGIC_SIZE) != 0)
		w->hint = B2F_NPY_NO;
}

/* After a failed write: cuts off zeros that were not written. */
static void cut_back(struct b2f_file *file, uint64_t size)
{
	uint64_t n = b2f_txn_count_chunks(file->writer->txn, size);
	int err = b2f_size_set(file, size);

	/* Zeros that cannot be cut off are no harm: they were never written. */
	(void)err;
	/* The chunk that the file ended in has its length again. */
	if (n)
		b2f_part_drop_unwritten(file, n - 1);
}

static ssize_t write_plain(struct b2f_file *file, const uint8_t *buf,
			   uint64_t size, uint64_t off)
{
	struct b2f_txn *txn = file->writer->txn;
	uint64_t before, done;
	int err = 0;

	forget_hint(file->writer, off);
	pthread_mutex_lock(&file->lock);
	before = txn->working.nbytes;
	if (off + size > before)
		err = b2f_size_grow(file, off + size);
	pthread_mutex_unlock(&file->lock);
	if (err)
		return err;
	done = b2f_part_write_range(file, buf, size, off, &err);
	if (err && off + size > before)
		cut_back(file, b2f_max_u64(before, done ? off + done : 0));
	else if (!err)
		note_hint(file->writer, buf, size, off);
	return done ? (ssize_t)done : err;
}

static int resize_plain(struct b2f_file *file, uint64_t size)
{
	int err = b2f_size_set(file, size);

	if (!err && size == 0)
		file->writer->hint = B2F_NPY_UNKNOWN;
	return err;
}

/*
 * Makes chunk @nchunk, of @old stored bytes, zeros.  Locked, and nothing is
 * BUSY.
 */
static int put_zeros(struct b2f_file *file, uint64_t nchunk, uint32_t old)
{
	const struct b2f_txn_chunk zeros = {
		.raw = b2f_entry_raw(B2F_SPECIAL_ZEROS)};
	struct b2f_txn *txn = file->writer->txn;
	bool may_be_hole = b2f_txn_may_be_hole(
		txn, b2f_txn_chunk_nbytes(txn, &txn->working, nchunk));
	struct b2f_record *rec = NULL;
	int err = b2f_record_get(
		file, nchunk, may_be_hole ? B2F_RECORD_NONE : B2F_RECORD_SPARSE,
		&rec);

	if (!err && may_be_hole)
		err = b2f_txn_put(txn, nchunk, &zeros, old);
	if (err)
		return err;
	if (!may_be_hole)
		b2f_record_cut(rec, 0);
	else if (rec)
		b2f_record_remove(rec);
	b2f_writer_note(file->writer);
	return 0;
}

int b2f_shape_plain_zero_chunk(struct b2f_file *file, uint64_t nchunk)
{
	const struct b2f_txn_state *state = &file->writer->txn->working;
	uint64_t raw;
	uint32_t old;
	int err;

	pthread_mutex_lock(&file->lock);
	/* A thread that needs memory may have the record encoded meanwhile. */
	do {
		raw = b2f_txn_raw(state, nchunk);
		pthread_mutex_unlock(&file->lock);
		old = b2f_writer_cbytes(file, raw);
		pthread_mutex_lock(&file->lock);
		b2f_writer_wait_idle(file);
	} while (raw != b2f_txn_raw(state, nchunk));
	err = put_zeros(file, nchunk, old);
	pthread_mutex_unlock(&file->lock);
	return err;
}

static int zero_plain(struct b2f_file *file, uint64_t off, uint64_t end)
{
	static const uint8_t zeros[64u << 10];
	struct b2f_txn *txn = file->writer->txn;
	bool may_be_holes = b2f_txn_may_have_holes(txn);
	int err = 0;

	forget_hint(file->writer, off);
	while (off < end && !err) {
		struct b2f_frame_span span = b2f_txn_locate(txn, off);
		uint64_t n = b2f_min_u64(end, span.start + span.nbytes) - off;

		if (n == span.nbytes && may_be_holes) {
			err = b2f_shape_plain_zero_chunk(file, span.nchunk);
		} else {
			n = b2f_min_u64(n, sizeof(zeros));
			b2f_part_write_range(file, zeros, n, off, &err);
		}
		off += n;
	}
	return err;
}

const struct b2f_shape b2f_shape_plain = {
	.write = write_plain,
	.resize = resize_plain,
	.zero = zero_plain,
};
