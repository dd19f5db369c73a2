/* SPDX-License-Identifier: BSD-3-Clause */
/* chunk_decode.c - decodes the stored bytes of a chunk */
#include <string.h>

#include "b2frame/names.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "chunk/chunk.h"

/* Bytes of one memcpy(3) from an uncompressed chunk. */
#define COPY_PIECE (64u << 10)

/* Bytes of the length before a stream. */
#define STREAM_HEAD 4u

/* The bits of a quiet NaN, little endian, as C-Blosc2 makes them. */
static const uint8_t nan4[4] = {0, 0, 0xc0, 0x7f};
static const uint8_t nan8[8] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f};

/* A chunk that is being decoded, cut into @blocks. */
struct decoding {
	const struct b2f_chunk *chunk;
	const struct b2f_chunk_blocks *blocks;
	struct b2f_decoder *dec;
	struct b2f_why *why;
};

/* Fills @dst with the endless row of @value, from its byte @phase on. */
static void fill_pattern(uint8_t *dst, size_t n, const uint8_t *value,
			 size_t width, size_t phase)
{
	size_t first = n < width ? n : width;

	for (size_t i = 0; i < first; i++)
		dst[i] = value[(phase + i) % width];
	/* The bytes so far are a whole number of patterns: double them. */
	for (size_t done = first; done < n;) {
		size_t more = n - done < done ? n - done : done;

		memcpy(dst + done, dst, more);
		done += more;
	}
}

static void fill_special(const struct b2f_chunk *chunk, uint64_t off,
			 uint8_t *dst, size_t n)
{
	const struct b2f_chunk_header *h = &chunk->header;
	uint32_t width;

	switch (h->special) {
	case B2F_SPECIAL_NAN:
		width = h->typesize;
		fill_pattern(dst, n, width == 4 ? nan4 : nan8, width,
			     off % width);
		break;
	case B2F_SPECIAL_VALUE:
		width = h->cbytes - h->header_len;
		fill_pattern(dst, n, chunk->value, width, off % width);
		break;
	case B2F_SPECIAL_NONE:
	case B2F_SPECIAL_ZEROS:
	case B2F_SPECIAL_UNINIT:
		memset(dst, 0, n);
		break;
	}
}

/* Only the chunk knows which plugin its format stands for.  Returns @err. */
static int name_plugin(const struct b2f_chunk_header *h, int err,
		       struct b2f_why *why)
{
	if (err == B2F_EUNSUPPORTED && h->format == B2F_FORMAT_PLUGIN)
		err = b2f_why_set(why, err,
				  "codec %u (%s), a plugin, is not built in",
				  h->udcodec, b2f_codec_code_name(h->udcodec));
	return err;
}

static int decode_run(struct b2f_cursor *cur, int32_t csize, uint8_t *dst,
		      size_t n, struct b2f_why *why)
{
	uint8_t token = b2f_cursor_u8(cur);

	if (!b2f_cursor_ok(cur) || !(token & 1) || csize < -255)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "bad run %d with token 0x%02x", csize,
				   token);
	memset(dst, -csize, n);
	return 0;
}

/* Decodes one stream into exactly @n bytes at @dst. */
static int decode_stream(const struct decoding *d, struct b2f_cursor *cur,
			 uint8_t *dst, size_t n)
{
	const struct b2f_chunk_header *h = &d->chunk->header;
	struct b2f_why *why = d->why;
	int32_t csize = (int32_t)b2f_cursor_le32(cur);
	const uint8_t *src;

	if (!b2f_cursor_ok(cur))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a stream begins beyond the block");
	if (csize == 0) {
		memset(dst, 0, n);
		return 0;
	}
	if (csize < 0)
		return decode_run(cur, csize, dst, n, why);
	src = b2f_cursor_take(cur, (size_t)csize);
	if (!src || (size_t)csize > n)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a stream of %d stored bytes for %zu", csize,
				   n);
	if ((size_t)csize == n) {
		memcpy(dst, src, n);
		return 0;
	}
	return name_plugin(
		h,
		b2f_codec_states_decode(&d->dec->codecs, h->format,
					b2f_bytes_at(src, (size_t)csize),
					b2f_room_at(dst, n), why),
		why);
}

