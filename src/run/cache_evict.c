/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_evict.c - the memory of the cache: what stays, goes, and is reused
 *
 * One long sequential read must not evict entries that others use again and
 * again.  There are two queues, and a memory of evicted keys ("ghosts"):
 *
 *   where      event                                   then
 *   ---------  --------------------------------------  ----------------------
 *   absent     loaded, no ghost of it                  probation, cold
 *   absent     loaded, evicted less than a cache ago   protected, cold
 *   absent     either, for a sequential reader         the same, but passing
 *   any        waited for while it is loaded           unchanged
 *   probation  used: cold                              warm
 *              used: warm since 1/8 cache or longer    hot
 *              at the tail: cold or warm               leaves a ghost, absent
 *              at the tail: hot                        protected, cold
 *   protected  used: cold                              warm
 *              at the tail: warm or hot                back to the head, cold
 *              at the tail: cold or passing            absent
 *   probation  passing: used                           passing
 *              passing: its reader is through with it  passed
 *              passing: at the tail                    leaves a ghost, absent
 *   protected  passing: its reader is through with it  warm
 *   passed     used: passed since 1/64 cache or longer warm
 *              at the tail: passed                     leaves a ghost, absent
 *              at the tail: warm or hot                probation, cold
 *   any        at the tail, pinned or loading          back to the head
 *
 * Passed entries go first, and as soon as they are more than 1/16 of the cache:
 * a long scan uses the same warm buffers again and again instead of fresh pages
 * up to the whole cache.  A passed entry that is used again after a while
 * becomes an ordinary entry.  Requests of one reader overtake each other, so a
 * use just after the last one is still part of the scan.
 *
 * "1/64 cache" and "a cache ago" are times, counted in bytes that were loaded.
 * A scan uses each block several times at once (a block is larger than a
 * request), which must not make it hot; hence the wait before a warm entry can
 * become hot.  Probation is the victim while it holds more than a quarter of
 * the cache, so a scan lives in that quarter; protected, otherwise.
 *
 * An entry that is larger than the cache is in no queue, or it would evict all
 * others.  Only the last used one is kept ("parked"), because its reader
 * usually comes back for the next part of it.  It goes when another is parked,
 * or when a quarter of the cache has been loaded since.
 *
 * Uses change two hints in the entry and take no lock.  An exact LRU was
 * rejected for the lock that each hit would need to move its entry.
 */
#include "run/cache_buffer.h"
#include "run/cache_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"

/* Shares of the cache, as divisors. */
#define PROBATION_SHARE 4
#define SPARE_SHARE	4
#define HOT_AGE_SHARE	8
#define OVERTAKEN_SHARE 64
#define PARKED_SHARE	4
#define PASSED_SHARE	16
#define SLACK_SHARE	16

/* Indexes of ordinary frames fit, however small the cache is. */
#define RESERVE_MIN (UINT64_C(32) << 20)

/*
 * Entries that may keep their place during one eviction.  After that the first
 * idle entry goes, whatever its heat: a miss must not wait for a walk over the
 * whole cache.
 */
#define STAYS_MAX 64

/* Spare buffers that are looked at for one of the right size. */
#define SPARE_TRIES 8

/* Frees the entries that were put aside while the room lock was held. */
static void trash_empty(struct b2f_cache *cache,
			struct b2f_cache_queue *trash)
{
	while (trash->nentries > 0) {
		struct b2f_cache_entry *entry = queue_tail(trash);

		queue_remove(entry);
		b2f_cache_buffer_free(cache, entry);
	}
}

/* Takes the room lock, under which entries are put aside in @trash. */
static void room_enter(struct b2f_cache *cache, struct b2f_cache_queue *trash)
{
	*trash = (struct b2f_cache_queue){.nentries = 0};
	link_init(&trash->ends);
	pthread_mutex_lock(&cache->room);
}

static void room_leave(struct b2f_cache *cache, struct b2f_cache_queue *trash)
{
	pthread_mutex_unlock(&cache->room);
	trash_empty(cache, trash);
}

