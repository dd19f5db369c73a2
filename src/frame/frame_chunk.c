/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_chunk.c - chunks of a frame: from the store into memory, into data */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frame/frame.h"

/* The head of nearly every chunk is in here: one read instead of two. */
#define HEAD_GUESS 4096

/*
 * A chunk that does not shrink is stored as it is, so none is much longer than
 * what it holds.  Even blocks of one byte with their table entries and streams
 * stay below this; more is a hole in the file that claims to be a chunk.
 */
#define STORED_FACTOR 16
#define STORED_MORE   (1u << 20)

/* Where a chunk is stored. */
struct place {
	struct b2f_object object;
	int64_t id;
	/* First byte of the chunk in the object. */
	uint64_t base;
	/* Bytes that may belong to it. */
	uint64_t stored;
};

static int find_place(const struct b2f_frame *frame, uint64_t raw,
		      struct place *out, struct b2f_why *why)
{
	struct b2f_entry entry = b2f_entry_of(raw);
	struct place place = {.id = B2F_OBJECT_INDEX};
	int err;

	if (frame->store->sparse)
		/* The bits above are those of an edit. */
		place.id = (int64_t)(uint32_t)entry.place;
	err = b2f_object_open(frame->store, place.id, &place.object, why);
	if (err)
		return err;
	place.stored = place.object.size;
	if (!frame->store->sparse) {
		place.base =
			frame->offset + frame->header.header_len + entry.place;
		place.stored = frame->header.cbytes - entry.place;
	}
	*out = place;
	return 0;
}

/* Reads the first bytes of a chunk: at least a header, at most @n. */
static int read_start(const struct place *place, uint8_t *buf, size_t n,
		      size_t *got, struct b2f_why *why)
{
	size_t size = b2f_min_u64(n, place->stored);
	int err;

	if (size < B2F_CHUNK_HEADER_MIN)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%zu bytes are too few for a chunk", size);
	err = b2f_object_read(&place->object, place->base, buf, size, why);
	if (!err)
		*got = size;
	return err;
}

/* How many bytes to have in memory, once the header is known. */
static int wanted(const struct b2f_frame *frame,
		  const struct b2f_chunk_header *h, const struct place *place,
		  enum b2f_load how, size_t *out, struct b2f_why *why)
{
	if (h->cbytes > place->stored)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "cut short: %llu of %u bytes are there",
				   (unsigned long long)place->stored,
				   h->cbytes);
	if (h->cbytes > STORED_FACTOR * (uint64_t)h->nbytes + STORED_MORE)
		return b2f_why_set(why, B2F_ECORRUPT, "%u stored bytes for %u",
				   h->cbytes, h->nbytes);
	*out = how == B2F_LOAD_ALL ? h->cbytes
				   : b2f_chunk_head_size(h, &frame->context);
	return 0;
}

/*
 * Reads what @how asks for into a fresh buffer.  The first read is a guess, so
 * that an ordinary chunk takes one read.
 */
static int read_bytes(const struct b2f_frame *frame, const struct place *place,
		      uint64_t nbytes, enum b2f_load how, uint8_t **bytes,
		      size_t *size, struct b2f_why *why)
{
	/* No sound chunk is much longer than what it holds. */
	uint64_t guess = how == B2F_LOAD_ALL ? nbytes + HEAD_GUESS : HEAD_GUESS;
	uint64_t room = b2f_min_u64(guess, place->stored);
	struct b2f_chunk_header h;
	uint8_t *buf = malloc(room ? room : 1), *more;
	size_t got = 0, want = 0;
	int err;

	if (!buf)
		return -ENOMEM;
	err = read_start(place, buf, room, &got, why);
	if (!err)
		err = b2f_chunk_header_parse(buf, got, &h, why);
	if (!err && h.nbytes != nbytes)
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the chunk has %u bytes, its frame says "
				  "%llu",
				  h.nbytes, (unsigned long long)nbytes);
	if (!err)
		err = wanted(frame, &h, place, how, &want, why);
	if (!err && want > got) {
		more = realloc(buf, want);
		if (more)
			buf = more;
		err = more ? b2f_object_read(&place->object, place->base + got,
					     buf + got, want - got, why)
			   : -ENOMEM;
	}
	if (err) {
		free(buf);
		return err;
	}
	*bytes = buf;
	*size = want;
	return 0;
}

