/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_commit.c - a state of a transaction becomes the frame on disk */
#include "frame/txn_commit.h"

#include <string.h>

#include "b2frame/error.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "frame/frame_still.h"
#include "frame/single_commit.h"
#include "frame/txn_index.h"
#include "frame/txn_chunks.h"
#include "frame/txn_lock.h"
#include "frame/txn_priv.h"

int b2f_txn_freeze(struct b2f_txn *txn, struct b2f_commit *out)
{
	struct b2f_new_chunk *chunk, *next;
	int err;

	err = b2f_txn_state_copy(&txn->working, &out->state);
	if (err)
		return err;
	HASH_ITER(hh, txn->fresh, chunk, next)
	chunk->frozen = true;
	/* There is nothing less. */
	out->durable |= txn->store->shared;
	txn->nfrozen = txn->replaced.n;
	txn->committing = true;
	return 0;
}

static bool is_same_file(uint64_t a, uint64_t b)
{
	return b2f_txn_chunk_id(a) == b2f_txn_chunk_id(b);
}

/* The file that was replaced last is replaced by the commit under way, too. */
static void patch_replaced(struct b2f_txn *txn)
{
	struct b2f_ids *replaced = &txn->replaced;
	uint64_t *last = &replaced->ids[replaced->n - 1], raw = *last;
	struct b2f_new_chunk *chunk = b2f_txn_find(txn, raw);

	if (chunk && !chunk->committed) {
		/* No index is going to name it. */
		replaced->n--;
		if (b2f_ids_add(&txn->dead, raw) == 0)
			b2f_txn_forget(txn, chunk);
		return;
	}
	/* Sort it in with those that the commit replaces. */
	*last = replaced->ids[txn->nfrozen];
	replaced->ids[txn->nfrozen++] = raw;
}

int b2f_txn_patch(struct b2f_txn *txn, struct b2f_commit *commit,
		    uint64_t nchunk, const struct b2f_txn_chunk *chunk,
		    uint32_t old)
{
	struct b2f_txn_state *state = &commit->state;
	uint64_t before = b2f_txn_raw(state, nchunk);
	struct b2f_ids *replaced = &txn->replaced;
	struct b2f_new_chunk *fresh = NULL;
	int err = b2f_pages_own(&state->pages, nchunk, 1);

	if (err)
		return err;
	if (replaced->n > txn->nfrozen && b2f_txn_is_stored(before) &&
	    is_same_file(replaced->ids[replaced->n - 1], before))
		patch_replaced(txn);
	b2f_pages_set(&state->pages, nchunk, chunk->raw);
	state->cbytes += chunk->cbytes;
	state->cbytes -= b2f_min_u64(state->cbytes, old);
	if (b2f_txn_is_stored(chunk->raw))
		fresh = b2f_txn_find(txn, chunk->raw);
	if (fresh)
		fresh->frozen = true;
	return 0;
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
		/* A chunk that was dropped meanwhile ends with this commit. */
		if (!fresh || fresh->dropped)
			continue;
		fresh->frozen = false;
		state->cbytes -= b2f_min_u64(state->cbytes, fresh->cbytes);
	}
	state->nbytes = b2f_txn_chunk_start(txn, state, n);
	state->n = n;
	return true;
}

/* Adds all files of @commit that are not known as new ones. */
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
	int err = 0;

	if (commit->durable && commit->before != B2F_DISK_DURABLE)
		err = add_old_files(txn, commit);
	for (size_t i = 0; txn->store->shared && i < txn->nfrozen && !err; i++)
		err = b2f_ids_add(&commit->replaced,
				  b2f_txn_chunk_id(txn->replaced.ids[i]));
	HASH_ITER(hh, txn->fresh, chunk, next)
	{
		if (!err && chunk->frozen && !chunk->committed)
			err = b2f_ids_add(&commit->pending, chunk->id);
		if (!err && chunk->frozen)
			err = b2f_ids_add(&commit->unsynced, chunk->id);
	}
	return err;
}

/* A job for many files at once. */
struct sync_all {
	struct b2f_txn *txn;
	struct b2f_commit *commit;
	/* Syncs, not only a wait for writes. */
	bool durable;
};

/*
 * Syncs it, or waits for its write: the kernel tells once of what has failed.
 */
