/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_sum.h - checks members of a ZIP file by their checksums
 *
 * Layer: pack.  May include: base/ store/.  Threads: pure functions.
 */
#ifndef B2F_PACK_PACK_SUM_H
#define B2F_PACK_PACK_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/why.h"
#include "store/store.h"

/* A range of stored bytes. */
struct b2f_member {
	/* The store with the bytes; NULL: there are none. */
	struct b2f_store *source;
	uint64_t off;
	uint64_t size;
	/* Has the ZIP file a checksum of them? */
	bool has_crc32;
	uint32_t crc32;
};

/*
 * Compares all bytes of @member with their checksum in the ZIP file, if it has
 * one.  They are at @bytes, or are read by b2f_pack_sum_read().
 *
 * Returns 0, B2F_ECORRUPT (the sums differ), -ENOMEM or an errno of the source,
 * with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_pack_sum_check(const struct b2f_member *member, const void *bytes,
		       struct b2f_why *why);
B2F_MUST_CHECK
int b2f_pack_sum_read(const struct b2f_member *member, struct b2f_why *why);

#endif
