/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_read.c - any range of a file as pieces of decoded units
 *
 * A range is cut into pieces first, then all units are pinned in the cache (at
 * once, on the workers, if several have to be decoded), then the pieces are
 * copied or handed out as they are.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "file/file.h"

/* Pieces that are pinned together. */
#define BATCH 64

/* What holes are made of. */
#define ZEROS_SIZE (64u << 10)
static const uint8_t zeros[ZEROS_SIZE];

struct piece {
	/* NULL: a hole, nothing to pin. */
	struct b2f_head *head;
	uint32_t unit;
	/* First byte in the unit, and how many. */
	uint32_t start;
	uint32_t size;
	struct b2f_cache_ref ref;
};

/* Pieces of one range of a file. */
struct batch {
	struct b2f_file *file;
	struct piece pieces[BATCH];
	size_t n;
	/* Decoded bytes of all of them. */
	uint64_t nbytes;
	/*
	 * Of the last piece, also of one that is released: a head that is too
	 * large for the table is loaded once a call, not once a piece.
	 */
	struct b2f_head *last;
	/* Those that still have to be pinned. */
	struct piece *missing[BATCH];
	size_t nmissing;
};

static void batch_release(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		b2f_cache_put(b->file->runtime->cache, &b->pieces[i].ref);
		b2f_head_put(b->pieces[i].head);
	}
	b->n = 0;
	b->nbytes = 0;
}

static void batch_fini(struct batch *b)
{
	batch_release(b);
	b2f_head_put(b->last);
}

static bool is_zeros(const struct b2f_file *file, uint64_t nchunk)
{
	enum b2f_special special =
		b2f_entries_get(&file->frame->entries, nchunk).special;

	return special == B2F_SPECIAL_ZEROS || special == B2F_SPECIAL_UNINIT;
}

/* Usually the head is that of the piece before. */
static int get_head(struct batch *b, const struct b2f_frame_span *span,
		    struct b2f_head **out)
{
	int err;

	if (!b->last || b->last->loaded->nchunk != span->nchunk) {
		b2f_head_put(b->last);
		b->last = NULL;
		err = b2f_file_head_get(b->file, span, &b->last);
		if (err)
			return err;
	}
	b2f_head_ref(b->last);
	*out = b->last;
	return 0;
}

/* The piece at @off, at most @size bytes of one unit. */
static int cut_piece(struct batch *b, uint64_t off, uint64_t size,
		     struct piece *out)
{
	struct b2f_frame_span span;
	const struct b2f_chunk *chunk;
	struct piece p = {0};
	uint64_t in, left;
	int err;

	err = b2f_frame_locate(b->file->frame, off, &span);
	if (err)
		return err;
	in = off - span.start;
	size = b2f_min_u64(size, span.nbytes - in);
	if (is_zeros(b->file, span.nchunk)) {
		p.size = (uint32_t)b2f_min_u64(size, ZEROS_SIZE);
		*out = p;
		return 0;
	}
	err = get_head(b, &span, &p.head);
	if (err)
		return err;
	chunk = &p.head->loaded->chunk;
	p.unit = (uint32_t)(in / chunk->unit_size);
	p.start = (uint32_t)(in % chunk->unit_size);
	left = b2f_chunk_unit_nbytes(chunk, p.unit) - p.start;
	p.size = (uint32_t)b2f_min_u64(size, left);
	*out = p;
	return 0;
}

static int batch_cut(struct batch *b, uint64_t off, uint64_t size)
{
	int err = 0;

	while (size > 0 && b->n < BATCH && !err) {
		struct piece *p = &b->pieces[b->n];

		*p = (struct piece){0};
		err = cut_piece(b, off, size, p);
		if (err)
			break;
		b->n++;
		b->nbytes += p->size;
		off += p->size;
		size -= p->size;
	}
	return err;
}

static int pin_missing(void *arg, size_t i)
{
	struct batch *b = arg;
	struct piece *p = b->missing[i];

	return b2f_file_unit_get(b->file, p->head->loaded, p->unit, &p->ref);
}

/* Pins every unit of the batch; what is in the cache first, as it is quick. */
static int batch_pin(struct batch *b)
{
	struct b2f_runtime *rt = b->file->runtime;

	b->nmissing = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct piece *p = &b->pieces[i];
		const struct b2f_loaded *loaded;
		struct b2f_cache_key key;

		if (!p->head)
			continue;
		loaded = p->head->loaded;
		key = b2f_file_key(b->file, loaded->nchunk, p->unit);
		if (!b2f_cache_peek(
			    rt->cache, &key,
			    b2f_chunk_unit_nbytes(&loaded->chunk, p->unit),
			    &p->ref))
			b->missing[b->nmissing++] = p;
	}
	if (b->nmissing == 0)
		return 0;
	if (b->nmissing == 1)
		return pin_missing(b, 0);
	return b2f_pool_for(rt->pool, B2F_POOL_DEMAND, b->nmissing, pin_missing,
			    b);
}