/* A seal of a chunk with very many blocks is read only if it is there. */
static int has_seal(const struct place *place, const struct b2f_loaded *l,
		    size_t size, bool *has, struct b2f_why *why)
{
	uint8_t mark[B2F_SEAL_MARK_SIZE];
	int err;

	*has = size <= HEAD_GUESS ||
	       place->stored == l->chunk.header.cbytes + (uint64_t)size;
	if (*has)
		return 0;
	err = b2f_object_read(&place->object, place->stored - sizeof(mark),
			      mark, sizeof(mark), why);
	*has = !err && b2f_seal_is_mark(mark);
	return err;
}

/*
 * Reads the checksums behind the chunk, if it has some, and checks its head
 * with them.
 */
static int load_seal(const struct place *place, struct b2f_loaded *l,
		     struct b2f_why *why)
{
	const struct b2f_seal_owner owner = {.id = l->raw & B2F_ENTRY_NUMBER,
					     .tag = b2f_entry_tag(l->raw)};
	uint64_t stored = place->stored;
	size_t size = b2f_min_u64(b2f_seal_size(&l->chunk), stored);
	bool has = false;
	int err;

	err = has_seal(place, l, size, &has, why);
	if (err)
		return err;
	if (!has)
		size = 0;
	l->tail = malloc(size ? size : 1);
	if (!l->tail)
		return -ENOMEM;
	err = b2f_object_read(&place->object, stored - size, l->tail, size,
			      why);
	if (err)
		return err;
	return b2f_seal_open(&l->chunk, l->bytes, l->tail, size, stored, &owner,
			     &l->seal, why);
}

/* Loads the chunk of entry @l->raw, which is at @place. */
static int load_place(const struct b2f_frame *frame, const struct place *place,
		      uint64_t nbytes, enum b2f_load how, struct b2f_loaded *l,
		      struct b2f_why *why)
{
	int err;

	l->object = place->id;
	l->base = place->base;
	l->identity = place->object.identity;
	err = read_bytes(frame, place, nbytes, how, &l->bytes, &l->size, why);
	if (!err)
		err = b2f_chunk_open(l->bytes, l->size, place->stored,
				     &frame->context, &l->chunk, why);
	/* In a contiguous frame there is another chunk behind it. */
	if (!err && frame->store->sparse)
		err = load_seal(place, l, why);
	return err;
}

static int load_stored(struct b2f_frame *frame, uint64_t nbytes,
		       enum b2f_load how, struct b2f_loaded *l,
		       struct b2f_why *why)
{
	struct place place = {0};
	int err;

	err = find_place(frame, l->raw, &place, why);
	if (err)
		return err;
	err = load_place(frame, &place, nbytes, how, l, why);
	b2f_object_close(&place.object);
	return err;
}

/* What the header at @place says, and whether there should be a seal. */
static int read_nbytes(const struct b2f_frame *frame, const struct place *place,
		       uint64_t raw, uint32_t *nbytes, bool *sealed,
		       struct b2f_why *why)
{
	uint8_t buf[B2F_CHUNK_HEADER_MAX], mark[B2F_SEAL_MARK_SIZE];
	struct b2f_chunk_header h;
	size_t got = 0;
	int err;

	err = read_start(place, buf, sizeof(buf), &got, why);
	if (!err)
		err = b2f_chunk_header_parse(buf, got, &h, why);
	if (!err && frame->store->sparse)
		err = b2f_object_read(&place->object,
				      place->stored - sizeof(mark), mark,
				      sizeof(mark), why);
	if (err)
		return err;
	*sealed = frame->store->sparse &&
		  (b2f_seal_is_mark(mark) || b2f_entry_tag(raw));
	*nbytes = h.nbytes;
	return 0;
}

