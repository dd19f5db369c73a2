/* SPDX-License-Identifier: BSD-3-Clause */
/* enlarge.c - a small contiguous frame becomes a sparse one */
#include "frame/enlarge.h"

#include <stdlib.h>

#include "base/checked.h"
#include "frame/txn_count.h"
#include "frame/frame_chunk.h"
#include "index/tags.h"
#include "store/turn.h"
#include "store/write.h"

/* The frame as it is on disk, and what it becomes. */
struct growth {
	struct b2f_frame *from;
	struct b2f_txn_state state;
	/* Of the sparse frame: chunk ids from 0 on, with the same tags. */
	uint64_t *entries;
	struct b2f_store *to;
	bool durable;
};

static int make_entries(struct growth *g)
{
	const struct b2f_txn_state *state = &g->state;
	uint64_t id = 0;

	g->entries = malloc((state->n ? state->n : 1) * sizeof(*g->entries));
	if (!g->entries)
		return -ENOMEM;
	for (uint64_t i = 0; i < state->n; i++)
		g->entries[i] = b2f_txn_is_stored(state->raw[i])
					? (state->raw[i] & ~B2F_ENTRY_ID) | id++
					: state->raw[i];
	return 0;
}

/* The whole index; *@bytes is malloc'ed. */
static int make_index(const struct growth *g, uint8_t **bytes, size_t *size,
		      struct b2f_why *why)
{
	struct b2f_index_parts parts = {
		.header = g->from->header,
		.header_bytes = g->from->header_bytes,
		.entries = g->entries,
		.nentries = g->state.n,
		.trailer_bytes = g->from->trailer_bytes,
		.trailer_len = g->from->trailer_len,
		.sealed = true,
	};

	parts.header.sparse = true;
	parts.header.cbytes = g->state.cbytes;
	return b2f_index_write(&parts, bytes, size, why);
}

/* Copies the stored bytes of chunk @nchunk with their seal. */
static int copy_chunk(const struct growth *g, uint64_t nchunk,
		      struct b2f_why *why)
{
	uint64_t raw = g->state.raw[nchunk];
	struct b2f_object from = {.fd = -1};
	struct b2f_loaded *loaded = NULL;
	struct b2f_frame_span span;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err;

	err = b2f_frame_span_get(g->from, nchunk, &span);
	if (!err)
		err = b2f_frame_load_entry(g->from, nchunk, raw, span.nbytes,
					   B2F_LOAD_HEAD, &loaded);
	if (err)
		return err;
	size = (size_t)loaded->chunk.header.cbytes +
	       b2f_seal_size(&loaded->chunk);
	b2f_loaded_free(loaded);
	bytes = malloc(size);
	err = bytes ? b2f_object_open(g->from->store, b2f_txn_id(raw), &from,
				      why)
		    : -ENOMEM;
	if (!err)
		err = b2f_object_read(&from, 0, bytes, size, why);
	b2f_object_close(&from);
	if (!err)
		err = b2f_store_write_chunk(
			g->to, b2f_txn_id(g->entries[nchunk]), bytes, size,
			g->durable, why);
	free(bytes);
	return err;
}

/* Beside a chunk file, an index without content would be damage. */
static int sync_index(const struct growth *g, struct b2f_why *why)
{
	struct b2f_object index = {.fd = -1};
	int err;

	if (g->durable) {
		err = b2f_store_sync_index(g->to, why);
		return err ? err : b2f_store_sync_names(g->to, why);
	}
	if (g->state.n == 0)
		return 0;
	err = b2f_object_open(g->to, B2F_OBJECT_INDEX, &index, why);
	if (!err)
		err = b2f_object_write_out(&index, why);
	b2f_object_close(&index);
	return err;
}

/* Fills the hidden directory, and opens it as a frame. */
static int fill(struct growth *g, struct b2f_frame **out, struct b2f_why *why)
{
	const struct b2f_frame_options options = {
		.log = g->from->log,
		.no_locking = g->from->no_locking,
		.join_objects = g->from->join_objects};
	struct b2f_store *store = g->to;
	int err = 0;

	for (uint64_t i = 0; i < g->state.n && !err; i++)
		if (b2f_txn_is_stored(g->entries[i]))
			err = copy_chunk(g, i, why);
	if (!err)
		err = sync_index(g, why);
	g->to = NULL;
	if (!err)
		return b2f_frame_open_store(&options, store, g->from->label,
					    out);
	b2f_store_free(store);
	return err;
}

/* Reads the frame as it is on disk.  All of it has seals, or it stays. */
static int read_old(const struct b2f_txn *txn, struct growth *g,
		    struct b2f_why *why)
{
	int err = b2f_frame_reopen(txn->home, B2F_TURN_WAIT_MS, &g->from);

	if (err)
		return err;
	if (!g->from->small)
		return b2f_why_set(why, -EBUSY, "another program has changed it");
	err = b2f_txn_state_of(g->from, &g->state);
	if (!err)
		b2f_txn_count(g->from, &g->state);
	for (uint64_t i = 0; i < g->state.n && !err; i++)
		if (b2f_txn_is_stored(g->state.raw[i]) &&
		    !b2f_entry_tag(g->state.raw[i]))
			err = b2f_why_set(why, -EBUSY, "a chunk has no seal");
	return err ? err : make_entries(g);
}

int b2f_enlarge_begin(struct b2f_txn *txn, int dirfd, const char *name,
		   bool durable, struct b2f_grown *out, struct b2f_why *why)
{
	struct b2f_grown grown = {
		.become = {.dirfd = dirfd, .name = name, .durable = durable}};
	struct growth g = {.durable = durable};
	struct b2f_store_plan plan = {.mode = 0};
	uint8_t *bytes = NULL;
	int err = read_old(txn, &g, why);

	if (!err)
		err = make_index(&g, &bytes, &plan.size, why);
	plan.index = bytes;
	if (!err)
		err = b2f_become_begin(&grown.become, txn->store, &plan, &g.to,
				       why);
	if (!err) {
		err = fill(&g, &grown.frame, why);
		if (err)
			b2f_become_undo(&grown.become);
	}
	b2f_frame_close(g.from);
	b2f_txn_state_fini(&g.state);
	free(g.entries);
	free(bytes);
	if (!err)
		*out = grown;
	return err;
}

void b2f_enlarge_undo(struct b2f_grown *grown)
{
	b2f_frame_close(grown->frame);
	b2f_become_undo(&grown->become);
}