/* Cuts and pins what fits a batch of [@off, @off + @size). */
static int batch_get(struct batch *b, uint64_t off, uint64_t size)
{
	int err;

	err = batch_cut(b, off, size);
	if (!err)
		err = batch_pin(b);
	if (err)
		batch_release(b);
	return err;
}

static const uint8_t *piece_data(const struct piece *p)
{
	return p->head ? p->ref.data + p->start : zeros;
}

/* Cuts a range to the file, and lets readahead know of it. */
static size_t begin_read(struct b2f_file *file, struct b2f_stream *stream,
			 uint64_t off, size_t size)
{
	uint64_t end = b2f_file_size(file);

	if (off >= end)
		return 0;
	size = (size_t)b2f_min_u64(size, end - off);
	if (stream && size > 0)
		b2f_file_ahead(file, stream, off, size);
	return size;
}

static int read_all(struct b2f_file *file, struct batch *b, uint8_t *buf,
		    size_t size, uint64_t off)
{
	size_t done = 0;
	int err = 0;

	b->file = file;
	while (done < size) {
		err = batch_get(b, off + done, size - done);
		if (err)
			break;
		for (size_t i = 0; i < b->n; i++) {
			memcpy(buf + done, piece_data(&b->pieces[i]),
			       b->pieces[i].size);
			done += b->pieces[i].size;
		}
		batch_release(b);
	}
	return err;
}

ssize_t b2f_file_pread(struct b2f_file *file, struct b2f_stream *stream,
		       void *buf, size_t size, uint64_t off)
{
	struct batch *b;
	int err;

	if (size > SSIZE_MAX)
		size = SSIZE_MAX;
	size = begin_read(file, stream, off, size);
	if (size == 0)
		return 0;
	/* Some kilobytes: too much for the stack of a FUSE thread. */
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	err = read_all(file, b, buf, size, off);
	batch_fini(b);
	free(b);
	return err ? err : (ssize_t)size;
}

/* What a view keeps until it is released. */
struct pins {
	struct batch batch;
	struct iovec iov[BATCH];
	/* A range of too many pieces was copied here instead. */
	uint8_t *copy;
};

static void point_to_pieces(struct pins *pins)
{
	for (size_t i = 0; i < pins->batch.n; i++) {
		const struct piece *p = &pins->batch.pieces[i];

		/* iovec is for writing too, hence not const; nobody does. */
		pins->iov[i].iov_base = (void *)(uintptr_t)piece_data(p);
		pins->iov[i].iov_len = p->size;
	}
}

static int copy_range(struct pins *pins, struct b2f_file *file, size_t size,
		      uint64_t off)
{
	int err;

	batch_release(&pins->batch);
	pins->copy = malloc(size);
	if (!pins->copy)
		return -ENOMEM;
	err = read_all(file, &pins->batch, pins->copy, size, off);
	if (err)
		return err;
	pins->iov[0].iov_base = pins->copy;
	pins->iov[0].iov_len = size;
	return 0;
}

ssize_t b2f_file_view(struct b2f_file *file, struct b2f_stream *stream,
		      size_t size, uint64_t off, struct b2f_view *view)
{
	struct b2f_view v = {0};
	struct pins *pins;
	int err;

	size = begin_read(file, stream, off, size);
	pins = calloc(1, sizeof(*pins));
	if (!pins)
		return -ENOMEM;
	v.pins = pins;
	v.iov = pins->iov;
	v.nbytes = size;
	pins->batch.file = file;
	err = size ? batch_get(&pins->batch, off, size) : 0;
	if (!err && pins->batch.nbytes == size)
		point_to_pieces(pins);
	else if (!err)
		err = copy_range(pins, file, size, off);
	v.niov = pins->copy ? 1 : pins->batch.n;
	if (err) {
		b2f_view_release(&v);
		return err;
	}
	*view = v;
	return (ssize_t)size;
}

void b2f_view_release(struct b2f_view *view)
{
	struct pins *pins = view->pins;

	if (pins) {
		batch_fini(&pins->batch);
		free(pins->copy);
		free(pins);
	}
	*view = (struct b2f_view){0};
}
