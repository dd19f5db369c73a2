/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.c - decoded pieces of files, shared by all readers of one process */
#include "base/waiting.h"
#include "run/cache_buffer.h"
#include "run/cache_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * One bucket for this many bytes: chains stay short down to entries of this
 * size, and the tables (24 bytes per bucket, 16 of them for a ghost) take 0.6 %
 * of the cache.
 */
#define BUCKET_BYTES 4096
#define BUCKETS_MIN  B2F_CACHE_STRIPES
#define BUCKETS_MAX  ((size_t)1 << 22)

_Static_assert(BUCKETS_MIN % B2F_CACHE_STRIPES == 0,
	       "a bucket must belong to one stripe");

/* Spreads every bit of @x over the low and the high bits. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 29;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static uint64_t hash_of(const struct b2f_cache_key *key)
{
	return mix(mix(mix(key->file) + key->item) + key->unit);
}

static bool same_key(const struct b2f_cache_key *a,
		     const struct b2f_cache_key *b)
{
	return a->item == b->item && a->unit == b->unit && a->file == b->file;
}

/* The entry of @key in the table, or NULL.  The stripe's lock is held. */
static struct b2f_cache_entry *find(struct b2f_cache *cache, uint64_t hash,
				    const struct b2f_cache_key *key)
{
	struct b2f_cache_entry *entry;

	entry = cache->buckets[hash & cache->bucket_mask];
	while (entry && !(entry->hash == hash && same_key(&entry->key, key)))
		entry = entry->next;
	return entry;
}

/* A new entry in the table, for the caller to load.  The lock is held. */
static struct b2f_cache_entry *insert(struct b2f_cache *cache, uint64_t hash,
				      const struct b2f_cache_key *key,
				      size_t size, bool passing)
{
	struct b2f_cache_entry **bucket;
	struct b2f_cache_entry *entry;
	size_t charge = b2f_cache_charge(size);

	if (charge == 0)
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = *key;
	entry->hash = hash;
	entry->size = size;
	entry->charge = charge;
	entry->oversize = charge > cache->max_bytes;
	entry->state = B2F_CACHE_LOADING;
	atomic_init(&entry->heat,
		    passing ? B2F_CACHE_PASSING : B2F_CACHE_COLD);
	/* The table has one reference, and the caller the other. */
	atomic_init(&entry->nrefs, 2);

	bucket = &cache->buckets[hash & cache->bucket_mask];
	entry->next = *bucket;
	*bucket = entry;
	entry->in_table = true;
	return entry;
}

void b2f_cache_unlink(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	struct b2f_cache_entry **link;

	link = &cache->buckets[entry->hash & cache->bucket_mask];
	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	entry->in_table = false;
}

static void ref_set(struct b2f_cache_ref *ref, struct b2f_cache_entry *entry)
{
	ref->data = entry->data;
	ref->size = entry->size;
	ref->entry = entry;
	ref->loan = (struct b2f_cache_loan){0};
}

static void unpin(struct b2f_cache *cache, struct b2f_cache_entry *entry)
{
	if (entry->oversize) {
		b2f_cache_park(cache, entry);
		return;
	}
	/* Without a reference @entry may be gone: do not look at it again. */
	if (atomic_fetch_sub(&entry->nrefs, 1) == 1)
		b2f_cache_retire(cache, entry);
	else if (atomic_load(&cache->nbytes) > cache->max_bytes)
		b2f_cache_trim(cache);
}

/* Tells all threads that wait for @entry how its load ended. */
static void publish(struct b2f_cache *cache, struct b2f_cache_entry *entry,
		    int err)
{
	struct b2f_cache_stripe *stripe =
		b2f_cache_stripe_of(cache, entry->hash);
	B2F_HOLD(&stripe->lock);

	entry->err = err;
	entry->state = err ? B2F_CACHE_FAILED : B2F_CACHE_LOADED;
	if (err && entry->in_table) {
		b2f_cache_unlink(cache, entry);
		atomic_fetch_sub(&entry->nrefs, 1);
	}
	pthread_cond_broadcast(&stripe->loaded);
}

/* Adds to a counter of a stripe, which is locked; readers of it do not lock. */
static void count(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, now + n, memory_order_relaxed);
}

/*
 * Waits until @entry, pinned, is loaded, or the request is cancelled.  The
 * stripe's lock is held.
 */
static int wait_loaded(struct b2f_cache_stripe *stripe,
		       struct b2f_cache_entry *entry)
{
	count(&stripe->waits, 1);
	while (entry->state == B2F_CACHE_LOADING)
		if (!b2f_waiting_wait(&stripe->loaded, &stripe->lock))
			return -EINTR;
	return entry->err;
}

