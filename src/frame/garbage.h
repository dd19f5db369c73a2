/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * garbage.h - chunks of a transaction that no index names, or soon none
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_GARBAGE_H
#define B2F_FRAME_GARBAGE_H

#include "frame/protocol.h"

enum b2f_delete {
	/* Files that no index has named. */
	B2F_DELETE_PENDING,
	/* Also those that retired, and are old enough. */
	B2F_DELETE_DUE,
	/* Also younger ones, if no loss of power brings their index back. */
	B2F_DELETE_ALL,
};

/*
 * Begins to delete files that no state names any more; false if there are none,
 * or it is not the time.  Call b2f_txn_delete() once the readers have left that
 * had the entries before, and then b2f_txn_end_delete().
 */
B2F_MUST_CHECK
bool b2f_txn_begin_delete(struct b2f_txn *txn, enum b2f_delete what);

/*
 * Deletes them; those that have retired only if the index is still the one that
 * @txn knows, and no other program has locked it.  Needs no lock, but no commit
 * may be under way.  Writes files.  Returns whether it did.
 */
B2F_MUST_CHECK
static inline bool b2f_txn_delete(struct b2f_txn *txn)
{
	return txn->protocol->delete(txn);
}

/* Files that were not @deleted are tried again later. */
void b2f_txn_end_delete(struct b2f_txn *txn, bool deleted);

/* The file that was replaced last is replaced by the commit under way, too. */
void b2f_garbage_patch(struct b2f_txn *txn);

/* After a commit: what it replaced retires; the object @id, too, before that. */
void b2f_garbage_retire(struct b2f_txn *txn);
void b2f_garbage_replace(struct b2f_txn *txn, uint64_t id);

/* After one that was not installed: what it was to name is pending. */
void b2f_garbage_refuse(struct b2f_txn *txn);

/*
 * Chunk ids in the sorted list @used, which the index names again, are no
 * longer retired.
 */
void b2f_garbage_keep(struct b2f_txn *txn, const struct b2f_ids *used);

/* Would a loss of power bring no index back that names what is to go? */
bool b2f_garbage_may_go(const struct b2f_txn *txn);

void b2f_garbage_fini(struct b2f_garbage *garbage);

int64_t b2f_realtime_ns(void);

/* sparse_garbage.c, of a sparse frame: as in struct b2f_protocol. */
B2F_MUST_CHECK
int b2f_sparse_begin(struct b2f_txn *txn, struct b2f_why *why);
B2F_MUST_CHECK
bool b2f_sparse_delete(struct b2f_txn *txn);
void b2f_sparse_end(struct b2f_txn *txn);

#endif
