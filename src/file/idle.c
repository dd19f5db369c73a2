/* SPDX-License-Identifier: BSD-3-Clause */
/* idle.c - decoders, encoders and page buffers that wait for their next use */
#include "file/idle.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "txn/txn.h"

/*
 * An idle decoder or encoder keeps buffers up to this size.  Decoders keep
 * larger ones up to idle.large_max bytes together: a sequential reader that
 * loads chunks whole wants them again at once.
 */
#define CODER_KEEPS (2u << 20)

/* Smaller buffers of pages come from the heap, and go back there. */
#define HEAP_MAX (64u << 10)

/* Dense records: all together in huge pages, and what part of one is wasted. */
#define HUGE_MAX    ((size_t)256 << 20)
#define WASTE_SHARE 8

/* Larger buffers of pages are not kept. */
#define PAGES_MAX (4u << 20)

/* The first bytes of a buffer that may be in memory uncounted. */
#define SHORT_MAX (16u << 10)

/* Bytes of one request; larger buffers are not kept. */
#define COPY_SIZE (1u << 20)

void b2f_idle_init(struct b2f_idle *idle, size_t huge_bytes, size_t large_bytes)
{
	*idle = (struct b2f_idle){
		.decoders.max = 64,
		.encoders.max = 16,
		.pages.max = 8,
		.short_pages.max = 8,
		.copies.max = 8,
		.large_max = large_bytes,
	};
	pthread_mutex_init(&idle->lock, NULL);
	b2f_arena_init(&idle->huge,
		       huge_bytes < HUGE_MAX ? huge_bytes : HUGE_MAX);
}

void b2f_idle_fini(struct b2f_idle *idle)
{
	b2f_idle_trim(idle);
	b2f_arena_fini(&idle->huge);
	pthread_mutex_destroy(&idle->lock);
}

/* Locked. */
static void copy_free(struct b2f_idle *idle, uint8_t *copy)
{
	if (!copy || !b2f_arena_put(&idle->huge, copy))
		free(copy);
}

static void unmap_all(struct b2f_idle_stack *stack)
{
	while (stack->n > 0)
		munmap(stack->things[--stack->n], stack->size);
}

void b2f_idle_trim(struct b2f_idle *idle)
{
	pthread_mutex_lock(&idle->lock);
	while (idle->decoders.n > 0)
		b2f_decoder_free(idle->decoders.things[--idle->decoders.n]);
	idle->large_bytes = 0;
	while (idle->encoders.n > 0)
		b2f_encoder_free(idle->encoders.things[--idle->encoders.n]);
	unmap_all(&idle->pages);
	unmap_all(&idle->short_pages);
	while (idle->copies.n > 0)
		copy_free(idle, idle->copies.things[--idle->copies.n]);
	b2f_arena_trim(&idle->huge);
	pthread_mutex_unlock(&idle->lock);
}

/* Returns NULL if there is none.  Locked. */
static void *pop(struct b2f_idle_stack *stack)
{
	return stack->n > 0 ? stack->things[--stack->n] : NULL;
}

/* Returns @thing if there is no room for it, or NULL.  Locked. */
static void *push(struct b2f_idle_stack *stack, void *thing)
{
	if (stack->n == stack->max)
		return thing;
	stack->things[stack->n++] = thing;
	return NULL;
}

/* Makes @dec idle, unless its buffers are too large to keep. */
static bool push_decoder(struct b2f_idle *idle, struct b2f_decoder *dec)
{
	struct b2f_idle_stack *stack = &idle->decoders;
	size_t large = b2f_decoder_excess(dec, CODER_KEEPS);
	B2F_HOLD(&idle->lock);

	if (large > idle->large_max - idle->large_bytes || push(stack, dec))
		return false;
	idle->large_bytes += large;
	return true;
}

