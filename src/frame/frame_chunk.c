/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_chunk.c - chunks of a frame: from the store into memory */
#include "frame/frame_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "blp/blp_store.h"
#include "frame/frame.h"
#include "frame/frame_report.h"
#include "frame/frame_still.h"

/* Nearly every head fits in here: one read instead of two. */
#define HEAD_GUESS 4096

/*
 * A chunk that does not shrink is stored as it is, so none is much longer than
 * its data.  Even blocks of one byte with their table entries and streams stay
 * below this; more is a hole in the file that claims to be a chunk.
 */
#define STORED_FACTOR 16
#define STORED_MORE   (1u << 20)

/*
 * Decoded bytes are expected where they would be if all of a chunk shrank
 * alike, with 1 / EXPECT_SLACK of it to either side: more takes the disk longer
 * than it helps.
 */
#define EXPECT_SLACK 64

/* Less comes with one read anyway; more than 2 x nbytes is no sound chunk. */
#define EXPECT_MIN (64u << 10)

/*
 * This many bytes come from a server about as soon as an empty answer: a
 * smaller chunk is requested as a whole, instead of its head first.
 */
#define FAR_WHOLE (UINT64_C(512) << 10)
#define FAR_SLACK 32

/* Where a chunk is stored. */
struct place {
	struct b2f_object object;
	/* Stored bytes that may belong to the chunk. */
	uint64_t stored;
	/* The first @nstart of them, which have been read. */
	const uint8_t *start;
	size_t nstart;
	/* The part that is wanted next, or NULL. */
	const struct b2f_frame_want *want;
};

/*
 * Opens the object of @l, and notes its id and stamp.  Close @out->object also
 * after an error.
 */
static int find_place(const struct b2f_frame *frame, struct b2f_loaded *l,
		      struct place *out, struct b2f_why *why)
{
	int err;

	/* The higher bits belong to transactions. */
	l->object = (int64_t)(uint32_t)b2f_entry_of(l->raw).place;
	err = b2f_object_open(frame->store, l->object, &out->object, why);
	if (err)
		return err;
	l->identity = out->object.identity;
	out->stored = out->object.size;
	return out->stored >= B2F_CHUNK_HEADER_MIN
		       ? 0
		       : b2f_why_set(why, B2F_ECORRUPT,
				     "%llu bytes are too few for a chunk",
				     (unsigned long long)out->stored);
}

/* Copies the @n bytes at @off of @place; reads them if @start lacks them. */
static int read_at(const struct place *place, uint64_t off, void *buf, size_t n,
		   struct b2f_why *why)
{
	if (!b2f_range_fits(off, n, place->nstart))
		return b2f_object_read(&place->object, off, buf, n, why);
	if (n)
		memcpy(buf, place->start + off, n);
	return 0;
}

/* How many bytes to have in memory, once the header is known. */
static int wanted_size(const struct b2f_frame *frame,
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
	/* A small chunk has come with its header. */
	*out = how == B2F_LOAD_ALL || h->cbytes <= HEAD_GUESS
		       ? h->cbytes
		       : b2f_chunk_head_size(h, &frame->context);
	return 0;
}

/*
 * Reads the head or all of the chunk, as @how says, into a new buffer of @l.
 * The first read guesses the size: an ordinary chunk takes one read.
 */
static int read_bytes(const struct b2f_frame *frame, struct place *place,
		      uint64_t nbytes, enum b2f_load how, struct b2f_loaded *l,
		      struct b2f_why *why)
{
	/* No sound chunk is much longer than its data. */
	uint64_t guess = how == B2F_LOAD_ALL ? nbytes + HEAD_GUESS : HEAD_GUESS;
	uint64_t room = b2f_min_u64(guess, place->stored);
	struct b2f_chunk_header h;
	uint8_t *buf = malloc(room), *more;
	size_t want = 0;
	int err;

