/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_view.c - reads a range of a file as pieces of decoded units
 *
 * A range is cut into pieces first, then all units are pinned in the cache (at
 * once, on the workers, if several have to be decoded), then the pieces are
 * copied or handed out as they are.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "file/gather.h"
#include "file/record.h"
#include "file/stream.h"
#include "frame/frame_chunk.h"

/* Pieces that are pinned together. */
#define BATCH 64

/* Size of the zeros that holes point to. */
#define ZEROS_SIZE (64u << 10)
static const uint8_t zeros[ZEROS_SIZE];

struct piece {
	/* A unit of a chunk, a record, or, if both are NULL, @bytes. */
	struct b2f_head *head;
	struct b2f_record *record;
	/* Zeros, or a part of the header before the data. */
	const uint8_t *bytes;
	uint32_t unit;
	/* First byte in the unit, or in the chunk, and number of bytes. */
	uint32_t start;
	uint32_t size;
	struct b2f_cache_ref ref;
};

/* Pieces of one range of a file. */
struct batch {
	struct b2f_cache *cache;
	/* Set if the reader reads in order. */
	struct b2f_stream *stream;
	/* Set while the batch is filled. */
	const struct b2f_reading *reading;
	/* Position of the first piece in the file. */
	uint64_t off;
	struct piece pieces[BATCH];
	size_t n;
	/* Decoded bytes of all of them. */
	uint64_t nbytes;
	/* Some pieces are in records, which may still be written to. */
	bool has_record;
	/* The batch is one large unit, beside which no other may be pinned. */
	bool is_large;
	/*
	 * Head of the last piece, even after its release: a head that is too
	 * large for the table is loaded once per call, not once per piece.
	 */
	struct b2f_head *last;
	/* Pieces that still have to be pinned. */
	struct piece *missing[BATCH];
	size_t nmissing;
};

/* Unpins @p, which ends at position @end of the file. */
static void piece_unpin(const struct batch *b, struct piece *p, uint64_t end)
{
	if (b->stream && p->ref.entry && p->start + p->size == p->ref.size &&
	    !b2f_stream_is_followed(b->stream, end))
		b2f_cache_put_passed(b->cache, &p->ref);
	else
		b2f_cache_put(b->cache, &p->ref);
}

static void batch_release(struct batch *b)
{
	uint64_t end = b->off;

	for (size_t i = 0; i < b->n; i++) {
		end += b->pieces[i].size;
		piece_unpin(b, &b->pieces[i], end);
		b2f_head_put(b->pieces[i].head);
		b2f_record_unref(b->pieces[i].record);
	}
	b->n = 0;
	b->nbytes = 0;
	b->has_record = false;
	b->is_large = false;
}

static void batch_fini(struct batch *b)
{
	batch_release(b);
	b2f_head_put(b->last);
	b->last = NULL;
}

/* The piece at @off, at most @size bytes of one unit. */
static int cut_piece(struct batch *b, uint64_t off, uint64_t size,
		     struct piece *out)
{
	const struct b2f_chunk *chunk;
	struct b2f_source src;
	const struct b2f_layout *layout = &b->reading->frame->layout;
	uint32_t in, left;
	int err;

	if (off < layout->head_len) {
		out->bytes = layout->head + off;
		out->size = (uint32_t)b2f_min_u64(size, layout->head_len - off);
		return 0;
	}
	off -= layout->head_len;
	err = b2f_reading_find(b->reading, off, &src);
	if (err)
		return err;
	in = (uint32_t)(off - src.span.start);
	out->size = (uint32_t)b2f_min_u64(size, src.size);
	if (src.record) {
		out->record = src.record;
		out->start = in;
		b->has_record = true;
		return 0;
	}
	if (src.is_zeros) {
		out->bytes = zeros;
		out->size = (uint32_t)b2f_min_u64(out->size, ZEROS_SIZE);
		return 0;
	}
	err = b2f_head_get(b->reading->file, b->reading->frame, &src,
			   &b->last);
	if (err)
		return err;
	b2f_head_ref(b->last);
	out->head = b->last;
	chunk = &out->head->loaded->chunk;
	out->unit = in / chunk->unit_size;
	out->start = in % chunk->unit_size;
	left = b2f_chunk_unit_nbytes(chunk, out->unit) - out->start;
	out->size = (uint32_t)b2f_min_u64(out->size, left);
	return 0;
}

