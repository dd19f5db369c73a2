/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_priv.h - shared by the files of the cache alone
 *
 * cache.c is the table: it finds, loads, pins and forgets entries.
 * cache_evict.c is the memory: it counts bytes, decides what goes, and keeps
 * buffers for the next entry.  cache_buffer.c allocates the buffers of entries.
 * cache_loan.c lends memory for large buffers.  cache_ghost.c remembers the
 * keys of evicted entries.
 *
 * Locks, in this order:
 *
 *   room     one.  Queues, byte counts, spare buffers, lists of files.  Taken
 *            by misses only; a miss costs a decoding, so it is not contended.
 *   stripe   many, each over a part of the table.  The only lock of a hit.
 *
 * References: the table holds one to each entry in it, each caller and loader
 * one more.  New references are only taken under the stripe's lock, so an entry
 * in the table that has exactly one under that lock is idle and stays so.
 *
 * Layer: run.  May include: base/.
 */
#ifndef B2F_RUN_CACHE_PRIV_H
#define B2F_RUN_CACHE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "run/arena.h"
#include "run/cache.h"

#define B2F_CACHE_ALIGN 64

/* Enough that 16 threads seldom meet; a power of two. */
#define B2F_CACHE_STRIPES 128

/* Lists of entries by file; a power of two. */
#define B2F_CACHE_FILES 1024

/*
 * Places that a ghost may take; the oldest ghost there makes way.  A power of
 * two.
 */
#define B2F_CACHE_GHOST_SET 4

enum b2f_cache_state {
	B2F_CACHE_LOADING,
	B2F_CACHE_LOADED,
	B2F_CACHE_FAILED,
};

/* How much an entry is used; cache_evict.c has the table. */
enum b2f_cache_heat {
	B2F_CACHE_COLD,
	B2F_CACHE_WARM,
	B2F_CACHE_HOT,
	/* Loaded for one sequential reader. */
	B2F_CACHE_PASSING,
	/* The sequential reader has passed it. */
	B2F_CACHE_PASSED,
};

struct b2f_cache_link {
	struct b2f_cache_link *prev;
	struct b2f_cache_link *next;
};

/* A FIFO; new entries come in at the head.  Protected by the room lock. */
struct b2f_cache_queue {
	struct b2f_cache_link ends;
	size_t nbytes;
	size_t nentries;
};

struct b2f_cache_entry {
	/* Next in the bucket.  Protected by the stripe's lock. */
	struct b2f_cache_entry *next;
	/* Const. */
	struct b2f_cache_key key;
	uint64_t hash;
	size_t size;
	/* Bytes this entry counts for, buffer and bookkeeping.  Const. */
	size_t charge;
	/* Written by the loader, before the state says so. */
	uint8_t *data;
	_Atomic unsigned int nrefs;
	/* An enum b2f_cache_heat; a hint, so races are harmless. */
	_Atomic unsigned char heat;
	/* The cache's clock when it became warm or passed; a hint, too. */
	_Atomic uint64_t since;
	/* The next four are protected by the stripe's lock. */
	enum b2f_cache_state state;
	/* Error of a failed load. */
	int err;
	/* Still in its bucket: the table holds a reference. */
	bool in_table;
	/* Bigger than the whole cache: in no queue.  Const. */
	bool oversize;
	/* The next three are protected by the room lock. */
	struct b2f_cache_queue *queue;
	struct b2f_cache_link in_queue;
	struct b2f_cache_link in_file;
};

struct b2f_cache_stripe {
	_Alignas(B2F_CACHE_ALIGN) pthread_mutex_t lock;
	/* A load of this stripe has ended. */
	pthread_cond_t loaded;
	/* Written under @lock. */
	_Atomic uint64_t hits;
	_Atomic uint64_t misses;
	_Atomic uint64_t waits;
};

/* A key that was evicted a while ago.  Protected by the room lock. */
struct b2f_cache_ghost {
	uint64_t hash;
	/* The cache's clock at the eviction; 0: the place is free. */
	uint64_t since;
};