/* Forgets @entry, which has no user, but keeps its buffer for the next one. */
static void make_spare(struct b2f_cache *cache, struct b2f_cache_entry *entry,
		       struct b2f_cache_queue *trash)
{
	link_remove(&entry->in_file);
	cache->nentries--;
	if (cache->parked == entry)
		cache->parked = NULL;
	if (entry->oversize)
		cache->oversize_nbytes -= entry->charge;
	else
		atomic_fetch_sub(&cache->nbytes, entry->charge);

	queue_push(entry->data && !entry->oversize ? &cache->spare : trash,
		   entry);
	while (cache->spare.nbytes > cache->max_bytes / SPARE_SHARE) {
		struct b2f_cache_entry *oldest = queue_tail(&cache->spare);

		/*
		 * The newest spare stays in any case: the next miss wants it.
		 */
		if (oldest == entry)
			break;
		queue_push(trash, oldest);
	}
}

/* Gives the new @entry the buffer of a spare entry, if one has its size. */
static void take_spare(struct b2f_cache *cache, struct b2f_cache_entry *entry,
		       struct b2f_cache_queue *trash)
{
	struct b2f_cache_link *link = cache->spare.ends.next;

	for (int i = 0; i < SPARE_TRIES && link != &cache->spare.ends; i++) {
		struct b2f_cache_entry *spare = entry_in_queue(link);

		if (spare->charge == entry->charge) {
			entry->data = spare->data;
			spare->data = NULL;
			queue_push(trash, spare);
			return;
		}
		link = link->next;
	}
}

/* Takes @entry out of the table if it has no user. */
static bool claim(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	struct b2f_cache_stripe *stripe;
	bool idle;

	if (atomic_load(&entry->nrefs) != 1)
		return false;
	stripe = b2f_cache_stripe_of(cache, entry->hash);
	B2F_HOLD(&stripe->lock);
	idle = entry->in_table && atomic_load(&entry->nrefs) == 1;
	if (idle)
		b2f_cache_unlink(cache, entry);
	return idle;
}

/* Gives up the parked entry.  If it is in use now, it may be parked again. */
static void unpark(struct b2f_cache *cache, struct b2f_cache_queue *trash)
{
	struct b2f_cache_entry *entry = cache->parked;

	cache->parked = NULL;
	if (!entry || !claim(cache, entry))
		return;
	cache->evictions++;
	make_spare(cache, entry, trash);
}

static bool is_forgotten(const struct b2f_cache *cache)
{
	return atomic_load(&cache->clock) - cache->parked_since >
	       cache->max_bytes / PARKED_SHARE;
}

/*
 * Does one step at the tail of @queue, by the table above; without @keep_hot
 * hot entries go, too.  Returns true if one was evicted.
 */
static bool step(struct b2f_cache *cache, struct b2f_cache_queue *queue,
		 bool keep_hot, struct b2f_cache_queue *trash)
{
	struct b2f_cache_entry *entry = queue_tail(queue);
	unsigned char heat = atomic_load(&entry->heat);
	bool probation = queue == &cache->probation;
	bool stays = heat == B2F_CACHE_HOT ||
		     (heat == B2F_CACHE_WARM && !probation);

	if (stays && keep_hot) {
		atomic_store(&entry->heat, B2F_CACHE_COLD);
		queue = queue == &cache->passed ? &cache->probation
						: &cache->protected;
	} else if (claim(cache, entry)) {
		if (queue != &cache->protected)
			b2f_cache_ghost_leave(cache, entry->hash);
		cache->evictions++;
		make_spare(cache, entry, trash);
		return true;
	}
	queue_push(queue, entry);
	return false;
}

static bool evict_from(struct b2f_cache *cache, struct b2f_cache_queue *queue,
		       struct b2f_cache_queue *trash)
{
	size_t tries = queue->nentries + STAYS_MAX;

	for (size_t i = 0; i < tries && queue->nentries > 0; i++)
		if (step(cache, queue, i < STAYS_MAX, trash))
			return true;
	return false;
}

static bool evict_one(struct b2f_cache *cache, struct b2f_cache_queue *trash)
{
	size_t share = cache->max_bytes / PROBATION_SHARE;

	if (evict_from(cache, &cache->passed, trash))
		return true;
	if (cache->probation.nbytes > share)
		return evict_from(cache, &cache->probation, trash) ||
		       evict_from(cache, &cache->protected, trash);
	return evict_from(cache, &cache->protected, trash) ||
	       evict_from(cache, &cache->probation, trash);
}

