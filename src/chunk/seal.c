/* SPDX-License-Identifier: BSD-3-Clause */
/* seal.c - checksums behind the stored bytes of a chunk */
#include "chunk/seal.h"

#include <xxhash.h>

#include "base/bytes.h"
#include "base/checked.h"

/* "B2S1" and "B2S2" */
#define MAGIC_UNTAGGED 0x31533242u
#define MAGIC	       0x32533242u

/* Bytes behind the list: the sum of the head, the tag, the magic. */
#define FOOTER_SIZE 16

/* A unit of such a chunk is checked on its own. */
_Static_assert(B2F_SEAL_PIECE == B2F_FLAT_UNIT,
	       "a part of a chunk stored as it is has to be a unit");

bool b2f_seal_is_mark(const uint8_t *tail)
{
	uint32_t magic = b2f_load_le32(tail);

	return magic == MAGIC || magic == MAGIC_UNTAGGED;
}

uint32_t b2f_seal_end_tag(const uint8_t *end)
{
	return b2f_load_le32(end + 4) == MAGIC ? b2f_load_le32(end) : 0;
}

static uint32_t count_parts(const struct b2f_chunk *chunk)
{
	const struct b2f_chunk_header *h = &chunk->header;

	if (h->special || !h->nbytes)
		return 0;
	if (h->memcpyed)
		return (uint32_t)b2f_div_up_u64(h->nbytes, B2F_SEAL_PIECE);
	/* Not chunk->blocks: a damaged header may leave it without a table. */
	return h->vl ? h->blocksize
		     : (uint32_t)b2f_div_up_u64(h->nbytes, h->blocksize);
}

static size_t seal_size(uint32_t nparts)
{
	return 4 * (size_t)nparts + FOOTER_SIZE;
}

size_t b2f_seal_size(const struct b2f_chunk *chunk)
{
	return seal_size(count_parts(chunk));
}

/* Offset of the first part, if the chunk had @cbytes. */
static uint32_t head_size(const struct b2f_chunk *chunk, uint32_t cbytes)
{
	if (chunk->header.special == B2F_SPECIAL_VALUE)
		return cbytes;
	if (chunk->blocks.table)
		return chunk->blocks.start;
	return chunk->header.header_len;
}

/*
 * The sum over the head, with @cbytes in its header, and over the list.  Each
 * step seeds the next, so that no state has to be allocated.
 */
static uint64_t head_sum(const struct b2f_chunk *chunk, const uint8_t *head,
			 uint32_t cbytes, const uint8_t *list, uint32_t nparts,
			 uint64_t seed)
{
	uint8_t first[B2F_CHUNK_HEADER_MIN];
	size_t rest = head_size(chunk, cbytes) - sizeof(first);
	uint64_t sum;

	memcpy(first, head, sizeof(first));
	b2f_store_le32(first + 12, cbytes);
	sum = XXH3_64bits_withSeed(first, sizeof(first), seed);
	sum = XXH3_64bits_withSeed(head + sizeof(first), rest, sum);
	return XXH3_64bits_withSeed(list, 4 * (size_t)nparts, sum);
}

static uint32_t part_sum(const uint8_t *data, size_t size)
{
	return (uint32_t)XXH3_64bits(data, size);
}

/* Where part @part lies in the chunk at @raw. */
static int find_part(const struct b2f_chunk *chunk, const uint8_t *raw,
		     uint32_t part, uint32_t *off, size_t *size,
		     struct b2f_why *why)
{
	const struct b2f_chunk_header *h = &chunk->header;
	uint64_t begin = (uint64_t)part * B2F_SEAL_PIECE;

	if (!h->memcpyed)
		return b2f_chunk_block_place(chunk, raw, part, off, size, why);
	*off = h->header_len + (uint32_t)begin;
	*size = b2f_min_u64(h->nbytes - begin, B2F_SEAL_PIECE);
	return 0;
}

int b2f_seal_make(const struct b2f_chunk *chunk, const uint8_t *raw,
		  uint32_t tag, uint8_t *dst, struct b2f_why *why)
{
	uint32_t nparts = count_parts(chunk), off = 0;
	uint8_t *footer = dst + 4 * (size_t)nparts;
	size_t size = 0;
	int err = 0;

	if (chunk->ndoubts)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "the block size %u is in doubt",
				   chunk->header.blocksize);
	for (uint32_t i = 0; i < nparts; i++) {
		err = find_part(chunk, raw, i, &off, &size, why);
		if (err)
			return err;
		b2f_store_le32(dst + 4 * (size_t)i, part_sum(raw + off, size));
	}
	b2f_store_le64(footer, head_sum(chunk, raw, chunk->header.cbytes, dst,
					nparts, tag));
	b2f_store_le32(footer + 8, tag);
	b2f_store_le32(footer + 12, MAGIC);
	return 0;
}

/*
 * True if @stored ends in a seal of this chunk, if that had @cbytes and
 * @nparts; *@tag is the tag of the seal.
 */
