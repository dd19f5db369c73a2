/* SPDX-License-Identifier: BSD-3-Clause */
/* blp_store.c - a Bloscpack file as the store of a contiguous frame */
#include "blp/blp_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/sorted.h"
#include "chunk/encoder.h"
#include "codec/codec.h"
#include "index/index_write.h"

struct blp_store {
	struct b2f_store base;
	/* The file. */
	struct b2f_store *whole;
	struct b2f_blp blp;
	/* Stamp of the file when it was read. */
	struct b2f_frame_stamp identity;
	/* Bytes shown before the file (base.lead) and behind it; malloc'ed. */
	uint8_t *made;
};

static const struct b2f_store_ops blp_ops;

static struct blp_store *blp_of(struct b2f_store *store)
{
	return (struct blp_store *)store;
}

const struct b2f_blp *b2f_blp_of(const struct b2f_store *store)
{
	return store->ops == &blp_ops ? &((const struct blp_store *)store)->blp
				      : NULL;
}

static uint64_t behind(const struct blp_store *b)
{
	return b->base.lead + b->blp.size;
}

static int blp_open(struct b2f_store *store, int64_t id, struct b2f_object *out,
		    struct b2f_why *why)
{
	const struct blp_store *b = blp_of(store);
	struct b2f_object object = {.fd = -1};
	int err;

	b->whole->quiet = store->quiet;
	err = b->whole->ops->open(b->whole, id, &object, why);
	if (err)
		return err;
	if (!b2f_frame_stamp_same_data(&object.identity, &b->identity, false)) {
		b2f_object_close(&object);
		return b2f_why_set(why, -ESTALE,
				   "another program has changed the file");
	}
	object.store = store;
	object.size = behind(b) + store->tail;
	*out = object;
	return 0;
}

/* @object as an object of the file's own store. */
static struct b2f_object in_whole(const struct b2f_object *object)
{
	const struct blp_store *b = blp_of(object->store);
	struct b2f_object inner = *object;

	inner.store = b->whole;
	inner.base = 0;
	inner.size = b->blp.size;
	return inner;
}

/*
 * Returns how many bytes, from @off on, are in both [@off, @off + @n) and the
 * @size bytes at @start.
 */
static size_t overlap(uint64_t off, size_t n, uint64_t start, uint64_t size)
{
	return off < start || off - start >= size
		       ? 0
		       : (size_t)b2f_min_u64(n, size - (off - start));
}

static int blp_read(const struct b2f_object *object, uint64_t off, void *buf,
		    size_t n, struct b2f_why *why)
{
	const struct blp_store *b = blp_of(object->store);
	const struct b2f_object inner = in_whole(object);
	uint64_t lead = b->base.lead;
	uint8_t *to = buf;
	int err = 0;

	if (!b2f_range_fits(off, n, behind(b) + b->base.tail))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the file ends at byte %llu",
				   (unsigned long long)b->blp.size);
	while (n > 0 && !err) {
		size_t part = overlap(off, n, lead, b->blp.size);

		if (part > 0) {
			err = inner.store->ops->read(&inner, off - lead, to,
						     part, why);
		} else if (off < lead) {
			part = overlap(off, n, 0, lead);
			memcpy(to, b->made + off, part);
		} else {
			part = n;
			memcpy(to, b->made + (off - b->blp.size), part);
		}
		to += part;
		off += part;
		n -= part;
	}
	return err;
}

static void blp_close(struct b2f_object *object)
{
	struct b2f_object inner = in_whole(object);

	b2f_object_close(&inner);
}

static int blp_look(const struct b2f_object *object,
		    struct b2f_frame_stamp *out)
{
	const struct b2f_object inner = in_whole(object);

	return b2f_object_look(&inner, out);
}

static int blp_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	(void)id;
	return b2f_store_stat_index(blp_of(store)->whole, out);
}

static void free_but_file(struct blp_store *b)
{
	b2f_blp_fini(&b->blp);
	free(b->made);
	free(b);
}

static void blp_free(struct b2f_store *store)
{
	struct blp_store *b = blp_of(store);

	b2f_store_free(b->whole);
	free_but_file(b);
}

