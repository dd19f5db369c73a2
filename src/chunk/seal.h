/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal.h - checksums behind the stored bytes of a chunk
 *
 * A chunk file may be longer than its chunk: C-Blosc2 ignores what follows
 * cbytes, and drops it when it writes the chunk anew.  There the seal stands:
 *
 *   nparts x u32   low 32 bits of XXH3-64 of each part, in order
 *   u64            XXH3-64 of the list before, seeded with that of the head
 *                  from its byte 16 on, seeded with that of its first 16
 *                  bytes, seeded with the tag
 *   u32            tag
 *   u32            "B2S2"
 *
 * all little endian.  The *head* is all bytes before the first part: header,
 * block table, dictionary, and the value of a chunk that repeats one.  A reader
 * fetches each *part* on its own: a block, from its start to the end of its
 * last stream; or, of a chunk that is stored as it is, every B2F_SEAL_PIECE
 * bytes.  Special chunks have no parts.  Gaps between blocks hold no data and
 * are not sealed.
 *
 * The *tag* names this version of the chunk.  The index has the tag of each
 * chunk (index/tags.h), so that a reader notices an older file, or one of
 * another frame, although it is whole.  A tag is B2F_TAG_MIN to B2F_TAG_MAX.
 *
 * Before there were tags a seal ended in "B2S1" and had the number of parts in
 * the place of the tag; its sum began with the chunk's id, not with the tag.
 *
 * A chunk without a seal is "unsealed", which is no damage.  But a damaged seal
 * does not make a chunk unsealed: bytes that have the place and the length of a
 * seal have to be one.
 *
 * How to read with it: when the chunk has been opened (b2f_chunk_open(), from
 * its head), read the last b2f_seal_size() bytes of the file and give them to
 * b2f_seal_open(), once.  Then, before each b2f_chunk_decode_unit(), call
 * b2f_seal_check_unit() with the same unit; before
 * b2f_chunk_decode_all(), b2f_seal_check_all().  B2F_ECORRUPT from any of them
 * means that the chunk must not be decoded.
 *
 * How to write it: open the encoded chunk, and write the b2f_seal_size() bytes
 * of b2f_seal_make() right behind its cbytes, where the file has to end.
 *
 * Layer: chunk.  May include: base/ codec/ filter/.  Threads: pure functions.
 */
#ifndef B2F_CHUNK_SEAL_H
#define B2F_CHUNK_SEAL_H

#include "base/bytes.h"
#include "chunk/chunk.h"

/* Parts of a chunk that is stored as it is; part of the format of seals. */
#define B2F_SEAL_PIECE (256u << 10)

/* The last bytes of every file that has a seal. */
#define B2F_SEAL_MARK_SIZE 4

/* True if the B2F_SEAL_MARK_SIZE bytes at @tail are the end of a seal. */
bool b2f_seal_is_mark(const uint8_t *tail);

/* Size of the end of a seal, from its tag on. */
#define B2F_SEAL_END_SIZE 8

/* The tag of the seal whose last B2F_SEAL_END_SIZE bytes are at @end, or 0. */
uint32_t b2f_seal_end_tag(const uint8_t *end);

#define B2F_TAG_MIN UINT32_C(0x40000000)
#define B2F_TAG_MAX UINT32_C(0x7fffffff)

/* A seal that b2f_seal_open() has found and checked. */
struct b2f_seal {
	/* The list, in the caller's tail; NULL if the chunk is unsealed. */
	const uint8_t *sums;
	uint32_t nparts;
	/* 0 if the seal is of the older kind, without tags. */
	uint32_t tag;
};

/* The stored bytes to find a seal in, and the chunk it must belong to. */
struct b2f_sealed {
	/*
	 * The bytes that the chunk was opened from, b2f_chunk_head_size() of
	 * them.
	 */
	const uint8_t *head;
	/*
	 * The last of the @nbytes that are stored: b2f_seal_size(), or all of
	 * them if they are less.  They have to outlive the seal.
	 */
	struct b2f_bytes tail;
	uint64_t nbytes;
	/* The chunk id. */
	uint64_t id;
	/*
	 * The tag that the index has for the chunk; 0: none, so any seal or no
	 * seal will do.
	 */
	uint32_t tag;
};

/* Size of the seal of @chunk. */
size_t b2f_seal_size(const struct b2f_chunk *chunk);

/*
 * Makes the seal of @chunk, whose cbytes are at @raw, for the tag @tag, in the
 * b2f_seal_size() bytes at @dst.
 *
 * Returns 0, B2F_ECORRUPT (a block does not lie within the chunk) or
 * B2F_EUNSUPPORTED (it is in doubt where the blocks are, docs/format.md
 * 9.1),
 * with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_seal_make(const struct b2f_chunk *chunk, const uint8_t *raw,
		  uint32_t tag, uint8_t *dst, struct b2f_why *why);

/*
 * Looks for the seal of @chunk in @stored, and checks the head with it.
 *
 * Returns 0, or B2F_ECORRUPT (head or seal are damaged, or belong to another
 * chunk) with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_seal_open(const struct b2f_chunk *chunk,
		  const struct b2f_sealed *stored, struct b2f_seal *out,
		  struct b2f_why *why);

/*
 * Checks @stored, which is about to be decoded, of @chunk.  Nothing to do if
 * @seal is none.
 *
 * Returns 0 or B2F_ECORRUPT, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_seal_check_unit(const struct b2f_seal *seal,
			const struct b2f_chunk *chunk,
			const struct b2f_stored_unit *stored,
			struct b2f_why *why);

/* Checks all parts of the chunk at @raw (its cbytes).  Returns likewise. */
B2F_MUST_CHECK
int b2f_seal_check_all(const struct b2f_seal *seal,
		       const struct b2f_chunk *chunk, const uint8_t *raw,
		       struct b2f_why *why);

#endif
