/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_array.c - a b2nd array made of an array in plain data
 *
 * The new frame is made from the .npy file of the array. b2nd has only C order,
 * so items in Fortran order are reordered, one slab of the first axis at a
 * time: a piece of each column is read for each slab.
 */
#include "b2frame/convert.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frame/frame.h"
#include "frame/frame_report.h"
#include "make/transcode.h"

/* Decoded bytes of a chunk. */
#define CHUNKSIZE (1 << 20)

/* Wider items get type size 1: they hardly resemble each other. */
#define TYPESIZE_MAX 65536u

/* Decoded bytes that are copied at once, and of a slab. */
#define STEP (UINT64_C(1) << 20)
#define SLAB (UINT64_C(256) << 20)

/* A slab of an array in Fortran order. */
struct slab {
	/* Items [first, first + n) of the first axis, up to @most of them. */
	uint64_t first;
	uint64_t n;
	uint64_t most;
	/* Items of a row, which has all other axes. */
	uint64_t row;
	uint8_t *data;
};

struct making {
	const struct b2f_array *array;
	struct b2f_frame *frame;
	struct b2f_file *from;
	/* The header of a .npy file; malloc'ed. */
	uint8_t *head;
	size_t head_len;
	/* Bytes of all items. */
	uint64_t nbytes;
	/* For an array in Fortran order: room for STEP bytes, or one item. */
	uint8_t *buf;
	struct slab *slab;
};

/* The place in a row of the item that is number @i in Fortran order. */
static uint64_t place_in_row(const struct b2f_array *a, uint64_t i)
{
	uint64_t place = 0, stride = 1, index[B2F_ARRAY_MAX_DIM];

	for (unsigned int d = 1; d < a->ndim; d++) {
		index[d] = i % (uint64_t)a->shape[d];
		i /= (uint64_t)a->shape[d];
	}
	for (unsigned int d = a->ndim - 1; d >= 1; d--) {
		place += index[d] * stride;
		stride *= (uint64_t)a->shape[d];
	}
	return place;
}

/* Puts the @n items at @buf, consecutive on the first axis, into the slab. */
static void scatter(const struct making *m, const struct slab *s,
		    const uint8_t *buf, uint64_t first, uint64_t n,
		    uint64_t place)
{
	uint32_t size = m->array->itemsize;

	for (uint64_t i = 0; i < n; i++)
		memcpy(s->data + ((first + i) * s->row + place) * size,
		       buf + i * size, size);
}

/* Reads the items of column @i into the slab. */
static int read_column(const struct making *m, const struct slab *s, uint64_t i)
{
	uint32_t size = m->array->itemsize;
	uint64_t most = b2f_max_u64(1, STEP / size), n;
	uint64_t start = i * (uint64_t)m->array->shape[0] + s->first;
	uint64_t place = place_in_row(m->array, i);
	int err = 0;

	for (uint64_t done = 0; done < s->n && !err; done += n) {
		n = b2f_min_u64(most, s->n - done);
		err = b2f_transcode_read(m->from, m->buf, n * size,
					 (start + done) * size);
		if (!err)
			scatter(m, s, m->buf, done, n, place);
	}
	return err;
}

/*
 * Reads the columns from @i on that fit into the buffer; the slab has all rows.
 */
static int read_columns(const struct making *m, const struct slab *s,
			uint64_t i, uint64_t *n)
{
	uint64_t column = s->n * m->array->itemsize;
	int err;

	*n = b2f_min_u64(STEP / column, s->row - i);
	err = b2f_transcode_read(m->from, m->buf, *n * column, i * column);
	for (uint64_t k = 0; k < *n && !err; k++)
		scatter(m, s, m->buf + k * column, 0, s->n,
			place_in_row(m->array, i + k));
	return err;
}

/* Reads all items of the slab. */
static int turn_slab(const struct making *m, const struct slab *s)
{
	bool many = s->n == (uint64_t)m->array->shape[0] &&
		    s->n * m->array->itemsize <= STEP;
	uint64_t n;
	int err = 0;

	for (uint64_t i = 0; i < s->row && !err; i += n) {
		n = 1;
		err = many ? read_columns(m, s, i, &n) : read_column(m, s, i);
	}
	return err;
}

/* Reads the slab with row @first. */
static int move_slab(const struct making *m, uint64_t first)
{
	struct slab *s = m->slab;
	uint64_t length = (uint64_t)m->array->shape[0];
	int err;

	s->first = first - first % s->most;
	s->n = b2f_min_u64(s->most, length - s->first);
	err = turn_slab(m, s);
	if (err)
		s->n = 0;
	return err;
}

