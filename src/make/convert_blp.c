/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_blp.c - a Bloscpack file made of a frame
 *
 * Header and offsets come last, when the places of the chunks are known.
 * Appending makes a new file too, which begins with the chunks of the old one.
 * Readers go from each chunk to the next, so the last chunk would have to be
 * rewritten in its place, and the old file would be broken meanwhile.
 */
#include "b2frame/convert.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "blp/blp.h"
#include "blp/blp_store.h"
#include "chunk/chunk_header.h"
#include "file/runtime_state.h"
#include "frame/frame.h"
#include "frame/frame_report.h"
#include "frame/json_array.h"
#include "frame/settings.h"
#include "frame/tensor.h"
#include "make/pump.h"
#include "make/transcode.h"
#include "store/single.h"

/* Decoded bytes of a chunk, for data whose chunks have no common size. */
#define CHUNKSIZE_DEFAULT (1u << 20)

/* Bloscpack leaves room for this many further offsets per chunk. */
#define ROOM_FACTOR 10

/* Stored bytes that are copied at once. */
#define STEP (UINT64_C(1) << 20)

/*
 * The Bloscpack file that a longer one begins with: its full chunks stay as
 * they are; the data of a last chunk that is not full go into a new chunk,
 * together with the appended data.
 */
struct base {
	/* NULL: the new file has no base, and all fields are 0. */
	const struct b2f_blp *blp;
	struct b2f_file *file;
	/* The stored file, behind @lead bytes that the store has added. */
	struct b2f_object object;
	uint64_t lead;
	/* Decoded bytes of a chunk of the longer file. */
	uint32_t chunk_size;
	/* Decoded bytes. */
	uint64_t nbytes;
	/* Chunks that stay, and the first byte of the file behind them. */
	uint64_t nkept;
	uint64_t kept_end;
};

static int read_stored(const struct base *base, uint64_t off, void *buf,
		       uint64_t n, struct b2f_why *why)
{
	return b2f_object_read(&base->object, base->lead + off, buf, n, why);
}

static int choose_size(struct base *base, struct b2f_why *why)
{
	const struct b2f_blp *blp = base->blp;
	uint32_t size = (uint32_t)blp->chunksize, item = blp->header.typesize;

	if (blp->nchunks > 1 && blp->chunksize == 0)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "its chunks have no common size");
	if (blp->nchunks <= 1 && size < CHUNKSIZE_DEFAULT)
		size = CHUNKSIZE_DEFAULT -
		       CHUNKSIZE_DEFAULT % (item ? item : 1);
	base->chunk_size = size;
	base->nkept = base->nbytes / size;
	return 0;
}

/* Stray bytes may follow the last chunk, so its header tells where it ends. */
static int find_end(struct base *base, struct b2f_why *why)
{
	const struct b2f_blp *blp = base->blp;
	uint8_t raw[B2F_CHUNK_HEADER_MIN];
	struct b2f_chunk_header h;
	uint64_t last = base->nkept - 1;
	int err;

	base->kept_end = blp->start;
	if (base->nkept == 0)
		return 0;
	if (base->nkept < blp->nchunks) {
		base->kept_end = blp->offs[base->nkept];
		return 0;
	}
	err = read_stored(base, blp->offs[last], raw, sizeof(raw), why);
	if (!err)
		err = b2f_chunk_header_parse(raw, sizeof(raw), &h, why);
	if (!err && !b2f_range_fits(h.cbytes, blp->header.sum->size,
				    blp->size - blp->offs[last]))
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the last chunk is cut short");
	if (!err)
		base->kept_end =
			blp->offs[last] + h.cbytes + blp->header.sum->size;
	return err;
}

/*
 * Opens @frame, which is shown from a Bloscpack file; a file with at most one
 * chunk gets chunks of at least CHUNKSIZE_DEFAULT bytes.  B2F_EUNSUPPORTED: no
 * Bloscpack file, or its chunks have no common size.
 */
