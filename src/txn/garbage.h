/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * garbage.h - chunks of a transaction that no index names, or soon none
 *
 * Layer: txn.  Threads: as txn.h.
 */
#ifndef B2F_TXN_GARBAGE_H
#define B2F_TXN_GARBAGE_H

#include "txn/protocol.h"

enum b2f_delete {
	/* Files that no index has named. */
	B2F_DELETE_PENDING,
	/* Also retired files that are old enough. */
	B2F_DELETE_DUE,
	/* Also younger ones, if no loss of power brings their index back. */
	B2F_DELETE_ALL,
};

/*
 * Begins to delete files that no state names any more; false if there are none,
 * or it is too early.  Call b2f_txn_delete() once the readers that had the old
 * entries have left, and then b2f_txn_end_delete().
 */
B2F_MUST_CHECK
bool b2f_txn_begin_delete(struct b2f_txn *txn, enum b2f_delete what);

/*
 * Deletes them; retired files only if the index is still the one that @txn
 * knows, and no other program has locked it.  Needs no lock, but no commit may
 * be under way.  Writes files.  Returns whether it did.
 */
B2F_MUST_CHECK
static inline bool b2f_txn_delete(struct b2f_txn *txn)
{
	return txn->protocol->delete(txn);
}

/* Files that were not @deleted are tried again later. */
void b2f_txn_end_delete(struct b2f_txn *txn, bool deleted);

/* Counts the file replaced last as replaced by the commit under way. */
void b2f_garbage_patch(struct b2f_txn *txn);

/* After a commit: retires the files it replaced; _replace() adds @id before. */
void b2f_garbage_retire(struct b2f_txn *txn);
void b2f_garbage_replace(struct b2f_txn *txn, uint64_t id);

/* After a commit that was not installed: its new files are pending. */
void b2f_garbage_refuse(struct b2f_txn *txn);

/*
 * Chunk ids in the sorted list @used, which the index names again, are no
 * longer retired.
 */
void b2f_garbage_keep(struct b2f_txn *txn, const struct b2f_ids *used);

/* Is it certain that no loss of power brings back an index of dying files? */
bool b2f_garbage_may_go(const struct b2f_txn *txn);

void b2f_garbage_fini(struct b2f_garbage *garbage);

int64_t b2f_realtime_ns(void);

/* sparse_garbage.c: steps of struct b2f_protocol for a sparse frame. */
B2F_MUST_CHECK
int b2f_sparse_begin(struct b2f_txn *txn, struct b2f_why *why);
B2F_MUST_CHECK
bool b2f_sparse_delete(struct b2f_txn *txn);
void b2f_sparse_end(struct b2f_txn *txn);

#endif
