/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_commit.c - a state of a transaction becomes the frame on disk */
#include "txn/txn_commit.h"

#include <string.h>

#include "b2frame/error.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "txn/garbage.h"
#include "txn/txn.h"
#include "txn/protocol.h"
#include "txn/txn_ids.h"

int b2f_txn_freeze(struct b2f_txn *txn, struct b2f_commit *out)
{
	struct b2f_new_chunk *chunk, *next;
	int err = b2f_txn_state_copy(&txn->working, &out->state);

	if (err)
		return err;
	HASH_ITER(hh, txn->fresh.files, chunk, next)
	chunk->frozen = true;
	/* A shared store has only durable commits. */
	out->durable |= txn->protocol->is_shared;
	txn->garbage.nfrozen = txn->garbage.replaced.n;
	txn->garbage.committing = true;
	return 0;
}

static bool is_same_file(uint64_t a, uint64_t b)
{
	return b2f_txn_chunk_id(a) == b2f_txn_chunk_id(b);
}

int b2f_txn_reserve_patch(struct b2f_commit *commit, uint64_t nchunk)
{
	return b2f_pages_own(&commit->state.pages, nchunk, 1);
}

void b2f_txn_patch(struct b2f_txn *txn, struct b2f_commit *commit,
		   uint64_t nchunk, const struct b2f_txn_chunk *chunk,
		   uint32_t old)
{
	struct b2f_txn_state *state = &commit->state;
	uint64_t before = b2f_txn_raw(state, nchunk);
	struct b2f_ids *replaced = &txn->garbage.replaced;
	struct b2f_new_chunk *fresh = NULL;

	if (replaced->n > txn->garbage.nfrozen && b2f_txn_is_stored(before) &&
	    is_same_file(replaced->ids[replaced->n - 1], before))
		b2f_garbage_patch(txn);
	b2f_pages_set(&state->pages, nchunk, chunk->raw);
	state->cbytes += chunk->cbytes;
	state->cbytes -= b2f_min_u64(state->cbytes, old);
	if (b2f_txn_is_stored(chunk->raw))
		fresh = b2f_txn_find(txn, chunk->raw);
	if (fresh)
		fresh->frozen = true;
}

/* Are the first @n chunks of @state the committed ones, and then some more? */
static bool is_longer(const struct b2f_txn *txn,
		      const struct b2f_txn_state *state, uint64_t n)
{
	const struct b2f_txn_state *c = &txn->committed;
	uint64_t nwhole = c->n;

	/* A short chunk at the end may have become longer. */
	if (nwhole && b2f_txn_chunk_nbytes(txn, c, nwhole - 1) !=
			      b2f_txn_chunk_nbytes(txn, state, nwhole - 1))
		nwhole--;
	return n > c->n && n < state->n &&
	       b2f_pages_equal(&state->pages, &c->pages, nwhole);
}

bool b2f_txn_cut(struct b2f_txn *txn, struct b2f_commit *commit, uint64_t n)
{
	struct b2f_txn_state *state = &commit->state;

	if (!is_longer(txn, state, n))
		return false;
	for (uint64_t i = n; i < state->n; i++) {
		struct b2f_new_chunk *fresh = NULL;

		if (b2f_txn_is_stored(b2f_txn_raw(state, i)))
			fresh = b2f_txn_find(txn, b2f_txn_raw(state, i));
		/* A chunk dropped meanwhile is forgotten after this commit. */
		if (!fresh || fresh->dropped)
			continue;
		fresh->frozen = false;
		state->cbytes -= b2f_min_u64(state->cbytes, fresh->cbytes);
	}
	state->nbytes = b2f_txn_chunk_start(txn, state, n);
	state->n = n;
	return true;
}

/* Adds all files of @commit that are not among the new ones. */
static int add_old_files(const struct b2f_txn *txn, struct b2f_commit *commit)
{
	const struct b2f_txn_state *state = &commit->state;
	int err = 0;

	for (uint64_t i = 0; i < state->n && !err; i++) {
		uint64_t raw = b2f_txn_raw(state, i);

		if (b2f_txn_is_stored(raw) && !b2f_txn_find(txn, raw))
			err = b2f_ids_add(&commit->unsynced,
					  b2f_txn_chunk_id(raw));
	}
	return err;
}

