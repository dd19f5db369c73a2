/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_merge.c - joins the changes of two writers of a frame
 *
 * Their changes are on disk, ours are not.  Both can stand if no chunk was
 * changed by both, and if at most one of them changed the size.
 */
#include <string.h>

#include "base/checked.h"
#include "chunk/seal.h"
#include "txn/txn.h"
#include "txn/txn_ids.h"
#include "txn/protocol.h"
#include "txn/garbage.h"

static bool same_meta(const struct b2f_meta *a, const struct b2f_meta *b)
{
	if (!a || !b)
		return a == b;
	return a->size == b->size && !memcmp(a->content, b->content, a->size);
}

static bool same_head(const struct b2f_layout *a, const struct b2f_layout *b)
{
	return a->head_len == b->head_len && !a->head == !b->head &&
	       (!a->head || !memcmp(a->head, b->head, a->head_len));
}

/* Arrays of one shape, shown alike. */
static bool same_form(const struct b2f_frame *a, const struct b2f_frame *b)
{
	return same_meta(b2f_frame_array_meta(a), b2f_frame_array_meta(b)) &&
	       same_head(&a->layout, &b->layout) && !b->layout.err;
}

static bool same_layout(const struct b2f_txn *txn,
			const struct b2f_frame *theirs)
{
	const struct b2f_frame_header *a = &txn->frame->header;
	const struct b2f_frame_header *b = &theirs->header;

	return b->sparse && b->version == a->version &&
	       b->chunksize == txn->header.chunksize &&
	       b->typesize == txn->header.typesize &&
	       same_form(txn->frame, theirs);
}

/* Is @raw's tag at the end of its file?  0, -ESTALE (no) or an errno. */
static int check_tag(const struct b2f_txn *txn, uint64_t raw)
{
	struct b2f_object object = {.fd = -1};
	uint8_t end[B2F_SEAL_END_SIZE] = {0};
	int err = b2f_object_open(txn->store, b2f_txn_id(raw), &object, NULL);

	if (!err && object.size >= sizeof(end))
		err = b2f_object_read(&object, object.size - sizeof(end), end,
				      sizeof(end), NULL);
	b2f_object_close(&object);
	if (!err && b2f_seal_end_tag(end) != b2f_entry_tag(raw))
		err = -ESTALE;
	return err;
}

/*
 * Is the chunk file @raw older than its index?  Returns as check_tag().  If the
 * clock stepped back since, so that their index is not younger than ours, times
 * prove nothing.
 */
static int check_time(const struct b2f_txn *txn, uint64_t raw)
{
	struct b2f_frame_stamp now, index;
	int err = b2f_store_identify(txn->store, b2f_txn_id(raw), &now);

	if (!err)
		err = b2f_store_stamp_index(txn->store, &index);
	if (!err && (now.mtime_ns > txn->stamp.ctime_ns ||
		     index.ctime_ns <= txn->stamp.ctime_ns))
		err = -ESTALE;
	return err;
}

/*
 * -ESTALE if another program has written to the chunk file @raw since our index
 * was made.  Such a write removes the seal, and the tag in it.  For a file
 * without a tag the times decide: it was written before its index, often within
 * the same tick of the clock.
 */
static int check_written(const struct b2f_txn *txn, uint64_t raw)
{
	int err;

	if (!b2f_txn_is_stored(raw) || txn->protocol->is_shared)
		return 0;
	err = b2f_entry_tag(raw) ? check_tag(txn, raw) : check_time(txn, raw);
	/* It is gone, or was cut while it was read. */
	return err == -ENOENT || err == B2F_ECORRUPT ? -ESTALE : err;
}

/* Compares lengths, too: the entry of a hole at the end has none. */
static bool changed_here(const struct b2f_txn *txn, uint64_t i)
{
	const struct b2f_txn_state *c = &txn->committed, *w = &txn->working;

	return i >= c->n || i >= w->n || b2f_txn_raw(c, i) != b2f_txn_raw(w, i) ||
	       b2f_txn_chunk_nbytes(txn, c, i) !=
		       b2f_txn_chunk_nbytes(txn, w, i);
}

/*
 * Are the entries @ours and @theirs the same, as far as the indexes tell?  An
 * index that C-Blosc2 wrote has no tags.
 */
static bool same_version(uint64_t ours, uint64_t theirs)
{
	if (!b2f_txn_is_stored(ours) || !b2f_txn_is_stored(theirs))
		return ours == theirs;
	return b2f_txn_chunk_id(ours) == b2f_txn_chunk_id(theirs) &&
	       (!b2f_entry_tag(ours) || !b2f_entry_tag(theirs) ||
		b2f_entry_tag(ours) == b2f_entry_tag(theirs));
}

