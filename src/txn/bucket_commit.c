/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_commit.c - a transaction of a frame in an object store */
#include "txn/protocol.h"

#include "txn/garbage.h"
#include "txn/txn_ids.h"
#include "txn/txn.h"
#include "store/make.h"

/*
 * New ids begin a random step above all that the frame ever had, since other
 * writers begin there, too.
 */
static int bucket_begin(struct b2f_txn *txn, struct b2f_why *why)
{
	int err;

	/*
	 * Leftovers may be another writer's, but for those that the store
	 * knows.
	 */
	if (!b2f_store_begin_new(txn->store) && b2f_store_is_due(txn->store))
		(void)!b2f_store_sweep(txn->store, NULL, 0);
	err = b2f_store_first_id(txn->store, &txn->numbers.next_id, why);
	b2f_txn_skip_ids(txn);
	return err;
}

static int add_pending(const struct b2f_ids *raws, struct b2f_ids *list)
{
	int err = 0;

	for (size_t i = 0; i < raws->n && !err; i++)
		err = b2f_ids_add(list, (uint64_t)b2f_txn_id(raws->ids[i]));
	return err;
}

/* The index that is there says what may go, whatever is known here. */
static bool bucket_delete(struct b2f_txn *txn)
{
	struct b2f_ids list = {0};
	int err = add_pending(&txn->garbage.dying, &list);

	if (!err)
		err = b2f_store_sweep(txn->store, list.ids, list.n);
	b2f_ids_fini(&list);
	return !err;
}

/* Readers of the index before may be anywhere. */
static void bucket_end(struct b2f_txn *txn)
{
	struct b2f_new_chunk *chunk, *next;
	struct b2f_ids list = {0};
	int err = add_pending(&txn->garbage.dead, &list);

	HASH_ITER(hh, txn->fresh.files, chunk, next)
	if (!chunk->committed && !err)
		err = b2f_ids_add(&list, chunk->pending_id);
	/* Chunks that stay do no harm. */
	if (!err)
		(void)!b2f_store_sweep(txn->store, list.ids, list.n);
	b2f_ids_fini(&list);
}

const struct b2f_protocol b2f_bucket_protocol = {
	.is_shared = true,
	.begin = bucket_begin,
	.number = b2f_bucket_number,
	.write = b2f_sparse_write,
	.has_changed = b2f_sparse_has_changed,
	.delete = bucket_delete,
	.end = bucket_end,
};