/* Reads @n bytes of the items in C order, from byte @off on. */
static int read_turned(const struct making *m, uint8_t *buf, uint64_t n,
		       uint64_t off)
{
	const struct slab *s = m->slab;
	uint64_t row_nbytes = s->row * m->array->itemsize, part;
	int err = 0;

	for (; n > 0 && !err; n -= part, buf += part, off += part) {
		uint64_t first = off / row_nbytes;

		if (first < s->first || first >= s->first + s->n)
			err = move_slab(m, first);
		part = b2f_min_u64(n, (s->first + s->n) * row_nbytes - off);
		if (!err)
			memcpy(buf, s->data + off - s->first * row_nbytes,
			       part);
		else
			part = n;
	}
	return err;
}

/* Reads the array as a .npy file. */
static ssize_t read_npy(void *arg, void *buf, size_t size, uint64_t off)
{
	const struct making *m = arg;
	uint64_t n = b2f_min_u64(size, m->head_len + m->nbytes - off);
	uint64_t head = off < m->head_len ? b2f_min_u64(n, m->head_len - off)
					  : 0;
	uint8_t *items = (uint8_t *)buf + head;
	uint64_t from = off + head - m->head_len;
	int err = 0;

	if (head)
		memcpy(buf, m->head + off, head);
	if (n > head)
		err = m->slab ? read_turned(m, items, n - head, from)
			      : b2f_transcode_read(m->from, items, n - head,
						   from);
	return err ? err : (ssize_t)n;
}

/* Allocates the buffers for reordering the array. */
static int make_slab(struct making *m, struct slab *s)
{
	uint64_t length = (uint64_t)m->array->shape[0];
	uint64_t row_nbytes;

	s->row = m->array->nitems / length;
	row_nbytes = s->row * m->array->itemsize;
	s->most = b2f_min_u64(b2f_max_u64(1, SLAB / row_nbytes), length);
	s->data = malloc(s->most * row_nbytes);
	m->buf = malloc(b2f_max_u64(STEP, m->array->itemsize));
	m->slab = s;
	return s->data && m->buf ? 0 : -ENOMEM;
}

static struct b2f_settings choose_settings(const struct making *m)
{
	struct b2f_settings s = b2f_settings_of(m->frame);

	s.blocksize = 0;
	s.chunksize = CHUNKSIZE;
	s.typesize = m->array->itemsize <= TYPESIZE_MAX ? m->array->itemsize
							: 1;
	s.chunksize -= CHUNKSIZE % (int32_t)s.typesize;
	return s;
}

/*
 * Makes the header of the .npy file. B2F_EUNSUPPORTED: it makes no b2nd array.
 */
static int make_head(struct making *m, const struct b2f_settings *settings)
{
	struct b2f_array array = *m->array;
	struct b2f_frame like = {.array = array, .is_tensor = true};
	uint64_t nbytes;
	int err;

	like.array.fortran_order = false;
	err = b2f_frame_npy_header(&like, &m->head, &m->head_len);
	return err ? err
		   : b2f_npy_look(settings, m->head, m->head_len, &nbytes);
}

static int make_frame(struct making *m, struct b2f_runtime *runtime,
		      const struct b2f_convert_options *options, int dirfd,
		      const char *name)
{
	struct b2f_convert_options how = *options;
	struct b2f_settings settings = choose_settings(m);
	struct b2f_data data = {.read = read_npy,
				.arg = m,
				.is_npy = true,
				.log = m->frame->log};
	struct slab slab = {.n = 0};
	int err = make_head(m, &settings);

	how.contiguous = false;
	if (!err && m->array->fortran_order && m->nbytes > 0)
		err = make_slab(m, &slab);
	data.nbytes = m->head_len + m->nbytes;
	if (!err)
		err = b2f_convert_data(runtime, &settings, &data, &how, dirfd,
				       name);
	free(slab.data);
	return err;
}

int b2f_convert_array(struct b2f_runtime *runtime, struct b2f_frame *frame,
		      const struct b2f_convert_options *options, int dirfd,
		      const char *name)
{
	struct making m = {.frame = frame, .array = b2f_frame_tensor(frame)};
	int err;

	if (!m.array || frame->layout.err)
		return b2f_frame_report(
			frame, B2F_EUNSUPPORTED,
			&(const struct b2f_why){
				"no metadata describe its data as an array"});
	m.nbytes = frame->layout.nbytes;
	err = b2f_transcode_open(runtime, frame, &m.from);
	if (!err)
		err = make_frame(&m, runtime, options, dirfd, name);
	b2f_file_close(m.from);
	free(m.head);
	free(m.buf);
	return err;
}
