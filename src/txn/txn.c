/* SPDX-License-Identifier: BSD-3-Clause */
/* txn.c - the life of a transaction, and its two states */
#include <string.h>

#include "base/checked.h"
#include "frame/frame_report.h"
#include "frame/frame_still.h"
#include "index/tags.h"
#include "txn/garbage.h"
#include "txn/protocol.h"
#include "txn/single_commit.h"
#include "txn/txn.h"
#include "txn/txn_ids.h"

static int open_states(struct b2f_txn *txn, enum b2f_frame_use what,
		       struct b2f_why *why)
{
	bool varied = what == B2F_USE_FILE && txn->header.chunksize == 0;
	struct b2f_ids used = {0};
	int err = b2f_txn_state_of(txn->frame, &txn->committed);

	txn->sizes.nkept = txn->committed.n;
	if (!err && varied && txn->sizes.nkept)
		err = b2f_txn_make_starts(txn->frame, &txn->committed);
	if (!err)
		b2f_txn_count(txn->frame, &txn->committed);
	if (!err)
		err = b2f_txn_state_copy(&txn->committed, &txn->working);
	if (!err)
		err = b2f_txn_used_ids(&txn->committed, &used);
	if (err == B2F_EUNSUPPORTED)
		err = b2f_why_set(why, -EROFS,
				  "cannot be written to, as two chunks are in "
				  "one file");
	txn->numbers.next_id = txn->numbers.above = b2f_txn_above(&txn->committed);
	b2f_ids_fini(&used);
	return err;
}

static int open_lock(struct b2f_txn *txn, enum b2f_txn_locking locking,
		     struct b2f_why *why)
{
	int err;

	if (locking == B2F_TXN_LOCKING_NEVER)
		return 0;
	err = b2f_lock_open(txn->store, locking == B2F_TXN_LOCKING_ALWAYS,
			    &txn->guard.lock, why);
	if (err != -ENOENT)
		return err;
	/* Forgets the cause: a later failure has another one. */
	*why = (struct b2f_why){""};
	return 0;
}

struct b2f_frame_stamp b2f_txn_stamp(const struct b2f_txn *txn)
{
	struct b2f_frame_stamp stamp = txn->stamp;

	/* In a contiguous frame each new chunk changes the file. */
	if (txn->disk && txn->guard.has_store &&
	    b2f_store_own_stamp(txn->store, &stamp))
		return txn->stamp;
	return stamp;
}

void b2f_txn_belong(struct b2f_txn *txn, struct b2f_generation *generation)
{
	b2f_generation_ref(generation);
	b2f_generation_begin_writer(generation);
	b2f_generation_end_writer(txn->guard.continued);
	b2f_generation_unref(txn->guard.continued);
	txn->guard.continued = generation;
	if (txn->guard.lock)
		b2f_lock_belong(txn->guard.lock, generation);
}

static const struct b2f_protocol *const protocols[] = {
	[B2F_STORE_SINGLE] = &b2f_single_protocol,
	[B2F_STORE_SPARSE] = &b2f_sparse_protocol,
	[B2F_STORE_SHARED] = &b2f_bucket_protocol,
};

int b2f_txn_new(struct b2f_frame *frame, enum b2f_frame_use what,
		 enum b2f_txn_locking locking,
		 struct b2f_durability *durability, struct b2f_txn **out)
{
	struct b2f_why why = {""};
	struct b2f_txn *txn;
	int err = b2f_obstacle_check(frame, what);

	if (err)
		return err;
	txn = calloc(1, sizeof(*txn));
	if (!txn)
		return -ENOMEM;
	pthread_mutex_init(&txn->guard.mutex, NULL);
	txn->frame = b2f_frame_ref(frame);
	txn->home = b2f_frame_ref(frame);
	txn->store = frame->store;
	txn->protocol = protocols[frame->store->kind];
	txn->header = frame->header;
	txn->stamp = frame->stamp;
	b2f_txn_belong(txn, frame->store->generation);
	txn->numbers.last_tag = b2f_tag_draw();
	txn->durability = durability;
	err = b2f_store_lock(txn->store, &why);
	txn->guard.has_store = !err;
	if (!err)
		err = open_lock(txn, locking, &why);
	/* Until now another program could write. */
	if (!err && b2f_frame_has_changed(txn->frame, &txn->stamp))
		err = -ESTALE;
	if (!err)
		err = open_states(txn, what, &why);
	if (!err)
		err = txn->protocol->begin(txn, &why);
	if (err) {
		b2f_txn_free(txn);
		/* The caller tries again, or reports it. */
		return err == -ESTALE ? err
				      : b2f_frame_report(frame, err, &why);
	}
	*out = txn;
	return 0;
}