static int blp_clone(struct b2f_store *store, struct b2f_store **out,
		     struct b2f_why *why)
{
	struct b2f_store *whole = NULL;
	int err = b2f_store_clone(blp_of(store)->whole, &whole, why);

	if (err)
		return err;
	err = b2f_blp_wrap(&whole, why);
	if (err)
		b2f_store_free(whole);
	else
		*out = whole;
	return err;
}

static const struct b2f_store_ops blp_ops = {
	.open = blp_open,
	.read = blp_read,
	.close = blp_close,
	.look = blp_look,
	.stat = blp_stat,
	.free = blp_free,
	.clone = blp_clone,
	.obstacle = "it is a Bloscpack file",
};

/* Level for new chunks: stored chunks do not tell theirs. */
#define CLEVEL 5

static uint8_t codec_of(const struct b2f_chunk_header *h)
{
	const struct b2f_codec *codec = b2f_codec_by_format(h->format);
	uint8_t code = B2F_CODEC_BLOSCLZ;

	while (codec && b2f_codec_by_code(code) != codec)
		code++;
	return code;
}

static struct b2f_frame_header header_of(const struct b2f_blp *blp,
					 const struct b2f_chunk_header *first)
{
	struct b2f_frame_header h = {
		.nbytes = blp->nbytes,
		.cbytes = blp->size,
		.typesize = blp->header.typesize ? blp->header.typesize : 1,
		.chunksize = blp->chunksize,
		.version = 2,
		.clevel = CLEVEL,
		/* Blosc 1 splits blocks by this rule. */
		.splitmode = B2F_SPLIT_AUTO,
	};

	if (first) {
		h.codec = codec_of(first);
		h.pipeline = first->pipeline;
	}
	return h;
}

/* The chunk of a vlmetalayer: the text of the metadata, as MessagePack. */
static int encode_meta(const struct b2f_blp *blp, uint8_t **out, size_t *size,
		       struct b2f_why *why)
{
	static const struct b2f_encode_options options = {
		.typesize = 1, .codec = B2F_CODEC_ZSTD, .clevel = CLEVEL};
	uint32_t n = (uint32_t)blp->json_len + 5;
	size_t room = b2f_chunk_encode_bound(n);
	B2F_OWN uint8_t *text = malloc(n);
	B2F_OWN uint8_t *chunk = malloc(room);
	struct b2f_encoded encoded = {0};
	struct b2f_encoder *enc = NULL;
	int err = text && chunk ? b2f_encoder_new(&enc) : -ENOMEM;

	if (!err) {
		text[0] = 0xdb;
		b2f_store_be32(text + 1, n - 5);
		memcpy(text + 5, blp->json, n - 5);
		err = b2f_chunk_encode(enc, &options, b2f_bytes_at(text, n),
				       b2f_room_at(chunk, room), &encoded, why);
	}
	b2f_encoder_free(enc);
	if (err)
		return err;
	*out = chunk;
	*size = encoded.cbytes;
	chunk = NULL; /* now the caller's */
	return 0;
}

static int make_trailer(const struct b2f_blp *blp, uint8_t **out, size_t *size,
			struct b2f_why *why)
{
	struct b2f_meta meta = {.name = B2F_BLP_META,
				.name_len = strlen(B2F_BLP_META)};
	const struct b2f_meta_list metas = {.items = &meta,
					    .n = blp->json ? 1 : 0};
	B2F_OWN uint8_t *chunk = NULL;
	int err = 0;

	if (blp->json)
		err = encode_meta(blp, &chunk, &meta.size, why);
	meta.content = chunk;
	if (!err)
		err = b2f_trailer_with_metas(&metas, out, size);
	return err;
}

/*
 * Makes *@size bytes in *@out, malloc'ed: the header of a frame (*@lead bytes),
 * and right behind it the parts that belong behind the @blp->size bytes of the
 * Bloscpack file.  @first is the header of its first chunk, or NULL if unknown.
 */
