/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_data.c - a frame made of plain data
 *
 * Settings, and the header of a .npy file, decide the form of the frame; an
 * empty frame in memory describes it.
 */
#include "b2frame/convert.h"

#include <stdlib.h>

#include "array/array_cells.h"
#include "array/npy.h"
#include "b2frame/error.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "file/runtime_state.h"
#include "frame/frame.h"
#include "frame/layout_index.h"
#include "frame/settings.h"
#include "make/build.h"
#include "make/transcode.h"

struct making {
	struct b2f_runtime *runtime;
	const struct b2f_data *data;
	const struct b2f_convert_options *options;
	const char *label;
	/* The index of the empty frame that describes the new one. */
	uint8_t *index;
	/* A frame with the new settings, without data. */
	struct b2f_frame *like;
	struct b2f_transcode how;
	/* Bytes of data taken so far, and the end of the data. */
	uint64_t nbytes;
	uint64_t end;
};

static int report(const struct making *m, int err, const char *text)
{
	if (err)
		b2f_log(m->data->log, B2F_LOG_ERROR, "%s: %s", m->label,
			*text ? text : b2f_strerror(err));
	return err;
}

/* Reads @n bytes, of which all have to be there. */
static int read_fully(const struct making *m, uint8_t *buf, uint64_t n,
		      uint64_t off)
{
	ssize_t got = m->data->read(m->data->arg, buf, (size_t)n, off);

	if (got < 0)
		return (int)got;
	return (uint64_t)got == n
		       ? 0
		       : report(m, -ESTALE,
				"the data became shorter while they were read");
}

/* Are the @n bytes from @off on zeros that need not be read? */
static bool is_hole(const struct making *m, uint64_t off, uint64_t n)
{
	return m->data->find && m->data->find(m->data->arg, off) >= off + n;
}

static int read_items(void *arg, uint8_t *buf, uint64_t nbytes, uint64_t off)
{
	const struct making *m = arg;

	return read_fully(m, buf, nbytes, m->like->layout.head_len + off);
}

static int take_of_array(struct making *m, struct b2f_piece *piece)
{
	const struct b2f_layout *layout = &m->like->layout;
	uint64_t from = piece->nchunk * piece->nbytes;
	uint64_t n = layout->nbytes > from
			     ? b2f_min_u64(piece->nbytes, layout->nbytes - from)
			     : 0;

	if (layout->linear && is_hole(m, layout->head_len + from, n))
		return 0;
	piece->data = calloc(1, piece->nbytes);
	if (!piece->data)
		return -ENOMEM;
	if (layout->linear)
		return read_items(m, piece->data, n, from);
	return b2f_array_read_chunk(&m->like->array, piece->nchunk, read_items,
				    m, piece->data);
}

/* Takes the next chunk; a short read shows where the data end. */
static int take_plain(struct making *m, struct b2f_piece *piece)
{
	uint64_t from = m->nbytes;
	ssize_t n;

	if (from == m->end)
		return B2F_PUMP_END;
	piece->nbytes = (uint32_t)b2f_min_u64(piece->nbytes, m->end - from);
	m->nbytes += piece->nbytes;
	if (is_hole(m, from, piece->nbytes))
		return 0;
	piece->data = malloc(piece->nbytes);
	if (!piece->data)
		return -ENOMEM;
	n = m->data->read(m->data->arg, piece->data, piece->nbytes, from);
	if (n < 0)
		return (int)n;
	if ((uint64_t)n < piece->nbytes)
		m->end = m->nbytes = from + (uint64_t)n;
	piece->nbytes = (uint32_t)n;
	return n ? 0 : B2F_PUMP_END;
}

static int take(void *arg, struct b2f_piece *piece)
{
	struct making *m = arg;

	piece->nbytes = (uint32_t)m->like->header.chunksize;
	return m->like->is_array ? take_of_array(m, piece)
				 : take_plain(m, piece);
}

static int make(void *arg, struct b2f_piece *piece)
{
	struct making *m = arg;
	struct b2f_encoder *enc = NULL;
	struct b2f_why why = {""};
	int err = b2f_idle_get_encoder(&m->runtime->idle, &enc);

	if (!err && piece->data)
		err = b2f_transcode_data(&m->how, enc, piece->data,
					 piece->nbytes, piece, &why);
	else if (!err)
		err = b2f_transcode_zeros(&m->how, piece->nbytes, piece, &why);
	if (enc)
		b2f_idle_put_encoder(&m->runtime->idle, enc);
	free(piece->data);
	piece->data = NULL;
	return report(m, err, why.text);
}

/* Replaces the plain frame by the array that the .npy header describes. */
static int become_array(struct making *m)
{
	size_t room = (size_t)b2f_min_u64(m->data->nbytes, B2F_NPY_HEADER_MAX);
	B2F_OWN uint8_t *head = malloc(room + 1);
	struct b2f_frame *frame = NULL;
	struct b2f_npy npy;
	int err = head ? read_fully(m, head, room, 0) : -ENOMEM;

	if (!err)
		err = b2f_npy_parse(head, room, &npy);
	if (!err) {
		err = b2f_layout_npy(m->like, &npy, head,
				     (uint32_t)m->like->header.chunksize,
				     &frame);
		b2f_npy_fini(&npy);
	}
	if (err)
		return err;
	b2f_frame_close(m->like);
	m->like = frame;
	return 0;
}

/* Makes @m->like, an empty frame in memory. */
static int choose(struct making *m, const struct b2f_settings *settings)
{
	const struct b2f_frame_options how = {.log = m->data->log,
					      .label = m->label};
	struct b2f_why why = {""};
	size_t size = 0;
	int err = b2f_settings_index(settings, false, &m->index, &size, &why);

	if (err)
		return report(m, err, why.text);
	err = b2f_frame_of_bytes(&how, m->label, m->index, size, true,
				 &m->like);
	if (!err && m->data->is_npy)
		err = become_array(m);
	return err;
}

static int make_frame(struct making *m, int dirfd, const char *name)
{
	uint64_t chunksize = (uint32_t)m->like->header.chunksize;
	struct b2f_build_plan plan = {
		.like = m->like,
		.header = m->like->header,
		.dirfd = dirfd,
		.name = name,
		.mode = m->options->mode,
		.no_seal = m->options->no_seal,
		.log = m->data->log,
		.label = m->label,
		.take = take,
		.make = make,
		.context = m,
		.pool = m->runtime->pool,
		.n = m->like->is_array ? m->like->info.nchunks : UINT64_MAX,
		.nahead = b2f_pump_window(B2F_NCHUNKS_MAX,
					  B2F_NCHUNKS_MAX * chunksize),
		.told = m->options,
		.nbytes = m->data->nbytes,
	};

	plan.header.sparse = !m->options->contiguous;
	b2f_encode_options_of(m->like, &m->like->header, &m->how.options);
	m->how.special = true;
	m->end = m->data->nbytes ? m->data->nbytes : UINT64_MAX;
	return b2f_build_run(&plan);
}

int b2f_convert_data(struct b2f_runtime *runtime,
		     const struct b2f_settings *settings, struct b2f_data *data,
		     const struct b2f_convert_options *options, int dirfd,
		     const char *name)
{
	struct making m = {
		.runtime = runtime,
		.data = data,
		.options = options,
		.label = options->label ? options->label : name,
	};
	int err = choose(&m, settings);

	if (!err)
		err = make_frame(&m, dirfd, name);
	if (!err && !m.like->is_array)
		data->nbytes = m.nbytes;
	b2f_frame_close(m.like);
	free(m.index);
	return err;
}