static int settle_file(void *arg, size_t i)
{
	const struct sync_all *all = arg;
	const struct b2f_txn *txn = all->txn;
	int64_t id = (int64_t)all->commit->unsynced.ids[i];
	struct b2f_object object = {.fd = -1};
	char name[B2F_CHUNK_NAME_SIZE];
	struct b2f_why why = {""};
	int err;

	err = b2f_object_open(txn->store, id, &object, &why);
	if (!err) {
		err = b2f_object_settle(&object, all->durable, &why);
		/* If a file cannot be opened now, nothing is lost yet. */
		if (err)
			all->commit->unsynced.ids[i] |= B2F_TXN_FAILED;
	}
	b2f_object_close(&object);
	/* Taken by another writer: the data get another id. */
	if (err && err != -EEXIST) {
		b2f_chunk_name(id, name);
		b2f_log(txn->frame->log, B2F_LOG_ERROR, "%s: %s: %s",
			txn->frame->label, name, why.text);
	}
	return err;
}

/*
 * The data of a frame reach the disk before the files get their names, even if
 * nothing has to be durable: if the power fails, the frame is there as a whole
 * or not at all.  Names alone would be kept first, and lead to files of 0
 * bytes.  The disk is at all of it at the same time, and nothing is flushed.
 */
static int begin_file(void *arg, size_t i)
{
	const struct sync_all *all = arg;
	struct b2f_object object = {.fd = -1};

	if (!b2f_object_open(all->txn->store,
			     (int64_t)all->commit->unsynced.ids[i], &object,
			     NULL))
		b2f_object_write_soon(&object);
	b2f_object_close(&object);
	return 0;
}

static int for_files(struct b2f_txn *txn, struct b2f_commit *commit,
		     int (*fn)(void *arg, size_t i), bool durable)
{
	struct sync_all all = {txn, commit, durable};
	size_t n = commit->unsynced.n;
	int err = 0;

	if (commit->each)
		return commit->each(commit->each_context, n, fn, &all);
	for (size_t i = 0; i < n && !err; i++)
		err = fn(&all, i);
	return err;
}

/* Takes the names away again from the first @n files that got one. */
static void hide_files(struct b2f_txn *txn, const struct b2f_ids *pending,
		       size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n; i++)
		if (!(pending->ids[i] & B2F_TXN_FAILED))
			err = b2f_store_hide(txn->store,
					     b2f_txn_id(pending->ids[i]),
					     NULL);
	/* It can be read under that name, too; see show_file(). */
	(void)err;
}

/*
 * Gives one file its name; marks it if that will never be possible: another
 * program has taken it, or it could not be taken away again after a commit that
 * failed.
 */
static int show_file(struct b2f_txn *txn, uint64_t *id, struct b2f_why *why)
{
	int err = b2f_store_show(txn->store, b2f_txn_id(*id), why);

	if (err != -EEXIST && err != -ENOENT)
		return err;
	*id |= B2F_TXN_FAILED;
	return -EEXIST;
}

/* Gives all new files their names, or none: -EEXIST if some are marked. */
static int show_files(struct b2f_txn *txn, struct b2f_commit *commit,
		      struct b2f_why *why)
{
	struct b2f_ids *pending = &commit->pending;
	int err = 0, marked = 0;
	size_t n;

	for (n = 0; n < pending->n && !err; n++) {
		err = show_file(txn, &pending->ids[n], why);
		if (err == -EEXIST) {
			marked = err;
			err = 0;
		}
	}
	n -= err != 0;
	if (!err)
		err = marked;
	if (err)
		hide_files(txn, pending, n);
	return err;
}

/*
 * All of it at once, names too: then a journal, which keeps what came before
 * with whatever it is asked for, has one entry to write instead of one for each
 * file, and the other syncs find theirs done.
 */
static int sync_files(struct b2f_txn *txn, struct b2f_commit *commit,
		      const struct b2f_object *index, struct b2f_why *why)
{
	int err = for_files(txn, commit, settle_file, true);

	if (!err)
		err = b2f_object_sync(index, why);
	if (!err && commit->pending.n)
		err = b2f_store_sync_names(txn->store, why);
	return err;
}

