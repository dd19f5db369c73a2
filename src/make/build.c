/* SPDX-License-Identifier: BSD-3-Clause */
/* build.c - a new frame of the chunks that a pump brings */
#include "make/build.h"

#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "chunk/seal.h"
#include "txn/ids.h"
#include "index/index_write.h"
#include "index/tags.h"
#include "make/sink.h"

struct build {
	const struct b2f_build_plan *plan;
	struct b2f_frame_header header;
	uint8_t *header_bytes;
	uint64_t next_id;
	uint32_t last_tag;
	struct b2f_copy_target *target;
	/* Raw entries, in order; of a contiguous frame also the places. */
	struct b2f_ids entries;
	struct b2f_ids places;
};

/* Does the index get a checksum? In a contiguous frame it announces seals. */
static bool is_sealed(const struct build *b)
{
	return (b->header.sparse || !b->plan->no_seal) &&
	       b2f_frame_may_seal(b->plan->like, b->entries.ids, b->entries.n);
}

static uint64_t place_of(const void *arg, uint64_t i, uint64_t raw)
{
	const struct build *b = arg;

	(void)raw;
	return b->places.ids[i];
}

/* The bytes of the current index. */
static int make_index(const struct build *b, uint8_t **out, size_t *size,
		      struct b2f_why *why)
{
	const struct b2f_frame *like = b->plan->like;
	const struct b2f_index_parts parts = {
		.header = b->header,
		.header_bytes = b->header_bytes,
		.entries = b->entries.ids,
		.nentries = b->entries.n,
		.place = place_of,
		.place_arg = b,
		.trailer_bytes = like->trailer_bytes,
		.trailer_len = like->trailer_len,
		.sealed = is_sealed(b),
		.small = b->plan->small && !b->header.sparse,
	};

	return b2f_index_write(&parts, out, size, why);
}

/* A directory with the index of an empty frame. */
static int make_directory(struct build *b, struct b2f_why *why)
{
	const struct b2f_build_plan *o = b->plan;
	struct b2f_store_plan plan = {.mode = o->mode | 0600};
	B2F_OWN uint8_t *index = NULL;
	int err = make_index(b, &index, &plan.size, why);

	plan.index = index;
	return err ? err
		   : b2f_sink_make_directory(o->dirfd, o->name, &plan,
					     &b->target, why);
}

static int begin(struct build *b, struct b2f_why *why)
{
	const struct b2f_build_plan *o = b->plan;
	const struct b2f_frame *like = o->like;

	b->last_tag = b2f_tag_draw();
	b->header = o->header;
	b->header.header_len = like->header.header_len;
	b->header.nbytes = b->header.cbytes = 0;
	b->header_bytes = malloc(like->header.header_len);
	if (!b->header_bytes)
		return -ENOMEM;
	memcpy(b->header_bytes, like->header_bytes, like->header.header_len);
	b2f_frame_header_set(&b->header, b->header_bytes);
	return b->header.sparse
		       ? make_directory(b, why)
		       : b2f_sink_make_file(o->dirfd, o->name, o->mode,
					    &b->target, why);
}

static struct b2f_chunk_context context_of(const struct build *b)
{
	struct b2f_chunk_context context = b->plan->like->context;

	context.typesize = b->header.typesize;
	context.whole = false;
	return context;
}

/*
 * The size of a seal for @chunk. A chunk whose blocks are in doubt gets none.
 */
static size_t measure_seal(const struct build *b,
			   const struct b2f_piece *chunk)
{
	struct b2f_chunk_context context = context_of(b);
	struct b2f_chunk open;

	if (b->plan->no_seal ||
	    b2f_chunk_open(chunk->bytes, chunk->cbytes, chunk->cbytes, &context,
			   &open, NULL) ||
	    open.ndoubts)
		return 0;
	return b2f_seal_size(&open);
}

/* Gives a chunk with bytes its entry and place, and counts its size. */
static void place_stored(struct build *b, struct b2f_piece *chunk)
{
	struct b2f_frame_header *h = &b->header;
	size_t seal = measure_seal(b, chunk);

	chunk->raw = b->next_id++;
	if (seal) {
		b->last_tag = b2f_tag_next(b->last_tag);
		chunk->raw |= (uint64_t)b->last_tag << 32;
	}
	chunk->place = h->cbytes;
	h->cbytes += chunk->cbytes;
	/* The header of a sparse frame counts chunks without seals. */
	if (!h->sparse)
		h->cbytes += seal;
}

/* Gives @chunk its place behind all others.  0, B2F_ETOOBIG or -ENOMEM. */
static int give_place(struct build *b, struct b2f_piece *chunk,
		      struct b2f_why *why)
{
	struct b2f_frame_header *h = &b->header;
	int err;