static bool is_large(const struct piece *p)
{
	return p->head &&
	       p->head->loaded->chunk.unit_size > B2F_CACHE_LARGE;
}

static int pin_missing(void *arg, size_t i)
{
	struct batch *b = arg;
	struct piece *p = b->missing[i];

	if (b2f_unit_pin_excerpt(b->reading, p->head, p->unit, &p->start,
				 p->size, &p->ref))
		return 0;
	return b2f_unit_pin(b->reading, p->head, p->unit, &p->ref);
}

/* Pins every unit of the batch, first those that are in the cache. */
static int batch_pin(struct batch *b)
{
	b->nmissing = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct piece *p = &b->pieces[i];
		const struct b2f_loaded *loaded;
		struct b2f_cache_key key;

		if (!p->head)
			continue;
		loaded = p->head->loaded;
		key = b2f_unit_key(b->reading, loaded, p->unit);
		if (!b2f_cache_peek(
			    b->cache, &key,
			    b2f_chunk_unit_nbytes(&loaded->chunk, p->unit),
			    &p->ref))
			b->missing[b->nmissing++] = p;
	}
	if (b->nmissing == 0)
		return 0;
	if (b->nmissing == 1)
		return pin_missing(b, 0);
	return b2f_pool_for(b->reading->file->runtime->pool, B2F_POOL_DEMAND,
			    b->nmissing, pin_missing, b);
}

/* Cuts and pins the first pieces of [@off, @off + @size), a batch at most. */
static int batch_get(struct batch *b, uint64_t off, uint64_t size)
{
	int err = 0;

	b->off = off;
	while (size > 0 && b->n < BATCH && !b->is_large && !err) {
		struct piece *p = &b->pieces[b->n];

		*p = (struct piece){0};
		err = cut_piece(b, off, size, p);
		if (err)
			break;
		b->is_large = is_large(p);
		if (b->is_large && b->n > 0) {
			b2f_head_put(p->head);
			break;
		}
		b->n++;
		b->nbytes += p->size;
		off += p->size;
		size -= p->size;
	}
	if (!err)
		err = batch_pin(b);
	if (err)
		batch_release(b);
	return err;
}

/* The bytes of a piece without a record: only these cannot change. */
static const uint8_t *piece_data(const struct piece *p)
{
	return p->head ? p->ref.data + p->start : p->bytes;
}

static void copy_piece(const struct piece *p, uint8_t *dst)
{
	if (!p->record) {
		memcpy(dst, piece_data(p), p->size);
		return;
	}
	pthread_rwlock_rdlock(&p->record->lock);
	memcpy(dst, p->record->data + p->start, p->size);
	pthread_rwlock_unlock(&p->record->lock);
}

struct request {
	struct b2f_stream *stream;
	uint64_t off;
	size_t size;
	/* Where the bytes go. */
	void *buf;
	struct batch batch;
};

/* Begins to fill @b, and notes the read for readahead.  Returns its length. */
static size_t begin(struct batch *b, struct b2f_reading *r,
		    struct b2f_stream *stream, uint64_t off, size_t size)
{
	b->reading = r;
	b->cache = r->file->runtime->cache;
	if (off >= r->size)
		return 0;
	size = (size_t)b2f_min_u64(size, r->size - off);
	if (stream && size > 0)
		b2f_stream_note(stream, r, off, size);
	r->in_order = b2f_stream_in_order(stream);
	b->stream = r->in_order ? stream : NULL;
	return size;
}

static int read_all(struct batch *b, uint8_t *buf, size_t size, uint64_t off)
{
	size_t done = 0;
	int err = 0;

	if (!b->reading->frame->layout.linear)
		return b2f_gather(b->reading, b->stream, buf, size, off);

	while (done < size) {
		err = batch_get(b, off + done, size - done);
		if (err)
			break;
		for (size_t i = 0; i < b->n; i++) {
			copy_piece(&b->pieces[i], buf + done);
			done += b->pieces[i].size;
		}
		batch_release(b);
	}
	return err;
}