int b2f_txn_prepare(struct b2f_txn *txn, struct b2f_commit *commit)
{
	struct b2f_new_chunk *chunk, *next;
	uint64_t first = 0;
	int err = 0;

	/* It was written during a failed sync, and noted since. */
	if (b2f_txn_find_bad(txn, &commit->state, false, &first))
		return -EEXIST;
	if (commit->durable && commit->before != B2F_DISK_DURABLE)
		err = add_old_files(txn, commit);
	for (size_t i = 0; txn->protocol->is_shared &&
			   i < txn->garbage.nfrozen && !err;
	     i++)
		err = b2f_ids_add(&commit->replaced,
				  b2f_txn_chunk_id(txn->garbage.replaced.ids[i]));
	HASH_ITER(hh, txn->fresh.files, chunk, next)
	{
		if (!err && chunk->frozen && !chunk->committed)
			err = b2f_ids_add(&commit->pending, chunk->pending_id);
		if (!err && chunk->frozen)
			err = b2f_ids_add(&commit->unsynced, chunk->pending_id);
	}
	return err;
}

int b2f_txn_write(struct b2f_txn *txn, struct b2f_commit *commit)
{
	struct b2f_why why = {""};
	int err = txn->protocol->write(txn, commit, &why);

	if (err && err != -ESTALE && err != -EEXIST && err != -EAGAIN)
		b2f_log(txn->frame->log, B2F_LOG_ERROR,
			err == B2F_EINDOUBT ? "%s: commit: %s"
					    : "%s: not committed: %s",
			txn->frame->label, b2f_why_text(&why, err));
	return err;
}

int b2f_txn_has_changed(const struct b2f_txn *txn)
{
	return txn->protocol->has_changed(txn);
}

/* After a commit: the index on disk names all files that were frozen. */
static void finish_files(struct b2f_txn *txn, bool done, bool durable)
{
	struct b2f_new_chunk *chunk, *next;

	HASH_ITER(hh, txn->fresh.files, chunk, next)
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
	txn->fresh.nfailed++;
	HASH_ITER(hh, txn->fresh.files, chunk, next)
	if (!chunk->committed)
		b2f_txn_set_bad(txn, chunk);
}

/* Moves the durability, unless it has changed since the commit began. */
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
 * The committed chunks have moved on disk, so the known places are of no use
 * any more; the next writer finds their room.
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
	/* An attempt that was not sent settles no earlier one. */
	if (!commit->installed && !commit->in_doubt)
		return;
	b2f_txn_state_fini(&txn->doubt.state);
	txn->doubt.state = (struct b2f_txn_state){0};
	txn->doubt.is_open = commit->in_doubt;
	if (!commit->in_doubt)
		return;
	txn->doubt.state = commit->state;
	commit->state = (struct b2f_txn_state){0};
}

void b2f_txn_finish(struct b2f_txn *txn, struct b2f_commit *commit)
{
	bool done = commit->installed;

	keep_doubt(txn, commit);
	note_bad(txn, &commit->unsynced);
	note_bad(txn, &commit->pending);
	txn->garbage.committing = false;
	take_moved(txn, commit);
	finish_files(txn, done, commit->durable);
	if (commit->sync_failed)
		note_sync_failed(txn, commit);
	if (done) {
		atomic_store(&txn->home->undecided, false);
		b2f_txn_state_fini(&txn->committed);
		txn->committed = commit->state;
		commit->state = (struct b2f_txn_state){0};
		b2f_txn_settle_settings(txn);
		txn->stamp = commit->stamp;
		txn->header.frame_len = commit->frame_len;
		txn->header.cbytes = commit->told_cbytes;
		txn->numbers.above = b2f_txn_above(&txn->committed);
		finish_durability(txn, commit);
		if (txn->disk)
			b2f_garbage_replace(txn, commit->old_index_id);
		b2f_garbage_retire(txn);
	} else {
		b2f_garbage_refuse(txn);
		b2f_txn_skip_ids(txn);
	}
	txn->garbage.nfrozen = 0;
	b2f_txn_state_fini(&commit->state);
	b2f_ids_fini(&commit->unsynced);
	b2f_ids_fini(&commit->pending);
	b2f_ids_fini(&commit->replaced);
}
