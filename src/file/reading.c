/* SPDX-License-Identifier: BSD-3-Clause */
/* reading.c - finds the bytes of a file that may be changed meanwhile */
#include "file/reading.h"

#include <string.h>

#include "base/checked.h"
#include "file/writer.h"
#include "frame/frame_report.h"
#include "txn/txn.h"
#include "store/turn.h"

/* Attempts of a reader while the frame changes under it. */
#define TRIES 3

void b2f_reading_begin(struct b2f_file *file, struct b2f_reading *out)
{
	struct b2f_writer *w;

	/* Once there is a writer, it stays as long as the file. */
	pthread_mutex_lock(&file->lock);
	w = file->writer;
	pthread_mutex_unlock(&file->lock);
	if (w)
		pthread_rwlock_rdlock(&w->gate);
	pthread_mutex_lock(&file->lock);
	*out = (struct b2f_reading){
		.file = file,
		.frame = b2f_frame_ref(file->frame),
		.version = file->version,
		.cache_id = file->cache_id,
		.size = b2f_file_size_locked(file),
		.is_half = w && w->anew == B2F_ANEW_HALF,
		.writer = w,
	};
	pthread_mutex_unlock(&file->lock);
}

void b2f_reading_end(struct b2f_reading *r)
{
	if (r->writer)
		pthread_rwlock_unlock(&r->writer->gate);
	b2f_frame_close(r->frame);
}

/* Notes chunks of zeros, which the entry alone describes. */
static void note_zeros(struct b2f_source *src, bool clean)
{
	enum b2f_special special = b2f_entry_of(src->raw).special;

	if (special == B2F_SPECIAL_ZEROS || special == B2F_SPECIAL_UNINIT)
		src->is_zeros = true;
	src->is_hole = clean && special == B2F_SPECIAL_ZEROS;
}

/* Finds bytes without a transaction, by the index alone. */
static int find_in_frame(const struct b2f_reading *r, uint64_t off,
			 struct b2f_source *out)
{
	int err;

	err = b2f_frame_locate(r->frame, off, &out->span);
	if (err)
		return err;
	out->raw = b2f_entries_raw(&r->frame->entries, out->span.nchunk);
	out->nbytes = (uint32_t)out->span.nbytes;
	out->size = (uint32_t)(out->span.start + out->span.nbytes - off);
	note_zeros(out, true);
	return 0;
}

/* Pages from @page on that are all (not) written, up to @end bytes. */
static uint32_t run_end(const struct b2f_record *rec, uint32_t page,
			uint32_t end)
{
	bool has = b2f_record_has(rec, page);

	while ((uint64_t)page * B2F_PAGE < end &&
	       b2f_record_has(rec, page) == has)
		page++;
	return (uint32_t)b2f_min_u64((uint64_t)page * B2F_PAGE, end);
}

/* Finds the bytes of record @rec at @in of its chunk of @nbytes.  Locked. */
static void find_in_record(struct b2f_record *rec, uint32_t in, uint32_t nbytes,
			   struct b2f_source *out)
{
	uint32_t end;

	pthread_rwlock_rdlock(&rec->lock);
	end = run_end(rec, in / B2F_PAGE, nbytes);
	if (b2f_record_has(rec, in / B2F_PAGE)) {
		b2f_record_ref(rec);
		out->record = rec;
	} else if (in < rec->base_limit) {
		end = (uint32_t)b2f_min_u64(end, rec->base_limit);
		out->raw = rec->base_raw;
		out->nbytes = rec->base_nbytes;
	} else {
		out->is_zeros = true;
	}
	pthread_rwlock_unlock(&rec->lock);
	out->size = end - in;
}

static void find_in_txn(const struct b2f_writer *w, uint64_t off,
			struct b2f_source *out)
{
	const struct b2f_txn *txn = w->txn;
	const struct b2f_txn_state *state = &txn->working;
	struct b2f_record *rec;
	uint32_t in;

	if (off >= state->nbytes) {
		/* The file was cut off here since the reading began. */
		out->is_zeros = true;
		out->size = B2F_CHUNK_NBYTES_MAX;
		return;
	}
	out->span = b2f_txn_locate(txn, off);
	out->nbytes = (uint32_t)out->span.nbytes;
	in = (uint32_t)(off - out->span.start);
	out->size = out->nbytes - in;
	out->raw = b2f_txn_raw(state, out->span.nchunk);
	rec = b2f_record_find(w, out->span.nchunk);
	if (rec)
		find_in_record(rec, in, out->nbytes, out);
	if (!out->record)
		note_zeros(out, !rec);
}

int b2f_reading_find(const struct b2f_reading *r, uint64_t off,
		     struct b2f_source *out)
{
	struct b2f_file *file = r->file;
	struct b2f_writer *w = r->writer;
	bool in_txn = false, same = true;

