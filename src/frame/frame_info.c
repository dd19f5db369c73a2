/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_info.c - what can be asked of an open frame */
#include <stdlib.h>
#include <string.h>

#include "b2frame/names.h"
#include "b2frame/error.h"
#include "b2frame/version.h"
#include "blp/blp_store.h"
#include "frame/frame.h"
#include "frame/frame_chunk.h"
#include "frame/frame_report.h"

void b2f_frame_info_set(struct b2f_frame *f)
{
	const struct b2f_frame_header *h = &f->header;
	struct b2f_frame_info *info = &f->info;

	info->nbytes = h->nbytes;
	info->cbytes = h->cbytes;
	info->nchunks = f->entries.n;
	info->nspecial = f->entries.nspecial;
	info->frame_len = h->frame_len - f->store->lead - f->store->tail;
	info->header_len = h->header_len;
	info->trailer_len = f->trailer_len;
	info->typesize = h->typesize;
	info->blocksize = h->blocksize;
	info->chunksize = h->chunksize;
	info->sparse = h->sparse;
	info->version = h->version;
	info->general_flags = h->general_flags;
	info->codec = h->codec;
	info->codec_meta = h->codec_meta;
	info->clevel = h->clevel;
	info->splitmode = h->splitmode;
	info->use_dict = h->use_dict;
	memcpy(info->filters, h->pipeline.filter, B2F_SLOTS);
	memcpy(info->filters_meta, h->pipeline.meta, B2F_SLOTS);
	if (b2f_blp_of(f->store))
		info->bloscpack = b2f_blp_of(f->store)->header.sum->name;
	info->nmeta = f->meta.n;
	info->nvlmeta = f->vlmeta.n;
}

const struct b2f_frame_info *b2f_frame_info_get(const struct b2f_frame *frame)
{
	return &frame->info;
}

const char *b2f_frame_label(const struct b2f_frame *frame)
{
	return frame->label;
}

const struct b2f_array *b2f_frame_array(const struct b2f_frame *frame)
{
	return frame->is_array ? &frame->array : NULL;
}

const struct b2f_array *b2f_frame_tensor(const struct b2f_frame *frame)
{
	return frame->is_tensor ? &frame->array : NULL;
}

struct b2f_frame_stamp b2f_frame_stamp_get(const struct b2f_frame *frame)
{
	return frame->stamp;
}

const char *b2f_chunk_kind_name(enum b2f_chunk_kind kind)
{
	switch (kind) {
	case B2F_CHUNK_COMPRESSED:
		return "compressed";
	case B2F_CHUNK_STORED:
		return "stored";
	case B2F_CHUNK_VLBLOCKS:
		return "vlblocks";
	case B2F_CHUNK_ZEROS:
		return "zeros";
	case B2F_CHUNK_NAN:
		return "nan";
	case B2F_CHUNK_VALUE:
		return "value";
	case B2F_CHUNK_UNINIT:
		return "uninit";
	}
	return "unknown";
}

static enum b2f_chunk_kind kind_of(const struct b2f_chunk_header *h)
{
	switch (h->special) {
	case B2F_SPECIAL_ZEROS:
		return B2F_CHUNK_ZEROS;
	case B2F_SPECIAL_NAN:
		return B2F_CHUNK_NAN;
	case B2F_SPECIAL_VALUE:
		return B2F_CHUNK_VALUE;
	case B2F_SPECIAL_UNINIT:
		return B2F_CHUNK_UNINIT;
	case B2F_SPECIAL_NONE:
		break;
	}
	if (h->vl)
		return B2F_CHUNK_VLBLOCKS;
	return h->memcpyed ? B2F_CHUNK_STORED : B2F_CHUNK_COMPRESSED;
}

uint8_t b2f_frame_codec_of(const struct b2f_chunk_header *h)
{
	switch (h->format) {
	case B2F_FORMAT_BLOSCLZ:
		return B2F_CODEC_BLOSCLZ;
	case B2F_FORMAT_LZ4:
		return h->udcodec == B2F_CODEC_LZ4HC ? B2F_CODEC_LZ4HC
						     : B2F_CODEC_LZ4;
	case B2F_FORMAT_ZLIB:
		return B2F_CODEC_ZLIB;
	case B2F_FORMAT_ZSTD:
		return B2F_CODEC_ZSTD;
	default:
		return h->udcodec;
	}
}

static void info_of_chunk(const struct b2f_chunk *chunk,
			  struct b2f_chunk_info *out)
{
	const struct b2f_chunk_header *h = &chunk->header;

