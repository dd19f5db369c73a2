/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * single_space.c - free room in the file of a contiguous frame, and moving of
 * chunks
 */
#include "txn/single_space.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "frame/frame_chunk.h"
#include "txn/txn.h"

/*
 * With more chunks than this, a sample of this size decides whether to read
 * all.
 */
#define NMEASURED_MAX 1024
#define NSAMPLES      256

/* Up to this many chunks the sum of their sizes is known (txn_state.c). */
#define NCOUNTED_MAX 256

/*
 * Up to DEAD_MIN dead bytes are no loss, and up to LOOSE_MIN if more bytes are
 * alive than dead.
 */
#define DEAD_MIN  (UINT64_C(64) << 10)
#define LOOSE_MIN (UINT64_C(2) << 20)

/* Dead bytes may be up to this fraction of those alive. */
#define LOOSE_PART 4

bool b2f_txn_is_loose(uint64_t len, uint64_t live)
{
	uint64_t dead = len - b2f_min_u64(len, live);

	return dead > DEAD_MIN &&
	       (dead > live || (dead > LOOSE_MIN && dead > live / LOOSE_PART));
}

/* Decoded bytes of a chunk of the committed state; 0: not known. */
static uint64_t chunk_nbytes(const struct b2f_txn *txn, uint64_t nchunk)
{
	struct b2f_frame_span span;

	if (txn->committed.starts ||
	    (txn->header.chunksize > 0 && !txn->frame->map.starts))
		return b2f_txn_chunk_nbytes(txn, &txn->committed, nchunk);
	return b2f_frame_span_get(txn->frame, nchunk, &span) ? 0 : span.nbytes;
}

/*
 * Bytes of chunk @nchunk of the committed state with its seal, which is
 * checked. 0: not known, as a chunk without a seal may be longer than it seems.
 */
static uint64_t measure(const struct b2f_txn *txn, uint64_t nchunk)
{
	uint64_t raw = b2f_txn_raw(&txn->committed, nchunk), size = 0;
	struct b2f_loaded *loaded = NULL;

	if (!b2f_entry_tag(raw) ||
	    b2f_frame_load_entry(txn->frame, nchunk, raw,
				 chunk_nbytes(txn, nchunk), B2F_LOAD_HEAD,
				 &loaded))
		return 0;
	size = loaded->chunk.header.cbytes +
	       (uint64_t)b2f_seal_size(&loaded->chunk);
	b2f_loaded_free(loaded);
	return size;
}

/* A search for free room. */
struct search {
	struct b2f_txn *txn;
	/* Free room was found; and it may be used. */
	bool found;
	bool may_use;
};

/*
 * The disk may still have the old frame, which needs room that is free now. If
 * the frame was never durable, it is enough that the header reaches the disk
 * before all later writes.
 */
static bool may_use(struct search *search)
{
	struct b2f_txn *txn = search->txn;
	enum b2f_durable_state state = b2f_durability_get(txn->durability);
	struct b2f_object object = {.store = txn->store, .fd = -1};
	int err;

	if (search->found)
		return search->may_use;
	search->found = true;
	/* After a failed sync, a sync that succeeds proves nothing. */
	if (b2f_durable_needs_commit(state))
		return false;
	if (state == B2F_DISK_NEW)
		err = b2f_object_settle(&object, B2F_SETTLE_ORDER, NULL);
	else
		err = b2f_store_sync_index(txn->store, NULL);
	if (err)
		b2f_durability_fail(txn->durability);
	search->may_use = !err;
	return search->may_use;
}

/* The bytes between the header and the first chunk, or the index, are free. */
static void find_first_gap(struct search *search)
{
	struct b2f_txn *txn = search->txn;
	const struct b2f_txn_state *state = &txn->committed;
	uint64_t from = b2f_txn_head_room(txn), until, id = 0;
	struct b2f_range range = {0};

	(void)b2f_ranges_get(txn->store->ranges, txn->disk->index_id, &range);
	until = range.off;
	for (uint64_t i = 0; i < state->n; i++)
		if (b2f_txn_is_stored(b2f_txn_raw(state, i)) &&
		    b2f_ranges_get(txn->store->ranges,
				   b2f_txn_chunk_id(b2f_txn_raw(state, i)), &range))
			until = b2f_min_u64(until, range.off);
	if (until > from && may_use(search) &&
	    !b2f_ranges_add(txn->store->ranges, from,
			    (uint32_t)b2f_min_u64(until - from, UINT32_MAX),
			    &id))
		b2f_ranges_give_back(txn->store->ranges, id);
}

/* Is much of the ranges of a sample of chunks free? */
static bool is_loose_where_looked(const struct b2f_txn *txn)
{
	const struct b2f_txn_state *state = &txn->committed;
	uint64_t len = 0, live = 0;
	struct b2f_range range;

	for (uint64_t i = 0; i < state->n; i += state->n / NSAMPLES) {
		uint64_t size = measure(txn, i);

		if (!size || !b2f_ranges_get(txn->store->ranges,
					     b2f_txn_chunk_id(b2f_txn_raw(state, i)),
					     &range))
			continue;
		len += range.size;
		live += size;
	}
	return b2f_txn_is_loose(len, live);
}

