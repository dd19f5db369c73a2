/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_describe.c - everything a frame says, as JSON */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/names.h"
#include "b2frame/error.h"
#include "blp/blp_store.h"
#include "frame/frame.h"

/* Bytes of one metalayer that are shown, as hex digits. */
#define META_SHOWN (1u << 20)

static const char *const split_names[] = {"", "always", "never", "auto",
					  "forward-compat"};

static json_t *describe_filters(const uint8_t *filters, const uint8_t *metas)
{
	json_t *list = json_array();

	for (int i = 0; i < B2F_SLOTS; i++)
		if (filters[i])
			json_array_append_new(
				list,
				json_pack("{s:s, s:i, s:i}", "name",
					  b2f_filter_name(filters[i]), "id",
					  filters[i], "meta", metas[i]));
	return list;
}

/* Any bytes as a JSON string: bytes that are not ASCII become hex. */
static json_t *describe_text(const char *text, size_t len)
{
	B2F_OWN char *buf = malloc(4 * len + 1);
	size_t at = 0;

	if (!buf)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c < 0x7f && c != '\\')
			buf[at++] = (char)c;
		else
			at += (size_t)snprintf(buf + at, 5, "\\x%02x", c);
	}
	buf[at] = '\0';
	return json_string(buf);
}

static json_t *describe_label(const struct b2f_frame *frame)
{
	json_t *string = json_string(frame->label);

	/* A path need not be UTF-8. */
	if (!string)
		string = describe_text(frame->label, strlen(frame->label));
	return string;
}

static json_t *describe_hex(const uint8_t *data, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = size < META_SHOWN ? size : META_SHOWN;
	B2F_OWN char *text = malloc(2 * n + 1);

	if (!text)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[data[i] >> 4];
		text[2 * i + 1] = digits[data[i] & 15];
	}
	text[2 * n] = '\0';
	return json_string(text);
}

static json_t *describe_meta(const struct b2f_meta_info *info,
			     const uint8_t *content)
{
	return json_pack("{s:o, s:I, s:b, s:o}", "name",
			 describe_text(info->name, info->name_len), "nbytes",
			 (json_int_t)info->size, "truncated",
			 info->size > META_SHOWN, "hex",
			 describe_hex(content, info->size));
}

static json_t *describe_metas(const struct b2f_frame *frame)
{
	json_t *list = json_array();

	for (size_t i = 0; i < frame->info.nmeta; i++) {
		const uint8_t *content;
		struct b2f_meta_info info = b2f_frame_meta(frame, i, &content);

		json_array_append_new(list, describe_meta(&info, content));
	}
	return list;
}

static json_t *describe_vlmetas(const struct b2f_frame *frame)
{
	json_t *list = json_array();

	for (size_t i = 0; i < frame->info.nvlmeta; i++) {
		const struct b2f_meta *m = &frame->vlmeta.items[i];
		struct b2f_meta_info info;
		B2F_OWN uint8_t *content = NULL;
		int err = b2f_frame_vlmeta(frame, i, &info, &content);

		if (err)
			json_array_append_new(
				list,
				json_pack("{s:o, s:s}", "name",
					  describe_text(m->name, m->name_len),
					  "error", b2f_strerror(err)));
		else
			json_array_append_new(list,
					      describe_meta(&info, content));
	}
	return list;
}

/* The shape of @a, or of one of its chunks or blocks in @part. */
static json_t *describe_shape(const struct b2f_array *a, const int32_t *part)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < a->ndim; i++)
		json_array_append_new(
			list, json_integer(part ? part[i] : a->shape[i]));
	return list;
}

/* Bytes of the chunks beside the items; null if chunks are missing. */
static json_t *describe_padding(const struct b2f_frame *frame)
{
	uint64_t nbytes = frame->array.nitems * frame->array.itemsize;

	if (frame->info.nbytes < nbytes)
		return json_null();
	return json_integer((json_int_t)(frame->info.nbytes - nbytes));
}

static json_t *describe_array(const struct b2f_frame *frame)
{
	const struct b2f_array *a = b2f_frame_array(frame);
	json_t *dtype;

	if (!a)
		return json_null();
	/* A dtype that is no UTF-8 cannot be shown. */
	dtype = a->dtype ? json_string(a->dtype) : NULL;
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:b, s:I, s:o, s:b}", "shape",
		describe_shape(a, NULL), "chunks",
		describe_shape(a, a->chunkshape), "blocks",
		describe_shape(a, a->blockshape), "dtype",
		dtype ? dtype : json_null(), "readable", frame->layout.err == 0,
		"nbytes", (json_int_t)(a->nitems * a->itemsize), "padding",
		describe_padding(frame), "npy", b2f_frame_is_npy(frame));
}

/* The array that the metadata of plain data describe. */
static json_t *describe_tensor(const struct b2f_frame *frame)
{
	const struct b2f_array *a = b2f_frame_tensor(frame);
	json_t *dtype = a ? json_string(a->dtype) : NULL;

	if (!a)
		return json_null();
	return json_pack("{s:o, s:o}", "shape", describe_shape(a, NULL),
			 "dtype", dtype ? dtype : json_null());
}

static json_t *describe_place(const struct b2f_frame *frame,
			      const struct b2f_chunk_info *c)
{
	char name[B2F_CHUNK_NAME_SIZE];

	if (c->in_index)
		return json_null();
	if (!frame->info.sparse)
		return json_integer(
			(json_int_t)(frame->header.header_len + c->place));
	b2f_chunk_name((int64_t)c->place, name);
	return json_string(name);
}

