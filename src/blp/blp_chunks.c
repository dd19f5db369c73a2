/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp_chunks.c - finds the chunks of a Bloscpack file
 *
 * With offsets, and with sizes in the header, no chunk is read.  If either is
 * missing, the headers of all chunks are read.
 */

#include "base/bytes.h"
#include "base/checked.h"
#include "blp/blp.h"
#include "index/index.h"

/* Most chunks whose headers are read one by one. */
#define WALK_MAX (UINT64_C(1) << 22)

/* Offsets that are read at a time. */
#define STEP (UINT64_C(1) << 16)

static uint64_t shortest(const struct b2f_blp *blp)
{
	return B2F_CHUNK_HEADER_MIN + (uint64_t)blp->header.sum->size;
}

uint64_t b2f_blp_chunk_end(const struct b2f_blp *blp, uint64_t i)
{
	return i + 1 < blp->nchunks ? blp->offs[i + 1] : blp->size;
}

/* Makes room for @want offsets; *@room is the current room. */
static int reserve(struct b2f_blp *blp, size_t want, size_t *room)
{
	uint64_t *offs = b2f_grown(blp->offs, room, want, sizeof(*offs));

	if (!offs)
		return -ENOMEM;
	blp->offs = offs;
	return 0;
}

/*
 * Offsets ascend, each at least a chunk's length behind the one before, up to
 * the end of the file: Bloscpack reads the chunks in order, whatever the
 * offsets say.
 */
static int check_offset(const struct b2f_blp *blp, uint64_t i,
			struct b2f_why *why)
{
	uint64_t off = blp->offs[i], least = shortest(blp);
	uint64_t from = i ? blp->offs[i - 1] + least : blp->start;

	if (off >= from && (i > 0 || off == from) &&
	    b2f_range_fits(off, least, blp->size))
		return 0;
	return b2f_why_set(why, B2F_ECORRUPT, "the offset of chunk %llu is %lld",
			   (unsigned long long)i, (long long)off);
}

/* Reads the next @n offsets from byte @at on. */
static int read_some(const struct b2f_object *file, struct b2f_blp *blp,
		     uint64_t at, uint64_t n, struct b2f_why *why)
{
	uint64_t *offs = blp->offs + blp->nchunks;
	int err = b2f_object_read(file, at, offs, n * sizeof(*offs), why);

	for (uint64_t i = 0; i < n && !err; i++) {
		offs[i] = b2f_load_le64((const uint8_t *)&offs[i]);
		err = check_offset(blp, blp->nchunks, why);
		blp->nchunks += !err;
	}
	return err;
}

/* Reads in steps, so that memory only grows with offsets that are good. */
static int read_offsets(const struct b2f_object *file, struct b2f_blp *blp,
			struct b2f_why *why)
{
	uint64_t n = (uint64_t)blp->header.nchunks;
	uint64_t at = blp->start - 8 * (n + (uint64_t)blp->header.room);
	size_t room = 0;
	int err = 0;

	if (n > B2F_NCHUNKS_MAX)
		return b2f_why_set(why, B2F_ETOOBIG, "%llu chunks",
				   (unsigned long long)n);
	while (blp->nchunks < n && !err) {
		uint64_t i = blp->nchunks, more = b2f_min_u64(n - i, STEP);

		err = reserve(blp, i + more, &room);
		if (!err)
			err = read_some(file, blp, at + 8 * i, more, why);
	}
	return err;
}

/* Reads the header of the chunk at @off, which has to end by @end. */
static int read_head(const struct b2f_object *file, const struct b2f_blp *blp,
		     uint64_t off, uint64_t end, struct b2f_chunk_header *out,
		     struct b2f_why *why)
{
	uint8_t raw[B2F_CHUNK_HEADER_MAX];
	uint64_t n = b2f_min_u64(sizeof(raw), end - off);
	int err;

	if (end - off < shortest(blp))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a chunk at byte %llu is cut short",
				   (unsigned long long)off);
	err = b2f_object_read(file, off, raw, n, why);
	if (!err)
		err = b2f_chunk_header_parse(raw, n, out, why);
	if (!err && !b2f_range_fits(out->cbytes, blp->header.sum->size,
				    end - off))
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "a chunk at byte %llu has %u bytes, and "
				  "%llu are there",
				  (unsigned long long)off, out->cbytes,
				  (unsigned long long)(end - off));
	return err;
}