/* Is there too little free room to be worth a search? */
static bool has_few_gaps(const struct b2f_txn *txn)
{
	if (txn->committed.n <= NCOUNTED_MAX)
		return txn->home->small &&
		       !b2f_txn_is_loose(txn->header.frame_len,
					 txn->committed.cbytes);
	return txn->committed.n > NMEASURED_MAX && !is_loose_where_looked(txn);
}

void b2f_txn_find_gaps(struct b2f_txn *txn)
{
	const struct b2f_txn_state *state = &txn->committed;
	struct search search = {.txn = txn};
	struct b2f_range range;

	if (has_few_gaps(txn))
		return;
	find_first_gap(&search);
	if (txn->header.chunksize <= 0)
		return;
	for (uint64_t i = 0; i < state->n; i++) {
		uint64_t id = b2f_txn_chunk_id(b2f_txn_raw(state, i));
		uint64_t size = measure(txn, i);

		if (size && b2f_ranges_get(txn->store->ranges, id, &range) &&
		    size < range.size && may_use(&search))
			b2f_ranges_trim(txn->store->ranges, id, (uint32_t)size);
	}
}

void b2f_txn_give_back(struct b2f_txn *txn, const struct b2f_ids *dead,
			size_t nretired)
{
	struct b2f_ids ids = {0};
	struct b2f_why why = {""};
	int err = b2f_ids_reserve(&ids, dead->n + nretired);

	if (err)
		return;
	for (size_t i = 0; i < dead->n; i++)
		ids.ids[ids.n++] = b2f_txn_chunk_id(dead->ids[i]);
	for (size_t i = 0; i < nretired; i++)
		ids.ids[ids.n++] = txn->garbage.retired.files[i].number;
	err = b2f_store_give_back(txn->store, ids.ids, ids.n, &why);
	/*
	 * Without memory the room stays taken until the frame is opened again.
	 */
	if (err == -EINVAL)
		b2f_log(txn->home->log, B2F_LOG_ERROR,
			"%s: room in the file stays taken: %s",
			txn->home->label, why.text);
	b2f_ids_fini(&ids);
}

/* Bytes of a moving chunk that are in memory at a time. */
#define COPY_BYTES (UINT64_C(1) << 20)

/*
 * Bytes of chunk @nchunk of the committed state in its range of @size, which
 * may include many dead bytes.
 */
static uint64_t stored_size(const struct b2f_txn *txn, uint64_t nchunk,
			    uint64_t size)
{
	uint64_t raw = b2f_txn_raw(&txn->committed, nchunk);
	uint64_t known = measure(txn, nchunk);

	if (!known && !b2f_entry_tag(raw))
		known = b2f_txn_read_cbytes(txn->store, raw);
	/* A damaged chunk keeps all bytes that may belong to it. */
	return known ? b2f_min_u64(known, size) : size;
}

/* Copies the first @size bytes of @from to @to, some at a time. */
static int copy(const struct b2f_object *from, const struct b2f_object *to,
		uint64_t size, struct b2f_why *why)
{
	size_t room = (size_t)b2f_min_u64(size, COPY_BYTES), n;
	uint8_t *bytes = malloc(room ? room : 1);
	int err = bytes ? 0 : -ENOMEM;

	for (uint64_t off = 0; off < size && !err; off += n) {
		n = (size_t)b2f_min_u64(room, size - off);
		err = b2f_object_read(from, off, bytes, n, why);
		if (!err)
			err = b2f_object_write(to, off, bytes, n, why);
	}
	free(bytes);
	return err;
}

int b2f_txn_move(struct b2f_txn *txn, uint64_t nchunk, uint64_t from,
		  uint64_t until, struct b2f_txn_state *state,
		  struct b2f_why *why)
{
	uint64_t raw = b2f_txn_raw(state, nchunk);
	struct b2f_object old = {.fd = -1}, new = {.fd = -1};
	struct b2f_store *store = txn->store;
	uint64_t id = 0, size = 0;
	bool taken = false;
	int err;

	err = b2f_object_open(store, b2f_txn_id(raw), &old, why);
	if (!err) {
		size = stored_size(txn, nchunk, old.size);
		err = b2f_ranges_take(store->ranges, from, until,
				      (uint32_t)size, &id);
		taken = !err;
	}
	if (!err)
		err = b2f_object_create(store, (int64_t)id, &new, why);
	if (!err)
		err = copy(&old, &new, size, why);
	b2f_object_close(&old);
	b2f_object_close(&new);
	if (!err)
		err = b2f_txn_set_raw(state, nchunk,
				      (raw & ~B2F_ENTRY_ID) | id);
	if (err && taken)
		b2f_ranges_give_back(store->ranges, id);
	return err;
}
