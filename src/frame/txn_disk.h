/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_disk.h - is the contiguous frame on disk the one that its transaction
 * knows?
 *
 * A transaction knows the header and the end of the trailer, byte for byte:
 * whatever another program changes of the frame, it changes these.
 *
 * Layer: frame.  Threads: as txn.h; b2f_txn_disk_has_changed() and _claim()
 * from any thread.
 */
#ifndef B2F_FRAME_TXN_DISK_H
#define B2F_FRAME_TXN_DISK_H

#include "frame/txn_image.h"

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

/*
 * Notes that @image is on disk, with @head, which it takes over, as its header.
 * The lock of @disk is held.
 */
void b2f_txn_disk_note(struct b2f_txn_disk *disk,
			const struct b2f_txn_image *image, uint8_t *head);

#endif
