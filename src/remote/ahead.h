/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ahead.h - chunks on their way that no reader has opened yet
 *
 * Layer: remote.  May include: base/ store/.  Threads: under a lock of the caller.
 */
#ifndef B2F_REMOTE_AHEAD_H
#define B2F_REMOTE_AHEAD_H

#include "remote/fetch.h"
#include "remote/remote_place.h"

/* So many bytes of them, at most. */
#define B2F_AHEAD_BYTES_MAX (UINT64_C(128) << 20)

struct b2f_coming;

/* Zero-initialize it. */
struct b2f_ahead {
	struct b2f_coming *list;
	unsigned int n;
	uint64_t bytes;
};

/*
 * Begins to fetch the first @n bytes of object @id; @part_of is the version of the
 * index by which it is known, or NULL.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_ahead_fetch(struct b2f_remote_place *place, int64_t id,
		    const struct b2f_remote_stat *part_of, uint64_t n,
		    struct b2f_fetch **out);

/*
 * The same of chunk @id, which is kept for b2f_ahead_take(); others go if there are
 * too many.
 */
void b2f_ahead_add(struct b2f_ahead *ahead, struct b2f_remote_place *place,
		   int64_t id, const struct b2f_remote_stat *part_of,
		   uint64_t n);

/* The fetch of chunk @id, which is the caller's now; NULL: there is none. */
struct b2f_fetch *b2f_ahead_take(struct b2f_ahead *ahead, int64_t id);

void b2f_ahead_fini(struct b2f_ahead *ahead);

#endif