int b2f_txn_check_untouched(const struct b2f_txn *txn,
			    const struct b2f_txn_state *theirs, uint64_t i)
{
	const struct b2f_txn_state *ours = &txn->committed;

	/* Neither state has the chunk. */
	if (i >= ours->n && i >= theirs->n)
		return 0;
	if (i >= ours->n || i >= theirs->n ||
	    !same_version(b2f_txn_raw(ours, i), b2f_txn_raw(theirs, i)) ||
	    b2f_txn_chunk_nbytes(txn, ours, i) !=
		    b2f_txn_chunk_nbytes(txn, theirs, i))
		return -ESTALE;
	return check_written(txn, b2f_txn_raw(ours, i));
}

/*
 * If their chunks of different sizes begin elsewhere, our writes would go to
 * other positions.
 */
static bool same_starts(const struct b2f_txn_state *a,
			const struct b2f_txn_state *b)
{
	size_t n = (size_t)b2f_min_u64(a->n, b->n) + 1;

	return !a->starts || !memcmp(a->starts, b->starts, n * sizeof(*a->starts));
}

/* Is chunk @i of the commit of unknown outcome unchanged, or in @theirs? */
static bool has_chunk(const struct b2f_txn *txn,
		      const struct b2f_txn_state *theirs, uint64_t i)
{
	const struct b2f_txn_state *c = &txn->committed, *d = &txn->doubt.state;

	if (i < c->n && b2f_txn_raw(c, i) == b2f_txn_raw(d, i))
		return true;
	return i < theirs->n && same_version(b2f_txn_raw(d, i), b2f_txn_raw(theirs, i));
}

/*
 * Has the commit happened? No other chunks have the tags of its chunks; without
 * tags, all has to be the same.
 */
static bool has_happened(const struct b2f_txn *txn,
			 const struct b2f_txn_state *theirs)
{
	const struct b2f_txn_state *c = &txn->committed, *d = &txn->doubt.state;
	bool has_tags = false;

	for (uint64_t i = 0; i < d->n; i++) {
		if (!has_chunk(txn, theirs, i))
			return false;
		has_tags |= (i >= c->n || b2f_txn_raw(c, i) != b2f_txn_raw(d, i)) &&
			    b2f_txn_is_stored(b2f_txn_raw(d, i)) &&
			    b2f_entry_tag(b2f_txn_raw(d, i));
	}
	return has_tags || (d->n == theirs->n && d->nbytes == theirs->nbytes);
}

void b2f_txn_settle(struct b2f_txn *txn, const struct b2f_txn_state *theirs)
{
	struct b2f_new_chunk *chunk;

	if (!txn->doubt.is_open || !has_happened(txn, theirs))
		return;
	for (uint64_t i = 0; i < txn->doubt.state.n; i++) {
		uint64_t raw = b2f_txn_raw(&txn->doubt.state, i);

		chunk = b2f_txn_is_stored(raw) ? b2f_txn_find(txn, raw) : NULL;
		if (chunk)
			chunk->committed = true;
	}
	b2f_txn_state_fini(&txn->committed);
	txn->committed = txn->doubt.state;
	txn->doubt.state = (struct b2f_txn_state){0};
	txn->doubt.is_open = false;
}

/*
 * Is our change in their index, because a commit of unknown outcome has
 * happened? No other chunk has the tag.
 */
static bool is_there(const struct b2f_txn *txn,
		     const struct b2f_txn_state *theirs, uint64_t i)
{
	const struct b2f_txn_state *w = &txn->working;

	return i < w->n && i < theirs->n && b2f_txn_is_stored(b2f_txn_raw(w, i)) &&
	       b2f_entry_tag(b2f_txn_raw(w, i)) &&
	       b2f_entry_tag(b2f_txn_raw(w, i)) == b2f_entry_tag(b2f_txn_raw(theirs, i)) &&
	       b2f_txn_chunk_id(b2f_txn_raw(w, i)) == b2f_txn_chunk_id(b2f_txn_raw(theirs, i));
}

/* 0, -ESTALE (both have changed the same) or an errno. */
static int check_merge(const struct b2f_txn *txn,
		       const struct b2f_txn_state *theirs)
{
	const struct b2f_txn_state *c = &txn->committed, *w = &txn->working;
	uint64_t n = b2f_max_u64(c->n, w->n);
	int err = 0;

	if ((w->nbytes != c->nbytes && theirs->nbytes != c->nbytes) ||
	    !same_starts(c, theirs))
		return -ESTALE;
	for (uint64_t i = 0; i < n && !err; i++)
		if (changed_here(txn, i) && !is_there(txn, theirs, i))
			err = b2f_txn_check_untouched(txn, theirs, i);
	return err;
}