/* Notes that chunk @i has @nbytes decoded bytes. */
static int add_size(struct b2f_blp *blp, uint64_t i, uint32_t nbytes,
		    uint32_t *before, struct b2f_why *why)
{
	if (nbytes == 0 || !b2f_add_u64(blp->nbytes, nbytes, &blp->nbytes) ||
	    blp->nbytes > INT64_MAX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "chunk %llu has %u bytes",
				   (unsigned long long)i, nbytes);
	if (i == 0)
		blp->chunksize = (int32_t)nbytes;
	/* Only the last chunk may be shorter than the first. */
	else if (*before != (uint32_t)blp->chunksize ||
		 nbytes > (uint32_t)blp->chunksize)
		blp->chunksize = 0;
	*before = nbytes;
	return 0;
}

/* Goes from each chunk to the next one, to the end of the file or the last. */
static int walk(const struct b2f_object *file, struct b2f_blp *blp,
		struct b2f_why *why)
{
	uint64_t most = WALK_MAX, off = blp->start;
	size_t room = 0;
	struct b2f_chunk_header h;
	uint32_t before = 0;
	int err = 0;

	if (blp->header.nchunks >= 0)
		most = b2f_min_u64(most, (uint64_t)blp->header.nchunks);
	while (!err && blp->nchunks < most &&
	       (blp->header.nchunks >= 0 || off < blp->size)) {
		err = reserve(blp, blp->nchunks + 1, &room);
		if (!err)
			err = read_head(file, blp, off, blp->size, &h, why);
		if (err)
			break;
		blp->offs[blp->nchunks] = off;
		err = add_size(blp, blp->nchunks++, h.nbytes, &before, why);
		off += h.cbytes + (uint64_t)blp->header.sum->size;
	}
	if (!err && blp->nchunks == WALK_MAX)
		err = b2f_why_set(why, B2F_ETOOBIG,
				  "more than %llu chunks without offsets",
				  (unsigned long long)WALK_MAX);
	return err;
}

/* Reads the sizes of chunks whose positions are known. */
static int ask_all(const struct b2f_object *file, struct b2f_blp *blp,
		   struct b2f_why *why)
{
	struct b2f_chunk_header h;
	uint32_t before = 0;
	int err = 0;

	if (blp->nchunks > WALK_MAX)
		return b2f_why_set(why, B2F_ETOOBIG,
				   "%llu chunks of unknown size",
				   (unsigned long long)blp->nchunks);
	for (uint64_t i = 0; i < blp->nchunks && !err; i++) {
		err = read_head(file, blp, blp->offs[i],
				b2f_blp_chunk_end(blp, i), &h, why);
		if (!err)
			err = add_size(blp, i, h.nbytes, &before, why);
	}
	return err;
}

/* Takes the sizes from the header, if it has them. */
static int take_sizes(struct b2f_blp *blp, struct b2f_why *why)
{
	const struct b2f_blp_header *h = &blp->header;
	uint64_t n = blp->nchunks, all = 0;

	if (n == 0)
		return 0;
	if (!b2f_mul_u64(n - 1, (uint32_t)h->chunk_size, &all) ||
	    !b2f_add_u64(all, (uint32_t)h->last_chunk, &all) ||
	    all > INT64_MAX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%llu chunks of %d bytes",
				   (unsigned long long)n, h->chunk_size);
	blp->nbytes = all;
	blp->chunksize = h->chunk_size;
	return 0;
}

int b2f_blp_read_chunks(const struct b2f_object *file, struct b2f_blp *blp,
			struct b2f_why *why)
{
	const struct b2f_blp_header *h = &blp->header;
	bool sizes = h->chunk_size > 0 && h->last_chunk > 0 && h->nchunks >= 0;
	uint64_t table = 0;
	int err;

	blp->start = B2F_BLP_HEADER + blp->meta_len;
	if (h->has_offsets)
		table = 8 * ((uint64_t)h->nchunks + (uint64_t)h->room);
	if (!b2f_range_fits(blp->start, table, blp->size))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the offsets are cut short");
	blp->start += table;
	if (b2f_blp_is_empty(h))
		return 0;
	err = h->has_offsets ? read_offsets(file, blp, why)
			     : walk(file, blp, why);
	if (!err && sizes)
		err = take_sizes(blp, why);
	else if (!err && h->has_offsets)
		err = ask_all(file, blp, why);
	return err;
}