void b2f_txn_free(struct b2f_txn *txn)
{
	struct b2f_new_chunk *chunk, *next;

	if (!txn)
		return;
	/* Without the writer's lock @txn has neither written nor committed. */
	if (txn->guard.has_store && txn->committed.pages.n)
		txn->protocol->end(txn);
	b2f_txn_disk_fini(txn);
	HASH_ITER(hh, txn->fresh.files, chunk, next)
	b2f_txn_forget(txn, chunk);
	b2f_txn_belong(txn, NULL);
	b2f_lock_close(txn->guard.lock);
	/* Readers of the frame may keep the store for a while. */
	if (txn->guard.has_store)
		b2f_store_unlock(txn->store);
	b2f_txn_state_fini(&txn->committed);
	b2f_txn_state_fini(&txn->working);
	b2f_txn_state_fini(&txn->doubt.state);
	b2f_garbage_fini(&txn->garbage);
	b2f_ids_fini(&txn->numbers.free);
	b2f_ids_fini(&txn->numbers.foreign);
	b2f_txn_settle_settings(txn);
	b2f_frame_close(txn->frame);
	b2f_frame_close(txn->home);
	pthread_mutex_destroy(&txn->guard.mutex);
	free(txn);
}

/* Keeps the settings of the committed state for b2f_txn_revert(). */
static void keep_settings(struct b2f_txn *txn)
{
	if (txn->fresh.before)
		return;
	txn->fresh.before = b2f_frame_ref(txn->frame);
	txn->fresh.header_before = txn->header;
}

static void set_typesize(struct b2f_txn *txn, uint32_t typesize)
{
	txn->header.typesize = typesize;
	txn->frame->header.typesize = typesize;
	txn->frame->info.typesize = typesize;
	txn->frame->context.typesize = typesize;
}

void b2f_txn_set_typesize(struct b2f_txn *txn, uint32_t typesize)
{
	keep_settings(txn);
	set_typesize(txn, typesize);
}

/* Adds and subtracts stored bytes; a wrong old index makes no sum wrap. */
static void count_cbytes(struct b2f_txn_state *state, uint64_t more,
			 uint64_t less)
{
	state->cbytes += more;
	state->cbytes -= b2f_min_u64(state->cbytes, less);
}

int b2f_txn_put(struct b2f_txn *txn, uint64_t nchunk,
		 const struct b2f_txn_chunk *chunk, uint32_t old)
{
	struct b2f_txn_state *state = &txn->working;
	int err = b2f_pages_own(&state->pages, nchunk, 1);

	if (!err)
		err = b2f_txn_drop(txn, b2f_txn_raw(state, nchunk));
	if (err)
		return err;
	b2f_pages_set(&state->pages, nchunk, chunk->raw);
	count_cbytes(&txn->working, chunk->cbytes, old);
	return 0;
}

int b2f_txn_resize(struct b2f_txn *txn, uint64_t n, uint64_t nbytes,
		    uint64_t old)
{
	struct b2f_txn_state *state = &txn->working;
	uint64_t zeros = b2f_entry_raw(B2F_SPECIAL_ZEROS);
	int err;

	if (n > B2F_NCHUNKS_MAX)
		return B2F_ETOOBIG;
	err = b2f_txn_state_reserve(state, n);
	if (!err)
		err = b2f_txn_reserve_cut(txn, n);
	if (err)
		return err;
	for (uint64_t i = n; i < state->n; i++)
		if (b2f_txn_drop(txn, b2f_txn_raw(state, i)))
			break; /* Cannot be: there is room. */
	for (uint64_t i = state->n; i < n; i++)
		b2f_pages_set(&state->pages, i, zeros);
	b2f_txn_lay_out(txn, n, nbytes);
	count_cbytes(state, 0, old);
	return 0;
}

