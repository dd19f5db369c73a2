/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * idle.h - decoders, encoders and buffers that wait for their next use
 *
 * Making one of these objects costs more than using it: a fresh page costs more
 * than the copy to it.  A few are kept, for all files together.
 *
 * Layer: file.  May include: base/ frame/ (for chunk/) run/.  Threads: any,
 * but b2f_idle_init() and b2f_idle_fini().
 */
#ifndef B2F_FILE_IDLE_H
#define B2F_FILE_IDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "run/arena.h"

#define B2F_IDLE_MAX 64

struct b2f_decoder;
struct b2f_encoder;

/* Objects of one kind; the most recently used one is on top. */
struct b2f_idle_stack {
	void *things[B2F_IDLE_MAX];
	unsigned int n;
	/* How many are kept, <= B2F_IDLE_MAX.  Constant. */
	unsigned int max;
	/* Bytes of each, for buffers of pages. */
	uint32_t size;
};

struct b2f_idle {
	pthread_mutex_t lock;
	/* The following fields are under lock. */
	struct b2f_idle_stack decoders;
	struct b2f_idle_stack encoders;
	/* Buffers of records that are gone. */
	struct b2f_idle_stack pages;
	/* Buffers of records of which only the first pages are in memory. */
	struct b2f_idle_stack short_pages;
	/* Bytes of large buffers of idle decoders, and the most of them. */
	size_t large_bytes;
	size_t large_max;
	/* For full records and copies. */
	struct b2f_arena huge;
	/* Buffers for copied answers. */
	struct b2f_idle_stack copies;
};

/*
 * @huge_bytes: how much memory may be in huge pages; @large_bytes: in large
 * buffers of decoders.
 */
void b2f_idle_init(struct b2f_idle *idle, size_t huge_bytes,
		   size_t large_bytes);
void b2f_idle_fini(struct b2f_idle *idle);

/* Frees all that is kept. */
void b2f_idle_trim(struct b2f_idle *idle);

/* A decoder, or an encoder, for this thread; give it back.  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_idle_get_decoder(struct b2f_idle *idle, struct b2f_decoder **out);
void b2f_idle_put_decoder(struct b2f_idle *idle, struct b2f_decoder *dec);
B2F_MUST_CHECK
int b2f_idle_get_encoder(struct b2f_idle *idle, struct b2f_encoder **out);
void b2f_idle_put_encoder(struct b2f_idle *idle, struct b2f_encoder *enc);

/*
 * A buffer of @size bytes with any content.  @dense: most of it is going to be
 * written.  *@in_memory: all pages may take memory already; if false, each does
 * from its first write on.  Returns NULL if there is no memory.
 */
uint8_t *b2f_idle_get_pages(struct b2f_idle *idle, uint32_t size, bool dense,
			    bool *in_memory);

/*
 * Gives @pages (NULL: does nothing) back, with at most the first @used bytes in
 * memory.  The buffer is kept only if these are all or few: the next owner
 * could not tell which pages take memory.
 */
void b2f_idle_put_pages(struct b2f_idle *idle, uint8_t *pages, uint32_t size,
			uint32_t used);

/*
 * A buffer for the copy of @size bytes, or NULL.  All that are kept are as
 * large as the largest request of a kernel.
 */
uint8_t *b2f_idle_get_copy(struct b2f_idle *idle, size_t size);
void b2f_idle_put_copy(struct b2f_idle *idle, uint8_t *copy, size_t size);

#endif
