/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * single_commit.h - a state of a transaction becomes a contiguous frame on disk
 *
 * A transaction knows the header and the end of the trailer, byte for byte:
 * whatever another program changes of the frame, it changes these.
 *
 * Layer: frame.  Threads: as txn.h; b2f_txn_disk_has_changed() and _claim()
 * from any thread.
 */
#ifndef B2F_FRAME_SINGLE_COMMIT_H
#define B2F_FRAME_SINGLE_COMMIT_H

#include "frame/txn_commit.h"

/*
 * Looks at the frame that is about to be changed.  Returns 0, -EROFS (two
 * chunks are in one place), B2F_ECORRUPT, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_txn_disk_begin(struct b2f_txn *txn, struct b2f_why *why);

/* Frees what that took. */
void b2f_txn_disk_fini(struct b2f_txn *txn);

/* Like b2f_txn_has_changed(). */
B2F_MUST_CHECK
int b2f_txn_disk_has_changed(const struct b2f_txn *txn);

/*
 * Before something is written behind the end of the frame: looks whether another
 * program has changed that, and sees to it that the next look can tell.  Returns
 * 0, -ESTALE (it has) or an errno.
 */
B2F_MUST_CHECK
int b2f_txn_disk_claim(struct b2f_txn *txn, struct b2f_why *why);

/* Like b2f_txn_write(), but logs nothing. */
B2F_MUST_CHECK
int b2f_txn_single_write(struct b2f_txn *txn, struct b2f_commit *commit,
			  struct b2f_why *why);

/*
 * The same without waiting for other programs, which are locked out, of a state
 * that the room behind the header allows.
 */
B2F_MUST_CHECK
int b2f_txn_single_put(struct b2f_txn *txn, struct b2f_commit *commit,
			struct b2f_why *why);

/* The readers of the frame. */
struct b2f_txn_readers {
	/* Held while the states of the transaction are exchanged. */
	pthread_mutex_t *lock;
	/* Waits until those have ended that have begun before. */
	void (*wait)(void *arg);
	void *arg;
};

/*
 * single_shrink.c: may the end of @txn still write to the file?  False if other
 * programs believe that the file is closed, and no lock keeps them out.
 */
bool b2f_txn_single_may_end(const struct b2f_txn *txn);

/*
 * Ends the file where the frame ends, for a transaction that goes on, and has
 * nothing to commit.  Chunks are moved only if @readers are told.
 */
void b2f_txn_single_cut(struct b2f_txn *txn,
			const struct b2f_txn_readers *readers);

#endif
