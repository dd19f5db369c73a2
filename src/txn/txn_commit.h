/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_commit.h - a state of a transaction becomes the frame on disk
 *
 * Layer: txn.  Threads: as txn.h.
 */
#ifndef B2F_TXN_TXN_COMMIT_H
#define B2F_TXN_TXN_COMMIT_H

#include <time.h>

#include "txn/txn.h"

/* A state that a commit writes to disk. */
struct b2f_commit {
	struct b2f_txn_state state;
	/* Durability at the beginning of the commit. */
	enum b2f_durable_state before;
	/*
	 * The state is to survive a loss of power; cleared if an installed one
	 * may not.
	 */
	bool durable;
	/* How long to wait for other programs' locks, milliseconds. */
	uint32_t lock_wait_ms;
	/* The time of the last write; without it the index keeps its mtime. */
	bool has_mtime;
	struct timespec mtime;
	/* Files that have to be made durable. */
	struct b2f_ids unsynced;
	/* Pending files, which are to get their names. */
	struct b2f_ids pending;
	/* In a shared store: chunks that the new index names no more. */
	struct b2f_ids replaced;
	/* Calls @fn(@arg, i) for i < @n, at the same time if it can. */
	int (*each)(void *context, size_t n, int (*fn)(void *arg, size_t i),
		    void *arg);
	void *each_context;
	/*
	 * In a contiguous frame with data: write the index behind this byte of
	 * the file; 0: at its usual place.
	 */
	uint64_t index_from;
	/* Results: the new index is in its place; its stamp and sizes. */
	bool installed;
	/* The outcome is unknown (B2F_EINDOUBT). */
	bool in_doubt;
	struct b2f_frame_stamp stamp;
	uint64_t frame_len;
	/* The compressed size in the new index. */
	uint64_t told_cbytes;
	/*
	 * In a contiguous frame: the range of the old index; and the committed
	 * state with the new positions, if its chunks had to be moved.
	 */
	uint64_t old_index_id;
	struct b2f_txn_state moved;
	/*
	 * And a sync of the file failed: any byte written to it and not
	 * committed before may be missing on disk.
	 */
	bool sync_failed;
};

/* Begins a commit with a copy of the working state in @out.  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_txn_freeze(struct b2f_txn *txn, struct b2f_commit *out);

/* Makes b2f_txn_patch() possible for chunk @nchunk.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_txn_reserve_patch(struct b2f_commit *commit, uint64_t nchunk);

/*
 * Puts a chunk into the frozen state, too, right after b2f_txn_put() for the
 * working one.
 */
void b2f_txn_patch(struct b2f_txn *txn, struct b2f_commit *commit,
		   uint64_t nchunk, const struct b2f_txn_chunk *chunk,
		   uint32_t old);

/*
 * Cuts the frozen state to its first @n chunks.  Returns false, and does
 * nothing, unless the rest is longer than the committed state, and begins with
 * it.
 */
bool b2f_txn_cut(struct b2f_txn *txn, struct b2f_commit *commit, uint64_t n);

/*
 * Lists the files to make durable, of the complete frozen state.  Returns 0;
 * -ENOMEM; or -EEXIST: see b2f_txn_find_bad().
 */
B2F_MUST_CHECK
int b2f_txn_prepare(struct b2f_txn *txn, struct b2f_commit *commit);

/*
 * Writes the frozen state.  Needs no lock, but only one commit at a time;
 * @txn->header must not change meanwhile.  Reads and writes files.
 *
 * Returns 0; -ESTALE (another program changed the frame; see b2f_txn_merge());
 * -EEXIST (it has taken numbers of new files; see b2f_txn_find_bad());
 * -EAGAIN (another program has locked it); or an errno of the store;
 * @commit->installed tells whether it failed after the new index was in its
 * place.  The cause is logged, but for -ESTALE, -EEXIST and -EAGAIN.
 */
B2F_MUST_CHECK
int b2f_txn_write(struct b2f_txn *txn, struct b2f_commit *commit);

/*
 * Ends a commit, also one that failed: if its index was installed, its state
 * becomes the committed one.  Frees what @commit holds.
 */
void b2f_txn_finish(struct b2f_txn *txn, struct b2f_commit *commit);

/*
 * Is the index on disk another one than @txn knows? Returns 1 if it has
 * changed, 0 if not, or an errno.  Needs no lock.
 */
B2F_MUST_CHECK
int b2f_txn_has_changed(const struct b2f_txn *txn);

#endif
