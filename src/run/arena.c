/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.c - buffers in huge pages */
#include "run/arena.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/aligned.h"

#define SLAB B2F_ARENA_SLAB

/* One bit per buffer says whether it is in use. */
#define BUFFERS_MAX 64
#define SIZE_MIN    (SLAB / BUFFERS_MAX)

struct b2f_slab {
	/* Size of its buffers; 0: it has none yet. */
	size_t size;
	uint64_t used;
	/* A buffer was handed out since its memory was last given back. */
	bool touched;
};

void b2f_arena_init(struct b2f_arena *arena, size_t nbytes)
{
	size_t nslabs = nbytes / SLAB;
	uint8_t *data;

	*arena = (struct b2f_arena){.data = NULL};
	if (nslabs == 0)
		return;
	arena->slabs = calloc(nslabs, sizeof(*arena->slabs));
	if (!arena->slabs)
		return;
	/* One slab more, so that the first slab can begin on a huge page. */
	data = mmap(NULL, (nslabs + 1) * SLAB, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		return;
	arena->mapped = data;
	arena->nslabs = nslabs;
	arena->data = data + (SLAB - (uintptr_t)data % SLAB) % SLAB;
	/* Without free huge pages the kernel maps ordinary ones. */
	(void)madvise(arena->data, nslabs * SLAB, MADV_HUGEPAGE);
}

void b2f_arena_fini(struct b2f_arena *arena)
{
	if (arena->mapped)
		munmap(arena->mapped, (arena->nslabs + 1) * SLAB);
	free(arena->slabs);
}

static bool has_room(const struct b2f_slab *slab)
{
	size_t n = SLAB / slab->size;

	return slab->used != (n < BUFFERS_MAX ? (UINT64_C(1) << n) - 1
					      : UINT64_MAX);
}

/* The slab for one more buffer of @size, or NULL. */
static struct b2f_slab *find_slab(struct b2f_arena *arena, size_t size)
{
	struct b2f_slab *empty = NULL;

	for (size_t i = 0; i < arena->nslabs; i++) {
		struct b2f_slab *slab = &arena->slabs[i];

		if (slab->used == 0 && (!empty || !empty->touched))
			empty = slab;
		else if (slab->used && slab->size == size && has_room(slab))
			return slab;
	}
	return empty;
}

uint8_t *b2f_arena_get(struct b2f_arena *arena, size_t size)
{
	struct b2f_slab *slab;
	uint8_t *data = NULL;
	unsigned int i;

	if (!arena->data || size < SIZE_MIN || size > SLAB ||
	    size % B2F_ALIGN != 0)
		return NULL;
	slab = find_slab(arena, size);
	if (slab) {
		if (slab->used == 0)
			atomic_fetch_add(&arena->slack, SLAB);
		atomic_fetch_sub(&arena->slack, size);
		slab->size = size;
		slab->touched = true;
		i = (unsigned int)__builtin_ctzll(~slab->used);
		slab->used |= UINT64_C(1) << i;
		data = arena->data + (size_t)(slab - arena->slabs) * SLAB +
		       i * size;
	}
	return data;
}

/* Gives the memory of @slab, which is empty, back to the system. */
static void drop(struct b2f_arena *arena, struct b2f_slab *slab)
{
	(void)madvise(arena->data + (size_t)(slab - arena->slabs) * SLAB, SLAB,
		      MADV_DONTNEED);
	slab->touched = false;
}

bool b2f_arena_put(struct b2f_arena *arena, uint8_t *data)
{
	size_t off = (size_t)((uintptr_t)data - (uintptr_t)arena->data);
	struct b2f_slab *slab;

	if (!b2f_arena_has(arena, data))
		return false;
	slab = &arena->slabs[off / SLAB];
	slab->used &= ~(UINT64_C(1) << (off % SLAB / slab->size));
	atomic_fetch_add(&arena->slack, slab->size);
	if (slab->used == 0)
		atomic_fetch_sub(&arena->slack, SLAB);
	if (slab->used == 0 && arena->gives_back)
		drop(arena, slab);
	return true;
}

void b2f_arena_trim(struct b2f_arena *arena)
{
	for (size_t i = 0; i < arena->nslabs; i++) {
		struct b2f_slab *slab = &arena->slabs[i];

		if (!slab->used && slab->touched)
			drop(arena, slab);
	}
}
