/* SPDX-License-Identifier: BSD-3-Clause */
/* build.c - a new frame, sparse or contiguous, chunk by chunk */
#include "frame/build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "chunk/seal.h"
#include "frame/ids.h"
#include "index/index_write.h"
#include "index/tags.h"
#include "store/make.h"
#include "store/single.h"
#include "store/write.h"

struct b2f_build {
	struct b2f_build_options options;
	char *name;
	struct b2f_frame_header header;
	uint8_t *header_bytes;
	uint64_t next_id;
	uint32_t last_tag;
	/* Of a sparse frame. */
	struct b2f_store *store;
	/* Of a contiguous one; -1 else. */
	int fd;
	/* Raw entries, in order; of a contiguous frame also the places. */
	struct b2f_ids entries;
	struct b2f_ids places;
	bool made;
	bool finished;
};

/* Is the index to have a checksum?  That of a contiguous frame tells of seals. */
static bool is_sealed(const struct b2f_build *b)
{
	return b->header.sparse ||
	       (!b->options.no_seal &&
		b2f_frame_may_seal(b->options.like, b->entries.ids,
				   b->entries.n));
}

/* The bytes of the index as it is now. */
static int make_index(const struct b2f_build *b, uint8_t **out, size_t *size,
		      struct b2f_why *why)
{
	const struct b2f_frame *like = b->options.like;
	const struct b2f_index_parts parts = {
		.header = b->header,
		.header_bytes = b->header_bytes,
		.entries = b->entries.ids,
		.nentries = b->entries.n,
		.places = b->places.ids,
		.trailer_bytes = like->trailer_bytes,
		.trailer_len = like->trailer_len,
		.sealed = is_sealed(b),
		.small = b->options.small && !b->header.sparse,
	};

	return b2f_index_write(&parts, out, size, why);
}

/* A directory with the index of an empty frame. */
static int make_sparse(struct b2f_build *b, struct b2f_why *why)
{
	const struct b2f_build_options *o = &b->options;
	struct b2f_store_plan plan = {.mode = o->mode | 0600};
	uint8_t *index = NULL;
	int err;

	err = make_index(b, &index, &plan.size, why);
	plan.index = index;
	if (!err)
		err = b2f_store_make(o->dirfd, b->name, &plan, why);
	free(index);
	if (err)
		return err;
	b->made = true;
	return b2f_store_open(o->dirfd, b->name, false, &b->store, why);
}

static int make(struct b2f_build *b, struct b2f_why *why)
{
	int err;

	if (b->header.sparse)
		return make_sparse(b, why);
	err = b2f_single_create(b->options.dirfd, b->name, &b->fd, why);
	b->made = !err;
	return err;
}

int b2f_build_new(const struct b2f_build_options *options,
		  struct b2f_build **out, struct b2f_why *why)
{
	const struct b2f_frame *like = options->like;
	struct b2f_build *b = calloc(1, sizeof(*b));
	int err = -ENOMEM;

	if (!b)
		return -ENOMEM;
	b->fd = -1;
	b->options = *options;
	b->last_tag = b2f_tag_draw();
	b->header = options->header;
	b->header.header_len = like->header.header_len;
	b->header.nbytes = b->header.cbytes = 0;
	b->name = strdup(options->name);
	b->header_bytes = malloc(like->header.header_len);
	if (b->name && b->header_bytes) {
		memcpy(b->header_bytes, like->header_bytes,
		       like->header.header_len);
		b2f_frame_header_set(&b->header, b->header_bytes);
		err = make(b, why);
	}
	if (err)
		b2f_build_free(b);
	else
		*out = b;
	return err;
}

static struct b2f_chunk_context context_of(const struct b2f_build *b)
{
	struct b2f_chunk_context context = b->options.like->context;

	context.typesize = b->header.typesize;
	context.whole = false;
	return context;
}

