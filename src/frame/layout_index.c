/* SPDX-License-Identifier: BSD-3-Clause */
/* layout_index.c - gives a frame another layout: plain data, or an array */
#include "frame/layout_index.h"

#include <stdlib.h>
#include <string.h>

#include "array/b2nd.h"
#include "base/checked.h"
#include "chunk/encode_plan.h"
#include "frame/frame_report.h"
#include "frame/settings.h"
#include "index/index_write.h"
#include "store/write.h"

/* No filter takes wider items. */
#define TYPESIZE_MAX UINT8_MAX

/* The new index; the old frame owns the contents of its metalayers. */
struct draft {
	struct b2f_frame_header header;
	struct b2f_meta_list metas;
	struct b2f_meta_list vlmetas;
	uint64_t nchunks;
};

/* Copies @from without metalayers of arrays, with room for one more. */
static int copy_metas(const struct b2f_meta_list *from,
		      struct b2f_meta_list *to)
{
	to->items = calloc(from->n + 1, sizeof(*to->items));
	if (!to->items)
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++) {
		const char *name = from->items[i].name;

		if (strcmp(name, "b2nd") && strcmp(name, "caterva") &&
		    strcmp(name, B2F_NPY_META))
			to->items[to->n++] = from->items[i];
	}
	return 0;
}

static void draft_fini(struct draft *draft)
{
	b2f_meta_list_fini(&draft->metas);
	b2f_meta_list_fini(&draft->vlmetas);
}

static int write_index(struct draft *draft, uint8_t **out, size_t *size,
		       struct b2f_why *why)
{
	struct b2f_frame_header *h = &draft->header;
	B2F_OWN uint8_t *header = NULL, *trailer = NULL;
	size_t header_len = 0, trailer_len = 0;
	int err = b2f_header_with_metas(h, &draft->metas, &header, &header_len);

	if (!err)
		err = b2f_trailer_with_metas(&draft->vlmetas, &trailer,
					     &trailer_len);
	h->header_len = (uint32_t)header_len;
	h->nbytes = draft->nchunks * (uint64_t)h->chunksize;
	if (!err) {
		const struct b2f_index_parts parts = {
			.header = *h,
			.header_bytes = header,
			.nentries = draft->nchunks,
			.trailer_bytes = trailer,
			.trailer_len = (uint32_t)trailer_len,
			.sealed = true,
		};

		err = b2f_index_write(&parts, out, size, why);
	}
	return err;
}

static int derive(const struct b2f_frame *frame, struct draft *draft,
		  struct b2f_frame **out)
{
	struct b2f_why why = {""};
	B2F_OWN uint8_t *index = NULL;
	size_t size = 0;
	int err = write_index(draft, &index, &size, &why);

	if (err)
		return b2f_frame_report(frame, err, &why);
	return b2f_frame_derive(frame, index, size, out);
}

/*
 * Begins with the settings and the metadata of @frame, for data of another
 * kind.  Give it to draft_fini() even if that fails.
 */
static int draft_init(const struct b2f_frame *frame, struct draft *draft)
{
	struct b2f_frame_header *h = &draft->header;
	int err;

	*draft = (struct draft){.header = frame->header};
	h->general_flags = 0;
	h->nbytes = h->cbytes = h->frame_len = 0;
	err = copy_metas(&frame->meta, &draft->metas);
	return err ? err : copy_metas(&frame->vlmeta, &draft->vlmetas);
}

int b2f_layout_plain(const struct b2f_frame *frame, uint32_t typesize,
		   uint32_t chunksize, struct b2f_frame **out)
{
	struct draft draft;
	struct b2f_frame_header *h = &draft.header;
	int err = draft_init(frame, &draft);

	/* Chunks hold whole items, because a hole has to. */
	h->typesize = typesize > TYPESIZE_MAX ? 1 : typesize;
	if (chunksize > h->typesize)
		chunksize -= chunksize % h->typesize;
	h->chunksize = (int32_t)chunksize;
	/* The array's block size suits nothing else. */
	h->blocksize = 0;
	if (!err)
		err = derive(frame, &draft, out);
	draft_fini(&draft);
	return err;
}

/* The block size that suits the settings of @h for chunks of @nbytes. */
static int choose_block(const struct b2f_frame *frame,
			const struct b2f_frame_header *h, uint32_t nbytes,
			uint32_t *out)
{
	struct b2f_encode_options options;
	struct b2f_encode_plan plan;
	int err;

	b2f_encode_options_of(frame, h, &options);
	err = b2f_encode_plan_make(&options, nbytes, &plan, NULL);
	if (!err)
		*out = plan.blocksize;
	return err;
}

