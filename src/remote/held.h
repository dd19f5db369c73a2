/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held.h - the pinned version of an index
 *
 *   unseen     no request was made
 *   held       the version is known, and all reads are of this version
 *   lost       the version was replaced while in use; the next look pins anew
 *
 * Layer: remote.  May include: base/ store/.  Threads: any.
 */
#ifndef B2F_REMOTE_HELD_H
#define B2F_REMOTE_HELD_H

#include "remote/fetch.h"
#include "remote/remote_place.h"

/*
 * Bytes fetched with the version of an object: they take no longer than a
 * request for the version alone.
 */
#define B2F_REMOTE_FIRST (UINT64_C(64) << 10)

enum b2f_held_state { B2F_UNSEEN, B2F_HELD, B2F_LOST };

/* Zero-initialize all but @place; end with b2f_held_fini(). */
struct b2f_held {
	struct b2f_remote_place *place;
	/* Everything below: under the lock of @place. */
	enum b2f_held_state state;
	struct b2f_remote_stat version;
	/* The chunks do not change while this index is current. */
	bool is_settled;
	/* The first bytes of the index, until it is opened. */
	struct b2f_fetch *start;
};

void b2f_held_fini(struct b2f_held *held);

/* Pins the current version: one request. 0 or an error of requests. */
B2F_MUST_CHECK
int b2f_held_renew(struct b2f_held *held, struct b2f_why *why);

/* The current version, perhaps not the pinned one; seldom a request. */
B2F_MUST_CHECK
int b2f_held_look(struct b2f_held *held, struct b2f_remote_stat *now);

/* Like b2f_held_look(), and pins that version; *@out is its stamp. */
B2F_MUST_CHECK
int b2f_held_begin(struct b2f_held *held, struct b2f_frame_stamp *out);

/*
 * Returns the version to open (of a sparse frame the last one seen by any store
 * of @place) and its first bytes, which the caller owns, or NULL.
 */
B2F_MUST_CHECK
int b2f_held_open(struct b2f_held *held, struct b2f_remote_stat *version,
		  struct b2f_fetch **start, struct b2f_why *why);

/* The version with @stamp cannot be read any more: unpins it. */
void b2f_held_lose(struct b2f_held *held, const struct b2f_frame_stamp *stamp);

#endif