	if (!buf)
		return -ENOMEM;
	err = b2f_object_read(&place->object, 0, buf, room, why);
	if (!err)
		err = b2f_chunk_header_parse(buf, room, &h, why);
	if (!err && h.nbytes != nbytes)
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the chunk has %u bytes, its frame says "
				  "%llu",
				  h.nbytes, (unsigned long long)nbytes);
	if (!err)
		err = wanted_size(frame, &h, place, how, &want, why);
	if (!err && want > room) {
		more = realloc(buf, want);
		if (more)
			buf = more;
		err = more ? b2f_object_read(&place->object, room, buf + room,
					     want - room, why)
			   : -ENOMEM;
	}
	if (err) {
		free(buf);
		return err;
	}
	l->bytes = buf;
	l->size = want;
	place->start = buf;
	place->nstart = b2f_max_u64(room, want);
	return 0;
}

/*
 * Has the store read head, seal and wanted part of a chunk of @size stored
 * bytes at the same time, instead of one after the other.
 */
static void expect(const struct place *place, uint64_t size)
{
	const struct b2f_frame_want *want = place->want;
	uint64_t slack = size / EXPECT_SLACK, start = size, end = 0;

	if (!want || want->end == 0 || !place->object.store->ops->expect ||
	    size < EXPECT_MIN || size > 2 * want->nbytes)
		return;
	if (want->start < want->end) {
		start = size * want->start / want->nbytes;
		end = size * want->end / want->nbytes + slack;
		start -= b2f_min_u64(start, slack);
		if (start < 2 * HEAD_GUESS)
			start = 0;
		/* The longest read begins first. */
		b2f_object_expect(&place->object, start,
				  b2f_min_u64(end, size) - start);
	}
	if (start > 0)
		b2f_object_expect(&place->object, 0, HEAD_GUESS);
	if (end < size)
		b2f_object_expect(&place->object, size - 1, 1);
}

/* A seal of a chunk with very many blocks is read only if it is there. */
static int has_seal(const struct place *place, uint64_t stored,
		    const struct b2f_loaded *l, size_t size, bool *has,
		    struct b2f_why *why)
{
	uint8_t mark[B2F_SEAL_MARK_SIZE];
	int err;

	*has = size <= HEAD_GUESS ||
	       stored == l->chunk.header.cbytes + (uint64_t)size;
	if (*has)
		return 0;
	err = read_at(place, stored - sizeof(mark), mark, sizeof(mark), why);
	*has = !err && b2f_seal_is_mark(mark);
	return err;
}

/*
 * Reads the checksums behind the chunk, if it has some, and checks its head
 * with them.
 */
static int load_seal(const struct place *place, uint64_t stored,
		     struct b2f_loaded *l, struct b2f_why *why)
{
	struct b2f_sealed sealed = {.head = l->bytes,
				    .nbytes = stored,
				    .id = l->raw & B2F_ENTRY_ID,
				    .tag = b2f_entry_tag(l->raw)};
	size_t size = b2f_min_u64(b2f_seal_size(&l->chunk), stored);
	bool has = false;
	int err = has_seal(place, stored, l, size, &has, why);

	if (err)
		return err;
	if (!has)
		size = 0;
	l->tail = malloc(size ? size : 1);
	if (!l->tail)
		return -ENOMEM;
	err = read_at(place, stored - size, l->tail, size, why);
	if (err)
		return err;
	sealed.tail = b2f_bytes_at(l->tail, size);
	return b2f_seal_open(&l->chunk, &sealed, &l->seal, why);
}

/*
 * The same in a contiguous frame, where only the index tells whether a seal
 * follows.  C-Blosc2 moves chunks without their seals; but then the index is
 * not ours any more either.
 */
static int load_seal_behind(const struct place *place, struct b2f_loaded *l,
			    struct b2f_why *why)
{
	uint64_t stored = l->chunk.header.cbytes +
			  (uint64_t)b2f_seal_size(&l->chunk);

	if (stored > place->stored)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "there is no room for its seal");
	expect(place, stored);
	return load_seal(place, stored, l, why);
}

/* Has the file at @place, of a sparse frame, changed since it was opened? */
static bool is_rewritten(const struct b2f_frame *frame,
			 const struct place *place)
{
	struct b2f_frame_stamp now;

	return place->object.store && frame->header.sparse &&
	       !b2f_object_look(&place->object, &now) &&
	       !b2f_frame_stamp_equal(&now, &place->object.identity);
}