int b2f_frame_chunk_nbytes(struct b2f_frame *frame, uint64_t nchunk,
			   uint32_t *out, bool *sealed, struct b2f_why *why)
{
	struct b2f_loaded *l = calloc(1, sizeof(*l));
	struct place place = {0};
	uint32_t nbytes = 0;
	bool has_seal = false;
	int err;

	if (!l)
		return -ENOMEM;
	l->raw = b2f_entries_raw(&frame->entries, nchunk);
	err = find_place(frame, l->raw, &place, why);
	if (err)
		goto out;
	err = read_nbytes(frame, &place, l->raw, &nbytes, &has_seal, why);
	if (!err && has_seal)
		err = load_place(frame, &place, nbytes, B2F_LOAD_HEAD, l, why);
	b2f_object_close(&place.object);
	if (err)
		goto out;
	*out = nbytes;
	*sealed = has_seal;
out:
	b2f_loaded_free(l);
	return err;
}

int b2f_frame_load(struct b2f_frame *frame, uint64_t nchunk, uint64_t nbytes,
		   enum b2f_load how, struct b2f_loaded **out)
{
	return b2f_frame_load_entry(frame, nchunk,
				    b2f_entries_raw(&frame->entries, nchunk),
				    nbytes, how, out);
}

int b2f_frame_load_entry(struct b2f_frame *frame, uint64_t nchunk, uint64_t raw,
			 uint64_t nbytes, enum b2f_load how,
			 struct b2f_loaded **out)
{
	struct b2f_entry entry = b2f_entry_of(raw);
	struct b2f_loaded *l = calloc(1, sizeof(*l));
	struct b2f_why why = {""};
	int err;

	if (!l)
		return -ENOMEM;
	l->nchunk = nchunk;
	l->raw = raw;
	if (entry.special)
		err = b2f_chunk_open_special(entry.special, (uint32_t)nbytes,
					     &frame->context, &l->chunk, &why);
	else
		err = load_stored(frame, nbytes, how, l, &why);
	if (err) {
		b2f_loaded_free(l);
		return b2f_frame_report_entry(frame, nchunk, raw, -1, err,
					      &why);
	}
	*out = l;
	return 0;
}

void b2f_loaded_free(struct b2f_loaded *loaded)
{
	if (!loaded)
		return;
	free(loaded->bytes);
	free(loaded->tail);
	free(loaded);
}

/* Is the head of @loaded still in the store, byte by byte? */
static int same_head(const struct b2f_loaded *loaded,
		     const struct b2f_object *object, struct b2f_decoder *dec,
		     bool *same, struct b2f_why *why)
{
	int err = b2f_scratch_reserve(&dec->stored, loaded->size);

	if (!err)
		err = b2f_object_read(object, loaded->base, dec->stored.data,
				      loaded->size, why);
	if (!err)
		*same = !memcmp(dec->stored.data, loaded->bytes, loaded->size);
	return err;
}

/*
 * Blosc2 rewrites chunks in place, and blocks of the new chunk must not be
 * decoded with the head of the old one.  A chunk file that was written to is
 * another chunk.  The one file of a contiguous frame is written to for every
 * chunk, and a ctime also changes with mode and links; so then the head itself
 * is compared.
 */
static int check_same(const struct b2f_frame *frame,
		      const struct b2f_loaded *loaded,
		      const struct b2f_object *object, struct b2f_decoder *dec,
		      struct b2f_why *why)
{
	const struct b2f_frame_stamp *then = &loaded->identity;
	const struct b2f_frame_stamp *now = &object->identity;
	bool written = !b2f_frame_stamp_same_data(then, now, false);
	bool same = false;
	int err = 0;

	if (!written && then->ctime_ns == now->ctime_ns)
		return 0;
	if (!written || !frame->store->sparse)
		err = same_head(loaded, object, dec, &same, why);
	if (!err && !same)
		err = b2f_why_set(why, -ESTALE,
				  "rewritten by another program while the "
				  "file is open");
	return err;
}

