/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_end.c - what the last writer of a contiguous frame leaves */
#include "frame/txn_compact.h"
#include "frame/txn_disk.h"
#include "frame/txn_gaps.h"
#include "frame/txn_lock.h"
#include "frame/txn_single.h"

/* Ends the file where the frame ends, with the mtime of what is committed. */
static void cut(struct b2f_txn *txn)
{
	struct b2f_object object = {.store = txn->store, .fd = -1};
	struct stat st;
	int err = 0;

	if (b2f_store_stat_index(txn->store, &st) ||
	    ((uint64_t)st.st_size <= txn->disk->frame_len &&
	     !txn->disk->is_claimed))
		return;
	/* The header of a longer frame may be the one that the disk has. */
	if (b2f_durability_get(txn->durability) == B2F_DISK_UNSYNCED)
		return;
	if (b2f_durability_get(txn->durability) == B2F_DISK_NEW)
		err = b2f_object_write_out(&object, NULL);
	if (err)
		b2f_durability_fail(txn->durability);
	/* If that fails, the next writer tries again. */
	else
		(void)!b2f_store_cut(txn->store, txn->disk->frame_len, NULL);
}

/* Does b2f_txn_lock_out() keep all other programs out? */
static bool is_alone(const struct b2f_txn *txn)
{
	return txn->lock || !b2f_lock_has_place(txn->store);
}

/* Ends the file earlier, if it can. */
static void shrink(struct b2f_txn *txn, const struct b2f_txn_readers *readers)
{
	int err = 0;

	if (b2f_txn_state_equal(&txn->working, &txn->committed))
		err = b2f_txn_compact(txn, readers);
	if (!err)
		cut(txn);
}

bool b2f_txn_single_may_end(const struct b2f_txn *txn)
{
	return !txn->ends_late || is_alone(txn);
}

void b2f_txn_single_end(struct b2f_txn *txn)
{
	enum b2f_durable_state state = b2f_durability_get(txn->durability);

	if (!txn->disk || !b2f_txn_single_may_end(txn) ||
	    b2f_txn_lock_out(txn, 0, NULL))
		return;
	if (b2f_txn_disk_has_changed(txn) == 0) {
		/*
		 * Ranges that no frame, or only older ones, used: no older
		 * frame comes back.
		 */
		if (state == B2F_DISK_DURABLE)
			b2f_txn_give_back(txn, &txn->dead, txn->retired.n);
		if (state == B2F_DISK_DURABLE)
			txn->dead.n = txn->retired.n = txn->retired.nnewest = 0;
		if (state == B2F_DISK_DURABLE || state == B2F_DISK_NEW)
			shrink(txn, NULL);
	}
	b2f_txn_let_in(txn);
}

void b2f_txn_single_cut(struct b2f_txn *txn,
			const struct b2f_txn_readers *readers)
{
	enum b2f_durable_state state = b2f_durability_get(txn->durability);

	if (state == B2F_DISK_FAILED || b2f_txn_lock_out(txn, 0, NULL))
		return;
	if (b2f_txn_disk_has_changed(txn) == 0) {
		if (readers)
			shrink(txn, readers);
		else
			cut(txn);
	}
	b2f_txn_let_in(txn);
}
