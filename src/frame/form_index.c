/* SPDX-License-Identifier: BSD-3-Clause */
/* form_index.c - a frame takes another form: plain data, or an array */
#include "frame/form_index.h"

#include <stdlib.h>
#include <string.h>

#include "array/array_plan.h"
#include "array/array_write.h"
#include "base/checked.h"
#include "chunk/encode.h"
#include "chunk/encode_plan.h"
#include "index/fingerprint.h"
#include "index/index_write.h"
#include "index/meta_write.h"

/* An index with at most one metalayer and one vlmetalayer. */
struct draft {
	struct b2f_frame_header header;
	struct b2f_meta_list metas;
	struct b2f_meta_list vlmetas;
	uint64_t nchunks;
};

static int make_entries(uint64_t n, uint64_t **out)
{
	uint64_t *entries = malloc((n ? n : 1) * sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		entries[i] = b2f_entry_raw(B2F_SPECIAL_ZEROS);
	*out = entries;
	return 0;
}

/* The parts of the index of @draft, into one buffer. */
static int write_parts(const struct draft *draft, struct b2f_index_parts *parts,
		       uint8_t **out, size_t *size, struct b2f_why *why)
{
	struct b2f_encoder *enc = NULL;
	int err = b2f_encoder_new(&enc);

	if (err)
		return err;
	parts->header = draft->header;
	parts->header.nbytes =
		draft->nchunks * (uint64_t)draft->header.chunksize;
	parts->nentries = draft->nchunks;
	err = b2f_index_write(parts, enc, out, size, why);
	if (!err)
		b2f_fingerprint_set(*out, *size, parts->header.header_len);
	b2f_encoder_free(enc);
	return err;
}

static int write_index(struct draft *draft, uint8_t **out, size_t *size,
		       struct b2f_why *why)
{
	struct b2f_index_parts parts = {.entries = NULL};
	uint8_t *header = NULL, *trailer = NULL;
	uint64_t *entries = NULL;
	size_t header_len = 0, trailer_len = 0;
	int err;

	err = b2f_header_with_metas(&draft->header, &draft->metas, &header,
				    &header_len);
	if (!err)
		err = b2f_trailer_with_metas(&draft->vlmetas, &trailer,
					     &trailer_len);
	if (!err)
		err = make_entries(draft->nchunks, &entries);
	if (err)
		goto out;
	draft->header.header_len = (uint32_t)header_len;
	parts.header_bytes = header;
	parts.trailer_bytes = trailer;
	parts.trailer_len = (uint32_t)trailer_len;
	parts.entries = entries;
	err = write_parts(draft, &parts, out, size, why);
out:
	free(entries);
	free(header);
	free(trailer);
	return err;
}

static int derive(const struct b2f_frame *frame, struct draft *draft,
		  struct b2f_frame **out)
{
	struct b2f_why why = {""};
	uint8_t *index = NULL;
	size_t size = 0;
	int err;

	err = write_index(draft, &index, &size, &why);
	if (err)
		return b2f_frame_report(frame, err, &why);
	err = b2f_frame_derive(frame, index, size, out);
	free(index);
	return err;
}

/* The settings of @frame, for data of another kind. */
static struct b2f_frame_header settings_of(const struct b2f_frame *frame)
{
	struct b2f_frame_header h = frame->header;

	h.sparse = true;
	h.general_flags = 0;
	h.nbytes = h.cbytes = h.frame_len = 0;
	return h;
}

int b2f_form_plain(const struct b2f_frame *frame, uint32_t typesize,
		   uint32_t chunksize, struct b2f_frame **out)
{
	struct draft draft = {.header = settings_of(frame)};
	struct b2f_frame_header *h = &draft.header;

	h->typesize = typesize;
	if (chunksize > h->typesize)
		chunksize -= chunksize % h->typesize;
	h->chunksize = (int32_t)chunksize;
	/* That of the array suits nothing else. */
	h->blocksize = 0;
	return derive(frame, &draft, out);
}

/* The block size that suits the settings of @h for chunks of @nbytes. */
static int choose_block(const struct b2f_frame_header *h, uint32_t nbytes,
			uint32_t *out)
{
	const struct b2f_encode_options options = {
		.typesize = h->typesize,
		.codec = h->codec,
		.clevel = h->clevel,
		.codec_meta = h->codec_meta,
		.split = (enum b2f_split)h->splitmode,
		.blocksize = h->blocksize,
		.pipeline = h->pipeline,
	};
	struct b2f_encode_plan plan;
	int err = b2f_encode_plan_make(&options, nbytes, &plan, NULL);

	if (!err)
		*out = plan.blocksize;
	return err;
}

static int plan_array(const struct b2f_npy *npy, uint32_t chunksize,
		      uint64_t max_chunks, struct draft *draft,
		      struct b2f_array *array)
{
	struct b2f_frame_header *h = &draft->header;
	uint32_t block = 0;
	int err;

	h->typesize = npy->itemsize;
	err = choose_block(h, (uint32_t)b2f_max_u64(chunksize, npy->itemsize),
			   &block);
	if (!err)
		err = b2f_array_plan(npy->ndim, npy->shape, npy->itemsize,
				     chunksize, block, array);
	if (err)
		return err;
	if (array->nchunks > max_chunks)
		return B2F_ETOOBIG;
	array->dtype = npy->dtype;
	h->chunksize = (int32_t)(array->chunk_items * array->itemsize);
	h->blocksize = (uint32_t)(array->block_items * array->itemsize);
	draft->nchunks = array->nchunks;
	return 0;
}

/* The header of the file as a chunk, which is what a vlmetalayer holds. */
static int encode_head(const uint8_t *head, size_t len, uint8_t **out,
		       size_t *size)
{
	static const struct b2f_encode_options options = {
		.typesize = 1,
		.codec = B2F_CODEC_BLOSCLZ,
		.clevel = 5,
		.split = B2F_SPLIT_NEVER,
	};
	struct b2f_encoded encoded = {0};
	struct b2f_encoder *enc = NULL;
	uint8_t *packed = NULL, *chunk = NULL;
	size_t n = 0, room = 0;
	int err;

	err = b2f_npy_pack(head, len, &packed, &n);
	if (!err)
		err = b2f_encoder_new(&enc);
	if (err)
		goto out;
	room = b2f_chunk_encode_bound((uint32_t)n);
	chunk = malloc(room);
	err = chunk ? b2f_chunk_encode(enc, &options, packed, (uint32_t)n,
				       chunk, room, &encoded, NULL)
		    : -ENOMEM;
	if (err)
		goto out;
	*out = chunk;
	*size = encoded.cbytes;
	chunk = NULL;
out:
	free(chunk);
	free(packed);
	b2f_encoder_free(enc);
	return err;
}

static void name_meta(struct b2f_meta *m, const char *name,
		      const uint8_t *content, size_t size)
{
	m->name_len = strlen(name);
	memcpy(m->name, name, m->name_len + 1);
	m->content = content;
	m->size = size;
}

int b2f_form_npy(const struct b2f_frame *frame, const struct b2f_npy *npy,
		 const uint8_t *head, uint32_t chunksize, uint64_t max_chunks,
		 struct b2f_frame **out)
{
	struct draft draft = {.header = settings_of(frame)};
	struct b2f_meta meta = {.size = 0}, vlmeta = {.size = 0};
	struct b2f_array array = {0};
	uint8_t *b2nd = NULL, *chunk = NULL;
	size_t b2nd_size = 0, chunk_size = 0;
	int err;

	err = plan_array(npy, chunksize, max_chunks, &draft, &array);
	if (!err)
		err = b2f_array_write(&array, &b2nd, &b2nd_size);
	if (!err)
		err = encode_head(head, npy->size, &chunk, &chunk_size);
	if (err)
		goto out;
	name_meta(&meta, "b2nd", b2nd, b2nd_size);
	name_meta(&vlmeta, B2F_NPY_META, chunk, chunk_size);
	draft.metas = (struct b2f_meta_list){&meta, 1};
	draft.vlmetas = (struct b2f_meta_list){&vlmeta, 1};
	err = derive(frame, &draft, out);
out:
	free(b2nd);
	free(chunk);
	return err;
}