static bool seal_fits(const struct b2f_chunk *chunk,
		      const struct b2f_sealed *stored, uint32_t cbytes,
		      uint32_t nparts, uint32_t *tag)
{
	const uint8_t *end = stored->tail.data + stored->tail.size;
	const uint8_t *list = end - seal_size(nparts);
	const uint8_t *footer = end - FOOTER_SIZE;
	uint32_t word = b2f_load_le32(footer + 8);
	uint64_t seed = word;

	*tag = word;
	if (b2f_load_le32(footer + 12) == MAGIC_UNTAGGED) {
		*tag = 0;
		seed = stored->id;
		if (word != nparts)
			return false;
	} else if (b2f_load_le32(footer + 12) != MAGIC || word < B2F_TAG_MIN ||
		   word > B2F_TAG_MAX) {
		return false;
	}
	return b2f_load_le64(footer) ==
	       head_sum(chunk, stored->head, cbytes, list, nparts, seed);
}

/*
 * True if a damaged header hides the seal: its cbytes include the seal, or its
 * other fields ask for another seal.
 */
static bool seal_is_hidden(const struct b2f_chunk *chunk,
			   const struct b2f_sealed *stored)
{
	const struct b2f_bytes *tail = &stored->tail;
	uint32_t nparts = count_parts(chunk), tag;
	size_t size = seal_size(nparts);

	if (tail->size < B2F_SEAL_MARK_SIZE ||
	    !b2f_seal_is_mark(tail->data + tail->size - B2F_SEAL_MARK_SIZE))
		return false;
	if (stored->nbytes > chunk->header.cbytes)
		return true;
	/* Data may end like a seal by chance: all of it has to fit. */
	if (tail->size < size ||
	    stored->nbytes < size + head_size(chunk, chunk->header.header_len))
		return false;
	return seal_fits(chunk, stored, (uint32_t)(stored->nbytes - size),
			 nparts, &tag);
}

/* Does @seal have the tag that the index has for the chunk? */
static int check_tag(const struct b2f_seal *seal, uint32_t tag,
		     struct b2f_why *why)
{
	if (!tag || seal->tag == tag)
		return 0;
	if (!seal->sums)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "it has no seal, but its index says that "
				   "it has one");
	return b2f_why_set(why, B2F_ECORRUPT,
			   "it is another version of the chunk (%08x) than "
			   "its index names (%08x)",
			   seal->tag, tag);
}

int b2f_seal_open(const struct b2f_chunk *chunk,
		  const struct b2f_sealed *stored, struct b2f_seal *out,
		  struct b2f_why *why)
{
	uint32_t nparts = count_parts(chunk), cbytes = chunk->header.cbytes;
	size_t size = seal_size(nparts);
	struct b2f_seal seal = {0};
	int err;

	if (stored->nbytes == cbytes + (uint64_t)size &&
	    stored->tail.size >= size) {
		if (!seal_fits(chunk, stored, cbytes, nparts, &seal.tag))
			return b2f_why_set(why, B2F_ECORRUPT,
					   "header, block table or seal do not "
					   "agree");
		seal.sums = stored->tail.data + stored->tail.size - size;
		seal.nparts = nparts;
	} else if (seal_is_hidden(chunk, stored)) {
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the header and the seal disagree on the "
				   "size of the chunk");
	}
	err = check_tag(&seal, stored->tag, why);
	if (!err)
		*out = seal;
	return err;
}

static int check_part(const struct b2f_seal *seal, uint32_t part,
		      const uint8_t *data, size_t size, struct b2f_why *why)
{
	uint32_t want = b2f_load_le32(seal->sums + 4 * (size_t)part);
	uint32_t got = part_sum(data, size);

	if (got != want)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "part %u of the chunk has the checksum "
				   "%08x, not %08x",
				   part, got, want);
	return 0;
}

int b2f_seal_check_unit(const struct b2f_seal *seal,
			const struct b2f_chunk *chunk,
			const struct b2f_stored_unit *stored,
			struct b2f_why *why)
{
	size_t size = stored->size;
	int err = 0;

	if (!seal->sums)
		return 0;
	switch (chunk->layout) {
	case B2F_CHUNK_SPECIAL:
		return 0;
	case B2F_CHUNK_WHOLE:
		if (size < chunk->header.cbytes)
			return b2f_why_set(why, B2F_ECORRUPT,
					   "%zu of %u bytes are there", size,
					   chunk->header.cbytes);
		return b2f_seal_check_all(seal, chunk, stored->data, why);
	case B2F_CHUNK_FLAT:
		size = b2f_min_u64(size,
				   b2f_chunk_unit_nbytes(chunk, stored->unit));
		break;
	case B2F_CHUNK_BLOCKS:
		err = b2f_chunk_block_size(chunk, stored->unit, stored->data,
					   size, &size, why);
		break;
	}
	if (!err)
		err = check_part(seal, stored->unit, stored->data, size, why);
	return err;
}

int b2f_seal_check_all(const struct b2f_seal *seal,
		       const struct b2f_chunk *chunk, const uint8_t *raw,
		       struct b2f_why *why)
{
	uint32_t off = 0;
	size_t size = 0;
	int err = 0;

	if (!seal->sums)
		return 0;
	for (uint32_t i = 0; i < seal->nparts && !err; i++) {
		err = find_part(chunk, raw, i, &off, &size, why);
		if (!err)
			err = check_part(seal, i, raw + off, size, why);
	}
	return err;
}