static int base_open(struct b2f_runtime *runtime, struct b2f_frame *frame,
		     struct base *base, struct b2f_why *why)
{
	int err;

	base->blp = b2f_blp_of(frame->store);
	if (!base->blp)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "it is no Bloscpack file");
	base->lead = frame->store->lead;
	base->nbytes = base->blp->nbytes;
	err = choose_size(base, why);
	if (!err)
		err = b2f_object_open(frame->store, B2F_OBJECT_INDEX,
				      &base->object, why);
	if (!err)
		err = find_end(base, why);
	if (err)
		return err;
	return b2f_transcode_open(runtime, frame, &base->file);
}

static void base_close(struct base *base)
{
	b2f_file_close(base->file);
	b2f_object_close(&base->object);
	*base = (struct base){.blp = NULL};
}

/*
 * Puts the metadata of @base into *@out, malloc'ed, after @nbytes more of data
 * have made its array, @array, longer along the slowest axis.
 *
 * Returns 0, -EINVAL (no whole number of rows) or -ENOMEM.
 */
static int base_grow(const struct base *base,
		      const struct b2f_array *array, uint64_t nbytes,
		      char **out, struct b2f_why *why)
{
	struct b2f_array grown = *array;
	uint64_t row = array->itemsize;
	unsigned int axis = 0;

	if (array->ndim == 0)
		return b2f_why_set(why, -EINVAL,
				   "it is an array without dimensions");
	if (array->fortran_order)
		axis = array->ndim - 1;
	for (unsigned int i = 0; i < array->ndim; i++)
		if (i != axis &&
		    !b2f_mul_u64(row, (uint64_t)array->shape[i], &row))
			return b2f_why_set(why, -EINVAL, "its rows are too long");
	if (row == 0 || nbytes % row)
		return b2f_why_set(why, -EINVAL,
				   "it is an array whose rows have %llu bytes, "
				   "and %llu are no whole number of them",
				   (unsigned long long)row,
				   (unsigned long long)nbytes);
	grown.shape[axis] += (int64_t)(nbytes / row);
	return b2f_json_array_reshape(base->blp->json, base->blp->json_len,
				      &grown, out);
}

struct making {
	struct b2f_runtime *runtime;
	struct b2f_frame *frame;
	const struct b2f_convert_options *options;
	struct b2f_file *file;
	struct b2f_encode_options how;
	struct b2f_blp_header header;
	/* The beginning of the new file, if the old one is a Bloscpack file. */
	struct base base;
	/* The metadata, malloc'ed; NULL: as in @base, if it has some. */
	char *json;
	/* Where the data in @file begin, behind a .npy header. */
	uint64_t start;
	/* All decoded bytes of the new file. */
	uint64_t nbytes;
	/* Where the offsets are, and where the next chunk goes. */
	uint64_t table;
	uint64_t at;
	uint64_t *offs;
	int fd;
};

/* Logs the cause of @err, unless it is 0 or was logged. */
static int report(const struct making *m, int err, const struct b2f_why *why)
{
	const struct b2f_frame *before = m->options->before;

	if (err && why->text[0])
		b2f_frame_report(before ? before : m->frame, err, why);
	return err;
}

static uint32_t chunk_nbytes(const struct making *m, uint64_t nchunk)
{
	uint32_t size = (uint32_t)m->header.chunk_size;

	return (uint32_t)b2f_min_u64(size, m->nbytes - nchunk * size);
}

/* How to encode, from the header of a frame or from settings. */
static void choose_encoding(struct making *m, const struct b2f_frame_header *h)
{
	uint32_t size = CHUNKSIZE_DEFAULT;

	if (h->chunksize > 0)
		size = (uint32_t)h->chunksize;
	if (h->typesize <= size)
		size -= size % h->typesize;
	m->how = (struct b2f_encode_options){
		.typesize = h->typesize,
		.codec = h->codec,
		.clevel = h->clevel,
		.pipeline = h->pipeline,
	};
	m->header.typesize = h->typesize > UINT8_MAX ? 1 : (uint8_t)h->typesize;
	m->header.chunk_size = (int32_t)size;
	m->header.has_offsets = true;
}