	if (b->entries.n >= B2F_NCHUNKS_MAX)
		return b2f_why_set(why, B2F_ETOOBIG, "too many chunks");
	err = b2f_ids_reserve(&b->entries, 1);
	if (!err && !h->sparse)
		err = b2f_ids_reserve(&b->places, 1);
	if (err)
		return err;
	if (chunk->bytes)
		place_stored(b, chunk);
	b->entries.ids[b->entries.n++] = chunk->raw;
	if (!h->sparse)
		b->places.ids[b->places.n++] = chunk->place;
	h->nbytes += chunk->nbytes;
	return 0;
}

/* Adds the seal of @chunk. */
static int add_seal(const struct build *b, struct b2f_piece *chunk,
		    struct b2f_why *why)
{
	struct b2f_chunk_context context = context_of(b);
	struct b2f_chunk open;
	uint8_t *bytes;
	int err;

	err = b2f_chunk_open(chunk->bytes, chunk->cbytes, chunk->cbytes,
			     &context, &open, why);
	if (err)
		return err;
	bytes = realloc(chunk->bytes, chunk->cbytes + b2f_seal_size(&open));
	if (!bytes)
		return -ENOMEM;
	chunk->bytes = bytes;
	/* The chunk points into the bytes. */
	err = b2f_chunk_open(bytes, chunk->cbytes, chunk->cbytes, &context,
			     &open, why);
	if (!err)
		err = b2f_seal_make(&open, bytes, b2f_entry_tag(chunk->raw),
				    bytes + chunk->cbytes, why);
	if (!err)
		chunk->size += b2f_seal_size(&open);
	return err;
}

/*
 * Writes the bytes of @chunk, if any, and their seal to its place; may
 * reallocate @chunk->bytes.
 */
static int write_chunk(const struct build *b, struct b2f_piece *chunk,
		       struct b2f_why *why)
{
	const struct b2f_frame_header *h = &b->header;
	struct b2f_copy_chunk to = {.nchunk = chunk->nchunk, .raw = chunk->raw};
	int err = 0;

	if (!chunk->bytes)
		return 0;
	chunk->size = chunk->cbytes;
	to.to = h->sparse ? chunk->raw & B2F_ENTRY_ID
			  : h->header_len + chunk->place;
	if (b2f_entry_tag(chunk->raw))
		err = add_seal(b, chunk, why);
	if (err)
		return err;
	return b->target->ops->put(b->target, &to, chunk->bytes, chunk->size,
				   why);
}

static int report(const struct build *b, int err, const struct b2f_why *why)
{
	return err ? b2f_log_failure(b->plan->log, b->plan->label, err, why)
		   : 0;
}

static int take(void *arg, struct b2f_piece *piece)
{
	const struct build *b = arg;

	return b->plan->take(b->plan->context, piece);
}

static int make(void *arg, struct b2f_piece *piece)
{
	const struct build *b = arg;

	return b->plan->make(b->plan->context, piece);
}

static int place(void *arg, struct b2f_piece *piece)
{
	struct build *b = arg;
	const struct b2f_convert_options *told = b->plan->told;
	struct b2f_why why = {""};
	int err = piece->left_out ? 0 : give_place(b, piece, &why);

	if (!err && told && told->progress)
		told->progress(told->arg, b->header.nbytes, b->plan->nbytes);
	return report(b, err, &why);
}

static int put(void *arg, struct b2f_piece *piece)
{
	const struct build *b = arg;
	struct b2f_why why = {""};
	int err = piece->left_out ? 0 : write_chunk(b, piece, &why);

	return report(b, err, &why);
}

/* Writes the index; then the frame is whole and on disk. */
static int finish(struct build *b, struct b2f_why *why)
{
	B2F_OWN uint8_t *index = NULL;
	size_t size = 0;
	int err = make_index(b, &index, &size, why);

	return err ? err : b->target->ops->finish(b->target, index, size, why);
}

static int run(struct build *b)
{
	const struct b2f_build_plan *from = b->plan;
	const struct b2f_pump_steps steps = {
		.take = from->take ? take : NULL,
		.make = make,
		.place = place,
		.put = put,
	};
	struct b2f_why why = {""};
	int err = begin(b, &why);

	if (err)
		return report(b, err, &why);
	err = b2f_pump_run(from->pool, &steps, b, from->n, from->nahead);
	return err ? err : report(b, finish(b, &why), &why);
}

int b2f_build_run(const struct b2f_build_plan *plan)
{
	struct build b = {.plan = plan};
	int err = run(&b);

	/* Removes an unfinished frame. */
	b2f_copy_target_free(b.target);
	b2f_ids_fini(&b.entries);
	b2f_ids_fini(&b.places);
	free(b.header_bytes);
	return err;
}
