/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held.h - the version of an index that a store reads
 *
 *   unseen     no request was made
 *   held       the version is known, and all is read as of that
 *   lost       it has been replaced while it was read; the next look holds anew
 *
 * Layer: remote.  May include: base/ store/.  Threads: any.
 */
#ifndef B2F_REMOTE_HELD_H
#define B2F_REMOTE_HELD_H

#include "remote/fetch.h"
#include "remote/remote_place.h"

/*
 * The first bytes of an object, which come with its version: they take as long as a
 * request without a byte.
 */
#define B2F_REMOTE_FIRST (UINT64_C(64) << 10)

enum b2f_held_state { B2F_UNSEEN, B2F_HELD, B2F_LOST };

/* Zero-initialize it but for @place; end it with b2f_held_fini(). */
struct b2f_held {
	struct b2f_remote_place *place;
	/* All below: under the lock of @place. */
	enum b2f_held_state state;
	struct b2f_remote_stat version;
	/* While the index is there, its chunks do not change. */
	bool is_settled;
	/* The first bytes of the index, until it is opened. */
	struct b2f_fetch *start;
};

void b2f_held_fini(struct b2f_held *held);

/* Holds what is there now: one request.  Returns 0 or an error of requests, as the
 * functions below. */
B2F_MUST_CHECK
int b2f_held_renew(struct b2f_held *held, struct b2f_why *why);

/* The version that is there now, which may be another one; seldom a request. */
B2F_MUST_CHECK
int b2f_held_look(struct b2f_held *held, struct b2f_remote_stat *now);

/* The same, and holds that; *@out is its stamp. */
B2F_MUST_CHECK
int b2f_held_begin(struct b2f_held *held, struct b2f_frame_stamp *out);

/*
 * The version to open: of a sparse frame the one last seen by any store of @place; and
 * its first bytes, which are the caller's then, or NULL.
 */
B2F_MUST_CHECK
int b2f_held_open(struct b2f_held *held, struct b2f_remote_stat *version,
		  struct b2f_fetch **start, struct b2f_why *why);

/* The version cannot be read any more, if it has @stamp. */
void b2f_held_lose(struct b2f_held *held, const struct b2f_frame_stamp *stamp);

#endif
