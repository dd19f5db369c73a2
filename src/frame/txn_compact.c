/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_compact.c - a contiguous frame that is mostly dead becomes shorter
 *
 * The last chunks are copied to free room before them, and the data committed
 * as they are.  The index still goes behind all that the frame before needs,
 * and that stays as it is: a reader of C-Blosc2 without locks may have just
 * opened it.  For the next writer it is free, so that one's first index goes
 * right behind the last chunk, and the file ends there.
 *
 * A new file with the name of the old one would leave programs that have the
 * frame open with a file that has no name any more, and its other names, too.
 */
#include "frame/txn_compact.h"

#include <stdlib.h>

#include "base/checked.h"
#include "frame/txn_commit.h"
#include "frame/txn_disk.h"
#include "frame/txn_gaps.h"
#include "frame/txn_move.h"
#include "frame/txn_single.h"

/* So many dead bytes are no reason for a commit. */
#define DEAD_MIN (UINT64_C(64) << 10)

/* A close copies no more than this; the next one goes on. */
#define COPIED_MAX (UINT64_C(256) << 20)

/* What st_blocks counts. */
#define BLOCK 512

/* Where a chunk is now. */
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
		if (b2f_txn_is_stored(state->raw[i]) &&
		    b2f_ranges_get(txn->store->ranges,
				   b2f_txn_chunk_id(state->raw[i]), &range))
			extents[(*n)++] =
				(struct extent){range.off, range.size, i};
	qsort(extents, *n, sizeof(*extents), compare_extents);
	*out = extents;
	return 0;
}

/* Is more of the file dead than is not? */
static bool is_mostly_dead(const struct b2f_txn *txn,
			   const struct extent *extents, size_t n)
{
	struct b2f_range index = {0};
	uint64_t live = b2f_txn_head_room(txn), taken;
	struct stat st;

	if (b2f_store_stat_index(txn->store, &st))
		return false;
	for (size_t i = 0; i < n; i++)
		live += extents[i].size;
	if (b2f_ranges_get(txn->store->ranges, txn->disk->index_id, &index))
		live += index.size;
	/*
	 * Holes take nothing; zeros at the end, which are still to be cut,
	 * little.
	 */
	taken = b2f_min_u64((uint64_t)st.st_blocks * BLOCK,
			    txn->disk->frame_len);
	return taken > live && taken - live > live && taken - live >= DEAD_MIN;
}

/*
 * Copies the last chunks to where there is room before them, until one does not
 * fit; *@n is how many of @extents there are, and then how many have moved.
 */
static int move_last(struct b2f_txn *txn, const struct extent *extents,
		     size_t *n, struct b2f_txn_state *state)
{
	uint64_t from = b2f_txn_head_room(txn), copied = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < *n && copied < COPIED_MAX && !err; i++) {
		err = b2f_txn_move(txn, extents[i].nchunk, from, extents[i].off,
				   &state->raw[extents[i].nchunk], NULL);
		copied += extents[i].size;
	}
	*n = i - (err != 0);
	return err == -ENOSPC ? 0 : err;
}

/* Commits @state, which has the same data; on success it is taken over. */
static int commit(struct b2f_txn *txn, struct b2f_txn_state *state)
{
	struct b2f_commit commit = {.durable = true,
				    .before = B2F_DISK_DURABLE,
				    .index_from = txn->disk->frame_len,
				    .state = *state};
	int err = b2f_txn_single_put(txn, &commit, NULL);

	if (err && commit.installed)
		(void)b2f_durability_move(txn->durability, B2F_DISK_DURABLE,
					  B2F_DISK_UNSYNCED);
	if (err)
		return err;
	txn->header.frame_len = commit.frame_len;
	txn->header.cbytes = commit.told_cbytes;
	txn->stamp = commit.stamp;
	b2f_txn_state_fini(&txn->committed);
	txn->committed = *state;
	*state = (struct b2f_txn_state){0};
	return 0;
}

int b2f_txn_compact(struct b2f_txn *txn)
{
	struct b2f_txn_state state = {0};
	struct extent *extents = NULL;
	size_t n = 0;
	int err = list_extents(txn, &extents, &n);

	if (err || !is_mostly_dead(txn, extents, n))
		goto out;
	err = b2f_txn_disk_claim(txn, NULL);
	if (!err)
		err = b2f_txn_state_copy(&txn->committed, &state);
	if (!err)
		err = move_last(txn, extents, &n, &state);
	if (!err && n > 0)
		err = commit(txn, &state);
out:
	b2f_txn_state_fini(&state);
	free(extents);
	return err;
}