/* Keeps the fields of the old header that stay true. */
static void keep_header(struct making *m)
{
	const struct b2f_blp_header *old = &m->base.blp->header;

	m->header.typesize = old->typesize;
	m->header.has_offsets = old->has_offsets;
	m->header.has_meta = old->has_meta;
	m->header.chunk_size = (int32_t)m->base.chunk_size;
	m->header.sum = old->sum;
}

/* Counts further offsets to leave room for; the old table, if it suffices. */
static int64_t choose_room(const struct making *m)
{
	int64_t n = m->header.nchunks;
	int64_t most = m->base.blp ? m->base.blp->header.nchunks +
					     m->base.blp->header.room
				   : 0;

	if (!m->header.has_offsets)
		return 0;
	return n <= most ? most - n : ROOM_FACTOR * n;
}

static int choose_settings(struct making *m, struct b2f_why *why)
{
	struct b2f_frame_header h = m->base.blp ? m->options->before->header
						: m->frame->header;
	int err = 0;

	if (m->options->settings)
		err = b2f_settings_header(m->options->settings, &h, why);
	if (err)
		return err;
	choose_encoding(m, &h);
	m->header.has_meta = m->json;
	if (m->base.blp)
		keep_header(m);
	m->header.nchunks = (int64_t)b2f_div_up_u64(
		m->nbytes, (uint32_t)m->header.chunk_size);
	m->header.room = choose_room(m);
	m->header.last_chunk = -1;
	if (m->header.nchunks)
		m->header.last_chunk = (int32_t)chunk_nbytes(
			m, (uint64_t)m->header.nchunks - 1);
	return 0;
}

/* Takes the metadata that came with the data, or describes their array. */
static int choose_meta(struct making *m, struct b2f_why *why)
{
	const struct b2f_frame *f = m->frame, *old = m->options->before;
	int err;

	if (old)
		return old->is_tensor
			       ? base_grow(&m->base, &old->array,
						   f->layout.nbytes, &m->json,
						   why)
			       : 0;
	err = b2f_tensor_bloscpack(f, &m->json);
	if (err || m->json)
		return err;
	if (f->is_array || f->is_tensor)
		return b2f_json_array_write(&f->array, &m->json);
	return 0;
}

static int open_files(struct making *m, struct b2f_why *why)
{
	struct b2f_frame *before = m->options->before;
	int err = b2f_transcode_open(m->runtime, m->frame, &m->file);

	if (err || !before)
		return err;
	if (before->layout.err)
		return before->layout.err;
	return base_open(m->runtime, before, &m->base, why);
}

static int begin(struct making *m, struct b2f_why *why)
{
	int err = open_files(m, why);

	m->start = m->frame->layout.head_len;
	m->nbytes = m->base.nbytes + m->frame->layout.nbytes;
	if (!err)
		err = choose_meta(m, why);
	if (!err)
		err = choose_settings(m, why);
	if (err)
		return err;
	m->offs = calloc((size_t)m->header.nchunks + 1, sizeof(*m->offs));
	return m->offs ? 0 : -ENOMEM;
}

static int write_next(struct making *m, const void *buf, size_t n,
		      struct b2f_why *why)
{
	int err = b2f_single_write(m->fd, m->at, buf, n, why);

	if (!err)
		m->at += n;
	return err;
}

/* Adds the bytes [@from, @end) of the old file. */
static int copy_old(struct making *m, uint64_t from, uint64_t end,
		    struct b2f_why *why)
{
	B2F_OWN uint8_t *buf = malloc(STEP);
	int err = buf ? 0 : -ENOMEM;

	while (from < end && !err) {
		size_t n = (size_t)b2f_min_u64(end - from, STEP);

		err = read_stored(&m->base, from, buf, n, why);
		if (!err)
			err = write_next(m, buf, n, why);
		from += n;
	}
	return err;
}