static int plan_array(const struct b2f_frame *frame, const struct b2f_npy *npy,
		      uint32_t chunksize, struct draft *draft,
		      struct b2f_array *array)
{
	struct b2f_frame_header *h = &draft->header;
	uint32_t block = 0;
	int err;

	h->typesize = npy->itemsize;
	err = choose_block(frame, h,
			   (uint32_t)b2f_max_u64(chunksize, npy->itemsize),
			   &block);
	if (!err)
		err = b2f_array_plan(npy->ndim, npy->shape, npy->itemsize,
				     chunksize, block, array);
	if (err)
		return err;
	array->dtype = npy->dtype;
	h->chunksize = (int32_t)(array->chunk_items * array->itemsize);
	h->blocksize = (uint32_t)(array->block_items * array->itemsize);
	draft->nchunks = array->nchunks;
	return 0;
}

/* Encodes the header of the file as a chunk, the form of a vlmetalayer. */
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
	B2F_OWN uint8_t *packed = NULL;
	uint8_t *chunk = NULL;
	size_t n = 0, room = 0;
	int err = b2f_npy_pack(head, len, &packed, &n);

	if (!err)
		err = b2f_encoder_new(&enc);
	if (err)
		return err;
	room = b2f_chunk_encode_bound((uint32_t)n);
	chunk = malloc(room);
	err = chunk ? b2f_chunk_encode(enc, &options,
				       b2f_bytes_at(packed, (uint32_t)n),
				       b2f_room_at(chunk, room), &encoded, NULL)
		    : -ENOMEM;
	b2f_encoder_free(enc);
	if (err)
		free(chunk);
	else
		*out = chunk;
	*size = encoded.cbytes;
	return err;
}

static void add_meta(struct b2f_meta_list *list, const char *name,
		     const uint8_t *content, size_t size)
{
	struct b2f_meta *m = &list->items[list->n++];

	m->name_len = strlen(name);
	memcpy(m->name, name, m->name_len + 1);
	m->content = content;
	m->size = size;
}

bool b2f_layout_exceeds(const struct b2f_npy *npy, const struct b2f_array *array,
		      uint32_t chunksize, uint64_t max)
{
	return array->nchunks > max ||
	       b2f_div_up_u64(npy->nbytes, chunksize) > max;
}

/*
 * The header of a contiguous frame is written at once, and without data the
 * trailer with it.
 */
static bool is_one_write(const struct b2f_frame *frame)
{
	uint64_t size = frame->header.header_len;

	if (frame->header.nbytes == 0)
		size += frame->trailer_len;
	return size <= B2F_SECTOR;
}

bool b2f_layout_has_room(const struct b2f_frame *frame,
		       const struct b2f_frame *before)
{
	const struct b2f_frame_header *h = &frame->header;

	return frame->header.sparse ||
	       (h->header_len <= before->header.header_len &&
		is_one_write(frame) && h->nbytes > 0);
}

int b2f_layout_npy(const struct b2f_frame *frame, const struct b2f_npy *npy,
		   const uint8_t *head, uint32_t chunksize,
		   struct b2f_frame **out)
{
	struct b2f_array array = {0};
	B2F_OWN uint8_t *b2nd = NULL, *chunk = NULL;
	size_t b2nd_size = 0, chunk_size = 0;
	struct draft draft;
	int err;

	/*
	 * A longer header has room only in a frame that was made small: no
	 * chunk of that is in the first sector.
	 */
	if (head && !frame->header.sparse && !frame->small)
		return B2F_EUNSUPPORTED;
	err = draft_init(frame, &draft);
	if (!err)
		err = plan_array(frame, npy, chunksize, &draft, &array);
	if (!err &&
	    b2f_layout_exceeds(npy, &array, chunksize, B2F_LAYOUT_NCHUNKS_MAX))
		err = B2F_ETOOBIG;
	if (!err)
		err = b2f_array_write(&array, &b2nd, &b2nd_size);
	if (!err && head)
		err = encode_head(head, npy->size, &chunk, &chunk_size);
	if (err)
		goto out;
	add_meta(&draft.metas, "b2nd", b2nd, b2nd_size);
	if (head)
		add_meta(&draft.vlmetas, B2F_NPY_META, chunk, chunk_size);
	err = derive(frame, &draft, out);
	if (!err && head && (*out)->small && !is_one_write(*out)) {
		b2f_frame_close(*out);
		err = B2F_EUNSUPPORTED;
	}
out:
	draft_fini(&draft);
	return err;
}
