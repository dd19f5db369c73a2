/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranges.h - the byte ranges of chunks in a contiguous frame
 *
 * Each range has an id, as a chunk file of a sparse frame has one in its name;
 * so above the store a chunk is an object in either kind of frame.  An id is
 * never used again while the table lives; returned ranges take no more memory
 * than those in use.
 *
 * A writer takes new ranges from free bytes: ranges that it has returned, or
 * the end of the file.  So it never overwrites what the frame on disk names.
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
	/* Offset in the file. */
	uint64_t off;
	/* Bytes that may belong to the chunk, and to no other. */
	uint64_t size;
};

/* An empty table with one reference, or NULL. */
struct b2f_ranges *b2f_ranges_new(void);
struct b2f_ranges *b2f_ranges_ref(struct b2f_ranges *ranges);
/* NULL does nothing. */
void b2f_ranges_unref(struct b2f_ranges *ranges);

/*
 * Fills the table with the @n places at @places: offsets from @base on, all
 * below @limit, which is in the file.  Replaces each place by its id; values
 * with bit 63 set are not places, and stay.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_fill(struct b2f_ranges *ranges, uint64_t *places, uint64_t n,
		    uint64_t base, uint64_t limit);

/*
 * Ends each range at the next one, so that no more is read from a remote file;
 * without this call ranges end at the limit.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_find_ends(struct b2f_ranges *ranges);

/*
 * Call before the first new range: existing ranges end at the next one, and new
 * ones begin at @end.  Returns 0, -EEXIST (two begin at the same byte) or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_begin(struct b2f_ranges *ranges, uint64_t end);

/*
 * From b2f_ranges_begin() to b2f_ranges_end() a writer of this process changes
 * the frame; NULL has none.
 */
bool b2f_ranges_has_writer(struct b2f_ranges *ranges);
void b2f_ranges_end(struct b2f_ranges *ranges);

/* Adds the @size bytes at @off, which are in use.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_ranges_add(struct b2f_ranges *ranges, uint64_t off, uint32_t size,
		   uint64_t *id);

/*
 * Reserves the first @end bytes of the file for the header, and for the trailer
 * of a frame without data: they are never free, even if ranges begin there.
 */
void b2f_ranges_cover(struct b2f_ranges *ranges, uint64_t end);

/*
 * Takes @size free bytes, the first ones from @from on: before @until, or, if
 * that is UINT64_MAX, also at the end of the file.  Returns 0, -EFBIG (the file
 * would be too long), -ENOSPC (no such room, or no more ids) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_take(struct b2f_ranges *ranges, uint64_t from, uint64_t until,
		    uint32_t size, uint64_t *id);

/* Cuts range @id to its first @size bytes; the rest is free. */
void b2f_ranges_trim(struct b2f_ranges *ranges, uint64_t id, uint32_t size);

/* Finds range @id; false if there is none. */
bool b2f_ranges_get(struct b2f_ranges *ranges, uint64_t id,
		    struct b2f_range *out);

/* Is range @id behind all others? */
bool b2f_ranges_is_last(struct b2f_ranges *ranges, uint64_t id);

/*
 * Checks that no byte of the @n ranges @ids is free or in another range; the
 * header does not count.  Returns 0, -EINVAL (an error in this program: giving
 * them back would destroy the frame) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ranges_check(struct b2f_ranges *ranges, const uint64_t *ids, size_t n);

/*
 * Finds the bytes that become free when range @id is given back; false if none
 * do.
 */
bool b2f_ranges_get_own(struct b2f_ranges *ranges, uint64_t id,
			struct b2f_range *out);

/* Gives range @id back: its bytes are free. */
void b2f_ranges_give_back(struct b2f_ranges *ranges, uint64_t id);

#endif
