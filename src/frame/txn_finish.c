/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_finish.c - what has become of a commit, and of the files it named */
#include <string.h>

#include "frame/txn_commit.h"
#include "frame/txn_ids.h"
#include "frame/txn_priv.h"
#include "frame/txn_remove.h"

/* After a commit: the index on disk names all files that were frozen. */
static void finish_files(struct b2f_txn *txn, bool done, bool durable)
{
	struct b2f_new_chunk *chunk, *next;

	HASH_ITER(hh, txn->fresh, chunk, next)
	{
		if (!chunk->frozen)
			continue;
		chunk->frozen = false;
		chunk->committed |= done;
		/* A durable chunk file is like any other file. */
		if (chunk->dropped || (done && durable))
			b2f_txn_forget(txn, chunk);
	}
}

/* After a commit that was not installed: what it was to name is pending. */
static void drop_pending(struct b2f_txn *txn)
{
	struct b2f_ids *replaced = &txn->replaced;
	size_t n = 0;

	for (size_t i = 0; i < replaced->n; i++) {
		uint64_t raw = replaced->ids[i];

		if (!(raw & B2F_OBJECT_PENDING))
			replaced->ids[n++] = raw;
		else if (b2f_ids_add(&txn->dead, raw))
			continue; /* The next writer will find it. */
	}
	replaced->n = n;
}

/* The index before is replaced, as the chunks that only it named. */
static void replace_index(struct b2f_txn *txn, uint64_t id)
{
	struct b2f_ids *replaced = &txn->replaced;

	/* Without memory its room is lost until the frame is made anew. */
	if (b2f_ids_add(replaced, id))
		return;
	replaced->ids[replaced->n - 1] = replaced->ids[txn->nfrozen];
	replaced->ids[txn->nfrozen++] = id;
}

static void finish_replaced(struct b2f_txn *txn)
{
	struct b2f_ids *replaced = &txn->replaced;
	size_t nfrozen = txn->nfrozen;

	for (size_t i = 0; i < replaced->n; i++)
		replaced->ids[i] = b2f_txn_chunk_id(replaced->ids[i]);
	b2f_txn_retire(txn, replaced->ids, nfrozen);
	replaced->n -= nfrozen;
	if (replaced->n)
		memmove(replaced->ids, replaced->ids + nfrozen,
			replaced->n * sizeof(*replaced->ids));
}

/*
 * After a failed fsync the contents of a file on disk are unknown, and a second
 * fsync would succeed: Linux reports a writeback error once.  A file that could
 * not get its name never will.
 */
static void note_bad(struct b2f_txn *txn, const struct b2f_ids *files)
{
	for (size_t i = 0; i < files->n; i++) {
		struct b2f_new_chunk *chunk;

		if (!(files->ids[i] & B2F_TXN_FAILED))
			continue;
		chunk = b2f_txn_find(txn, files->ids[i]);
		if (chunk)
			b2f_txn_set_bad(txn, chunk);
		else
			b2f_durability_fail(txn->durability);
	}
}

/*
 * The kernel does not tell which bytes of a file it could not write.  Bytes
 * that were durable before are not among them.
 */
static void note_sync_failed(struct b2f_txn *txn,
			     const struct b2f_commit *commit)
{
	struct b2f_new_chunk *chunk, *next;

	if (commit->before != B2F_DISK_DURABLE)
		b2f_durability_fail(txn->durability);

	HASH_ITER(hh, txn->fresh, chunk, next)
	if (!chunk->committed)
		b2f_txn_set_bad(txn, chunk);
}

/* Unless a sync has failed that it was left to meanwhile. */
static void finish_durability(struct b2f_txn *txn,
			      const struct b2f_commit *commit)
{
	enum b2f_durable_state now = B2F_DISK_DURABLE;

	if (!commit->durable)
		now = commit->before == B2F_DISK_NEW ? B2F_DISK_NEW
						     : B2F_DISK_UNSYNCED;
	(void)b2f_durability_move(txn->durability, commit->before, now);
}

/*
 * The chunks before are at other places on disk, so those that were known are of
 * no use any more; their room is found by the next writer.
 */
static void take_moved(struct b2f_txn *txn, struct b2f_commit *commit)
{
	if (!commit->moved.pages.n)
		return;
	b2f_txn_state_fini(&txn->committed);
	txn->committed = commit->moved;
	commit->moved = (struct b2f_txn_state){0};
}

/* Keeps the facts for b2f_txn_settle(), if the index turns out to be ours. */
static void keep_doubt(struct b2f_txn *txn, struct b2f_commit *commit)
{
	/* An attempt that was not sent leaves open what became of the one before. */
	if (!commit->installed && !commit->in_doubt)
		return;
	b2f_txn_state_fini(&txn->doubtful);
	txn->doubtful = (struct b2f_txn_state){0};
	txn->is_in_doubt = commit->in_doubt;
	if (!commit->in_doubt)
		return;
	txn->doubtful = commit->state;
	commit->state = (struct b2f_txn_state){0};
}

void b2f_txn_finish(struct b2f_txn *txn, struct b2f_commit *commit)
{
	bool done = commit->installed;

	keep_doubt(txn, commit);
	note_bad(txn, &commit->unsynced);
	note_bad(txn, &commit->pending);
	txn->committing = false;
	take_moved(txn, commit);
	finish_files(txn, done, commit->durable);
	if (commit->sync_failed)
		note_sync_failed(txn, commit);
	if (done) {
		atomic_store(&txn->home->undecided, false);
		b2f_txn_state_fini(&txn->committed);
		txn->committed = commit->state;
		commit->state = (struct b2f_txn_state){0};
		txn->stamp = commit->stamp;
		txn->header.frame_len = commit->frame_len;
		txn->header.cbytes = commit->told_cbytes;
		txn->above = b2f_txn_above(&txn->committed);
		finish_durability(txn, commit);
		if (txn->disk)
			replace_index(txn, commit->old_index_id);
		finish_replaced(txn);
	} else {
		drop_pending(txn);
		b2f_txn_skip_ids(txn);
	}
	txn->nfrozen = 0;
	b2f_txn_state_fini(&commit->state);
	b2f_ids_fini(&commit->unsynced);
	b2f_ids_fini(&commit->pending);
	b2f_ids_fini(&commit->replaced);
}