int b2f_idle_get_decoder(struct b2f_idle *idle, struct b2f_decoder **out)
{
	struct b2f_decoder *dec;

	pthread_mutex_lock(&idle->lock);
	dec = pop(&idle->decoders);
	if (dec)
		idle->large_bytes -= b2f_decoder_excess(dec, CODER_KEEPS);
	pthread_mutex_unlock(&idle->lock);
	if (!dec)
		return b2f_decoder_new(out);
	*out = dec;
	return 0;
}

void b2f_idle_put_decoder(struct b2f_idle *idle, struct b2f_decoder *dec)
{
	if (push_decoder(idle, dec))
		return;
	b2f_decoder_trim(dec, CODER_KEEPS);
	if (!push_decoder(idle, dec))
		b2f_decoder_free(dec);
}

int b2f_idle_get_encoder(struct b2f_idle *idle, struct b2f_encoder **out)
{
	struct b2f_encoder *enc;

	pthread_mutex_lock(&idle->lock);
	enc = pop(&idle->encoders);
	pthread_mutex_unlock(&idle->lock);
	if (!enc)
		return b2f_encoder_new(out);
	*out = enc;
	return 0;
}

void b2f_idle_put_encoder(struct b2f_idle *idle, struct b2f_encoder *enc)
{
	b2f_encoder_trim(enc, CODER_KEEPS);
	pthread_mutex_lock(&idle->lock);
	enc = push(&idle->encoders, enc);
	pthread_mutex_unlock(&idle->lock);
	b2f_encoder_free(enc);
}

uint8_t *b2f_idle_get_pages(struct b2f_idle *idle, uint32_t size, bool dense,
			    bool *in_memory)
{
	struct b2f_idle_stack *stack;
	void *pages = NULL;

	*in_memory = true;
	if (size <= HEAP_MAX)
		return calloc(1, size);
	pthread_mutex_lock(&idle->lock);
	if (dense && B2F_ARENA_SLAB % size <= B2F_ARENA_SLAB / WASTE_SHARE)
		pages = b2f_arena_get(&idle->huge, size);
	if (!pages) {
		*in_memory = dense || idle->short_pages.n == 0;
		stack = *in_memory ? &idle->pages : &idle->short_pages;
		pages = stack->size == size ? pop(stack) : NULL;
	}
	pthread_mutex_unlock(&idle->lock);
	if (pages)
		return pages;
	*in_memory = false;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return pages == MAP_FAILED ? NULL : pages;
}

void b2f_idle_put_pages(struct b2f_idle *idle, uint8_t *pages, uint32_t size,
			uint32_t used)
{
	bool is_short = used <= SHORT_MAX;
	struct b2f_idle_stack *stack =
		is_short ? &idle->short_pages : &idle->pages;

	if (!pages || size <= HEAP_MAX) {
		free(pages);
		return;
	}
	pthread_mutex_lock(&idle->lock);
	if (stack->n == 0)
		stack->size = size;
	if (b2f_arena_put(&idle->huge, pages))
		pages = NULL;
	else if ((is_short || used == size) && size <= PAGES_MAX &&
		 stack->size == size)
		pages = push(stack, pages);
	pthread_mutex_unlock(&idle->lock);
	if (pages)
		munmap(pages, size);
}

static bool is_kept(size_t size)
{
	return size > HEAP_MAX && size <= COPY_SIZE;
}

uint8_t *b2f_idle_get_copy(struct b2f_idle *idle, size_t size)
{
	uint8_t *copy;

	if (!is_kept(size))
		return malloc(size);
	pthread_mutex_lock(&idle->lock);
	copy = pop(&idle->copies);
	if (!copy)
		copy = b2f_arena_get(&idle->huge, COPY_SIZE);
	pthread_mutex_unlock(&idle->lock);
	return copy ? copy : malloc(COPY_SIZE);
}

void b2f_idle_put_copy(struct b2f_idle *idle, uint8_t *copy, size_t size)
{
	B2F_HOLD(&idle->lock);

	copy_free(idle, is_kept(size) ? push(&idle->copies, copy) : copy);
}