/* The size of a seal for @chunk.  One whose blocks are in doubt goes without. */
static size_t measure_seal(const struct b2f_build *b,
			   const struct b2f_build_chunk *chunk)
{
	struct b2f_chunk_context context = context_of(b);
	struct b2f_chunk open;

	if (b->options.no_seal ||
	    b2f_chunk_open(chunk->bytes, chunk->cbytes, chunk->cbytes, &context,
			   &open, NULL) ||
	    open.ndoubts)
		return 0;
	return b2f_seal_size(&open);
}

/* The entry of a chunk with bytes, and what these take. */
static void place_stored(struct b2f_build *b, struct b2f_build_chunk *chunk)
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
	/* That of a sparse frame counts chunks alone. */
	if (!h->sparse)
		h->cbytes += seal;
}

int b2f_build_place(struct b2f_build *build, struct b2f_build_chunk *chunk,
		    struct b2f_why *why)
{
	struct b2f_frame_header *h = &build->header;
	int err;

	if (build->entries.n >= B2F_NCHUNKS_MAX)
		return b2f_why_set(why, B2F_ETOOBIG, "too many chunks");
	err = b2f_ids_reserve(&build->entries, 1);
	if (!err && !h->sparse)
		err = b2f_ids_reserve(&build->places, 1);
	if (err)
		return err;
	if (chunk->bytes)
		place_stored(build, chunk);
	build->entries.ids[build->entries.n++] = chunk->raw;
	if (!h->sparse)
		build->places.ids[build->places.n++] = chunk->place;
	h->nbytes += chunk->nbytes;
	return 0;
}

/* Adds the seal of @chunk; *@size is the length with it. */
static int add_seal(const struct b2f_build *b, struct b2f_build_chunk *chunk,
		    size_t *size, struct b2f_why *why)
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
		*size += b2f_seal_size(&open);
	return err;
}

int b2f_build_write(struct b2f_build *build, struct b2f_build_chunk *chunk,
		    struct b2f_why *why)
{
	size_t size = chunk->cbytes;
	int err = 0;

	if (!chunk->bytes)
		return 0;
	if (b2f_entry_tag(chunk->raw))
		err = add_seal(build, chunk, &size, why);
	if (err)
		return err;
	if (build->header.sparse)
		return b2f_store_write_chunk(build->store,
					     (uint32_t)chunk->raw, chunk->bytes,
					     size, true, why);
	return b2f_single_write(build->fd,
				build->header.header_len + chunk->place,
				chunk->bytes, size, why);
}

static int finish_contiguous(struct b2f_build *b, const uint8_t *index,
			     size_t size, struct b2f_why *why)
{
	size_t header_len = b->header.header_len;
	int err;

	err = b2f_single_write(b->fd, header_len + b->header.cbytes,
			       index + header_len, size - header_len, why);
	if (!err)
		err = b2f_single_write(b->fd, 0, index, header_len, why);
	if (!err)
		err = b2f_single_finish(b->fd, b->options.mode | 0600, why);
	return err;
}

int b2f_build_finish(struct b2f_build *build, struct b2f_why *why)
{
	struct b2f_frame_header *h = &build->header;
	uint8_t *index = NULL;
	size_t size = 0;
	int err;

	err = make_index(build, &index, &size, why);
	if (!err)
		err = h->sparse ? b2f_store_replace_index(build->store, index,
							  size, NULL, why)
				: finish_contiguous(build, index, size, why);
	free(index);
	build->finished = !err;
	return err;
}

static void remove_made(const struct b2f_build *b)
{
	const struct b2f_build_options *o = &b->options;
	int err;

	/* What cannot be removed is nothing that could be told here. */
	if (b->header.sparse)
		err = b2f_store_unmake(o->dirfd, b->name, NULL);
	else
		err = b2f_single_remove(o->dirfd, b->name);
	(void)err;
}

void b2f_build_free(struct b2f_build *build)
{
	if (!build)
		return;
	b2f_store_free(build->store);
	if (build->fd >= 0)
		close(build->fd);
	if (build->made && !build->finished)
		remove_made(build);
	b2f_ids_fini(&build->entries);
	b2f_ids_fini(&build->places);
	free(build->header_bytes);
	free(build->name);
	free(build);
}