/* Writes the section of the metadata; new ones get no room for more. */
static int write_meta(struct making *m, struct b2f_why *why)
{
	uint8_t head[B2F_BLP_HEADER] = {'J', 'S', 'O', 'N'};
	uint8_t sum[B2F_SUM_SIZE_MAX];
	uint32_t len;
	int err;

	if (!m->json)
		return m->header.has_meta
			       ? copy_old(m, B2F_BLP_HEADER,
					  B2F_BLP_HEADER +
						  m->base.blp->meta_len,
					  why)
			       : 0;
	len = (uint32_t)strlen(m->json);
	head[9] = b2f_sum_number(m->header.sum);
	b2f_store_le32(head + 12, len);
	b2f_store_le32(head + 16, len);
	b2f_store_le32(head + 20, len);
	b2f_sum_make(m->header.sum, m->json, len, sum);
	err = write_next(m, head, sizeof(head), why);
	if (!err)
		err = write_next(m, m->json, len, why);
	return err ? err : write_next(m, sum, m->header.sum->size, why);
}

/* Reads data of the old file, if it has some there, and then of the frame. */
static int read_chunk(const struct making *m, uint64_t nchunk, uint8_t *buf,
		      uint32_t nbytes)
{
	uint64_t off = nchunk * (uint32_t)m->header.chunk_size, old = 0;
	int err = 0;

	if (off < m->base.nbytes)
		old = b2f_min_u64(nbytes, m->base.nbytes - off);
	if (old)
		err = b2f_transcode_read(m->base.file, buf, old, off);
	if (!err && old < nbytes)
		err = b2f_transcode_read(m->file, buf + old, nbytes - old,
					 m->start + off + old - m->base.nbytes);
	return err;
}

/* The number in the new file, behind the chunks of the old one. */
static uint64_t number_of(const struct making *m, const struct b2f_piece *piece)
{
	return m->base.nkept + piece->nchunk;
}

static int encode_chunk(const struct making *m, struct b2f_encoder *enc,
			struct b2f_piece *piece)
{
	struct b2f_why why = {""};
	int err = b2f_scratch_reserve(&enc->data, piece->nbytes);

	piece->bytes = malloc(b2f_blp_encode_bound(piece->nbytes));
	if (err || !piece->bytes)
		return -ENOMEM;
	err = read_chunk(m, number_of(m, piece), enc->data.data, piece->nbytes);
	if (err)
		return err;
	err = b2f_blp_encode(enc, &m->how,
			     b2f_bytes_at(enc->data.data, piece->nbytes),
			     piece->bytes, &piece->cbytes, &why);
	return err ? b2f_frame_report(m->frame, err, &why) : 0;
}

static int make_chunk(void *arg, struct b2f_piece *piece)
{
	const struct making *m = arg;
	struct b2f_encoder *enc = NULL;
	int err = b2f_idle_get_encoder(&m->runtime->idle, &enc);

	if (err)
		return err;
	piece->nbytes = chunk_nbytes(m, number_of(m, piece));
	err = encode_chunk(m, enc, piece);
	b2f_idle_put_encoder(&m->runtime->idle, enc);
	return err;
}

static int place_chunk(void *arg, struct b2f_piece *piece)
{
	struct making *m = arg;
	const struct b2f_convert_options *o = m->options;
	uint64_t nchunk = number_of(m, piece);

	piece->place = m->at;
	b2f_store_le64((uint8_t *)&m->offs[nchunk], m->at);
	m->at += piece->cbytes + m->header.sum->size;
	if (o->progress)
		o->progress(o->arg,
			    nchunk * (uint32_t)m->header.chunk_size +
				    piece->nbytes,
			    m->nbytes);
	return 0;
}