int b2f_cache_new(size_t max_bytes, struct b2f_cache **out)
{
	struct b2f_cache *cache = NULL;
	size_t nbuckets = BUCKETS_MIN;
	int err = -ENOMEM;

	if (max_bytes == 0)
		return -EINVAL;
	while (nbuckets < max_bytes / BUCKET_BYTES && nbuckets < BUCKETS_MAX)
		nbuckets *= 2;
	cache = aligned_alloc(B2F_CACHE_ALIGN, sizeof(*cache));
	if (!cache)
		goto out;
	memset(cache, 0, sizeof(*cache));
	cache->max_bytes = max_bytes;
	cache->bucket_mask = nbuckets - 1;
	cache->ghost_mask = nbuckets - 1;
	atomic_init(&cache->next_file, 1);
	b2f_cache_room_init(cache);
	for (int i = 0; i < B2F_CACHE_STRIPES; i++) {
		pthread_mutex_init(&cache->stripes[i].lock, NULL);
		pthread_cond_init(&cache->stripes[i].loaded, NULL);
	}
	cache->buckets = calloc(nbuckets, sizeof(cache->buckets[0]));
	cache->ghosts = calloc(nbuckets, sizeof(cache->ghosts[0]));
	if (!cache->buckets || !cache->ghosts)
		goto out;
	*out = cache;
	cache = NULL; /* now the caller's */
	err = 0;
out:
	b2f_cache_free(cache);
	return err;
}

void b2f_cache_free(struct b2f_cache *cache)
{
	if (!cache)
		return;
	assert(cache->nentries == cache->probation.nentries +
					  cache->protected.nentries +
					  cache->passed.nentries +
					  (cache->parked != NULL));
	b2f_cache_room_fini(cache);
	for (int i = 0; i < B2F_CACHE_STRIPES; i++) {
		pthread_cond_destroy(&cache->stripes[i].loaded);
		pthread_mutex_destroy(&cache->stripes[i].lock);
	}
	free(cache->ghosts);
	free(cache->buckets);
	free(cache);
}

uint64_t b2f_cache_new_file(struct b2f_cache *cache)
{
	return atomic_fetch_add(&cache->next_file, 1);
}

/*
 * Like b2f_cache_get(), but takes no loan: the caller has one if needed.  Sets
 * *@waited if another thread loaded the entry.
 */
static int get(struct b2f_cache *cache, const struct b2f_cache_key *key,
	       size_t size, const struct b2f_cache_loader *loader,
	       struct b2f_cache_ref *out, bool *waited)
{
	uint64_t hash = hash_of(key);
	struct b2f_cache_stripe *stripe = b2f_cache_stripe_of(cache, hash);
	struct b2f_cache_entry *entry;
	int err = 0;

	assert(key->file != 0 && size > 0);
	pthread_mutex_lock(&stripe->lock);
	entry = find(cache, hash, key);
	if (entry && entry->size != size) {
		pthread_mutex_unlock(&stripe->lock);
		return -ESTALE;
	}
	if (entry) {
		atomic_fetch_add(&entry->nrefs, 1);
		if (entry->state == B2F_CACHE_LOADED) {
			b2f_cache_warm(cache, entry);
			count(&stripe->hits, 1);
		} else {
			*waited = true;
			err = wait_loaded(stripe, entry);
		}
		pthread_mutex_unlock(&stripe->lock);
	} else {
		count(&stripe->misses, 1);
		entry = insert(cache, hash, key, size, loader->passing);
		pthread_mutex_unlock(&stripe->lock);
		if (!entry)
			return -ENOMEM;
		err = b2f_cache_admit(cache, entry);
		if (!err)
			err = loader->load(loader->arg, &entry->key,
					   entry->data, size);
		publish(cache, entry, err);
	}
	if (err)
		unpin(cache, entry);
	else
		ref_set(out, entry);
	return err;
}

/* Like get(), but loads again if the loading thread was cancelled. */
static int get_wanted(struct b2f_cache *cache, const struct b2f_cache_key *key,
		      size_t size, const struct b2f_cache_loader *loader,
		      struct b2f_cache_ref *out)
{
	bool waited;
	int err;

	do {
		waited = false;
		err = get(cache, key, size, loader, out, &waited);
	} while (err == -EINTR && waited && !b2f_patience_is_over());
	return err;
}