/* Decodes all streams of a block of @n bytes, one behind the other, to @dst. */
static int decode_streams(const struct decoding *d, struct b2f_cursor *cur,
			  uint8_t *dst, size_t n)
{
	const struct b2f_chunk_header *h = &d->chunk->header;
	/* The short last block is never split. */
	size_t nstreams =
		h->split && n == d->blocks->blocksize ? h->typesize : 1;
	size_t each = n / nstreams;
	int err = 0;

	if (each == 0 || each * nstreams != n)
		return b2f_why_set(d->why, B2F_ECORRUPT,
				   "a block of %zu bytes split in %zu streams",
				   n, nstreams);
	for (size_t i = 0; i < nstreams && !err; i++)
		err = decode_stream(d, cur, dst + i * each, each);
	return err;
}

/* Points *@out to at least @n zeros. */
static int get_zeros(struct b2f_decoder *dec, size_t n, const uint8_t **out)
{
	int err = 0;

	if (dec->zeros.size < n) {
		err = b2f_scratch_reserve(&dec->zeros, n);
		if (!err)
			memset(dec->zeros.data, 0, dec->zeros.size);
	}
	*out = dec->zeros.data;
	return err;
}

/*
 * Gets one stream of @n decoded bytes as a plane in *@plane: in its place if it
 * is stored as it is, the common zeros, or decoded into @room.
 */
static int find_plane(const struct decoding *d, struct b2f_cursor *cur,
		      uint8_t *room, size_t n, const uint8_t **plane)
{
	struct b2f_cursor ahead = *cur;
	uint32_t csize = b2f_cursor_le32(&ahead);

	if (b2f_cursor_ok(&ahead) && csize == 0) {
		*cur = ahead;
		return get_zeros(d->dec, n, plane);
	}
	if (csize == n && b2f_cursor_left(&ahead) >= n) {
		*plane = b2f_cursor_take(&ahead, n);
		*cur = ahead;
		return 0;
	}
	*plane = room;
	return decode_stream(d, cur, room, n);
}

/*
 * A split block whose only filter is shuffle is put together from its streams
 * wherever they are.  About half the streams of floats do not shrink and are
 * stored as they are; this saves a copy of each.
 */
static int decode_planes(const struct decoding *d, struct b2f_cursor *cur,
			 uint8_t *dst, size_t n)
{
	size_t nplanes = d->chunk->header.typesize, each = n / nplanes;
	const uint8_t *planes[B2F_PLANES_MAX] = {NULL};
	int err = 0;

	for (size_t i = 0; i < nplanes && !err; i++)
		err = find_plane(d, cur, d->dec->filter.data + i * each, each,
				 &planes[i]);
	if (!err)
		b2f_pipeline_decode_planes(planes, nplanes, each, dst);
	return err;
}

static struct b2f_filter_block filter_block(const struct b2f_chunk *chunk,
					    const uint8_t *ref)
{
	return (struct b2f_filter_block){
		.typesize = chunk->header.typesize,
		.schunk_typesize = chunk->context.typesize,
		.chunk_version = chunk->header.version,
		.ref = ref,
		.grid = chunk->context.grid,
	};
}

/* Prepares a block of @n bytes; its streams go to *@start. */
static int begin_block(const struct decoding *d,
		       const struct b2f_filter_block *block, size_t n,
		       uint8_t *dst, uint8_t **start)
{
	const struct b2f_pipeline *pipeline = &d->chunk->header.pipeline;
	int err = b2f_pipeline_check(pipeline, block, n, d->why);

	if (err)
		return err;
	if (b2f_pipeline_needs_tmp(pipeline)) {
		err = b2f_scratch_reserve(&d->dec->filter, n);
		if (err)
			return err;
	}
	*start = b2f_pipeline_start(pipeline, dst, d->dec->filter.data);
	return 0;
}

/*
 * Decodes block @block, whose stored bytes are at @stored; @ref is block 0,
 * NULL while decoding block 0.
 */