/* The @size stored bytes at @off of the chunk: in memory, or read now. */
static int get_stored(struct b2f_frame *frame, const struct b2f_loaded *loaded,
		      struct b2f_decoder *dec, uint32_t off, uint32_t size,
		      const uint8_t **out, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err;

	if (size == 0) {
		*out = NULL;
		return 0;
	}
	if (b2f_range_fits(off, size, loaded->size)) {
		*out = loaded->bytes + off;
		return 0;
	}
	err = b2f_scratch_reserve(&dec->stored, size);
	if (err)
		return err;
	err = b2f_object_open(frame->store, loaded->object, &object, why);
	if (err)
		return err;
	err = check_same(frame, loaded, &object, dec, why);
	if (!err)
		err = b2f_object_read(&object, loaded->base + off,
				      dec->stored.data, size, why);
	b2f_object_close(&object);
	if (!err)
		*out = dec->stored.data;
	return err;
}

static int decode_range(struct b2f_frame *frame,
			const struct b2f_loaded *loaded,
			struct b2f_decoder *dec, uint32_t unit, uint32_t off,
			uint32_t size, const uint8_t *ref, uint8_t *dst,
			struct b2f_why *why)
{
	const uint8_t *stored = NULL;
	int err;

	err = get_stored(frame, loaded, dec, off, size, &stored, why);
	if (!err)
		err = b2f_seal_check_unit(&loaded->seal, &loaded->chunk, unit,
					  stored, size, why);
	if (!err)
		err = b2f_chunk_decode_unit(&loaded->chunk, dec, unit, stored,
					    size, ref, dst, why);
	return err;
}

static int decode_unit(struct b2f_frame *frame, const struct b2f_loaded *loaded,
		       struct b2f_decoder *dec, uint32_t unit,
		       const uint8_t *ref, uint8_t *dst, struct b2f_why *why)
{
	uint32_t off = 0, size = 0, reach;
	int err;

	err = b2f_chunk_unit_extent(&loaded->chunk, unit, &off, &size, why);
	if (err)
		return err;
	err = decode_range(frame, loaded, dec, unit, off, size, ref, dst, why);
	if (err != B2F_ECORRUPT || loaded->chunk.layout != B2F_LAYOUT_BLOCKS)
		return err;
	/* Blocks may overlap; a reader of the whole chunk would not notice. */
	reach = b2f_chunk_unit_reach(&loaded->chunk, unit, off);
	if (reach > size)
		err = decode_range(frame, loaded, dec, unit, off, reach, ref,
				   dst, why);
	return err;
}

/* Decodes unit 0 where later units of a delta chunk find it. */
static int decode_ref(struct b2f_frame *frame, const struct b2f_loaded *loaded,
		      struct b2f_decoder *dec, const uint8_t **ref,
		      struct b2f_why *why)
{
	int err;

	err = b2f_scratch_reserve(&dec->ref,
				  b2f_chunk_unit_nbytes(&loaded->chunk, 0));
	if (!err)
		err = decode_unit(frame, loaded, dec, 0, NULL, dec->ref.data,
				  why);
	if (!err)
		*ref = dec->ref.data;
	return err;
}

int b2f_frame_decode_unit(struct b2f_frame *frame,
			  const struct b2f_loaded *loaded,
			  struct b2f_decoder *dec, uint32_t unit,
			  const uint8_t *ref, uint8_t *dst)
{
	struct b2f_why why = {""};
	int err = 0;

	if (unit > 0 && !ref && b2f_chunk_needs_ref(&loaded->chunk))
		err = decode_ref(frame, loaded, dec, &ref, &why);
	if (!err)
		err = decode_unit(frame, loaded, dec, unit, ref, dst, &why);
	if (err)
		b2f_frame_report_entry(frame, loaded->nchunk, loaded->raw,
				       loaded->chunk.nunits > 1 ? (int64_t)unit
								: -1,
				       err, &why);
	return err;
}
