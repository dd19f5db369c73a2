/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_array.c - a b2nd array made of plain data that are an array
 *
 * The new frame gets what np.save() writes of the array, and becomes one of
 * b2nd as any frame does.  Those have C order alone, so data in Fortran order
 * are turned: a slab of the first axis at a time, for which all data are gone
 * through.
 */
#include "b2frame/convert.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/write.h"
#include "base/checked.h"
#include "file/runtime_state.h"
#include "frame/frame.h"
#include "frame/frame_report.h"

/* Decoded bytes of a chunk. */
#define CHUNKSIZE (1 << 20)

/* Wider items have nothing in common with each other but by chance. */
#define TYPESIZE_MAX 65536u

/* Decoded bytes that are copied at once, and of a slab. */
#define STEP (UINT64_C(1) << 20)
#define SLAB (UINT64_C(256) << 20)

struct making {
	const struct b2f_convert_options *options;
	const struct b2f_array *array;
	struct b2f_frame *frame;
	struct b2f_file *from;
	struct b2f_file *to;
	/* The header of a .npy file; malloc'ed. */
	uint8_t *head;
	size_t head_len;
	/* Bytes of all items. */
	uint64_t nbytes;
	/* Room for STEP bytes, or one item. */
	uint8_t *buf;
};

/* Of the array in Fortran order. */
struct slab {
	/* Items [first, first + n) of the first axis. */
	uint64_t first;
	uint64_t n;
	/* Items of all other axes together: those of a row. */
	uint64_t row;
	uint8_t *data;
};

static int read_fully(const struct making *m, uint8_t *buf, uint64_t n,
		      uint64_t off)
{
	ssize_t got = b2f_file_pread(m->from, NULL, buf, (size_t)n, off);

	if (got < 0)
		return (int)got;
	return (uint64_t)got == n ? 0 : B2F_ECORRUPT;
}

static int write_fully(const struct making *m, const uint8_t *buf, uint64_t n,
		       uint64_t off)
{
	while (n > 0) {
		ssize_t done = b2f_file_pwrite(m->to, buf, (size_t)n, off);

		if (done < 0)
			return (int)done;
		buf += done;
		off += (uint64_t)done;
		n -= (uint64_t)done;
	}
	return 0;
}

/* @done of the bytes of all items are written. */
static void tell(const struct making *m, uint64_t done)
{
	if (m->options->progress)
		m->options->progress(m->options->arg, done, m->nbytes);
}

static int copy_all(const struct making *m)
{
	uint64_t n;
	int err = 0;

	for (uint64_t off = 0; off < m->nbytes && !err; off += n) {
		n = b2f_min_u64(STEP, m->nbytes - off);
		err = read_fully(m, m->buf, n, off);
		if (!err)
			err = write_fully(m, m->buf, n, m->head_len + off);
		tell(m, off + n);
	}
	return err;
}

/*
 * Where in its row the @i-th item of all with one index of the first axis is:
 * @i counts in Fortran order.
 */
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

/*
 * Puts @n items at @buf, which follow each other along the first axis, in
 * place.
 */
static void scatter(const struct making *m, const struct slab *s,
		    const uint8_t *buf, uint64_t first, uint64_t n,
		    uint64_t place)
{
	uint32_t size = m->array->itemsize;

	for (uint64_t i = 0; i < n; i++)
		memcpy(s->data + ((first + i) * s->row + place) * size,
		       buf + i * size, size);
}

/* The @i-th column's items of the slab. */
static int read_column(const struct making *m, const struct slab *s, uint64_t i)
{
	uint32_t size = m->array->itemsize;
	uint64_t most = b2f_max_u64(1, STEP / size), n;
	uint64_t start = i * (uint64_t)m->array->shape[0] + s->first;
	uint64_t place = place_in_row(m->array, i);
	int err = 0;

	for (uint64_t done = 0; done < s->n && !err; done += n) {
		n = b2f_min_u64(most, s->n - done);
		err = read_fully(m, m->buf, n * size, (start + done) * size);
		if (!err)
			scatter(m, s, m->buf, done, n, place);
	}
	return err;
}

/*
 * All columns from @i on that fit into the buffer; the slab has all their
 * items.
 */
static int read_columns(const struct making *m, const struct slab *s,
			uint64_t i, uint64_t *n)
{
	uint64_t column = s->n * m->array->itemsize;
	int err;

	*n = b2f_min_u64(STEP / column, s->row - i);
	err = read_fully(m, m->buf, *n * column, i * column);
	for (uint64_t k = 0; k < *n && !err; k++)
		scatter(m, s, m->buf + k * column, 0, s->n,
			place_in_row(m->array, i + k));
	return err;
}