	*out = (struct b2f_source){0};
	if (w) {
		pthread_mutex_lock(&file->lock);
		same = file->version == r->version;
		in_txn = same && w->txn;
		/* The owner has closed it: jobs that decode ahead may stop. */
		same = same && (w->txn || !w->closing);
		if (in_txn)
			find_in_txn(w, off, out);
		pthread_mutex_unlock(&file->lock);
	}
	if (!same)
		return -ESTALE;
	return in_txn ? 0 : find_in_frame(r, off, out);
}

/* Has the file another version of the frame by now? */
static bool is_old(const struct b2f_reading *r)
{
	struct b2f_file *file = r->file;
	bool old;

	pthread_mutex_lock(&file->lock);
	old = file->version != r->version || file->writer != r->writer;
	pthread_mutex_unlock(&file->lock);
	return old;
}

/*
 * After a reader failed with @n because the frame changed: takes the lock of
 * C-Blosc2, so that a program that writes faster than the reader reads has to
 * wait.  Returns 0, @n if the store has no lock, or an errno: -EAGAIN if that
 * program keeps the lock.
 */
static int64_t lock_out(struct b2f_file *file, int64_t n,
			struct b2f_lock **turn)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	struct b2f_why why = {""};
	int64_t err = 0;

	if (!b2f_lock_has_place(frame->store))
		err = n;
	else if (!*turn && !frame->no_locking)
		err = b2f_turn_share(frame->store, B2F_TURN_WAIT_MS, turn,
				     &why);
	if (err == -EAGAIN)
		b2f_frame_report(frame, -EAGAIN, &why);
	b2f_frame_close(frame);
	return err;
}

/* Logs why all attempts have ended with -ESTALE. */
static void tell_stale(struct b2f_file *file)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	struct b2f_frame_stamp now;
	struct b2f_why why;
	bool is_gone = b2f_store_stamp_index(frame->store, &now) == -ENOENT;

	b2f_why_set(&why, -ESTALE, "%s",
		    is_gone ? "another program has deleted or replaced the frame"
			    : "another program keeps changing it");
	b2f_frame_report(frame, -ESTALE, &why);
	b2f_frame_close(frame);
}

int64_t b2f_reading_run(struct b2f_file *file, b2f_reading_fn *fn, void *arg)
{
	struct b2f_lock *turn = NULL;
	struct b2f_reading r;
	int64_t n = 0, again;

	for (int i = 0; i < TRIES; i++) {
		b2f_reading_begin(file, &r);
		n = r.is_half ? -EIO : fn(arg, &r);
		b2f_reading_end(&r);
		if (n >= 0 || r.is_half)
			break;
		/* Not if the file was moved while it was read. */
		if (file->stays && !b2f_writer_of(file) && !is_old(&r)) {
			n = b2f_file_stay_error(file, n);
			break;
		}
		again = n == -ESTALE ? lock_out(file, n, &turn) : n;
		if (again == -EAGAIN) {
			n = again;
			break;
		}
		if (!is_old(&r) && n != -ENOMEM)
			b2f_file_catch_up(file);
		if (!is_old(&r) && again)
			break;
	}
	b2f_lock_close(turn);
	if (n == -ESTALE)
		tell_stale(file);
	return n;
}

/* Copies [@off, @off + @size) of the chunk @src, by way of the cache. */
static int copy_source(const struct b2f_reading *r,
		       const struct b2f_source *src, uint32_t off, uint8_t *buf,
		       uint32_t size)
{
	struct b2f_head *head;
	int err = b2f_head_get(r, src, &head);

	if (err)
		return err;
	while (size > 0 && !err) {
		const struct b2f_chunk *chunk = &head->loaded->chunk;
		uint32_t unit = off / chunk->unit_size;
		uint32_t start = off % chunk->unit_size, n;
		struct b2f_cache_ref ref = {0};

		n = (uint32_t)b2f_min_u64(
			size, b2f_chunk_unit_nbytes(chunk, unit) - start);
		err = b2f_unit_pin(r, head, unit, &ref);
		if (err)
			break;
		memcpy(buf, ref.data + start, n);
		b2f_cache_put(r->file->runtime->cache, &ref);
		buf += n;
		off += n;
		size -= n;
	}
	b2f_head_put(head);
	return err;
}

int b2f_reading_copy_base(const struct b2f_record *rec, uint32_t off,
			  uint8_t *buf, uint32_t size, bool has_loan)
{
	struct b2f_source src = {
		.span = {.nchunk = rec->nchunk, .nbytes = rec->base_nbytes},
		.raw = rec->base_raw,
		.nbytes = rec->base_nbytes,
	};
	struct b2f_reading r;
	int err;

	b2f_reading_begin(rec->file, &r);
	r.has_loan = has_loan;
	err = copy_source(&r, &src, off, buf, size);
	b2f_reading_end(&r);
	return err;
}
