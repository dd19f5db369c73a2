/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_buffer.h - memory for the bytes of entries
 *
 * Layer: run.  May include: base/.  Threads: any, without the room lock.
 */
#ifndef B2F_RUN_CACHE_BUFFER_H
#define B2F_RUN_CACHE_BUFFER_H

#include "run/cache_priv.h"

void b2f_cache_buffers_init(struct b2f_cache *cache);
void b2f_cache_buffers_fini(struct b2f_cache *cache);

/* Gives the memory of empty slabs back to the system. */
void b2f_cache_buffers_trim(struct b2f_cache *cache);

/*
 * Bytes that an entry of @size counts for, or 0 if @size is impossibly large.
 */
size_t b2f_cache_charge(size_t size);

/* A buffer for @entry, or NULL if there is no memory. */
uint8_t *b2f_cache_buffer_new(struct b2f_cache *cache,
			      const struct b2f_cache_entry *entry);

/* Frees @entry with its buffer. */
void b2f_cache_buffer_free(struct b2f_cache *cache,
			   struct b2f_cache_entry *entry);

#endif
