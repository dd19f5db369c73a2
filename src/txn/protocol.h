/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * protocol.h - how a transaction changes the place that its frame is in
 *
 * docs/commit.md describes the protocols of a directory (3) and a file (8),
 * docs/internals.md that of an object store.
 *
 * Layer: txn.  Threads: as txn.h; b2f_txn_lock_out() and _let_in() any.
 */
#ifndef B2F_TXN_PROTOCOL_H
#define B2F_TXN_PROTOCOL_H

#include "txn/txn_commit.h"

struct b2f_protocol {
	/* See struct b2f_store. */
	bool is_shared;
	/* Looks at the frame, before any change.  Returns 0 or an errno. */
	int (*begin)(struct b2f_txn *txn, struct b2f_why *why);
	/*
	 * Called before a chunk is written where other programs may write; see
	 * b2f_txn_disk_claim().  NULL: each chunk has a file.
	 */
	int (*claim)(struct b2f_txn *txn, struct b2f_why *why);
	/*
	 * Finds an id for a new chunk of @size bytes.  Returns as
	 * b2f_txn_new_id().
	 */
	int (*number)(struct b2f_txn *txn, uint64_t size, uint64_t *id);
	/* Like b2f_txn_write(), but logs nothing. */
	int (*write)(struct b2f_txn *txn, struct b2f_commit *commit,
		     struct b2f_why *why);
	/* Like b2f_txn_has_changed(). */
	int (*has_changed)(const struct b2f_txn *txn);
	/* Like b2f_txn_delete(). */
	bool (*delete)(struct b2f_txn *txn);
	/* Deletes all chunks that are not committed any more, or not yet. */
	void (*end)(struct b2f_txn *txn);
};

extern const struct b2f_protocol b2f_sparse_protocol;
extern const struct b2f_protocol b2f_single_protocol;
extern const struct b2f_protocol b2f_bucket_protocol;

/*
 * Keeps out programs that use the locks of C-Blosc2, until b2f_txn_let_in().
 * May be nested, in any thread.  Returns 0, -EAGAIN (after @wait_ms), or an
 * errno of b2f_lock_acquire().
 */
B2F_MUST_CHECK
int b2f_txn_lock_out(struct b2f_txn *txn, uint32_t wait_ms,
		      struct b2f_why *why);
void b2f_txn_let_in(struct b2f_txn *txn);

/*
 * In a shared store, which has no locks: waits a random time before attempt
 * @try to commit, so that one of several writers comes through.
 */
void b2f_txn_give_way(const struct b2f_txn *txn, unsigned int try);

/*
 * Returns the number by which the length of the next index goes beyond that of
 * the last one: 0 if that was ours, otherwise a random number, because readers
 * without locks may still have an older index of ours.
 */
uint32_t b2f_txn_len_draw(const struct b2f_txn *txn);

/* The type of @place in struct b2f_index_parts; @txn is its argument. */
typedef uint64_t b2f_txn_place_fn(const void *txn, uint64_t i, uint64_t raw);

/* b2f_frame_may_seal() for an index of @state. */
bool b2f_txn_may_seal(const struct b2f_txn *txn,
		      const struct b2f_txn_state *state);

/*
 * Makes the bytes of the index of @commit; of a contiguous frame @place gives
 * the places of the chunks (index/index_write.h); of other frames it is NULL.
 * Returns as b2f_index_write().
 */
B2F_MUST_CHECK
int b2f_txn_make_index(struct b2f_txn *txn, const struct b2f_commit *commit,
			b2f_txn_place_fn *place, uint8_t **out, size_t *size,
			struct b2f_why *why);

/* Steps that the protocols of directory and bucket share. */
B2F_MUST_CHECK
int b2f_sparse_write(struct b2f_txn *txn, struct b2f_commit *commit,
		     struct b2f_why *why);
B2F_MUST_CHECK
int b2f_sparse_has_changed(const struct b2f_txn *txn);

#endif
