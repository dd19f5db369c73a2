/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tags.h - the version of each chunk that an index names
 *
 * A sound chunk file may still be the wrong one: an older version of the chunk,
 * or a chunk of another frame.  Every sealed chunk has a tag (chunk/seal.h),
 * and the index of a sparse frame lists the tags of all chunks, between the
 * index chunk and the trailer:
 *
 *   u32 "B2T1"   little endian, as all that follows
 *   a chunk      of one u32 per chunk of the frame:
 *                0 for a special chunk or one without a tag, else
 *                0x40000000 + (tag - tag before) mod 0x40000000, where "tag
 *                before" is the tag of the nearest earlier chunk with a tag,
 *                and 0 for the first
 *   zeros        so many that the length of the file changes with each commit
 *
 * C-Blosc2 reads this as a part of the index chunk, ignores it, because the
 * chunk has its own length, and drops it when it writes an index.  The
 * fingerprint (index/fingerprint.h) covers the list; so the list has no
 * checksum of its own, and is valid only while the fingerprint is.
 *
 * A writer draws its first tag at random and counts on from there: two versions
 * share a tag with a probability of 1 in 1,073,741,824.
 *
 * Layer: index.  May include: base/ chunk/.  Threads: pure functions.
 */
#ifndef B2F_INDEX_TAGS_H
#define B2F_INDEX_TAGS_H

#include "chunk/encoder.h"
#include "chunk/seal.h"
#include "index/entry_pages.h"
#include "index/index.h"

/* The tag that comes after @tag. */
static inline uint32_t b2f_tag_next(uint32_t tag)
{
	return tag == B2F_TAG_MAX ? B2F_TAG_MIN : tag + 1;
}

/* Returns a random first tag. */
uint32_t b2f_tag_draw(void);

/* The most bytes that the list of @nentries takes. */
size_t b2f_tags_bound(uint64_t nentries);

/*
 * Writes the list of the tags of the @n entries of @pages to @dst, which has
 * b2f_tags_bound() bytes; *@size is 0 if none of them has a tag.
 *
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_tags_write(const struct b2f_pages *pages, uint64_t n,
		   struct b2f_encoder *enc, uint8_t *dst, size_t *size,
		   struct b2f_why *why);

/*
 * Puts the tags of the list that stands behind the index chunk, in the @size
 * bytes at @raw, into @entries, which were parsed from that chunk.  If there is
 * no list, there are no tags.
 *
 * Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED or -ENOMEM, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_tags_parse(const uint8_t *raw, size_t size, struct b2f_decoder *dec,
		   struct b2f_reserved *reserved, struct b2f_entries *entries,
		   struct b2f_why *why);

#endif