static int64_t copy_request(void *arg, struct b2f_reading *r)
{
	struct request *q = arg;
	size_t size = begin(&q->batch, r, q->stream, q->off, q->size);
	int err = read_all(&q->batch, q->buf, size, q->off);

	batch_fini(&q->batch);
	return err ? err : (int64_t)size;
}

ssize_t b2f_file_pread(struct b2f_file *file, struct b2f_stream *stream,
		       void *buf, size_t size, uint64_t off)
{
	/* Some kilobytes: too much for the stack of a FUSE thread. */
	B2F_OWN struct request *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->stream = stream;
	q->off = off;
	q->size = size > SSIZE_MAX ? SSIZE_MAX : size;
	q->buf = buf;
	return b2f_file_retry(file, copy_request, q);
}

/* The things that a view holds until it is released. */
struct pins {
	struct b2f_stream *stream;
	uint64_t off;
	size_t size;
	struct batch batch;
	struct iovec iov[BATCH];
	/* Holds a reference: it has the header before the data. */
	struct b2f_frame *frame;
	/* A range of too many pieces was copied here instead. */
	uint8_t *copy;
	size_t copied;
	struct b2f_idle *idle;
};

static void point_to_pieces(struct pins *pins)
{
	for (size_t i = 0; i < pins->batch.n; i++) {
		const struct piece *p = &pins->batch.pieces[i];

		/* Not const, because readv(2) takes it; never written to. */
		pins->iov[i].iov_base = (void *)(uintptr_t)piece_data(p);
		pins->iov[i].iov_len = p->size;
	}
}

static void drop_copy(struct pins *pins)
{
	if (pins->copy)
		b2f_idle_put_copy(pins->idle, pins->copy, pins->copied);
	pins->copy = NULL;
}

static int copy_range(struct pins *pins, size_t size, uint64_t off)
{
	struct batch *b = &pins->batch;
	int err;

	batch_release(b);
	pins->idle = &b->reading->file->runtime->idle;
	pins->copy = b2f_idle_get_copy(pins->idle, size);
	if (!pins->copy)
		return -ENOMEM;
	pins->copied = size;
	err = read_all(b, pins->copy, size, off);
	if (err)
		return err;
	pins->iov[0].iov_base = pins->copy;
	pins->iov[0].iov_len = size;
	return 0;
}

static int64_t pin_range(void *arg, struct b2f_reading *r)
{
	struct pins *pins = arg;
	struct batch *b = &pins->batch;
	size_t size = begin(b, r, pins->stream, pins->off, pins->size);
	int err = 0;

	if (size && r->frame->layout.linear)
		err = batch_get(b, pins->off, size);
	if (!err && b->nbytes == size && !b->has_record)
		point_to_pieces(pins);
	else if (!err)
		err = copy_range(pins, size, pins->off);
	if (err) {
		batch_fini(b);
		drop_copy(pins);
		return err;
	}
	/* Pinned bytes are in the cache, or copied. */
	pins->frame = b2f_frame_ref(r->frame);
	b->reading = NULL;
	return (int64_t)size;
}

ssize_t b2f_file_view(struct b2f_file *file, struct b2f_stream *stream,
		      size_t size, uint64_t off, struct b2f_view *view)
{
	struct pins *pins = calloc(1, sizeof(*pins));
	ssize_t n;

	if (!pins)
		return -ENOMEM;
	pins->stream = stream;
	pins->off = off;
	pins->size = size;
	n = b2f_file_retry(file, pin_range, pins);
	if (n < 0) {
		free(pins);
		return n;
	}
	*view = (struct b2f_view){
		.iov = pins->iov,
		.niov = pins->copy ? 1 : pins->batch.n,
		.nbytes = (size_t)n,
		.pins = pins,
	};
	return n;
}

void b2f_file_view_release(struct b2f_view *view)
{
	struct pins *pins = view->pins;

	if (pins) {
		batch_fini(&pins->batch);
		b2f_frame_close(pins->frame);
		drop_copy(pins);
		free(pins);
	}
	*view = (struct b2f_view){0};
}