static int turn_slab(const struct making *m, const struct slab *s)
{
	uint64_t size = m->array->itemsize, n;
	bool many = s->n == (uint64_t)m->array->shape[0] &&
		    s->n * size <= STEP;
	int err = 0;

	for (uint64_t i = 0; i < s->row && !err; i += n) {
		n = 1;
		err = many ? read_columns(m, s, i, &n) : read_column(m, s, i);
	}
	if (!err)
		err = write_fully(m, s->data, s->n * s->row * size,
				  m->head_len + s->first * s->row * size);
	tell(m, (s->first + s->n) * s->row * size);
	return err;
}

static int turn_all(const struct making *m)
{
	uint64_t length = (uint64_t)m->array->shape[0], most;
	struct slab s = {.row = m->array->nitems / length};
	uint64_t row_nbytes = s.row * m->array->itemsize;
	int err = 0;

	most = b2f_min_u64(b2f_max_u64(1, SLAB / row_nbytes), length);
	s.data = malloc(most * row_nbytes);
	if (!s.data)
		return -ENOMEM;
	for (; s.first < length && !err; s.first += s.n) {
		s.n = b2f_min_u64(most, length - s.first);
		err = turn_slab(m, &s);
	}
	free(s.data);
	return err;
}

static int write_array(struct making *m)
{
	bool turned = m->array->fortran_order && m->nbytes > 0;
	int err = write_fully(m, m->head, m->head_len, 0);

	m->buf = malloc(b2f_max_u64(STEP, m->array->itemsize));
	if (!m->buf)
		return -ENOMEM;
	if (!err)
		err = turned ? turn_all(m) : copy_all(m);
	return err ? err : b2f_file_commit(m->to, B2F_COMMIT_DURABLE);
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
 * The header that the file would have; B2F_EUNSUPPORTED: no array is made of
 * it.
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

static int open_new(struct making *m, struct b2f_runtime *runtime,
		    const struct b2f_settings *settings, int dirfd,
		    const char *name)
{
	const struct b2f_frame_options how = {.log = m->frame->log,
					      .label = m->options->label};
	const struct b2f_write_options options = {
		.no_seal = m->options->no_seal,
		.no_locking = true,
		.npy_arrays = true,
		.chunksize = (uint32_t)settings->chunksize,
	};
	struct b2f_frame *frame = NULL;
	int err = b2f_frame_open(&how, dirfd, name, &frame);

	if (err)
		return err;
	err = b2f_file_open(runtime, frame, &m->to);
	if (err)
		b2f_frame_close(frame);
	return err ? err : b2f_file_allow_write(m->to, &options);
}

static int make_frame(struct making *m, struct b2f_runtime *runtime, int dirfd,
		      const char *name)
{
	struct b2f_settings settings = choose_settings(m);
	int err = make_head(m, &settings);

	if (err)
		return err;
	err = b2f_frame_create(&settings, dirfd, name, m->options->mode | 0600,
			       true, m->frame->log);
	if (err)
		return err;
	err = open_new(m, runtime, &settings, dirfd, name);
	if (!err)
		err = write_array(m);
	if (err && m->to)
		b2f_file_discard(m->to);
	b2f_file_close(m->to);
	if (err)
		(void)!b2f_frame_remove(dirfd, name);
	return err;
}

int b2f_convert_array(struct b2f_runtime *runtime, struct b2f_frame *frame,
		      const struct b2f_convert_options *options, int dirfd,
		      const char *name)
{
	struct making m = {.options = options,
			   .frame = frame,
			   .array = b2f_frame_tensor(frame)};
	struct b2f_why why;
	int err;

	if (!m.array || frame->layout.err) {
		b2f_why_set(&why, B2F_EUNSUPPORTED,
			    "it does not say what array its data are");
		return b2f_frame_report(frame, B2F_EUNSUPPORTED, &why);
	}
	m.nbytes = frame->layout.nbytes;
	err = b2f_file_open(runtime, b2f_frame_ref(frame), &m.from);
	if (err)
		b2f_frame_close(frame);
	else
		err = make_frame(&m, runtime, dirfd, name);
	b2f_file_close(m.from);
	free(m.head);
	free(m.buf);
	return err;
}
