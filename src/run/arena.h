/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena.h - buffers in huge pages
 *
 * The arena is a fixed range of memory, cut into slabs of one huge page; a slab
 * has buffers of one size.  It never grows: buffers that find no room in it
 * come from elsewhere.  Nearly empty slabs waste at most the arena itself;
 * b2f_arena_slack() tells how much.
 *
 * Layer: run.  May include: base/.  Threads: one at a time, by a lock of the
 * owner; b2f_arena_slack() any.
 */
#ifndef B2F_RUN_ARENA_H
#define B2F_RUN_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A huge page, on all systems where asking for one matters to us. */
#define B2F_ARENA_SLAB ((size_t)2 << 20)

struct b2f_arena {
	/* The mapping; NULL: the arena has no memory.  Constant. */
	uint8_t *mapped;
	/* The slabs, from a multiple of their size on.  Constant. */
	uint8_t *data;
	size_t nslabs;
	/*
	 * Give the memory of a slab back as soon as it is empty.  Set before
	 * the first use.
	 */
	bool gives_back;
	/* See b2f_arena_slack(). */
	_Atomic size_t slack;
	struct b2f_slab *slabs;
};

/*
 * Makes an arena of @nbytes, rounded down to whole slabs.  It is empty if that
 * is less than one slab, or if there is no memory.  Pages are taken when they
 * are first written to.
 */
void b2f_arena_init(struct b2f_arena *arena, size_t nbytes);
void b2f_arena_fini(struct b2f_arena *arena);

/*
 * Returns @size bytes of garbage, aligned to a cache line, for b2f_arena_put().
 * Returns NULL if no slab has room, or if @size is no multiple of a cache line,
 * below 1/64 of a slab, or above a slab.
 */
uint8_t *b2f_arena_get(struct b2f_arena *arena, size_t size);

/* Is @data from this arena? */
static inline bool b2f_arena_has(const struct b2f_arena *arena,
				 const uint8_t *data)
{
	return arena->data && (uintptr_t)data - (uintptr_t)arena->data <
				      arena->nslabs * B2F_ARENA_SLAB;
}

/* Takes @data back; false if it is not from this arena. */
bool b2f_arena_put(struct b2f_arena *arena, uint8_t *data);

/* Unused bytes of the slabs that have at least one buffer in use. */
static inline size_t b2f_arena_slack(const struct b2f_arena *arena)
{
	return atomic_load(&arena->slack);
}

/* Gives the memory of empty slabs back to the system. */
void b2f_arena_trim(struct b2f_arena *arena);

#endif
