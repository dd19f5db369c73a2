/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert.c - a frame made of another one: chunks as they are, encoded, or cut
 * anew
 */
#include "b2frame/convert.h"

#include <stdlib.h>

#include "base/checked.h"
#include "chunk/encode_plan.h"
#include "file/runtime_state.h"
#include "frame/frame.h"
#include "frame/frame_report.h"
#include "frame/frame_unit.h"
#include "frame/settings.h"
#include "make/build.h"
#include "make/transcode.h"

/* Decoded bytes of a chunk, for data whose chunks had no common size. */
#define CHUNKSIZE_DEFAULT (1 << 20)

/* Bytes of data from which the item size is guessed. */
#define GUESS_BYTES (1u << 20)

struct convert {
	struct b2f_runtime *runtime;
	struct b2f_frame *frame;
	const struct b2f_convert_options *options;
	/* Header of the new frame. */
	struct b2f_frame_header header;
	struct b2f_transcode how;
	/* Encodes chunks anew; false: they stay as they are. */
	bool encodes;
	/* Where data come from if chunks get another size, else NULL. */
	struct b2f_file *file;
	/* Chunks of the new frame. */
	uint64_t nchunks;
};

/* Do the borders of its chunks, of different sizes, have a meaning? */
static bool keeps_chunks(const struct b2f_frame *f)
{
	const struct b2f_frame_header *h = &f->header;

	return h->chunksize == 0 &&
	       (h->nbytes == 0 || f->layout.objects || f->layout.carrier[0] ||
		b2f_frame_header_has_vlblocks(h));
}

/*
 * Keeps the settings that an array, or a frame of serialized objects, cannot
 * change.
 */
static void keep_layout(const struct convert *c, struct b2f_settings *s)
{
	const struct b2f_frame *f = c->frame;

	/* Also if its geometry is unreadable: other programs may read it. */
	if (f->layout.is_array) {
		s->typesize = f->header.typesize;
		s->chunksize = f->header.chunksize;
		s->blocksize = f->header.blocksize;
		if (f->is_array)
			s->blocksize = (uint32_t)(f->array.block_items *
						  f->array.itemsize);
	} else if (keeps_chunks(f)) {
		s->chunksize = -1;
	} else if (f->header.chunksize == 0 && s->chunksize <= 0) {
		s->chunksize = CHUNKSIZE_DEFAULT;
		if (s->typesize)
			s->chunksize -= CHUNKSIZE_DEFAULT % (int32_t)s->typesize;
	}
}

/* Guesses the item size from the first data. */
static int guess_typesize(struct convert *c, struct b2f_settings *s)
{
	struct b2f_file *file = NULL;
	B2F_OWN uint8_t *buf = malloc(GUESS_BYTES);
	ssize_t n = 0;
	int err;

	if (!buf)
		return -ENOMEM;
	err = b2f_transcode_open(c->runtime, c->frame, &file);
	if (!err)
		n = b2f_file_pread(file, NULL, buf, GUESS_BYTES, 0);
	if (!err)
		err = n < 0 ? (int)n : b2f_settings_guess(s, buf, (size_t)n);
	b2f_file_close(file);
	return err;
}

static int make_header(struct convert *c)
{
	struct b2f_settings s = *c->options->settings;
	struct b2f_why why = {""};
	int err = 0;

	if (c->options->guess_typesize && !c->frame->layout.is_array)
		err = guess_typesize(c, &s);
	if (err)
		return err;
	keep_layout(c, &s);
	err = b2f_settings_header(&s, &c->header, &why);
	return err ? b2f_frame_report(c->frame, err, &why) : 0;
}

/*
 * C-Blosc2 reads wrong data from parts of chunks with the delta filter, so no
 * new chunk has it; the header names their filters, because C-Blosc2 appends
 * chunks by the header.
 */
static int replace_delta(struct convert *c)
{
	struct b2f_frame_header *h = &c->header;
	struct b2f_encode_plan plan;
	struct b2f_why why = {""};
	int err;

	if (!b2f_pipeline_needs_ref(&h->pipeline))
		return 0;
	/* The filters depend on the size of the items alone. */
	err = b2f_encode_plan_make(&c->how.options, h->typesize, &plan, &why);
	if (err)
		return b2f_frame_report(c->frame, err, &why);
	h->pipeline = plan.pipeline;
	return 0;
}

