/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranges.h - where the chunks of a contiguous frame are in its file
 *
 * Each range of bytes has an id, as a chunk file of a sparse frame has one in
 * its name; so above the store a chunk is an object in either kind of frame.
 * Ids are given once and never again, as long as the table lives; what was given
 * back takes no more memory than what is in use.
 *
 * A writer takes new ranges where nothing is: in ranges that it gave back, or
 * behind all others.  So nothing the frame on disk names is ever written to.
 *
 * Layer: store.  May include: base/.
 *
 * Threads: any function from any thread.
 */
#ifndef B2F_STORE_RANGES_H
#define B2F_STORE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct b2f_ranges;

struct b2f_range {
	/* First byte in the file. */
	uint64_t off;
	/* Bytes that may belong to the chunk, and to nothing else. */
	uint64_t size;
};

/* An empty table with one reference, or NULL. */
struct b2f_ranges *b2f_ranges_new(void);
struct b2f_ranges *b2f_ranges_ref(struct b2f_ranges *ranges);
/* NULL does nothing. */
void b2f_ranges_unref(struct b2f_ranges *ranges);

/*
 * Makes the table that of the @n places at @places: bytes behind @base, all
 * below @limit, which is in the file.  Each place is replaced by its id; those
 * with bit 63 set are none, and stay.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_fill(struct b2f_ranges *ranges, uint64_t *places, uint64_t n,
		    uint64_t base, uint64_t limit);

/*
 * Without it, a range that was filled in reaches to the limit; with it, to the next
 * one, so that no more is read of a file that is far away.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_find_ends(struct b2f_ranges *ranges);

/*
 * Before the first new range: each of those there are reaches to the next one,
 * and new ones begin at @end.  Returns 0, -EEXIST (two begin at the same byte)
 * or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_begin(struct b2f_ranges *ranges, uint64_t end);

/*
 * From b2f_ranges_begin() to b2f_ranges_end() a writer of this process changes
 * the frame; NULL has none.
 */
bool b2f_ranges_has_writer(struct b2f_ranges *ranges);
void b2f_ranges_end(struct b2f_ranges *ranges);

/* Names the @size bytes at @off, which are in use.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_ranges_add(struct b2f_ranges *ranges, uint64_t off, uint32_t size,
		   uint64_t *id);

/*
 * The first @end bytes of the file are, or are about to be, those of the header,
 * and of the trailer of a frame without data, whatever ranges begin there, too:
 * they are never given back.
 */
void b2f_ranges_cover(struct b2f_ranges *ranges, uint64_t end);

/*
 * Takes @size bytes that nothing uses, the first ones from byte @from on; behind
 * all others only if @until is UINT64_MAX, else before byte @until.  Returns 0,
 * -EFBIG (the file would be longer than files are), -ENOSPC (no such room, or no
 * more ids) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_take(struct b2f_ranges *ranges, uint64_t from, uint64_t until,
		    uint32_t size, uint64_t *id);

/* Range @id needs no more than its first @size bytes; the others can be taken. */
void b2f_ranges_trim(struct b2f_ranges *ranges, uint64_t id, uint32_t size);

/* Finds range @id; false if there is none. */
bool b2f_ranges_get(struct b2f_ranges *ranges, uint64_t id,
		    struct b2f_range *out);

/* Is range @id behind all others? */
bool b2f_ranges_is_last(struct b2f_ranges *ranges, uint64_t id);

/*
 * Has any of the @n ranges @ids a byte that another range has, too, or that is
 * free?  The header counts as none of them.  Returns 0 if not, -EINVAL: that is
 * an error of ours, and to give them back would destroy the frame; or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_check(struct b2f_ranges *ranges, const uint64_t *ids, size_t n);

/* The bytes that are free once range @id is given back; false if there are none. */
bool b2f_ranges_get_own(struct b2f_ranges *ranges, uint64_t id,
			struct b2f_range *out);

/* Nothing uses range @id any more: its bytes can be taken again. */
void b2f_ranges_give_back(struct b2f_ranges *ranges, uint64_t id);

#endif
