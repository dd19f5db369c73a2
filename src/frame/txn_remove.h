/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_remove.h - files of a transaction that are not needed any more
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_REMOVE_H
#define B2F_FRAME_TXN_REMOVE_H

#include "frame/txn.h"

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
bool b2f_txn_delete(struct b2f_txn *txn);

/* Files that were not @deleted are tried again later. */
void b2f_txn_end_delete(struct b2f_txn *txn, bool deleted);

/*
 * Notes that a commit has replaced the files @numbers, @n of them: the last
 * ones that retired.
 */
void b2f_txn_retire(struct b2f_txn *txn, const uint64_t *numbers, size_t n);

/*
 * Chunk ids in the sorted list @used, which the index names again, are no
 * longer retired.
 */
void b2f_txn_keep_retired(struct b2f_txn *txn, const struct b2f_ids *used);

/* Deletes all that is not committed any more, or not yet. */
void b2f_txn_delete_all(struct b2f_txn *txn);

/* Is the file @id, which no index names, surely of no use to any writer? */
bool b2f_txn_is_leftover(struct b2f_store *store, int64_t id);

/*
 * Deletes such a file, but not what another program has made of it meanwhile.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_txn_remove_leftover(struct b2f_store *store, int64_t id,
			     struct b2f_why *why);

/* Deletes what writers that crashed left.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_txn_clean(struct b2f_txn *txn);

#endif