static int choose_encoding(struct convert *c)
{
	const struct b2f_frame_header *h = &c->header;

	c->encodes = true;
	b2f_encode_options_of(c->frame, h, &c->how.options);
	c->how.special = h->chunksize > 0;
	c->how.same_items = h->typesize == c->frame->header.typesize;
	return replace_delta(c);
}

static int choose_settings(struct convert *c)
{
	const struct b2f_frame_header *old = &c->frame->header;
	struct b2f_frame_header *h = &c->header;
	int err;

	err = make_header(c);
	if (err)
		return err;
	if (keeps_chunks(c->frame))
		h->chunksize = 0;
	else if (old->nbytes > 0 && h->chunksize <= 0)
		return b2f_frame_report(
			c->frame, -EINVAL,
			&(const struct b2f_why){"the chunk size is missing"});
	h->header_len = old->header_len;
	return choose_encoding(c);
}

/* Are the data cut into other chunks than before? */
static bool is_cut_anew(const struct convert *c)
{
	return c->options->settings &&
	       (c->header.chunksize != c->frame->header.chunksize ||
		c->frame->map.starts) &&
	       c->header.chunksize > 0;
}

static int choose(struct convert *c)
{
	struct b2f_frame_span span;
	int err = 0;

	c->header = c->frame->header;
	if (c->options->settings)
		err = choose_settings(c);
	else if (c->frame->info.bloscpack)
		/* C-Blosc2 reads no parts of chunks of Blosc 1. */
		err = choose_encoding(c);
	c->header.sparse = !c->options->contiguous;
	c->nchunks = c->frame->info.nchunks;
	/* This finds out whether the short chunk is the last one. */
	if (!err && c->nchunks)
		err = b2f_frame_span_get(c->frame, c->nchunks - 1, &span);
	if (!err && !c->options->settings &&
	    b2f_frame_hides_short_chunk(c->frame))
		return b2f_frame_report(
			c->frame, -EINVAL,
			&(const struct b2f_why){
				"its short chunk is not the last one; bloscctl "
				"recompress gives it chunks of one size"});
	if (err || c->nchunks == 0 || !is_cut_anew(c))
		return err;
	c->nchunks = b2f_div_up_u64(c->frame->header.nbytes,
				    (uint32_t)c->header.chunksize);
	return b2f_transcode_open(c->runtime, c->frame, &c->file);
}

/* Encodes the data of the new chunk @piece, from any number of old chunks. */
static int encode_range(struct convert *c, struct b2f_encoder *enc,
			struct b2f_piece *piece)
{
	uint32_t chunksize = (uint32_t)c->header.chunksize;
	uint64_t start = piece->nchunk * chunksize;
	uint32_t nbytes = (uint32_t)b2f_min_u64(
		chunksize, c->frame->header.nbytes - start);
	struct b2f_why why = {""};
	int err = b2f_scratch_reserve(&enc->data, nbytes);

	if (!err)
		err = b2f_transcode_read(c->file, enc->data.data, nbytes,
					 start);
	if (err)
		return err;
	return b2f_transcode_data(&c->how, enc, enc->data.data, nbytes, piece,
				  &why);
}

/*
 * May @loaded stay as it is?  It has no data that could be encoded.  C-Blosc2
 * looks for a value as wide as the items of the frame.
 */
static bool may_stay(const struct b2f_transcode *how,
		     const struct b2f_loaded *loaded)
{
	const struct b2f_chunk_header *h = &loaded->chunk.header;

	if (b2f_entry_of(loaded->raw).special)
		return how->special && how->same_items;
	return h->special == B2F_SPECIAL_VALUE &&
	       h->typesize == how->options.typesize;
}

static int encode(const struct convert *c, struct b2f_loaded *loaded,
		  struct b2f_decoder *dec, struct b2f_encoder *enc,
		  struct b2f_piece *piece)
{
	uint32_t nbytes = loaded->chunk.header.nbytes;
	struct b2f_why why = {""};
	int err;