	out->kind = kind_of(h);
	out->nbytes = h->nbytes;
	out->cbytes = h->cbytes;
	out->blocksize = h->vl ? 0 : h->blocksize;
	out->nblocks = chunk->blocks.nblocks;
	out->version = h->version;
	out->typesize = h->typesize;
	out->codec = b2f_frame_codec_of(h);
	out->codec_meta = h->codec_meta;
	out->split = h->split;
	out->has_dict = h->has_dict;
	memcpy(out->filters, h->pipeline.filter, B2F_SLOTS);
	memcpy(out->filters_meta, h->pipeline.meta, B2F_SLOTS);
}

int b2f_frame_chunk_info(struct b2f_frame *frame, uint64_t nchunk,
			 struct b2f_chunk_info *out)
{
	struct b2f_entry entry = b2f_entries_get(&frame->entries, nchunk);
	struct b2f_chunk_info info = {0};
	struct b2f_loaded *loaded = NULL;
	struct b2f_frame_span span;
	int err = b2f_frame_span_get(frame, nchunk, &span);

	if (!err)
		err = b2f_frame_load(frame, nchunk, span.nbytes, B2F_LOAD_HEAD,
				     &loaded);
	if (err)
		return err;
	info_of_chunk(&loaded->chunk, &info);
	b2f_loaded_free(loaded);
	info.in_index = entry.special != B2F_SPECIAL_NONE;
	info.place = (uint32_t)entry.place;
	if (!frame->header.sparse && !info.in_index)
		info.place = b2f_frame_chunk_off(frame, entry.place) -
			     frame->offset - frame->header.header_len;
	*out = info;
	return 0;
}

struct b2f_meta_info b2f_frame_meta(const struct b2f_frame *frame, size_t i,
				    const uint8_t **content)
{
	const struct b2f_meta *m = &frame->meta.items[i];

	*content = m->content;
	return (struct b2f_meta_info){
		.name = m->name, .name_len = m->name_len, .size = m->size};
}

/* The largest value of a vlmetalayer, against a chunk that claims 2 GB. */
#define VLMETA_BYTES_MAX (64u << 20)

/* @reserve counts the value until its owner has it, who soon frees it. */
static int decode_vlmeta(const struct b2f_meta *m, struct b2f_reserve *reserve,
			 uint8_t **out, size_t *size, struct b2f_why *why)
{
	struct b2f_reserved counted = {.of = reserve};
	const struct b2f_chunk_context context = {0};
	struct b2f_decoder *dec = NULL;
	struct b2f_chunk chunk;
	uint8_t *data = NULL;
	int err = b2f_chunk_open(m->content, m->size, m->size, &context, &chunk,
				 why);

	if (err)
		return err;
	if (chunk.header.cbytes != m->size)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a chunk of %u bytes in %zu",
				   chunk.header.cbytes, m->size);
	if (chunk.header.nbytes > VLMETA_BYTES_MAX)
		err = B2F_ETOOBIG;
	else
		err = b2f_reserve_take(&counted, chunk.header.nbytes);
	if (err)
		return b2f_why_set(why, err, "a value of %u bytes",
				   chunk.header.nbytes);
	err = b2f_decoder_new(&dec);
	data = err ? NULL : malloc(chunk.header.nbytes + (size_t)1);
	if (!err)
		err = data ? b2f_chunk_decode_all(&chunk, dec, m->content, data,
						  why)
			   : -ENOMEM;
	b2f_decoder_free(dec);
	b2f_reserve_give(&counted, chunk.header.nbytes);
	if (err) {
		free(data);
		return err;
	}
	*out = data;
	*size = chunk.header.nbytes;
	return 0;
}

int b2f_frame_vlmeta(const struct b2f_frame *frame, size_t i,
		     struct b2f_meta_info *info, uint8_t **content)
{
	const struct b2f_meta *m = &frame->vlmeta.items[i];
	struct b2f_why cause = {""}, why;
	size_t size = 0;
	int err = decode_vlmeta(m, frame->reserved.of, content, &size, &cause);

	if (err) {
		b2f_why_set(&why, err, "vlmetalayer %.31s: %.120s", m->name,
			    b2f_why_text(&cause, err));
		return b2f_frame_report(frame, err, &why);
	}
	info->name = m->name;
	info->name_len = m->name_len;
	info->size = size;
	return 0;
}

int b2f_frame_vlmeta_find(const struct b2f_frame *frame, const char *name,
			  uint8_t **content, size_t *size)
{
	const struct b2f_meta *m = b2f_meta_find(&frame->vlmeta, name);
	struct b2f_meta_info info;
	int err;

	if (!m)
		return -ENODATA;
	err = b2f_frame_vlmeta(frame, (size_t)(m - frame->vlmeta.items), &info,
			       content);
	if (!err)
		*size = info.size;
	return err;
}

const char *b2f_version(void)
{
	return B2F_VERSION;
}
