/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * single_commit.h - a state of a transaction becomes a contiguous frame on disk
 *
 * A transaction knows the header and the end of the trailer, byte for byte: a
 * program that changes anything of the frame changes these.
 *
 * Layer: txn.  Threads: as txn.h; b2f_txn_disk_has_changed() and _claim()
 * from any thread.
 */
#ifndef B2F_TXN_SINGLE_COMMIT_H
#define B2F_TXN_SINGLE_COMMIT_H

#include "txn/txn_commit.h"

/*
 * Looks at the frame that is about to be changed.  Returns 0, -EROFS (two
 * chunks are in one place), B2F_ECORRUPT, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_txn_disk_begin(struct b2f_txn *txn, struct b2f_why *why);

/* Frees what b2f_txn_disk_begin() took. */
void b2f_txn_disk_fini(struct b2f_txn *txn);

/* Like b2f_txn_has_changed(). */
B2F_MUST_CHECK
int b2f_txn_disk_has_changed(const struct b2f_txn *txn);

/*
 * Call it before a write behind the end of the frame: checks that no other
 * program has changed the frame, and claims it, so that the next check can
 * tell.  Returns 0, -ESTALE (changed) or an errno.
 */
B2F_MUST_CHECK
int b2f_txn_disk_claim(struct b2f_txn *txn, struct b2f_why *why);

/* Like b2f_txn_write(), but logs nothing. */
B2F_MUST_CHECK
int b2f_txn_single_write(struct b2f_txn *txn, struct b2f_commit *commit,
			  struct b2f_why *why);

/*
 * The same with other programs locked out already, for a state that fits the
 * room behind the header.
 */
B2F_MUST_CHECK
int b2f_txn_single_put(struct b2f_txn *txn, struct b2f_commit *commit,
			struct b2f_why *why);

/* The readers of the frame. */
struct b2f_txn_readers {
	/* Waits until all readers that have begun before have ended. */
	void (*wait)(void *arg);
	void *arg;
};

/*
 * single_shrink.c: may the file still be written to when @txn ends? False if
 * other programs believe that the file is closed, and no lock keeps them out.
 */
bool b2f_txn_single_may_end(const struct b2f_txn *txn);

/*
 * Cuts the file at the end of the frame, for a transaction that goes on and has
 * nothing to commit.  Chunks are moved only with @readers.
 */
void b2f_txn_single_cut(struct b2f_txn *txn,
			const struct b2f_txn_readers *readers);

#endif
