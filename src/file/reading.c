/* SPDX-License-Identifier: BSD-3-Clause */
/* reading.c - finds the bytes of a file that may be changed meanwhile */
#include "file/reading.h"

#include <string.h>

#include "base/checked.h"
#include "file/writer.h"
#include "txn/txn.h"

void b2f_reading_begin(struct b2f_file *file, struct b2f_reading *out)
{
	B2F_HOLD(&file->lock);
	/* Once there is a writer, it stays as long as the file. */
	struct b2f_writer *w = file->writer;

	*out = (struct b2f_reading){
		.file = file,
		.frame = b2f_frame_ref(file->frame),
		.version = file->version,
		.cache_id = file->cache_id,
		.size = b2f_file_size_locked(file),
		.is_half = b2f_writer_has_half(w),
		.writer = w,
		.round = file->gate.round,
	};
	file->gate.nreadings[out->round]++;
}

void b2f_reading_end(struct b2f_reading *r)
{
	struct b2f_gate *gate = &r->file->gate;

	pthread_mutex_lock(&r->file->lock);
	if (--gate->nreadings[r->round] == 0)
		pthread_cond_broadcast(&gate->left);
	pthread_mutex_unlock(&r->file->lock);
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
	int err = b2f_frame_locate(r->frame, off, &out->span);

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

	*out = (struct b2f_source){.in_order = r->in_order};
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

/* Copies [@off, @off + @size) of the chunk @src, by way of the cache. */
static int copy_source(const struct b2f_reading *r,
		       const struct b2f_source *src, uint32_t off, uint8_t *buf,
		       uint32_t size)
{
	struct b2f_head *head = NULL;
	int err = b2f_head_get(r->file, r->frame, src, &head);

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
