/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_priv.h - between the source files of a transaction
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_PRIV_H
#define B2F_FRAME_TXN_PRIV_H

#include <stdlib.h>

#include <uthash.h>

#include "frame/txn.h"

/* A file that was written here. */
struct b2f_new_chunk {
	/* Its id, a pending one's: the key. */
	uint32_t id;
	uint32_t cbytes;
	/* The commit under way names it. */
	bool frozen;
	/* The index on disk names it. */
	bool committed;
	/*
	 * Its data have to be written to another file: it could not be made
	 * durable, or another program has taken its id.
	 */
	bool bad;
	/* Replaced while the commit under way still needs the entry. */
	bool dropped;
	UT_hash_handle hh;
};

/*
 * In the lists of a commit: the file could not be made durable, or has not got
 * its name.
 */
#define B2F_TXN_FAILED (UINT64_C(1) << 63)

/* It changes the version of the frame that @generation belongs to, or none. */
void b2f_txn_belong(struct b2f_txn *txn, struct b2f_generation *generation);

/* The file of @raw if it was written here, or NULL. */
static inline struct b2f_new_chunk *b2f_txn_find(const struct b2f_txn *txn,
						  uint64_t raw)
{
	uint32_t id = (uint32_t)b2f_txn_id(raw);
	struct b2f_new_chunk *chunk;

	HASH_FIND(hh, txn->fresh, &id, sizeof(id), chunk);
	return chunk;
}

static inline void b2f_txn_forget(struct b2f_txn *txn,
				   struct b2f_new_chunk *chunk)
{
	txn->nbad -= chunk->bad;
	HASH_DEL(txn->fresh, chunk);
	free(chunk);
}

static inline void b2f_txn_set_bad(struct b2f_txn *txn,
				    struct b2f_new_chunk *chunk)
{
	txn->nbad += !chunk->bad;
	chunk->bad = true;
}

#endif
