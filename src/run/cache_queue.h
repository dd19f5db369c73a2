/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_queue.h - the lists that entries of the cache are in
 *
 * Layer: run.  May include: base/.  Threads: the caller holds the room lock.
 */
#ifndef B2F_RUN_CACHE_QUEUE_H
#define B2F_RUN_CACHE_QUEUE_H

#include "run/cache_priv.h"

static inline struct b2f_cache_entry *
entry_in_queue(struct b2f_cache_link *link)
{
	char *at = (char *)link - offsetof(struct b2f_cache_entry, in_queue);

	return (struct b2f_cache_entry *)(void *)at;
}

static inline struct b2f_cache_entry *entry_in_file(struct b2f_cache_link *link)
{
	char *at = (char *)link - offsetof(struct b2f_cache_entry, in_file);

	return (struct b2f_cache_entry *)(void *)at;
}

static inline void link_init(struct b2f_cache_link *link)
{
	link->prev = link;
	link->next = link;
}

static inline void link_insert(struct b2f_cache_link *after,
			struct b2f_cache_link *link)
{
	link->prev = after;
	link->next = after->next;
	after->next->prev = link;
	after->next = link;
}

static inline void link_remove(struct b2f_cache_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link_init(link);
}

static inline void queue_remove(struct b2f_cache_entry *entry)
{
	if (!entry->queue)
		return;
	link_remove(&entry->in_queue);
	entry->queue->nbytes -= entry->charge;
	entry->queue->nentries--;
	entry->queue = NULL;
}

/* Puts @entry at the head of @queue; it leaves the queue that it is in. */
static inline void queue_push(struct b2f_cache_queue *queue,
			      struct b2f_cache_entry *entry)
{
	queue_remove(entry);
	link_insert(&queue->ends, &entry->in_queue);
	queue->nbytes += entry->charge;
	queue->nentries++;
	entry->queue = queue;
}

/* The oldest entry of @queue, which must not be empty. */
static inline struct b2f_cache_entry *
queue_tail(const struct b2f_cache_queue *queue)
{
	return entry_in_queue(queue->ends.prev);
}

#endif
