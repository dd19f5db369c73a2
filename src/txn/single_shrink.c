/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * single_shrink.c - shortens a contiguous frame with many dead bytes
 *
 * The last chunks are copied to free room before them, and the data committed
 * as they are.  After that commit, as after any other, the ranges that only the
 * old frame used are given back, so that the next round finds room there, if
 * only for the index.  A reader of the old frame that knows no checksums gets
 * errors for moved chunks, as for changed ones, until it opens the frame again.
 *
 * A new file with the name of the old one would leave programs that have the
 * frame open with a file that has no name any more, and its other names, too.
 */
#include "txn/protocol.h"

#include <stdlib.h>

#include "base/checked.h"
#include "txn/single_commit.h"
#include "txn/single_space.h"

/* Each round makes room for the next one. */
#define ROUNDS 4

/* A round copies up to this much, or its share of the frame. */
#define COPIED_MIN (UINT64_C(256) << 20)

/* The current place of a chunk. */
struct extent {
	uint64_t off;
	uint64_t size;
	uint64_t nchunk;
};

static int compare_extents(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->off < y->off) - (x->off > y->off);
}

/* The stored chunks of the committed state, the last one in the file first. */
static int list_extents(const struct b2f_txn *txn, struct extent **out,
			size_t *n)
{
	const struct b2f_txn_state *state = &txn->committed;
	struct extent *extents =
		calloc(state->n ? state->n : 1, sizeof(*extents));
	struct b2f_range range;

	if (!extents)
		return -ENOMEM;
	*n = 0;
	for (uint64_t i = 0; i < state->n; i++)
		if (b2f_txn_is_stored(b2f_txn_raw(state, i)) &&
		    b2f_ranges_get(txn->store->ranges,
				   b2f_txn_chunk_id(b2f_txn_raw(state, i)),
				   &range))
			extents[(*n)++] =
				(struct extent){range.off, range.size, i};
	qsort(extents, *n, sizeof(*extents), compare_extents);
	*out = extents;
	return 0;
}

/* Is too much of the file dead? */
static bool is_loose(const struct b2f_txn *txn, const struct extent *extents,
		     size_t n)
{
	uint64_t live = b2f_txn_head_room(txn);
	struct b2f_range index = {0};

	for (size_t i = 0; i < n; i++)
		live += extents[i].size;
	if (b2f_ranges_get(txn->store->ranges, txn->disk->index_id, &index))
		live += index.size;
	return b2f_txn_is_loose(txn->disk->frame_len, live);
}

/*
 * Copies the last chunks to free room before them, until one does not fit; *@n
 * is how many of @extents there are, and then how many have moved.
 */
static int move_last(struct b2f_txn *txn, const struct extent *extents,
		     size_t *n, struct b2f_txn_state *state)
{
	uint64_t from = b2f_txn_head_room(txn), copied = 0, most = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < *n; i++)
		most += extents[i].size;
	most = b2f_max_u64(most / ROUNDS, COPIED_MIN);
	for (i = 0; i < *n && copied < most && !err; i++) {
		err = b2f_txn_disk_claim(txn, NULL);
		if (!err)
			err = b2f_txn_move(txn, extents[i].nchunk, from,
					   extents[i].off, state, NULL);
		copied += extents[i].size;
	}
	*n = i - (err != 0);
	return err == -ENOSPC ? 0 : err;
}

/*
 * A loss of power may bring back the old frame: syncs the new one before the
 * old one's room is given back.  After a failed sync of the header that takes a
 * commit, because a sync alone would succeed and not write it.
 */
static int settle(struct b2f_txn *txn)
{
	struct b2f_object object = {.store = txn->store, .fd = -1};
	enum b2f_durable_state state = b2f_durability_get(txn->durability);
	int err;

	if (state == B2F_DISK_DURABLE)
		return 0;
	if (state != B2F_DISK_NEW)
		return -EIO;
	err = b2f_object_settle(&object, B2F_SETTLE_ORDER, NULL);
	if (err)
		b2f_durability_fail(txn->durability);
	return err;
}