/*
 * Do all bytes fit?  The unused rest of huge pages counts, except for 1/16 of
 * the cache, which entries of one size leave anyway.
 */
static bool fits(struct b2f_cache *cache)
{
	size_t slack = b2f_arena_slack(&cache->large);
	size_t usual = cache->max_bytes / SLACK_SHARE;

	return atomic_load(&cache->nbytes) + cache->spare.nbytes +
		       cache->lent.beside + atomic_load(&cache->reserve.used) +
		       (slack > usual ? slack - usual : 0) <=
	       cache->max_bytes;
}

/*
 * Evicts until all bytes fit, or nothing more can go.  @entry, unless NULL,
 * gets the buffer of a spare of its size, if one turns up.
 */
static void fit(struct b2f_cache *cache, struct b2f_cache_entry *entry,
		struct b2f_cache_queue *trash)
{
	if (entry)
		take_spare(cache, entry, trash);
	if (entry && !entry->data &&
	    cache->passed.nbytes > cache->max_bytes / PASSED_SHARE)
		(void)evict_from(cache, &cache->passed, trash);
	for (;;) {
		if (entry && !entry->data)
			take_spare(cache, entry, trash);
		if (fits(cache))
			return;
		if (cache->spare.nentries > 0)
			queue_push(trash, queue_tail(&cache->spare));
		else if (!evict_one(cache, trash))
			return;
	}
}

/* Counts @entry and links it in.  The room lock is held. */
static void enter(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	uint64_t file = entry->key.file;

	link_insert(&cache->files[file & (B2F_CACHE_FILES - 1)],
		    &entry->in_file);
	cache->nentries++;
	if (entry->oversize) {
		cache->oversize_nbytes += entry->charge;
		return;
	}
	atomic_fetch_add(&cache->clock, entry->charge);
	/*
	 * Count it before anything is evicted: a thread that unpins an entry
	 * from now on sees that it does not fit, and evicts it.
	 */
	atomic_fetch_add(&cache->nbytes, entry->charge);
	queue_push(b2f_cache_ghost_take(cache, entry->hash) ? &cache->protected
							    : &cache->probation,
		   entry);
}

int b2f_cache_admit(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	struct b2f_cache_queue trash;

	room_enter(cache, &trash);
	enter(cache, entry);
	if (entry->oversize || is_forgotten(cache))
		unpark(cache, &trash);
	if (!entry->oversize)
		fit(cache, entry, &trash);
	room_leave(cache, &trash);
	if (!entry->data)
		entry->data = b2f_cache_buffer_new(cache, entry);
	return entry->data ? 0 : -ENOMEM;
}

void b2f_cache_park(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	struct b2f_cache_stripe *stripe =
		b2f_cache_stripe_of(cache, entry->hash);
	struct b2f_cache_queue trash;
	unsigned int left;
	bool idle;

	room_enter(cache, &trash);
	pthread_mutex_lock(&stripe->lock);
	left = atomic_fetch_sub(&entry->nrefs, 1) - 1;
	/* The table's reference is only taken back under the room lock. */
	idle = left == 1 && entry->in_table;
	pthread_mutex_unlock(&stripe->lock);
	if (left == 0)
		make_spare(cache, entry, &trash);
	if (idle && cache->parked != entry)
		unpark(cache, &trash);
	if (idle) {
		cache->parked = entry;
		cache->parked_since = atomic_load(&cache->clock);
	}
	room_leave(cache, &trash);
}

void b2f_cache_retire(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	struct b2f_cache_queue trash;

	room_enter(cache, &trash);
	make_spare(cache, entry, &trash);
	fit(cache, NULL, &trash);
	room_leave(cache, &trash);
}

void b2f_cache_trim(struct b2f_cache *cache)
{
	struct b2f_cache_queue trash;

	room_enter(cache, &trash);
	fit(cache, NULL, &trash);
	room_leave(cache, &trash);
}

/* Takes @entry out of the table, if it is there.  The room lock is held. */
static bool expel(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	struct b2f_cache_stripe *stripe =
		b2f_cache_stripe_of(cache, entry->hash);
	B2F_HOLD(&stripe->lock);
	bool was_there = entry->in_table;

	if (was_there)
		b2f_cache_unlink(cache, entry);
	return was_there;
}