static int decode_block(const struct decoding *d, uint32_t block,
			struct b2f_cursor stored, const uint8_t *ref,
			uint8_t *dst)
{
	const struct b2f_chunk *chunk = d->chunk;
	struct b2f_filter_block fb = filter_block(chunk, ref);
	uint32_t blocksize = d->blocks->blocksize;
	uint64_t at = (uint64_t)block * blocksize;
	size_t n = b2f_min_u64(blocksize, chunk->header.nbytes - at);
	const struct b2f_pipeline *pipeline = &chunk->header.pipeline;
	uint8_t *start;
	int err = begin_block(d, &fb, n, dst, &start);

	if (err)
		return err;
	if (chunk->header.split && n == blocksize &&
	    b2f_pipeline_takes_planes(pipeline, &fb, chunk->header.typesize, n))
		return decode_planes(d, &stored, dst, n);
	err = decode_streams(d, &stored, start, n);
	if (!err)
		b2f_pipeline_decode(pipeline, &fb, dst, d->dec->filter.data, n);
	return err;
}

/*
 * Decodes one VL block: its length, then one stream up to the end; *@done bytes
 * are decoded.
 */
static int decode_vl_block(const struct decoding *d, struct b2f_cursor cur,
			   struct b2f_room dst, size_t *done)
{
	const struct b2f_chunk *chunk = d->chunk;
	struct b2f_filter_block block = filter_block(chunk, NULL);
	size_t n = b2f_cursor_le32(&cur), left = b2f_cursor_left(&cur);
	const uint8_t *stream = cur.data + cur.pos;
	uint8_t *start;
	int err;

	if (n == 0 || n > dst.size || left == 0)
		return b2f_why_set(d->why, B2F_ECORRUPT,
				   "a block of %zu bytes where %zu are left", n,
				   dst.size);
	err = begin_block(d, &block, n, dst.data, &start);
	if (err)
		return err;
	if (left == n)
		memcpy(start, stream, n);
	else
		err = b2f_codec_states_decode(&d->dec->codecs,
					      chunk->header.format,
					      b2f_bytes_at(stream, left),
					      b2f_room_at(start, n), d->why);
	if (err)
		return name_plugin(&chunk->header, err, d->why);
	b2f_pipeline_decode(&chunk->header.pipeline, &block, dst.data,
			    d->dec->filter.data, n);
	*done = n;
	return 0;
}

static int decode_vl(const struct decoding *d, const uint8_t *raw, uint8_t *dst)
{
	const struct b2f_chunk_blocks *blocks = &d->chunk->blocks;
	const struct b2f_chunk_header *h = &d->chunk->header;
	struct b2f_why *why = d->why;
	uint32_t start = b2f_chunk_block_start(blocks, 0), end;
	size_t done = 0, n = 0;
	int err;

	if (start < blocks->start)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "block 0 starts inside the table");
	for (uint32_t i = 0; i < blocks->nblocks; i++, start = end) {
		end = i + 1 < blocks->nblocks
			      ? b2f_chunk_block_start(blocks, i + 1)
			      : h->cbytes;
		if (end <= start || end > h->cbytes)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "block %u ends before it starts", i);
		err = decode_vl_block(
			d, b2f_cursor_at(raw + start, end - start),
			b2f_room_at(dst + done, h->nbytes - done), &n);
		if (err)
			return err;
		done += n;
	}
	if (done != h->nbytes)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the blocks give %zu of %u bytes", done,
				   h->nbytes);
	return 0;
}

/* Decodes every regular block. */
static int decode_blocks(const struct decoding *d, const uint8_t *raw,
			 uint8_t *dst)
{
	const struct b2f_chunk_blocks *blocks = d->blocks;
	uint32_t cbytes = d->chunk->header.cbytes;
	uint32_t start = 0;
	int err = 0;

	for (uint32_t i = 0; i < blocks->nblocks && !err; i++) {
		err = b2f_chunk_block_find(d->chunk, blocks, i, &start, d->why);
		if (err)
			break;
		err = decode_block(
			d, i, b2f_cursor_at(raw + start, cbytes - start),
			i ? dst : NULL, dst + (size_t)i * blocks->blocksize);
	}
	return err;
}

static int set_dict(const struct decoding *d)
{
	const struct b2f_chunk_blocks *blocks = d->blocks;

	if (!blocks->dict)
		return 0;
	return b2f_codec_states_dict(&d->dec->codecs, d->chunk->header.format,
				     blocks->dict, blocks->dict_size, d->why);
}