	if (loaded->chunk.header.vl)
		return b2f_frame_report_chunk(
			c->frame, loaded->nchunk, B2F_EUNSUPPORTED,
			&(const struct b2f_why){"its blocks differ in length, "
						"which would be lost"});
	if (may_stay(&c->how, loaded)) {
		b2f_transcode_take(loaded, piece);
		return 0;
	}
	err = b2f_scratch_reserve(&enc->data, nbytes);
	if (!err)
		err = b2f_frame_decode_whole(c->frame, loaded, dec,
					     enc->data.data);
	if (err)
		return err;
	err = b2f_transcode_data(&c->how, enc, enc->data.data, nbytes, piece,
				 &why);
	if (err)
		b2f_frame_report_chunk(c->frame, loaded->nchunk, err, &why);
	return err;
}

/* Decodes a chunk, and encodes it again. */
static int encode_again(const struct convert *c, struct b2f_decoder *dec,
			struct b2f_encoder *enc, struct b2f_piece *piece)
{
	struct b2f_loaded *loaded = NULL;
	int err = b2f_transcode_load(c->frame, piece->nchunk, &loaded);

	if (!err)
		err = encode(c, loaded, dec, enc, piece);
	b2f_loaded_free(loaded);
	return err;
}

/* Takes the stored bytes of a chunk. */
static int copy_chunk(const struct convert *c, struct b2f_decoder *dec,
		      struct b2f_piece *piece)
{
	struct b2f_frame *frame = c->frame;
	struct b2f_frame_span span;
	int err = b2f_frame_span_get(frame, piece->nchunk, &span);

	if (err)
		return err;
	piece->nbytes = (uint32_t)span.nbytes;
	return b2f_transcode_entry(
		frame, b2f_entries_raw(&frame->entries, piece->nchunk),
		c->options->no_verify ? NULL : dec, piece);
}

static int make_with(struct convert *c, struct b2f_decoder *dec,
		     struct b2f_encoder *enc, struct b2f_piece *piece)
{
	if (c->file)
		return encode_range(c, enc, piece);
	if (c->encodes)
		return encode_again(c, dec, enc, piece);
	return copy_chunk(c, dec, piece);
}

static int make_chunk(void *arg, struct b2f_piece *piece)
{
	struct convert *c = arg;
	struct b2f_decoder *dec = NULL;
	struct b2f_encoder *enc = NULL;
	int err;

	err = b2f_idle_get_decoder(&c->runtime->idle, &dec);
	if (err)
		return err;
	err = b2f_idle_get_encoder(&c->runtime->idle, &enc);
	if (!err) {
		err = make_with(c, dec, enc, piece);
		b2f_idle_put_encoder(&c->runtime->idle, enc);
	}
	b2f_idle_put_decoder(&c->runtime->idle, dec);
	return err;
}

static int make_frame(struct convert *c, int dirfd, const char *name)
{
	const struct b2f_convert_options *o = c->options;
	const struct b2f_build_plan plan = {
		.like = c->frame,
		.header = c->header,
		.dirfd = dirfd,
		.name = name,
		.mode = o->mode,
		.no_seal = o->no_seal,
		/* A copy of other storage is to stay what the user asks for. */
		.small = c->frame->small && o->settings,
		.log = c->frame->log,
		.label = o->label ? o->label : name,
		.make = make_chunk,
		.context = c,
		.pool = c->runtime->pool,
		.n = c->nchunks,
		.nahead = b2f_pump_window(c->nchunks, c->frame->header.nbytes),
		.told = o,
		.nbytes = c->frame->header.nbytes,
	};

	return b2f_build_run(&plan);
}

int b2f_convert_frame(struct b2f_runtime *runtime, struct b2f_frame *frame,
		      const struct b2f_convert_options *options, int dirfd,
		      const char *name)
{
	struct convert c = {
		.runtime = runtime, .frame = frame, .options = options};
	int err;

	err = choose(&c);
	if (!err)
		err = make_frame(&c, dirfd, name);
	b2f_file_close(c.file);
	return err;
}