/* Ranges that no frame, or only older ones, used: no older frame comes back. */
static void give_back_dead(struct b2f_txn *txn)
{
	struct b2f_garbage *g = &txn->garbage;

	b2f_txn_give_back(txn, &g->dead, g->retired.n);
	g->dead.n = g->retired.n = g->retired.nnewest = 0;
}

/* Gives back all ranges that no index names. */
static int give_back_all(struct b2f_txn *txn)
{
	int err = settle(txn);

	if (err)
		return err;
	give_back_dead(txn);
	return 0;
}

/*
 * Gives readers @commit with its @state, and waits for the readers of the state
 * before.
 */
static void take_over(struct b2f_txn *txn, const struct b2f_commit *commit,
		      struct b2f_txn_state *state,
		      struct b2f_txn_state *working,
		      const struct b2f_txn_readers *readers)
{
	if (readers)
		pthread_mutex_lock(txn->guard.owner);
	txn->header.frame_len = commit->frame_len;
	txn->header.cbytes = commit->told_cbytes;
	txn->stamp = commit->stamp;
	b2f_txn_state_fini(&txn->committed);
	b2f_txn_state_fini(&txn->working);
	txn->committed = *state;
	txn->working = *working;
	if (readers) {
		pthread_mutex_unlock(txn->guard.owner);
		readers->wait(readers->arg);
	}
	*state = *working = (struct b2f_txn_state){0};
}

/* Commits @state, which has the same data; on success it is taken over. */
static int commit(struct b2f_txn *txn, struct b2f_txn_state *state,
		  const struct b2f_txn_readers *readers, uint64_t *old_index)
{
	enum b2f_durable_state before = b2f_durability_get(txn->durability);
	struct b2f_txn_state working = {0};
	struct b2f_commit commit = {.durable = before == B2F_DISK_DURABLE,
				    .before = before,
				    .state = *state};
	int err = b2f_txn_state_copy(state, &working);

	if (!err)
		err = b2f_txn_single_put(txn, &commit, NULL);
	if (err && commit.installed)
		(void)b2f_durability_move(txn->durability, B2F_DISK_DURABLE,
					  B2F_DISK_UNSYNCED);
	if (err) {
		b2f_txn_state_fini(&working);
		return err;
	}
	*old_index = commit.old_index_id;
	take_over(txn, &commit, state, &working, readers);
	return 0;
}

/* The ids that the last @n chunks of @extents and the index had. */
static int list_left(const struct b2f_txn *txn, const struct extent *extents,
		     size_t n, struct b2f_ids *out)
{
	int err = b2f_ids_reserve(out, n + 1);

	for (size_t i = 0; i < n && !err; i++)
		out->ids[out->n++] = b2f_txn_chunk_id(
			b2f_txn_raw(&txn->committed, extents[i].nchunk));
	return err;
}

/*
 * Does one round. Returns 1 if it has committed, 0 if there is nothing to do.
 */
static int do_round(struct b2f_txn *txn, const struct b2f_txn_readers *readers)
{
	struct b2f_txn_state state = {0};
	struct extent *extents = NULL;
	struct b2f_ids left = {0};
	uint64_t old_index = 0;
	size_t n = 0;
	int err = list_extents(txn, &extents, &n);

	if (err || !is_loose(txn, extents, n))
		goto out;
	err = give_back_all(txn);
	if (!err)
		err = b2f_txn_state_copy(&txn->committed, &state);
	if (!err)
		err = move_last(txn, extents, &n, &state);
	if (!err)
		err = list_left(txn, extents, n, &left);
	if (!err)
		err = commit(txn, &state, readers, &old_index);
	if (!err)
		err = settle(txn);
	if (!err) {
		left.ids[left.n++] = old_index;
		b2f_txn_give_back(txn, &left, 0);
		err = 1;
	}
out:
	b2f_txn_state_fini(&state);
	b2f_ids_fini(&left);
	free(extents);
	return err;
}

/*
 * If much of the file is dead (b2f_txn_is_loose()), gives back ranges that no
 * index names, and moves chunks to free room before them, so that the frame
 * ends earlier; the file is not cut.  For a transaction that has nothing to
 * commit, with other programs locked out, or not about to write yet.  NULL:
 * there are no readers.
 *
 * Returns 0, also if nothing had to be done; -EIO or another errno of a sync:
 * then the frame before may come back, so the file must not be cut.
 */