static void end_dict(const struct decoding *d)
{
	const struct b2f_chunk_header *h = &d->chunk->header;
	int err;

	if (!h->has_dict)
		return;
	err = b2f_codec_states_dict(&d->dec->codecs, h->format, NULL, 0, NULL);
	(void)err; /* ending never fails */
}

static int decode_cut(const struct decoding *d, const uint8_t *raw,
		      uint8_t *dst)
{
	int err = set_dict(d);

	if (!err && d->chunk->header.vl)
		err = decode_vl(d, raw, dst);
	else if (!err)
		err = decode_blocks(d, raw, dst);
	end_dict(d);
	return err;
}

/* Cut @i of those that the chunk may have, the most likely one first. */
static const struct b2f_chunk_blocks *cut_at(const struct b2f_chunk *chunk,
					     unsigned int i)
{
	if (i == (chunk->doubts_first ? chunk->ndoubts : 0))
		return &chunk->blocks;
	return &chunk->doubt[chunk->doubts_first ? i : i - 1];
}

/*
 * Decodes with each block size that the writer may have used (docs/format.md
 * 9.1), until one gives data.  Reports the first error.
 */
static int decode_whole(const struct decoding *d, const uint8_t *raw,
			uint8_t *dst)
{
	struct decoding cut = *d;
	int err = B2F_ECORRUPT;

	for (unsigned int i = 0; i <= d->chunk->ndoubts && err == B2F_ECORRUPT;
	     i++) {
		cut.blocks = cut_at(d->chunk, i);
		if (cut.blocks->table)
			err = decode_cut(&cut, raw, dst);
		cut.why = NULL;
	}
	return err;
}

static int decode_one(const struct decoding *d, const struct b2f_stored_unit *s,
		      uint8_t *dst)
{
	int err = set_dict(d);

	if (!err)
		err = decode_block(d, s->unit, b2f_cursor_at(s->data, s->size),
				   s->unit ? s->ref : NULL, dst);
	end_dict(d);
	return err;
}

int b2f_chunk_decode_unit(const struct b2f_chunk *chunk,
			  struct b2f_decoder *dec,
			  const struct b2f_stored_unit *stored, uint8_t *dst,
			  struct b2f_why *why)
{
	const struct decoding d = {chunk, &chunk->blocks, dec, why};
	size_t n = b2f_chunk_unit_nbytes(chunk, stored->unit);

	switch (chunk->layout) {
	case B2F_CHUNK_SPECIAL:
		fill_special(chunk, (uint64_t)stored->unit * chunk->unit_size,
			     dst, n);
		return 0;
	case B2F_CHUNK_FLAT:
		if (stored->size < n)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "%zu of %zu bytes are there",
					   stored->size, n);
		memcpy(dst, stored->data, n);
		return 0;
	case B2F_CHUNK_WHOLE:
		if (stored->size < chunk->header.cbytes)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "%zu of %u bytes are there",
					   stored->size, chunk->header.cbytes);
		return decode_whole(&d, stored->data, dst);
	case B2F_CHUNK_BLOCKS:
		break;
	}
	return decode_one(&d, stored, dst);
}

/* Bytes of a stream that is stored as it is, with its length. */
static uint32_t plain_stream(const struct b2f_chunk *chunk)
{
	return chunk->unit_size / chunk->header.typesize + STREAM_HEAD;
}

bool b2f_excerpt_plan(const struct b2f_chunk *chunk, struct b2f_excerpt *e)
{
	const struct b2f_chunk_header *h = &chunk->header;
	const struct b2f_filter_block block = filter_block(chunk, NULL);
	uint32_t n;

	if (chunk->layout != B2F_CHUNK_BLOCKS || !h->split ||
	    chunk->blocks.dict || chunk->blocks.blocksize != chunk->unit_size)
		return false;
	n = b2f_chunk_unit_nbytes(chunk, e->unit);
	/* The short last block is never split. */
	if (n != chunk->unit_size || !b2f_range_fits(e->start, e->size, n) ||
	    b2f_pipeline_check(&h->pipeline, &block, n, NULL) ||
	    !b2f_pipeline_takes_planes(&h->pipeline, &block, h->typesize, n) ||
	    e->start % h->typesize || e->size % h->typesize ||
	    b2f_chunk_unit_extent(chunk, e->unit, &e->stored_off,
				  &e->stored_size, NULL))
		return false;
	/* Noise is in the low bytes of items, and these come first. */
	e->nplain = (uint32_t)b2f_min_u64(b2f_min_u64(e->nplain, h->typesize),
					  e->stored_size / plain_stream(chunk));
	return e->nplain > 0;
}

