/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache.h - decoded pieces of files, shared by all readers of one process
 *
 * An entry holds some bytes under a key (file, item, unit).  The cache does not
 * know their meaning: on a miss it calls the loader that the caller passes in.
 * It owns the whole life of an entry (allocate, load, publish, evict), so no
 * caller can leave one half made.
 *
 * Only clean bytes live here, so eviction can never lose data.
 *
 * Layer: run.  May include: base/.
 *
 * Threads: every function may be called from any thread, except
 * b2f_cache_free().  No lock is held while a loader runs, so a loader may take
 * its own locks and may block on I/O; it must not ask this cache for its own
 * key, nor wait for a thread that does.
 */
#ifndef B2F_RUN_CACHE_H
#define B2F_RUN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/reserve.h"

struct b2f_cache;

/* Names some bytes.  Two equal keys always mean the same bytes. */
struct b2f_cache_key {
	/* From b2f_cache_new_file(); never 0. */
	uint64_t file;
	/* The part of the file, and the unit of that part. */
	uint64_t item;
	uint32_t unit;
};

/* Entries above this size are large: see b2f_cache_lend(). */
#define B2F_CACHE_LARGE ((size_t)4 << 20)

/* Memory that the cache has lent: see b2f_cache_lend(). */
struct b2f_cache_loan {
	/* All lent bytes. */
	size_t bytes;
	/* The part of @bytes that is outside of entries. */
	size_t beside;
};

/*
 * Pinned bytes: @data stays valid and unchanged until b2f_cache_put().
 * Zero-initialize it; a zero @entry means "holds nothing".
 */
struct b2f_cache_ref {
	const uint8_t *data;
	/* Bytes at @data. */
	size_t size;
	/* Private to the cache. */
	void *entry;
	struct b2f_cache_loan loan;
};

/*
 * Writes the bytes of @key into @dst, which has room for exactly @size bytes.
 * @dst is aligned to 64 bytes and holds garbage.  For one key at most one
 * loader runs at a time, except beside one whose file was dropped meanwhile.
 *
 * Returns 0 if all @size bytes were written, or a negative error, and the cache
 * throws @dst away.
 */
typedef int b2f_cache_load_fn(void *arg, const struct b2f_cache_key *key,
			      uint8_t *dst, size_t size);

struct b2f_cache_loader {
	b2f_cache_load_fn *load;
	void *arg;
	/* For one sequential reader: see b2f_cache_put_passed(). */
	bool passing;
	/* Bytes that @load needs while it runs, beside the entry. */
	size_t beside;
	/* The caller has a loan for the entry and for @beside. */
	bool has_loan;
};

struct b2f_cache_stats {
	uint64_t hits;
	/* Calls that had to load. */
	uint64_t misses;
	/* Calls that waited for the load of another call. */
	uint64_t waits;
	uint64_t evictions;
	/*
	 * Bytes of all entries now, pinned and loading ones included, with
	 * rounded-up buffers (by at most an eighth).
	 */
	uint64_t bytes;
	uint64_t entries;
};

/*
 * Creates a cache that keeps up to @max_bytes, bookkeeping of an entry
 * included.  Pinned and loading entries count but are never evicted, so use can
 * exceed @max_bytes by what callers hold.  The buffer of an evicted entry is
 * used again for the next entry of about its size, so a steady stream neither
 * allocates nor touches fresh pages; buffers that wait for that are within
 * @max_bytes too.  Entries that are read once, in order, do not evict entries
 * that are read again and again, and let the cache grow only by 1/16 of
 * @max_bytes (b2f_cache_put_passed()).  Tables take 0.6 % of @max_bytes
 * besides.  Free *@out with b2f_cache_free().
 *
 * Returns 0, -EINVAL (@max_bytes is 0) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_cache_new(size_t max_bytes, struct b2f_cache **out);

/*
 * Bounds all loans together by @max_bytes; without this call there is no bound.
 * Call it before any other thread uses the cache.
 */
void b2f_cache_bound_loans(struct b2f_cache *cache, size_t max_bytes);

/* The bound; SIZE_MAX if there is none. */
size_t b2f_cache_loan_max(const struct b2f_cache *cache);

/*
 * Memory of the cache for another use: up to its size, and at least 32 MiB; the
 * cache evicts as much as is in use.  Loans get the rest, but one loan alone up
 * to the bound of all.
 */
struct b2f_reserve *b2f_cache_reserve(struct b2f_cache *cache);