int b2f_cache_get(struct b2f_cache *cache, const struct b2f_cache_key *key,
		  size_t size, const struct b2f_cache_loader *loader,
		  struct b2f_cache_ref *out)
{
	struct b2f_cache_loan loan = {0};
	/*
	 * A reader may pin several small entries and then ask for a loan: only
	 * a large entry keeps its loan while it is pinned.
	 */
	size_t keep = size > B2F_CACHE_LARGE ? size : 0;
	int err = 0;

	if (!loader->has_loan)
		err = b2f_cache_lend(cache, size, loader->beside, true, &loan);
	if (!err)
		err = get_wanted(cache, key, size, loader, out);
	b2f_cache_repay(cache, &loan, err ? 0 : keep);
	if (!err)
		out->loan = loan;
	return err;
}

bool b2f_cache_claim(struct b2f_cache *cache, const struct b2f_cache_key *key,
		     size_t size, bool passing, struct b2f_cache_claim *out)
{
	uint64_t hash = hash_of(key);
	struct b2f_cache_stripe *stripe = b2f_cache_stripe_of(cache, hash);
	struct b2f_cache_entry *entry = NULL;

	assert(key->file != 0 && size > 0);
	if (size > B2F_CACHE_LARGE)
		return false;
	pthread_mutex_lock(&stripe->lock);
	if (!find(cache, hash, key))
		entry = insert(cache, hash, key, size, passing);
	count(&stripe->misses, entry != NULL);
	pthread_mutex_unlock(&stripe->lock);
	if (!entry)
		return false;
	*out = (struct b2f_cache_claim){.size = size, .entry = entry};
	if (b2f_cache_admit(cache, entry)) {
		b2f_cache_settle(cache, out, -ENOMEM);
		return false;
	}
	out->data = entry->data;
	return true;
}

void b2f_cache_settle(struct b2f_cache *cache, struct b2f_cache_claim *claim,
		      int err)
{
	publish(cache, claim->entry, err);
	unpin(cache, claim->entry);
	*claim = (struct b2f_cache_claim){.data = NULL};
}

bool b2f_cache_peek(struct b2f_cache *cache, const struct b2f_cache_key *key,
		    size_t size, struct b2f_cache_ref *out)
{
	uint64_t hash = hash_of(key);
	struct b2f_cache_stripe *stripe = b2f_cache_stripe_of(cache, hash);
	struct b2f_cache_entry *entry;
	struct b2f_cache_loan loan;
	bool found;

	if (b2f_cache_lend(cache, size, 0, false, &loan))
		return false;
	pthread_mutex_lock(&stripe->lock);
	entry = find(cache, hash, key);
	found = entry && entry->size == size &&
		entry->state == B2F_CACHE_LOADED;
	if (found) {
		atomic_fetch_add(&entry->nrefs, 1);
		b2f_cache_warm(cache, entry);
		count(&stripe->hits, 1);
		ref_set(out, entry);
		out->loan = loan;
	}
	pthread_mutex_unlock(&stripe->lock);
	if (!found)
		b2f_cache_repay(cache, &loan, 0);
	return found;
}

bool b2f_cache_has(struct b2f_cache *cache, const struct b2f_cache_key *key)
{
	uint64_t hash = hash_of(key);
	struct b2f_cache_stripe *stripe = b2f_cache_stripe_of(cache, hash);
	B2F_HOLD(&stripe->lock);

	return find(cache, hash, key) != NULL;
}

void b2f_cache_put(struct b2f_cache *cache, struct b2f_cache_ref *ref)
{
	if (ref->entry)
		unpin(cache, ref->entry);
	b2f_cache_repay(cache, &ref->loan, 0);
	*ref = (struct b2f_cache_ref){.data = NULL};
}

void b2f_cache_put_passed(struct b2f_cache *cache, struct b2f_cache_ref *ref)
{
	struct b2f_cache_entry *entry = ref->entry;

	if (entry && atomic_load(&entry->heat) == B2F_CACHE_PASSING)
		b2f_cache_pass(cache, entry);
	b2f_cache_put(cache, ref);
}

void b2f_cache_stats_get(struct b2f_cache *cache, struct b2f_cache_stats *out)
{
	*out = (struct b2f_cache_stats){.hits = 0};
	for (int i = 0; i < B2F_CACHE_STRIPES; i++) {
		struct b2f_cache_stripe *stripe = &cache->stripes[i];

		out->hits += atomic_load(&stripe->hits);
		out->misses += atomic_load(&stripe->misses);
		out->waits += atomic_load(&stripe->waits);
	}
	B2F_HOLD(&cache->room);
	out->evictions = cache->evictions;
	out->bytes = atomic_load(&cache->nbytes) + cache->oversize_nbytes;
	out->entries = cache->nentries;
}