static int compact(struct b2f_txn *txn, const struct b2f_txn_readers *readers)
{
	uint64_t before;
	int ret = 1;

	for (int i = 0; i < ROUNDS && ret > 0; i++) {
		before = txn->disk->frame_len;
		ret = do_round(txn, readers);
		/* The first round may only have made room. */
		if (i > 0 && txn->disk->frame_len >= before)
			break;
	}
	return ret < 0 ? ret : 0;
}

/* Is the file longer than its frame, or is the frame claimed? */
static bool has_rest(const struct b2f_txn *txn)
{
	struct stat st;

	return !b2f_store_stat_index(txn->store, &st) &&
	       ((uint64_t)st.st_size > txn->disk->frame_len ||
		txn->disk->is_claimed);
}

/* Cuts the file at the end of the frame; keeps the mtime of the commit. */
static void cut(struct b2f_txn *txn)
{
	struct b2f_object object = {.store = txn->store, .fd = -1};
	int err = 0;

	if (!has_rest(txn))
		return;
	/* The header of a longer frame may be the one that the disk has. */
	if (b2f_durability_get(txn->durability) == B2F_DISK_UNSYNCED)
		return;
	if (b2f_durability_get(txn->durability) == B2F_DISK_NEW)
		err = b2f_object_settle(&object, B2F_SETTLE_ORDER, NULL);
	if (err)
		b2f_durability_fail(txn->durability);
	/* If that fails, the next writer tries again. */
	else
		(void)!b2f_store_cut(txn->store, txn->disk->frame_len, NULL);
}

/* Does b2f_txn_lock_out() keep all other programs out? */
static bool is_alone(const struct b2f_txn *txn)
{
	return txn->guard.lock || !b2f_lock_has_place(txn->store);
}

/* Makes the file shorter, if possible. */
static void shrink(struct b2f_txn *txn, const struct b2f_txn_readers *readers)
{
	int err = 0;

	if (b2f_txn_state_equal(&txn->working, &txn->committed))
		err = compact(txn, readers);
	if (!err)
		cut(txn);
}

bool b2f_txn_single_may_end(const struct b2f_txn *txn)
{
	return !txn->guard.ends_late || is_alone(txn);
}

static void single_end(struct b2f_txn *txn)
{
	enum b2f_durable_state state = b2f_durability_get(txn->durability);

	if (!txn->disk || !b2f_txn_single_may_end(txn) ||
	    b2f_txn_lock_out(txn, 0, NULL))
		return;
	if (b2f_txn_disk_has_changed(txn) == 0) {
		if (state == B2F_DISK_DURABLE)
			give_back_dead(txn);
		if (state == B2F_DISK_DURABLE || state == B2F_DISK_NEW)
			shrink(txn, NULL);
	}
	b2f_txn_let_in(txn);
}

void b2f_txn_single_cut(struct b2f_txn *txn,
			const struct b2f_txn_readers *readers)
{
	enum b2f_durable_state state = b2f_durability_get(txn->durability);

	/* A small file is mostly as short as it can be. */
	if (!has_rest(txn) &&
	    (!readers || !b2f_txn_is_loose(txn->disk->frame_len, 0)))
		return;
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

static int single_number(struct b2f_txn *txn, uint64_t size, uint64_t *id)
{
	return b2f_ranges_take(txn->store->ranges, b2f_txn_head_room(txn),
			       UINT64_MAX, (uint32_t)size, id);
}

static bool single_delete(struct b2f_txn *txn)
{
	bool same;

	if (b2f_txn_lock_out(txn, 0, NULL))
		return false;
	/* Another program may have written where a range was. */
	same = b2f_txn_has_changed(txn) == 0;
	if (same)
		b2f_txn_give_back(txn, &txn->garbage.dying, txn->garbage.ndying);
	b2f_txn_let_in(txn);
	return same;
}

const struct b2f_protocol b2f_single_protocol = {
	.begin = b2f_txn_disk_begin,
	.claim = b2f_txn_disk_claim,
	.number = single_number,
	.write = b2f_txn_single_write,
	.has_changed = b2f_txn_disk_has_changed,
	.delete = single_delete,
	.end = single_end,
};