size_t b2f_excerpt_ranges(const struct b2f_chunk *chunk,
			  const struct b2f_excerpt *e,
			  struct b2f_excerpt_range out[B2F_EXCERPT_RANGES_MAX])
{
	uint32_t typesize = chunk->header.typesize;
	uint32_t at = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < e->nplain; i++, at += plain_stream(chunk)) {
		out[n++] = (struct b2f_excerpt_range){at, STREAM_HEAD};
		out[n++] = (struct b2f_excerpt_range){
			at + STREAM_HEAD + e->start / typesize,
			e->size / typesize};
	}
	if (at < e->stored_size)
		out[n++] = (struct b2f_excerpt_range){at, e->stored_size - at};
	return n;
}

/*
 * Points @planes to the streams of @e that are stored as they are.  Returns
 * false if one is not: then @e->nplain is the number of those before it.
 */
static bool find_plain(const struct b2f_chunk *chunk, struct b2f_excerpt *e,
		       const uint8_t *stored, const uint8_t **planes)
{
	size_t step = plain_stream(chunk);

	for (uint32_t i = 0; i < e->nplain; i++) {
		if (b2f_load_le32(stored + i * step) != step - STREAM_HEAD) {
			e->nplain = i;
			return false;
		}
		planes[i] = stored + i * step + STREAM_HEAD;
	}
	return true;
}

int b2f_excerpt_decode(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
		       struct b2f_excerpt *e, const uint8_t *stored,
		       uint8_t *dst)
{
	const struct decoding d = {chunk, &chunk->blocks, dec, NULL};
	const uint8_t *planes[B2F_PLANES_MAX] = {NULL};
	uint32_t nplanes = chunk->header.typesize;
	size_t each = chunk->unit_size / nplanes;
	size_t at = (size_t)e->nplain * plain_stream(chunk);
	struct b2f_cursor rest =
		b2f_cursor_at(stored + at, e->stored_size - at);
	int err;

	if (!find_plain(chunk, e, stored, planes))
		return 1;
	err = b2f_scratch_reserve(&dec->filter, chunk->unit_size);
	for (uint32_t i = e->nplain; i < nplanes && !err; i++)
		err = find_plane(&d, &rest, dec->filter.data + i * each, each,
				 &planes[i]);
	if (err)
		return err;
	for (uint32_t i = 0; i < nplanes; i++)
		planes[i] += e->start / nplanes;
	b2f_pipeline_decode_planes(planes, nplanes, e->size / nplanes, dst);
	return 0;
}

/* Copies in pieces: the C library is faster with these than with megabytes. */
static void copy_flat(uint8_t *dst, const uint8_t *src, size_t n)
{
	for (size_t done = 0; done < n; done += COPY_PIECE)
		memcpy(dst + done, src + done,
		       b2f_min_u64(n - done, COPY_PIECE));
}

int b2f_chunk_decode_all(const struct b2f_chunk *chunk, struct b2f_decoder *dec,
			 const uint8_t *raw, uint8_t *dst, struct b2f_why *why)
{
	const struct decoding d = {chunk, &chunk->blocks, dec, why};
	const struct b2f_chunk_header *h = &chunk->header;

	/* An empty chunk may claim to be anything. */
	if (h->nbytes == 0)
		return 0;
	switch (chunk->layout) {
	case B2F_CHUNK_SPECIAL:
		fill_special(chunk, 0, dst, h->nbytes);
		return 0;
	case B2F_CHUNK_FLAT:
		copy_flat(dst, raw + h->header_len, h->nbytes);
		return 0;
	case B2F_CHUNK_BLOCKS:
	case B2F_CHUNK_WHOLE:
		break;
	}
	return decode_whole(&d, raw, dst);
}