/*
 * The other program may have given our ids to files of its own.  Our files are
 * pending, so they are unchanged, but need other ids.
 */
static void give_up_taken(struct b2f_txn *txn, const struct b2f_ids *used)
{
	struct b2f_new_chunk *chunk, *next;

	HASH_ITER(hh, txn->fresh.files, chunk, next)
		if (!chunk->committed &&
		    b2f_ids_has_sorted(used, b2f_txn_chunk_id(chunk->pending_id)))
			b2f_txn_set_bad(txn, chunk);
}

/* Applies our changes to their @state. */
static int apply(const struct b2f_txn *txn, struct b2f_txn_state *state)
{
	const struct b2f_txn_state *c = &txn->committed, *w = &txn->working;
	bool resized = w->nbytes != c->nbytes;

	if (resized && b2f_txn_state_reserve(state, w->n))
		return -ENOMEM;
	if (resized) {
		state->n = w->n;
		state->nbytes = w->nbytes;
	}
	if (resized && w->starts)
		memcpy(state->starts, w->starts,
		       (w->n + 1) * sizeof(*w->starts));
	for (uint64_t i = 0; i < w->n; i++)
		if (changed_here(txn, i) &&
		    b2f_txn_set_raw(state, i, b2f_txn_raw(w, i)))
			return -ENOMEM;
	/* The bytes by which our changes grew or shrank the frame. */
	state->cbytes += w->cbytes;
	state->cbytes -= b2f_min_u64(state->cbytes, c->cbytes);
	return 0;
}

/* Removes from @list the ids that their index uses now. */
static void keep_unused(struct b2f_ids *list, const struct b2f_ids *used)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (!b2f_ids_has_sorted(used, list->ids[i]))
			list->ids[n++] = list->ids[i];
	list->n = n;
}

static void adopt(struct b2f_txn *txn, struct b2f_frame *theirs,
		  const struct b2f_ids *used)
{
	struct b2f_new_chunk *chunk, *next;

	b2f_txn_settle_settings(txn);
	b2f_frame_close(txn->frame);
	txn->frame = b2f_frame_ref(theirs);
	txn->header = theirs->header;
	txn->sizes.nkept = txn->working.n;
	txn->stamp = theirs->stamp;
	b2f_txn_belong(txn, theirs->store->generation);
	b2f_garbage_keep(txn, used);
	/* Our index is going to name their files, which may not survive. */
	if (!txn->protocol->is_shared)
		(void)b2f_durability_move(txn->durability, B2F_DISK_DURABLE,
					  B2F_DISK_UNSYNCED);
	HASH_ITER(hh, txn->fresh.files, chunk, next)
	if (chunk->committed)
		b2f_txn_forget(txn, chunk);
	give_up_taken(txn, used);
	txn->numbers.free.n = 0;
	txn->numbers.above = b2f_txn_above(&txn->committed);
	txn->numbers.next_id = b2f_max_u64(txn->numbers.next_id, txn->numbers.above);
	b2f_txn_skip_ids(txn);
}

int b2f_txn_merge(struct b2f_txn *txn, struct b2f_frame *theirs)
{
	struct b2f_txn_state state = {0}, working = {0};
	struct b2f_ids used = {0}, ours = {0};
	int err;

	if (!same_layout(txn, theirs))
		return -ESTALE;
	err = b2f_txn_state_like(txn, theirs, &state);
	if (!err)
		b2f_txn_count(theirs, &state);
	if (!err)
		err = b2f_txn_used_ids(&state, &used);
	if (!err)
		err = check_merge(txn, &state);
	if (!err)
		err = b2f_txn_state_copy(&state, &working);
	if (!err)
		err = apply(txn, &working);
	if (!err)
		err = b2f_txn_list_ids(&working, &ours);
	if (err)
		goto out;
	b2f_txn_state_fini(&txn->committed);
	b2f_txn_state_fini(&txn->working);
	txn->committed = state;
	txn->working = working;
	state = working = (struct b2f_txn_state){0};
	keep_unused(&txn->garbage.replaced, &ours);
	adopt(txn, theirs, &used);
out:
	b2f_txn_state_fini(&state);
	b2f_txn_state_fini(&working);
	b2f_ids_fini(&used);
	b2f_ids_fini(&ours);
	return err;
}