/*
 * Until the new index is in its place, the first one has to say that the frame
 * is empty: beside chunk files, one without its content counts as damaged.  If
 * nothing was promised, a write for each new file is too much for the moment in
 * which a journal would have to end between two names.
 */
static int sync_first_index(const struct b2f_txn *txn,
			    const struct b2f_commit *commit,
			    struct b2f_why *why)
{
	if (!commit->durable || commit->before != B2F_DISK_NEW ||
	    commit->pending.n == 0)
		return 0;
	return b2f_store_sync_index(txn->store, why);
}

/*
 * 0 if no other program has written, else -ESTALE or an errno.  A shared store asks
 * that with the last step.
 */
static int check_same(const struct b2f_txn *txn)
{
	int changed = txn->store->shared ? 0 : b2f_txn_has_changed(txn);

	if (!changed && txn->lock)
		b2f_lock_adopt(txn->lock);
	return changed > 0 ? -ESTALE : changed;
}

/*
 * From the check that no other program has written to the new @index in its
 * place.
 */
static int replace_index(struct b2f_txn *txn, struct b2f_commit *commit,
			 const struct b2f_object *index, struct b2f_why *why)
{
	int err = check_same(txn);

	if (!err)
		err = sync_first_index(txn, commit, why);
	if (!err)
		err = show_files(txn, commit, why);
	if (err)
		return err;
	if (commit->durable)
		err = sync_files(txn, commit, index, why);
	/* A program without locks had all the time of the syncs. */
	if (!err && commit->durable)
		err = check_same(txn);
	if (!err && txn->store->shared)
		err = b2f_store_replaces(txn->store, commit->replaced.ids,
					 commit->replaced.n);
	if (!err)
		err = b2f_store_install(txn->store, &txn->stamp, why);
	if (err) {
		commit->in_doubt = err == B2F_EINDOUBT;
		hide_files(txn, &commit->pending, commit->pending.n);
		return err;
	}
	commit->installed = true;
	err = b2f_store_own_stamp(txn->store, &commit->stamp);
	if (!err && commit->durable)
		err = b2f_store_sync_names(txn->store, why);
	commit->durable &= !err;
	return err;
}

static int write_all(struct b2f_txn *txn, struct b2f_commit *commit,
		     struct b2f_why *why)
{
	struct b2f_object index = {.fd = -1};
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err;

	err = for_files(txn, commit, begin_file, false);
	if (!err)
		err = b2f_txn_make_index(txn, commit, NULL, &bytes, &size,
					  why);
	if (!err)
		err = b2f_store_write_index(
			txn->store, bytes, size,
			commit->has_mtime ? &commit->mtime : NULL, &index,
			why);
	/* Not under the lock of other programs: that takes longest. */
	if (!err)
		err = for_files(txn, commit, settle_file, false);
	free(bytes);
	if (err)
		goto out;
	commit->frame_len = size;
	commit->told_cbytes = commit->state.cbytes +
			      b2f_pages_margin(&commit->state.pages,
					       commit->state.n);
	err = b2f_txn_lock_out(txn, commit->lock_wait_ms, why);
	if (err)
		goto out;
	err = replace_index(txn, commit, &index, why);
	b2f_txn_let_in(txn);
out:
	b2f_object_close(&index);
	return err;
}

int b2f_txn_write(struct b2f_txn *txn, struct b2f_commit *commit)
{
	struct b2f_why why = {""};
	int err;

	if (txn->store->sparse)
		err = write_all(txn, commit, &why);
	else
		err = b2f_txn_single_write(txn, commit, &why);

	if (err && err != -ESTALE && err != -EEXIST && err != -EAGAIN)
		b2f_log(txn->frame->log, B2F_LOG_ERROR,
			err == B2F_EINDOUBT ? "%s: commit: %s"
					    : "%s: not committed: %s",
			txn->frame->label,
			why.text[0] ? why.text : b2f_strerror(err));
	return err;
}

int b2f_txn_has_changed(const struct b2f_txn *txn)
{
	int ret;

	if (!txn->store->sparse)
		return b2f_txn_disk_has_changed(txn);
	ret = b2f_frame_has_changed(txn->frame, &txn->stamp);
	return ret == -ENOENT ? 1 : ret;
}