/*
 * Lends memory for large buffers: @size bytes that are going to be an entry,
 * and @beside bytes for another use.  They count against the size of the cache,
 * which evicts as much.  With @wait, waits until others have repaid enough.
 * Buffers that are not large are not counted, and neither is anything in a
 * cache without a bound; *@out is zero then.
 *
 * A caller that has a loan must not ask for another one, nor pin a large entry
 * without loader->has_loan: two such callers would wait for each other.
 *
 * Returns 0, -EAGAIN (not enough memory now), -EFBIG (never enough), or -EINTR
 * (the request was cancelled while it waited).
 */
B2F_MUST_CHECK
int b2f_cache_lend(struct b2f_cache *cache, size_t size, size_t beside,
		   bool wait, struct b2f_cache_loan *out);

/* Takes @loan back, all but @keep bytes.  A zero @loan does nothing. */
void b2f_cache_repay(struct b2f_cache *cache, struct b2f_cache_loan *loan,
		     size_t keep);

/* Frees @cache.  NULL does nothing.  It is a bug if an entry is pinned. */
void b2f_cache_free(struct b2f_cache *cache);

/* Returns a file number that no other caller has, for struct b2f_cache_key. */
uint64_t b2f_cache_new_file(struct b2f_cache *cache);

/*
 * Pins @key, of @size (> 0) bytes, in *@out.  On a miss runs @loader; other
 * threads that ask for @key meanwhile wait for that result instead of loading
 * it again.  If an entry is larger than the whole cache, the last such entry is
 * kept beside all others for a short time, so that a reader that goes through
 * it piece by piece loads it once.
 *
 * An entry that is large together with loader->beside takes a loan
 * (b2f_cache_lend()) until it is loaded; an entry that is large by itself has
 * one until it is unpinned.
 *
 * A failed load leaves nothing behind: every thread that waited gets the error,
 * and the next call loads again.  (Remembering errors would turn one EINTR or
 * ENOMEM into a broken file until remount.)
 *
 * Returns 0, -ENOMEM, -ESTALE (the entry has another size: the bytes of @key
 * have changed since), -EFBIG or -EINTR (as b2f_cache_lend()), or what @loader
 * returned.
 */
B2F_MUST_CHECK
int b2f_cache_get(struct b2f_cache *cache, const struct b2f_cache_key *key,
		  size_t size, const struct b2f_cache_loader *loader,
		  struct b2f_cache_ref *out);

/* Room for the bytes of an entry that its claimer loads. */
struct b2f_cache_claim {
	uint8_t *data;
	size_t size;
	/* Private to the cache. */
	void *entry;
};

/*
 * The miss of b2f_cache_get() in two steps, for a caller that loads several
 * entries at once: from the claim on, other threads that ask for @key wait for
 * b2f_cache_settle(), which has to follow.  A caller with a claim must not ask
 * for an entry claimed by a thread that may wait for this claim.
 *
 * Returns false if the entry exists or is being loaded, if there is no memory,
 * or if it is large.
 */
B2F_MUST_CHECK
bool b2f_cache_claim(struct b2f_cache *cache, const struct b2f_cache_key *key,
		     size_t size, bool passing, struct b2f_cache_claim *out);

/* Ends @claim: publishes its bytes, or reports @err to the waiting threads. */
void b2f_cache_settle(struct b2f_cache *cache, struct b2f_cache_claim *claim,
		      int err);

/*
 * Pins @key in *@out if it is loaded, of @size bytes, and, if large, can have a
 * loan without waiting.  Returns whether it did.  A miss is not counted.
 */
B2F_MUST_CHECK
bool b2f_cache_peek(struct b2f_cache *cache, const struct b2f_cache_key *key,
		    size_t size, struct b2f_cache_ref *out);

/* Is @key loaded or being loaded?  For readahead, a hint only. */
bool b2f_cache_has(struct b2f_cache *cache, const struct b2f_cache_key *key);

/* Unpins @ref and zeroes it.  A zeroed @ref does nothing. */
void b2f_cache_put(struct b2f_cache *cache, struct b2f_cache_ref *ref);

/*
 * Like b2f_cache_put(), for a sequential reader that has got the last byte of
 * @ref, with no other reader behind it.  If the loader was for such a reader,
 * the entry's buffer is the first to be used again, though not at once:
 * requests come a little out of order, and small files are read again.
 */
void b2f_cache_put_passed(struct b2f_cache *cache, struct b2f_cache_ref *ref);

/*
 * Forgets every entry of @file: the next call for one loads it.  Pinned and
 * loading entries go at their last b2f_cache_put(), and threads that already
 * wait for a load get it.  Call it when the file is closed or has changed.
 */
void b2f_cache_drop_file(struct b2f_cache *cache, uint64_t file);

/* Frees the buffers that wait for new entries. */
void b2f_cache_free_spares(struct b2f_cache *cache);

void b2f_cache_stats_get(struct b2f_cache *cache, struct b2f_cache_stats *out);

#endif