static json_t *describe_chunk(const struct b2f_frame *frame, uint64_t nchunk,
			      const struct b2f_chunk_info *c)
{
	json_t *object = json_pack(
		"{s:I, s:s, s:I, s:o}", "chunk", (json_int_t)nchunk, "kind",
		b2f_chunk_kind_name(c->kind), "nbytes", (json_int_t)c->nbytes,
		"stored_at", describe_place(frame, c));
	json_t *more;

	if (c->in_index)
		return object;
	more = json_pack("{s:I, s:i, s:i, s:i, s:i, s:s, s:i, s:b, s:b, s:o}",
			 "cbytes", (json_int_t)c->cbytes, "blocksize",
			 (int)c->blocksize, "nblocks", (int)c->nblocks,
			 "version", c->version, "typesize", c->typesize,
			 "codec", b2f_codec_code_name(c->codec), "codec_meta",
			 c->codec_meta, "split", c->split, "dict", c->has_dict,
			 "filters",
			 describe_filters(c->filters, c->filters_meta));
	json_object_update(object, more);
	json_decref(more);
	return object;
}

/* Describes one chunk; *@err is the error if it cannot be read. */
static json_t *describe_any(struct b2f_frame *frame, uint64_t nchunk, int *err)
{
	struct b2f_chunk_info c;

	*err = b2f_frame_chunk_info(frame, nchunk, &c);
	return *err ? json_pack("{s:I, s:s}", "chunk", (json_int_t)nchunk,
				"error", b2f_strerror(*err))
		    : describe_chunk(frame, nchunk, &c);
}

/* Describes every chunk; *@first is the error of the first unreadable one. */
static json_t *describe_chunks(struct b2f_frame *frame, int *first)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < frame->info.nchunks; i++) {
		int err;

		json_array_append_new(list, describe_any(frame, i, &err));
		*first = *first ? *first : err;
	}
	return list;
}

/* Describes a Bloscpack file; for a frame @object stays unchanged. */
static void add_bloscpack(const struct b2f_frame *frame, json_t *object)
{
	const struct b2f_blp *blp = b2f_blp_of(frame->store);

	if (blp)
		json_object_set_new(
			object, "bloscpack",
			json_pack("{s:i, s:s, s:b, s:I}", "version",
				  B2F_BLP_VERSION, "checksum",
				  blp->header.sum->name, "offsets",
				  blp->header.has_offsets, "room",
				  (json_int_t)blp->header.room));
}

static double ratio_of(const struct b2f_frame_info *info)
{
	return info->cbytes ? (double)info->nbytes / (double)info->cbytes : 0;
}

static json_t *describe_sizes(const struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = &frame->info;

	return json_pack(
		"{s:o, s:s, s:i, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I}",
		"frame", describe_label(frame), "storage",
		info->bloscpack ? "bloscpack"
		: info->sparse	? "sparse"
				: "contiguous",
		"version",
		info->version, "nbytes", (json_int_t)info->nbytes, "cbytes",
		(json_int_t)info->cbytes, "ratio", ratio_of(info), "nchunks",
		(json_int_t)info->nchunks, "nspecial",
		(json_int_t)info->nspecial, "chunksize",
		(json_int_t)info->chunksize, "blocksize",
		(json_int_t)info->blocksize, "typesize",
		(json_int_t)info->typesize);
}

static json_t *describe_settings(const struct b2f_frame *frame)
{
	const struct b2f_frame_info *info = &frame->info;

	return json_pack(
		"{s:s, s:i, s:i, s:i, s:s, s:b, s:o, s:I, s:I, s:I, s:I, s:i,"
		" s:i, s:I, s:o, s:o, s:s?, s:s?}",
		"codec", b2f_codec_code_name(info->codec), "codec_id",
		info->codec, "codec_meta", info->codec_meta, "clevel",
		info->clevel, "splitmode", split_names[info->splitmode],
		"use_dict", info->use_dict, "filters",
		describe_filters(info->filters, info->filters_meta),
		"frame_len", (json_int_t)info->frame_len, "header_len",
		(json_int_t)info->header_len, "trailer_len",
		(json_int_t)info->trailer_len, "index_nbytes",
		(json_int_t)(info->frame_len - (info->sparse ? 0 : info->cbytes)),
		"general_flags", info->general_flags, "fingerprint_type",
		info->fingerprint_type, "shown_nbytes",
		(json_int_t)b2f_frame_shown_nbytes(frame), "array", describe_array(frame), "tensor",
		describe_tensor(frame), "stands_for",
		b2f_frame_stands_for(frame), "objects",
		b2f_frame_objects(frame));
}

/* Frees @object.  Returns @err, or -ENOMEM. */
static int write_text(json_t *object, size_t flags, int err, char **out)
{
	char *text = json_dumps(object, flags | JSON_REAL_PRECISION(6));

	json_decref(object);
	if (!text)
		return -ENOMEM;
	*out = text;
	return err;
}

int b2f_frame_describe(struct b2f_frame *frame, bool chunks, char **out)
{
	json_t *object = describe_sizes(frame);
	json_t *more = describe_settings(frame);
	const char *why = b2f_frame_obstacle(frame);
	int err = 0;

	json_object_update(object, more);
	json_decref(more);
	add_bloscpack(frame, object);
	json_object_set_new(object, "writable", json_boolean(!why));
	if (why)
		json_object_set_new(object, "why", json_string(why));
	json_object_set_new(object, "metalayers", describe_metas(frame));
	json_object_set_new(object, "vlmetalayers", describe_vlmetas(frame));
	if (chunks)
		json_object_set_new(object, "chunks",
				    describe_chunks(frame, &err));
	return write_text(object, JSON_INDENT(2), err, out);
}