static int make_frame(const struct b2f_blp *blp,
		      const struct b2f_chunk_header *first, uint8_t **out,
		      size_t *lead, size_t *size, struct b2f_why *why)
{
	static const struct b2f_meta_list none = {.n = 0};
	struct b2f_index_parts parts = {.header = header_of(blp, first),
					.entries = blp->offs,
					.nentries = blp->nchunks};
	B2F_OWN uint8_t *header = NULL;
	B2F_OWN uint8_t *trailer = NULL;
	size_t header_len = 0, trailer_len = 0;
	int err;

	err = b2f_header_with_metas(&parts.header, &none, &header, &header_len);
	if (!err)
		err = make_trailer(blp, &trailer, &trailer_len, why);
	if (!err) {
		parts.header.header_len = (uint32_t)header_len;
		parts.header_bytes = header;
		parts.trailer_bytes = trailer;
		parts.trailer_len = (uint32_t)trailer_len;
		*lead = header_len;
		err = b2f_index_write(&parts, out, size, why);
	}
	return err;
}

/* Reads the settings of the first chunk.  *@known: it has some. */
static int look_at_first(const struct b2f_object *file,
			 const struct b2f_blp *blp,
			 struct b2f_chunk_header *out, bool *known,
			 struct b2f_why *why)
{
	uint8_t raw[B2F_CHUNK_HEADER_MAX];
	uint64_t n;
	int err;

	*known = false;
	if (blp->nchunks == 0)
		return 0;
	n = b2f_min_u64(sizeof(raw), blp->size - blp->offs[0]);
	err = b2f_object_read(file, blp->offs[0], raw, n, why);
	*known = !err && !b2f_chunk_header_parse(raw, n, out, NULL);
	return err;
}

static int read_file(struct blp_store *b, const struct b2f_object *file,
		     struct b2f_why *why)
{
	struct b2f_chunk_header first;
	size_t lead = 0, size = 0;
	bool known;
	int err;

	b->identity = file->identity;
	err = b2f_blp_read(file, &b->blp, why);
	if (err)
		return err;
	err = look_at_first(file, &b->blp, &first, &known, why);
	if (err)
		return err;
	err = make_frame(&b->blp, known ? &first : NULL, &b->made, &lead, &size,
			 why);
	if (err)
		return err;
	b->base.lead = lead;
	b->base.tail = size - lead;
	return 0;
}

/* The chunk that begins at byte @off of the file. */
static uint64_t find_chunk(const struct b2f_blp *blp, uint64_t off)
{
	return b2f_search_u64(blp->offs, blp->nchunks, off);
}

int b2f_blp_check_chunk(const struct b2f_object *chunk, uint32_t cbytes,
			const uint8_t *stored, struct b2f_why *why)
{
	const struct blp_store *b = blp_of(chunk->store);
	uint8_t expected[B2F_SUM_SIZE_MAX];
	const struct b2f_sum *sum;
	struct b2f_object inner;
	uint64_t off, end;
	int err;

	if (!b2f_blp_of(chunk->store))
		return 0;
	inner = in_whole(chunk);
	sum = b->blp.header.sum;
	off = chunk->base - b->base.lead;
	end = b2f_blp_chunk_end(&b->blp, find_chunk(&b->blp, off));
	if (!b2f_range_fits(cbytes, sum->size, end - off))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%u bytes where %llu are", cbytes,
				   (unsigned long long)(end - off));
	if (!stored || sum->size == 0)
		return 0;
	err = b2f_object_read(&inner, off + cbytes, expected, sum->size, why);
	return err ? err : b2f_sum_check(sum, stored, cbytes, expected, why);
}

bool b2f_blp_has_sums(const struct b2f_store *store)
{
	const struct b2f_blp *blp = b2f_blp_of(store);

	return blp && blp->header.sum->size > 0;
}

int b2f_blp_wrap(struct b2f_store **store, struct b2f_why *why)
{
	struct blp_store *b = calloc(1, sizeof(*b));
	struct b2f_object file = {.fd = -1};
	int err;

	if (!b)
		return -ENOMEM;
	b->base.ops = &blp_ops;
	err = b2f_object_open(*store, B2F_OBJECT_INDEX, &file, why);
	if (!err)
		err = read_file(b, &file, why);
	b2f_object_close(&file);
	if (err) {
		free_but_file(b);
		return err;
	}
	b->whole = *store;
	*store = &b->base;
	return 0;
}