static int put_chunk(void *arg, struct b2f_piece *piece)
{
	struct making *m = arg;
	uint8_t sum[B2F_SUM_SIZE_MAX];
	struct b2f_why why = {""};
	int err;

	b2f_sum_make(m->header.sum, piece->bytes, piece->cbytes, sum);
	err = b2f_single_write(m->fd, piece->place, piece->bytes, piece->cbytes,
			       &why);
	if (!err)
		err = b2f_single_write(m->fd, piece->place + piece->cbytes, sum,
				       m->header.sum->size, &why);
	return report(m, err, &why);
}

static const struct b2f_pump_steps steps = {
	.make = make_chunk,
	.place = place_chunk,
	.put = put_chunk,
};

/* Fills the table of offsets with -1, the value of an unused one. */
static int write_room(struct making *m, struct b2f_why *why)
{
	uint64_t n = (uint64_t)(m->header.nchunks + m->header.room);
	uint8_t none[512];
	int err = 0;

	if (!m->header.has_offsets)
		return 0;
	memset(none, 0xff, sizeof(none));
	m->table = m->at;
	for (uint64_t left = 8 * n; left > 0 && !err;) {
		size_t step = (size_t)b2f_min_u64(left, sizeof(none));

		err = write_next(m, none, step, why);
		left -= step;
	}
	return err;
}

/* Copies the chunks that stay as they are. */
static int keep_chunks(struct making *m, struct b2f_why *why)
{
	const struct b2f_blp *blp = m->base.blp;

	if (!blp)
		return 0;
	for (uint64_t i = 0; i < m->base.nkept; i++)
		b2f_store_le64((uint8_t *)&m->offs[i],
			       blp->offs[i] - blp->start + m->at);
	return copy_old(m, blp->start, m->base.kept_end, why);
}

/* A file without chunks has the chunk size -1. */
static void put_header(const struct making *m, uint8_t *out)
{
	struct b2f_blp_header h = m->header;

	if (h.nchunks == 0)
		h.chunk_size = -1;
	b2f_blp_header_write(&h, out);
}

static int write_all(struct making *m, struct b2f_why *why)
{
	uint64_t nnew = (uint64_t)m->header.nchunks - m->base.nkept;
	uint64_t chunk_size = (uint32_t)m->header.chunk_size;
	uint8_t head[B2F_BLP_HEADER];
	int err;

	m->at = sizeof(head);
	err = write_meta(m, why);
	if (!err)
		err = write_room(m, why);
	if (!err)
		err = keep_chunks(m, why);
	if (!err)
		err = b2f_pump_run(m->runtime->pool, &steps, m, nnew,
				   b2f_pump_window(nnew, nnew * chunk_size));
	if (!err && m->header.has_offsets)
		err = b2f_single_write(m->fd, m->table, m->offs,
				       8 * (size_t)m->header.nchunks, why);
	put_header(m, head);
	if (!err)
		err = b2f_single_write(m->fd, 0, head, sizeof(head), why);
	return err ? err : b2f_single_finish(m->fd, m->options->mode, why);
}

static int make_file(struct making *m, int dirfd, const char *name,
		     struct b2f_why *why)
{
	int err = b2f_single_create(dirfd, name, &m->fd, why);

	if (err)
		return err;
	err = write_all(m, why);
	close(m->fd);
	if (err)
		(void)!b2f_single_remove(dirfd, name);
	return err;
}

int b2f_convert_bloscpack(struct b2f_runtime *runtime, struct b2f_frame *frame,
			  const struct b2f_convert_options *options, int dirfd,
			  const char *name)
{
	struct making m = {.runtime = runtime,
			   .frame = frame,
			   .options = options,
			   .fd = -1};
	struct b2f_why why = {""};
	int err;

	m.header.sum = b2f_sum_by_name(options->checksum ? options->checksum
							 : "adler32");
	if (!m.header.sum || frame->layout.err)
		return m.header.sum ? frame->layout.err : -EINVAL;
	err = begin(&m, &why);
	if (!err)
		err = make_file(&m, dirfd, name, &why);
	base_close(&m.base);
	b2f_file_close(m.file);
	free(m.json);
	free(m.offs);
	return report(&m, err, &why);
}