/*
 * Checks the result @err of reading @l at @place: bytes of another version are
 * neither a chunk nor damage.
 */
static int check_place(const struct b2f_frame *frame, const struct place *place,
		       const struct b2f_loaded *l, int err, struct b2f_why *why)
{
	struct b2f_why stale = {""};
	int still;

	if (err && err != B2F_ECORRUPT && err != B2F_EUNSUPPORTED)
		return err;
	still = b2f_frame_check_still(frame, l, err, &stale);
	if (!still && (err || !b2f_entry_tag(l->raw)) &&
	    is_rewritten(frame, place))
		still = b2f_why_set(&stale, -ESTALE,
				    "another program is writing it");
	if (still && why)
		*why = stale;
	return still ? still : err;
}

/* Opens the chunk of entry @l->raw, whose head @l has, and checks it. */
static int open_chunk(const struct b2f_frame *frame, const struct place *place,
		      struct b2f_loaded *l, struct b2f_why *why)
{
	int err = b2f_chunk_open(l->bytes, l->size, place->stored,
				 &frame->context, &l->chunk, why);

	if (!err && frame->header.sparse)
		err = load_seal(place, place->stored, l, why);
	else if (!err && b2f_entry_tag(l->raw))
		err = load_seal_behind(place, l, why);
	if (!err)
		err = b2f_blp_check_chunk(
			&place->object, l->chunk.header.cbytes,
			b2f_loaded_is_whole(l) ? l->bytes : NULL, why);
	return err;
}

bool b2f_frame_is_far(const struct b2f_frame *frame)
{
	return frame->store->ops->prefetch != NULL;
}

bool b2f_frame_distrust(const struct b2f_frame *frame, uint64_t raw)
{
	const struct b2f_entry entry = b2f_entry_of(raw);

	return !entry.special &&
	       b2f_store_distrust(frame->store,
				  (int64_t)(uint32_t)entry.place);
}

void b2f_frame_prefetch(const struct b2f_frame *frame, uint64_t raw,
			uint64_t nbytes)
{
	const struct b2f_entry entry = b2f_entry_of(raw);

	/* Nearly every chunk, with its seal, is at most this long. */
	if (!entry.special)
		b2f_store_prefetch(frame->store, (int64_t)(uint32_t)entry.place,
				   nbytes + nbytes / FAR_SLACK + EXPECT_MIN);
}

/* The mean stored size of the chunks of @frame. */
static uint64_t mean_size(const struct b2f_frame *frame)
{
	uint64_t n = frame->info.nchunks - frame->info.nspecial;

	return n > 0 ? frame->info.cbytes / n : 0;
}

/* Asks for as much of chunk @want as one request should bring. */
static void ask_ahead(const struct b2f_frame *frame,
		      const struct b2f_frame_want *want, enum b2f_load how)
{
	const struct b2f_entry entry = b2f_entry_of(want->raw);
	uint64_t mean = mean_size(frame);

	if (how == B2F_LOAD_ALL)
		b2f_frame_prefetch(frame, want->raw, want->nbytes);
	else if (want->end > 0 && mean > 0 && mean <= FAR_WHOLE)
		b2f_store_prefetch(frame->store, (int64_t)(uint32_t)entry.place,
				   mean + mean / 4 + EXPECT_MIN);
}

/*
 * Reads the size from the header at @place, and whether there should be a seal.
 */
static int read_nbytes(const struct b2f_frame *frame, const struct place *place,
		       uint64_t raw, uint32_t *nbytes, bool *sealed,
		       struct b2f_why *why)
{
	uint8_t buf[B2F_CHUNK_HEADER_MAX], mark[B2F_SEAL_MARK_SIZE];
	size_t n = b2f_min_u64(sizeof(buf), place->stored);
	struct b2f_chunk_header h;
	int err = b2f_object_read(&place->object, 0, buf, n, why);

