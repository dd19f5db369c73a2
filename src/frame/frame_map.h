/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_map.h - where each chunk begins in the decoded data
 *
 * Usually all chunks but the last have one size, and division suffices.  Frames
 * with chunks of different sizes, and frames whose short chunk was moved from
 * the end (C-Blosc2's reorder does that), need the sum of the sizes before.
 * These stand in the chunks' own headers.
 *
 * With chunks of different sizes the table grows from the front, as far as a
 * reader asks: there may be a million chunk files.  One thread at a time reads
 * the next headers; a reader waits for it only if its chunk is not known yet.
 *
 * A chunk of unknown size (its file is gone; or it is an index entry
 * in a variable frame, which has no size) hides the places of its neighbours:
 * from the first such chunk on, counting from the front stops; up to the last
 * one, counting from the end still works, as the total is known.  If there is
 * just one, its size follows from the total.
 *
 * If sizes contradict the total, reads behind that point fail; places counted
 * from the front before it are right all the same.  If the short chunk was
 * moved, the total is needed to count at all.
 *
 * Layer: frame.  May include: -.
 *
 * Threads: one makes the map, any number look into it.
 */
#ifndef B2F_FRAME_FRAME_MAP_H
#define B2F_FRAME_FRAME_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct b2f_frame;

enum b2f_map_state {
	/* No reader has asked yet. */
	B2F_MAP_NONE,
	/* Division finds a place. */
	B2F_MAP_DIVIDES,
	/* The table grows from the front. */
	B2F_MAP_GROWS,
	/* The table is as complete as it can be. */
	B2F_MAP_DONE,
};

struct b2f_frame_map {
	/* An enum b2f_map_state. */
	_Atomic unsigned int state;
	/* Room for nchunks + 1 starts, or NULL.  Const once there is one. */
	uint64_t *starts;
	/* Number of chunks with known places; starts[0..nknown] are const. */
	_Atomic uint64_t nknown;
	/*
	 * The next two are const once the map is done.  Places of chunks from
	 * @tail on are known too; those between are hidden, or @err says why
	 * all behind @nknown are.
	 */
	uint64_t tail;
	int err;
};

static inline enum b2f_map_state
b2f_frame_map_state(const struct b2f_frame_map *map)
{
	return atomic_load_explicit(&map->state, memory_order_acquire);
}

static inline uint64_t b2f_frame_map_nknown(const struct b2f_frame_map *map)
{
	return atomic_load_explicit(&map->nknown, memory_order_acquire);
}

/*
 * Makes one step towards the whole map, reading some headers.  Called by one
 * thread at a time, and not again once the map divides or is done.
 *
 * Returns 0, or an error that may pass: -ENOMEM, -EMFILE, -ENFILE, -EINTR.
 * Others are logged, and noted in the map.
 */
B2F_MUST_CHECK
int b2f_frame_map_grow(struct b2f_frame *frame);

/* A piece of the decoded data: one chunk. */
struct b2f_frame_span {
	uint64_t nchunk;
	/* First byte of the chunk in the data, and its length. */
	uint64_t start;
	uint64_t nbytes;
};

/*
 * Finds the chunk that holds byte @off (< header.nbytes).  If the sizes of
 * chunks differ, this may read the heads of all chunks before it, and of all
 * behind it if one of those before is unreadable.
 *
 * Returns 0, B2F_ECORRUPT (unreadable chunks before it hide its place; logged),
 * -ENOMEM, -EMFILE, -ENFILE or -EINTR (the request was cancelled).
 */
B2F_MUST_CHECK
int b2f_frame_locate(struct b2f_frame *frame, uint64_t off,
		     struct b2f_frame_span *out);

/* The same for chunk @nchunk (< info.nchunks). */
B2F_MUST_CHECK
int b2f_frame_span_get(struct b2f_frame *frame, uint64_t nchunk,
		       struct b2f_frame_span *out);

/*
 * May the index of a frame with the layout of @frame and the @n entries at @raw
 * have a checksum? With a checksum readers divide, unless the last chunk's seal
 * proves that it is not the short one.  So if that chunk has no seal, the index
 * gets no checksum.
 */
bool b2f_frame_may_seal(const struct b2f_frame *frame, const uint64_t *raw,
			uint64_t n);

/*
 * Is the last chunk of @frame, whose chunks were located, special and whole? A
 * stored one is short then, which only the places of chunks tell: a copy that
 * has them in order would be read wrongly.
 */
bool b2f_frame_hides_short_chunk(const struct b2f_frame *frame);

#endif
