/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_compact.c - a contiguous frame that is mostly dead becomes shorter
 *
 * One pass is two commits of the data as they are:
 *
 *   1. The last chunks are copied to free room before them.  The new index still
 *      goes behind all that the frame before needs.
 *   2. What that was is free now, so the next index goes right behind the last
 *      chunk.  The file ends there.
 *
 * A new file with the name of the old one would leave programs that have the frame
 * open with a file that has no name any more, and its other names, too.
 */
#include "frame/edit_compact.h"

#include <stdlib.h>

#include "base/checked.h"
#include "frame/edit_commit.h"
#include "frame/edit_disk.h"
#include "frame/edit_gaps.h"
#include "frame/edit_move.h"
#include "frame/edit_single.h"

/* So many dead bytes are no reason for a commit. */
#define DEAD_MIN (UINT64_C(64) << 10)

/* A close copies no more than this; the next one goes on. */
#define COPIED_MAX (UINT64_C(256) << 20)

/* Room between chunks is put together by moving them more than once. */
#define PASSES_MAX 8

/* What st_blocks counts. */
#define BLOCK 512

/* Where a chunk is now. */
struct spot {
	uint64_t off;
	uint64_t size;
	uint64_t nchunk;
};

static int compare_spots(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return (x->off < y->off) - (x->off > y->off);
}

/* The stored chunks of the committed state, the last one in the file first. */
static int list_spots(const struct b2f_edit *edit, struct spot **out, size_t *n)
{
	const struct b2f_edit_state *state = &edit->committed;
	struct spot *spots = calloc(state->n ? state->n : 1, sizeof(*spots));
	struct b2f_range range;

	if (!spots)
		return -ENOMEM;
	*n = 0;
	for (uint64_t i = 0; i < state->n; i++)
		if (b2f_edit_is_stored(state->raw[i]) &&
		    b2f_ranges_get(edit->store->ranges,
				   b2f_edit_number(state->raw[i]), &range))
			spots[(*n)++] =
				(struct spot){range.off, range.size, i};
	qsort(spots, *n, sizeof(*spots), compare_spots);
	*out = spots;
	return 0;
}

/* Is more of the file dead than is not? */
static bool is_mostly_dead(const struct b2f_edit *edit,
			   const struct spot *spots, size_t n)
{
	struct b2f_range index = {0};
	uint64_t live = b2f_edit_head_room(edit), taken;
	struct stat st;

	if (b2f_store_stat_index(edit->store, &st))
		return false;
	for (size_t i = 0; i < n; i++)
		live += spots[i].size;
	if (b2f_ranges_get(edit->store->ranges, edit->disk->index_id, &index))
		live += index.size;
	/* Holes take nothing; zeros at the end, which are still to be cut, little. */
	taken = b2f_min_u64((uint64_t)st.st_blocks * BLOCK,
			    edit->disk->frame_len);
	return taken > live && taken - live > live && taken - live >= DEAD_MIN;
}

/*
 * Copies the last chunks to where there is room before them, until one does not
 * fit; the ids that it leaves are in @left.
 */
static int move_last(struct b2f_edit *edit, const struct spot *spots, size_t n,
		     struct b2f_edit_state *state, struct b2f_ids *left)
{
	uint64_t from = b2f_edit_head_room(edit), copied = 0;
	int err = b2f_ids_reserve(left, n + 1);

	for (size_t i = 0; i < n && copied < COPIED_MAX && !err; i++) {
		uint64_t *raw = &state->raw[spots[i].nchunk];
		uint64_t id = b2f_edit_number(*raw);

		err = b2f_edit_move(edit, spots[i].nchunk, from, spots[i].off,
				    raw, NULL);
		if (!err)
			left->ids[left->n++] = id;
		copied += spots[i].size;
	}
	return err == -ENOSPC ? 0 : err;
}

/* Commits @state, which has the same data; gives back @left, and the index. */
static int commit(struct b2f_edit *edit, struct b2f_edit_state *state,
		  struct b2f_ids *left)
{
	struct b2f_commit commit = {.durable = true,
				    .before = B2F_DISK_DURABLE,
				    .state = *state};
	int err = b2f_edit_single_put(edit, &commit, NULL);

	*state = commit.state;
	if (err && commit.installed)
		(void)b2f_durability_move(edit->durability, B2F_DISK_DURABLE,
					  B2F_DISK_UNSYNCED);
	if (err)
		return err;
	edit->header.frame_len = commit.frame_len;
	edit->header.cbytes = commit.told_cbytes;
	edit->stamp = commit.stamp;
	(void)!b2f_store_remove(edit->store, (int64_t)commit.old_index_id,
				NULL);
	for (size_t i = 0; i < left->n; i++)
		(void)!b2f_store_remove(edit->store, (int64_t)left->ids[i],
					NULL);
	left->n = 0;
	return 0;
}

/* One pass; *@done: there is nothing more that it could do. */
static int pass(struct b2f_edit *edit, bool *done)
{
	struct b2f_edit_state state = {0};
	struct b2f_ids left = {0};
	struct spot *spots = NULL;
	size_t n = 0;
	int err = list_spots(edit, &spots, &n);

	*done = err || !is_mostly_dead(edit, spots, n);
	if (*done)
		goto out;
	err = b2f_edit_disk_claim(edit, NULL);
	if (!err)
		err = b2f_edit_state_copy(&edit->committed, &state);
	if (!err)
		err = move_last(edit, spots, n, &state, &left);
	*done = !err && left.n == 0;
	if (!err)
		err = commit(edit, &state, &left);
	if (!err) {
		b2f_edit_state_fini(&edit->committed);
		edit->committed = state;
		state = (struct b2f_edit_state){0};
		err = commit(edit, &edit->committed, &left);
	}
out:
	b2f_edit_state_fini(&state);
	b2f_ids_fini(&left);
	free(spots);
	return err;
}

int b2f_edit_compact(struct b2f_edit *edit)
{
	bool done = false;
	int err = 0;

	for (int i = 0; i < PASSES_MAX && !done && !err; i++)
		err = pass(edit, &done);
	return err;
}
