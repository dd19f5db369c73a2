/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_move.c - a chunk of a contiguous frame gets another place in its file */
#include "frame/txn_move.h"

#include <stdlib.h>

#include "base/checked.h"
#include "frame/txn_count.h"
#include "frame/txn_gaps.h"

/* Bytes of a moving chunk that are in memory at a time. */
#define COPY_BYTES (UINT64_C(1) << 20)

/*
 * Bytes of chunk @nchunk of the committed state in its range of @size, which
 * may reach over much that is dead.
 */
static uint64_t stored_size(const struct b2f_txn *txn, uint64_t nchunk,
			    uint64_t size)
{
	uint64_t raw = b2f_txn_raw(&txn->committed, nchunk);
	uint64_t known = b2f_txn_measure(txn, nchunk);

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