struct b2f_cache {
	/* Const after b2f_cache_new(). */
	size_t max_bytes;
	uint64_t bucket_mask;
	uint64_t ghost_mask;
	struct b2f_cache_entry **buckets;
	struct b2f_cache_ghost *ghosts;
	/*
	 * @passing: entries that a sequential reader loads.  @large: other
	 * entries large enough for huge pages.  Under @room.
	 */
	struct b2f_arena passing;
	struct b2f_arena large;

	_Atomic uint64_t next_file;
	/* Bytes loaded so far: time as the cache sees it. */
	_Atomic uint64_t clock;
	/* Sum of the charges that must fit.  Written under @room. */
	_Atomic size_t nbytes;

	/* Const after b2f_cache_bound_loans(). */
	size_t loan_max;
	/* Memory of the cache that is in use elsewhere. */
	struct b2f_reserve reserve;

	pthread_mutex_t room;
	/*
	 * All loans together.  Protected by @room, like all fields down to
	 * @files.
	 */
	struct b2f_cache_loan lent;
	/* Loans were repaid, or the limit of loans has grown. */
	pthread_cond_t repaid;
	size_t oversize_nbytes;
	/* The oversize entry that was used last and is kept, or NULL. */
	struct b2f_cache_entry *parked;
	/* The clock when it was parked. */
	uint64_t parked_since;
	size_t nentries;
	uint64_t evictions;
	struct b2f_cache_queue probation;
	struct b2f_cache_queue protected;
	/* Entries in the state B2F_CACHE_PASSED: reused first. */
	struct b2f_cache_queue passed;
	struct b2f_cache_queue spare;
	struct b2f_cache_link files[B2F_CACHE_FILES];

	struct b2f_cache_stripe stripes[B2F_CACHE_STRIPES];
};

static inline struct b2f_cache_stripe *
b2f_cache_stripe_of(struct b2f_cache *cache, uint64_t hash)
{
	return &cache->stripes[hash & (B2F_CACHE_STRIPES - 1)];
}

/* Takes @entry out of its bucket; the caller owns the table's reference now. */
void b2f_cache_unlink(struct b2f_cache *cache, struct b2f_cache_entry *entry);

/* Makes queues, spare buffers and lists of files empty. */
void b2f_cache_room_init(struct b2f_cache *cache);

/* Frees all that is left in the queues. */
void b2f_cache_room_fini(struct b2f_cache *cache);

/* cache_ghost.c */

/* Remembers that the key of @hash was evicted.  The room lock is held. */
void b2f_cache_ghost_leave(struct b2f_cache *cache, uint64_t hash);

/*
 * Forgets the ghost of @hash; true if it was there and less than a cache old.
 * The room lock is held.
 */
bool b2f_cache_ghost_take(struct b2f_cache *cache, uint64_t hash);

/* cache_evict.c */

/*
 * Makes room for the new @entry, counts it and gives it a buffer.  Returns 0 or
 * -ENOMEM; @entry is counted in both cases, until b2f_cache_retire().
 */
B2F_MUST_CHECK
int b2f_cache_admit(struct b2f_cache *cache, struct b2f_cache_entry *entry);

/* Gives back a reference to the oversize @entry, which is kept for a while. */
void b2f_cache_park(struct b2f_cache *cache, struct b2f_cache_entry *entry);

/* Gives up @entry, whose last reference is gone. */
void b2f_cache_retire(struct b2f_cache *cache, struct b2f_cache_entry *entry);

/* Evicts until the bytes fit, or the rest is in use.  No lock is held. */
void b2f_cache_trim(struct b2f_cache *cache);

/* The reader of @entry, which is pinned, has passed it. */
void b2f_cache_pass(struct b2f_cache *cache, struct b2f_cache_entry *entry);

/* Notes a use of @entry, which was in the cache. */
void b2f_cache_warm(struct b2f_cache *cache, struct b2f_cache_entry *entry);

#endif