void b2f_cache_drop_file(struct b2f_cache *cache, uint64_t file)
{
	struct b2f_cache_queue trash;
	struct b2f_cache_link *list =
		&cache->files[file & (B2F_CACHE_FILES - 1)];
	struct b2f_cache_link *link;
	struct b2f_cache_link *next;

	room_enter(cache, &trash);
	for (link = list->next; link != list; link = next) {
		struct b2f_cache_entry *entry = entry_in_file(link);

		next = link->next;
		if (entry->key.file != file || !expel(cache, entry))
			continue;
		/*
		 * A pinned entry leaves its queue, too, so no eviction meets
		 * it.
		 */
		queue_remove(entry);
		if (atomic_fetch_sub(&entry->nrefs, 1) == 1)
			make_spare(cache, entry, &trash);
	}
	fit(cache, NULL, &trash);
	room_leave(cache, &trash);
}

void b2f_cache_free_spares(struct b2f_cache *cache)
{
	struct b2f_cache_queue trash;

	room_enter(cache, &trash);
	while (cache->spare.nentries > 0)
		queue_push(&trash, queue_tail(&cache->spare));
	room_leave(cache, &trash);
	b2f_cache_buffers_trim(cache);
}

static void set_heat(struct b2f_cache_entry *entry, enum b2f_cache_heat heat,
		     uint64_t since)
{
	atomic_store_explicit(&entry->since, since, memory_order_relaxed);
	atomic_store_explicit(&entry->heat, heat, memory_order_relaxed);
}

void b2f_cache_pass(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	pthread_mutex_lock(&cache->room);
	if (entry->queue == &cache->probation) {
		set_heat(entry, B2F_CACHE_PASSED, atomic_load(&cache->clock));
		queue_push(&cache->passed, entry);
	} else {
		/* Protected; or in no queue: oversize, or of a dropped file. */
		atomic_store(&entry->heat, B2F_CACHE_WARM);
	}
	pthread_mutex_unlock(&cache->room);
}

void b2f_cache_warm(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	uint64_t now =
		atomic_load_explicit(&cache->clock, memory_order_relaxed);
	uint64_t age = now - atomic_load_explicit(&entry->since,
						  memory_order_relaxed);

	switch (atomic_load_explicit(&entry->heat, memory_order_relaxed)) {
	case B2F_CACHE_COLD:
		set_heat(entry, B2F_CACHE_WARM, now);
		break;
	case B2F_CACHE_WARM:
		if (age >= cache->max_bytes / HOT_AGE_SHARE)
			set_heat(entry, B2F_CACHE_HOT, now);
		break;
	case B2F_CACHE_PASSED:
		if (age >= cache->max_bytes / OVERTAKEN_SHARE)
			set_heat(entry, B2F_CACHE_WARM, now);
		break;
	}
}

static void make_room(void *cache)
{
	b2f_cache_trim(cache);
}

void b2f_cache_room_init(struct b2f_cache *cache)
{
	link_init(&cache->probation.ends);
	link_init(&cache->protected.ends);
	link_init(&cache->passed.ends);
	link_init(&cache->spare.ends);
	for (int i = 0; i < B2F_CACHE_FILES; i++)
		link_init(&cache->files[i]);
	pthread_mutex_init(&cache->room, NULL);
	pthread_cond_init(&cache->repaid, NULL);
	cache->loan_max = SIZE_MAX;
	cache->reserve.make_room = make_room;
	cache->reserve.arg = cache;
	cache->reserve.max = b2f_max_u64(cache->max_bytes, RESERVE_MIN);
	b2f_cache_buffers_init(cache);
}

void b2f_cache_room_fini(struct b2f_cache *cache)
{
	if (cache->parked)
		b2f_cache_buffer_free(cache, cache->parked);
	trash_empty(cache, &cache->probation);
	trash_empty(cache, &cache->protected);
	trash_empty(cache, &cache->passed);
	trash_empty(cache, &cache->spare);
	b2f_cache_buffers_fini(cache);
	pthread_cond_destroy(&cache->repaid);
	pthread_mutex_destroy(&cache->room);
}