int b2f_txn_reserve_drops(struct b2f_txn *txn, size_t n)
{
	int err = b2f_ids_reserve(&txn->garbage.dead, n);

	return err ? err : b2f_ids_reserve(&txn->garbage.replaced, n);
}

int b2f_txn_reserve_cut(struct b2f_txn *txn, uint64_t n)
{
	const struct b2f_txn_state *state = &txn->working;
	size_t nstored = 0;

	for (uint64_t i = n; i < state->n; i++)
		nstored += b2f_txn_is_stored(b2f_txn_raw(state, i));
	/* To cut off what could not be written takes no memory. */
	return nstored ? b2f_txn_reserve_drops(txn, nstored) : 0;
}

int b2f_txn_drop(struct b2f_txn *txn, uint64_t raw)
{
	struct b2f_new_chunk *chunk;
	int err;

	if (!b2f_txn_is_stored(raw))
		return 0;
	chunk = b2f_txn_find(txn, raw);
	if (chunk && !chunk->committed && !chunk->frozen) {
		err = b2f_ids_add(&txn->garbage.dead, raw);
		if (!err)
			b2f_txn_forget(txn, chunk);
		return err;
	}
	/*
	 * A chunk that the commit under way names may stay pending, if the
	 * commit fails.
	 */
	if (!chunk || chunk->committed)
		raw = b2f_txn_chunk_id(raw);
	err = b2f_ids_add(&txn->garbage.replaced, raw);
	if (err || !chunk)
		return err;
	if (chunk->frozen)
		chunk->dropped = true;
	else
		b2f_txn_forget(txn, chunk);
	return 0;
}

void b2f_txn_set_frame(struct b2f_txn *txn, struct b2f_frame *frame)
{
	uint64_t frame_len = txn->header.frame_len;
	uint64_t cbytes = txn->header.cbytes;

	keep_settings(txn);
	b2f_frame_close(txn->frame);
	txn->frame = b2f_frame_ref(frame);
	txn->header = frame->header;
	/* These two fields describe the index on disk. */
	txn->header.frame_len = frame_len;
	txn->header.cbytes = cbytes;
}

int b2f_txn_relayout(struct b2f_txn *txn, struct b2f_frame *frame,
		    struct b2f_txn_state *state)
{
	struct b2f_txn_state old = txn->working;
	int err = b2f_txn_reserve_drops(txn, old.n);

	if (err)
		return err;
	for (uint64_t i = 0; i < old.n; i++)
		if (b2f_txn_drop(txn, b2f_txn_raw(&old, i)))
			break; /* Cannot be: there is room. */
	b2f_txn_state_fini(&old);
	txn->working = *state;
	*state = (struct b2f_txn_state){0};
	b2f_txn_set_frame(txn, frame);
	return 0;
}

static void restore_settings(struct b2f_txn *txn)
{
	if (!txn->fresh.before)
		return;
	b2f_txn_set_frame(txn, txn->fresh.before);
	txn->fresh.header_before.frame_len = txn->header.frame_len;
	txn->fresh.header_before.cbytes = txn->header.cbytes;
	txn->header = txn->fresh.header_before;
	set_typesize(txn, txn->header.typesize);
	b2f_txn_settle_settings(txn);
}

int b2f_txn_revert(struct b2f_txn *txn)
{
	struct b2f_garbage *garbage = &txn->garbage;
	struct b2f_new_chunk *chunk, *next;
	struct b2f_txn_state state = {0};
	int err = b2f_ids_reserve(&garbage->dead, HASH_COUNT(txn->fresh.files));

	if (!err)
		err = b2f_txn_state_copy(&txn->committed, &state);
	if (err)
		return err;
	HASH_ITER (hh, txn->fresh.files, chunk, next) {
		if (chunk->committed)
			continue;
		if (b2f_ids_add(&garbage->dead, chunk->pending_id))
			break; /* Cannot be: there is room. */
		b2f_txn_forget(txn, chunk);
	}
	/* The committed state has all that were replaced since. */
	garbage->replaced.n = 0;
	b2f_txn_state_fini(&txn->working);
	txn->working = state;
	txn->sizes.nkept = state.n;
	restore_settings(txn);
	return 0;
}