	if (!err)
		err = b2f_chunk_header_parse(buf, n, &h, why);
	if (!err && frame->header.sparse)
		err = b2f_object_read(&place->object,
				      place->stored - sizeof(mark), mark,
				      sizeof(mark), why);
	if (err)
		return err;
	*sealed = b2f_entry_tag(raw) ||
		  (frame->header.sparse && b2f_seal_is_mark(mark));
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
	err = find_place(frame, l, &place, why);
	/* A server is asked for the end, with the seal, at the same time. */
	if (!err && frame->store->ops->prefetch)
		b2f_object_expect(&place.object, place.stored - 1, 1);
	if (!err)
		err = read_nbytes(frame, &place, l->raw, &nbytes, &has_seal,
				  why);
	if (!err && has_seal)
		err = read_bytes(frame, &place, nbytes, B2F_LOAD_HEAD, l, why);
	if (!err && has_seal)
		err = open_chunk(frame, &place, l, why);
	err = check_place(frame, &place, l, err, why);
	b2f_object_close(&place.object);
	b2f_loaded_free(l);
	if (err)
		return err;
	*out = nbytes;
	*sealed = has_seal;
	return 0;
}

int b2f_frame_load(struct b2f_frame *frame, uint64_t nchunk, uint64_t nbytes,
		   enum b2f_load how, struct b2f_loaded **out)
{
	return b2f_frame_load_entry(frame, nchunk,
				    b2f_entries_raw(&frame->entries, nchunk),
				    nbytes, how, out);
}

/* Leaves the open object in *@keep, if given, when more has to be read. */
static int load_once(struct b2f_frame *frame, const struct b2f_frame_want *want,
		     enum b2f_load how, struct b2f_object *keep,
		     struct b2f_loaded *l, struct b2f_why *why)
{
	enum b2f_special special = b2f_entry_of(want->raw).special;
	struct place place = {.want = want};
	int err;

	if (special)
		return b2f_chunk_open_special(special, (uint32_t)want->nbytes,
					      &frame->context, &l->chunk, why);
	ask_ahead(frame, want, how);
	err = find_place(frame, l, &place, why);
	if (!err && frame->header.sparse)
		expect(&place, place.stored);
	if (!err)
		err = read_bytes(frame, &place, want->nbytes, how, l, why);
	if (!err)
		err = open_chunk(frame, &place, l, why);
	err = check_place(frame, &place, l, err, why);
	if (keep && !err && !b2f_loaded_is_whole(l) && frame->store->ops->look)
		*keep = place.object;
	else
		b2f_object_close(&place.object);
	return err;
}

int b2f_frame_load_want(struct b2f_frame *frame,
			const struct b2f_frame_want *want, enum b2f_load how,
			struct b2f_object *keep, struct b2f_loaded **out)
{
	struct b2f_loaded *l = NULL;
	bool is_again = false;
	struct b2f_why why;
	int err;

	do {
		b2f_loaded_free(l);
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		l->nchunk = want->nchunk;
		l->raw = want->raw;
		why = (struct b2f_why){""};
		err = load_once(frame, want, how, keep, l, &why);
		if (err != B2F_ECORRUPT || is_again)
			break;
		is_again = b2f_frame_distrust(frame, want->raw);
	} while (is_again);
	if (err && err != -ENOMEM)
		b2f_frame_report_entry(frame, want->nchunk, want->raw, -1, err,
				       &why);
	if (err)
		b2f_loaded_free(l);
	else
		*out = l;
	return err;
}

int b2f_frame_load_entry(struct b2f_frame *frame, uint64_t nchunk, uint64_t raw,
			 uint64_t nbytes, enum b2f_load how,
			 struct b2f_loaded **out)
{
	const struct b2f_frame_want want = {
		.nchunk = nchunk, .raw = raw, .nbytes = nbytes};
	int err = b2f_frame_load_want(frame, &want, how, NULL, out);

	if (err == -ESTALE)
		b2f_frame_report_stale(frame);
	return err;
}

bool b2f_loaded_is_whole(const struct b2f_loaded *loaded)
{
	return loaded->chunk.layout == B2F_CHUNK_SPECIAL ||
	       loaded->size >= loaded->chunk.header.cbytes;
}

void b2f_loaded_free(struct b2f_loaded *loaded)
{
	if (!loaded)
		return;
	free(loaded->bytes);
	free(loaded->tail);
	free(loaded);
}
