/* SPDX-License-Identifier: BSD-3-Clause */
/* txn_ids.c - chunk ids: used, and free */
#include "txn/txn_ids.h"

#include "base/checked.h"
#include "base/sorted.h"
#include "txn/protocol.h"
#include "txn/txn.h"
#include "index/tags.h"

/* The lazy reader of C-Blosc2 takes ids for int32. */
#define ID_MAX INT32_MAX

/*
 * C-Blosc2 gives each chunk that it appends the id above the largest of the
 * index.  This many ids are left to it, so that a commit seldom finds its own
 * taken.
 */
#define LEFT_TO_OTHERS 16

/* Ids count up while the frame has this many stored bytes per id. */
#define BYTES_PER_ID 64

/*
 * Free ids that are looked for at a time: few enough that ids stay low, and
 * more for a frame of many chunks, where the search takes longer.
 */
#define FREE_BATCH_MIN	     64
#define FREE_BATCH_MAX	     65536
#define FREE_BATCH_PER_CHUNK 4

/* From this many new files on, a change is not small. */
#define BACKLOG_MIN 8

static bool is_sorted(const struct b2f_ids *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (list->ids[i - 1] > list->ids[i])
			return false;
	return true;
}

static void sort(struct b2f_ids *list)
{
	/* Most frames have their chunks in the order they were made. */
	if (!is_sorted(list))
		qsort(list->ids, list->n, sizeof(*list->ids), b2f_compare_u64);
}

static int add_state(struct b2f_ids *list, const struct b2f_txn_state *state)
{
	int err = b2f_ids_reserve(list, state->n);

	if (err)
		return err;
	for (uint64_t i = 0; i < state->n; i++)
		if (b2f_txn_is_stored(b2f_txn_raw(state, i)))
			list->ids[list->n++] = b2f_txn_chunk_id(b2f_txn_raw(state, i));
	return 0;
}

int b2f_txn_list_ids(const struct b2f_txn_state *state, struct b2f_ids *out)
{
	struct b2f_ids list = {0};
	int err = add_state(&list, state);

	if (err)
		return err;
	sort(&list);
	*out = list;
	return 0;
}

int b2f_txn_frame_ids(const struct b2f_frame *frame, struct b2f_ids *out)
{
	struct b2f_txn_state state = {0};
	int err = b2f_txn_state_of(frame, &state);

	if (!err)
		err = b2f_txn_list_ids(&state, out);
	b2f_txn_state_fini(&state);
	return err;
}

int b2f_txn_used_ids(const struct b2f_txn_state *state, struct b2f_ids *out)
{
	struct b2f_ids list = {0};
	int err = b2f_txn_list_ids(state, &list);

	for (size_t i = 1; i < list.n && !err; i++)
		if (list.ids[i - 1] == list.ids[i])
			err = B2F_EUNSUPPORTED;
	if (err)
		b2f_ids_fini(&list);
	else
		*out = list;
	return err;
}

uint64_t b2f_txn_above(const struct b2f_txn_state *state)
{
	return b2f_pages_above(&state->pages, state->n);
}

bool b2f_ids_has_sorted(const struct b2f_ids *list, uint64_t id)
{
	return list->n && bsearch(&id, list->ids, list->n, sizeof(*list->ids),
				  b2f_compare_u64) != NULL;
}

/* The ids below @n that no new file must get: a bit each. */
struct taken {
	uint8_t *bits;
	uint64_t n;
};

static void take(const struct taken *taken, uint64_t id)
{
	if (id < taken->n)
		taken->bits[id / 8] |= (uint8_t)(1u << id % 8);
}

static void take_state(const struct taken *taken,
		       const struct b2f_txn_state *state)
{
	for (uint64_t i = 0; i < state->n; i++)
		if (b2f_txn_is_stored(b2f_txn_raw(state, i)))
			take(taken, b2f_txn_chunk_id(b2f_txn_raw(state, i)));
}

static void take_list(const struct taken *taken, const struct b2f_ids *list)
{
	for (size_t i = 0; i < list->n; i++)
		take(taken, b2f_txn_chunk_id(list->ids[i]));
}

static void take_all(const struct taken *taken, const struct b2f_txn *txn)
{
	const struct b2f_new_chunk *chunk, *next;

	take_state(taken, &txn->committed);
	take_state(taken, &txn->working);
	take_list(taken, &txn->garbage.replaced);
	take_list(taken, &txn->garbage.dead);
	take_list(taken, &txn->garbage.dying);
	take_list(taken, &txn->numbers.foreign);
	for (size_t i = 0; i < txn->garbage.retired.n; i++)
		take(taken, txn->garbage.retired.files[i].number);
	HASH_ITER(hh, txn->fresh.files, chunk, next)
		take(taken, b2f_txn_chunk_id(chunk->pending_id));
}

/* How many ids take_all() takes at most. */
static uint64_t count_taken(const struct b2f_txn *txn)
{
	return txn->committed.n + txn->working.n + txn->garbage.replaced.n +
	       txn->garbage.dead.n + txn->garbage.dying.n +
	       txn->numbers.foreign.n + txn->garbage.retired.n +
	       HASH_COUNT(txn->fresh.files);
}

/* Will C-Blosc2 give @id to one of the next chunks that it appends? */
static bool is_for_others(const struct b2f_txn *txn, uint64_t id)
{
	return txn->committed.n > 0 && id >= txn->numbers.above &&
	       id - txn->numbers.above < LEFT_TO_OTHERS;
}

static bool is_free(const struct b2f_txn *txn, const struct taken *taken,
		    uint64_t id)
{
	return !(taken->bits[id / 8] >> id % 8 & 1) && !is_for_others(txn, id);
}

/* Finds the lowest free numbers; the list ends with the lowest one. */
static int find_free(struct b2f_txn *txn)
{
	size_t batch = b2f_min_u64(FREE_BATCH_MIN + txn->working.n /
							    FREE_BATCH_PER_CHUNK,
				   FREE_BATCH_MAX);
	/* So many ids have @batch free ones among them. */
	const uint64_t n = count_taken(txn) + LEFT_TO_OTHERS + batch;
	struct taken taken = {.n = b2f_min_u64(n, (uint64_t)ID_MAX + 1)};
	uint64_t end = 0;
	size_t nfree = 0;
	int err = b2f_ids_reserve(&txn->numbers.free, batch);

	if (err)
		return err;
	taken.bits = calloc(taken.n / 8 + 1, 1);
	if (!taken.bits)
		return -ENOMEM;
	take_all(&taken, txn);
	while (nfree < batch && end < taken.n)
		nfree += is_free(txn, &taken, end++);
	while (end-- > 0)
		if (is_free(txn, &taken, end))
			txn->numbers.free.ids[txn->numbers.free.n++] = end;
	free(taken.bits);
	return nfree ? 0 : -ENOSPC;
}

/* Takes one of the low ids that are free. */
static int take_free(struct b2f_txn *txn, uint64_t *id)
{
	int err;

	do {
		err = txn->numbers.free.n ? 0 : find_free(txn);
		if (err)
			return err;
		*id = txn->numbers.free.ids[--txn->numbers.free.n];
	} while (is_for_others(txn, *id));
	if (*id >= txn->numbers.next_id)
		txn->numbers.next_id = *id + 1;
	return 0;
}

/* The random step of ids in a shared store is at most so large. */
#define SHARED_GAP 256

void b2f_txn_skip_ids(struct b2f_txn *txn)
{
	if (!txn->protocol->is_shared)
		return;
	txn->numbers.next_id = b2f_max_u64(txn->numbers.next_id, txn->numbers.above) +
		       b2f_tag_draw() % SHARED_GAP;
}

int b2f_bucket_number(struct b2f_txn *txn, uint64_t size, uint64_t *id)
{
	(void)size;
	if (txn->numbers.next_id > ID_MAX)
		return take_free(txn, id);
	*id = txn->numbers.next_id++;
	return 0;
}

int b2f_sparse_number(struct b2f_txn *txn, uint64_t size, uint64_t *id)
{
	(void)size;
	if (is_for_others(txn, txn->numbers.next_id))
		txn->numbers.next_id = txn->numbers.above + LEFT_TO_OTHERS;
	/*
	 * The compressed size in an index has a margin that grows with the ids.
	 */
	if (txn->numbers.next_id <= ID_MAX &&
	    txn->numbers.next_id <= txn->committed.cbytes / BYTES_PER_ID) {
		*id = txn->numbers.next_id++;
		/* The id may be in the list of free ones. */
		txn->numbers.free.n = 0;
		return 0;
	}
	return take_free(txn, id);
}

int b2f_txn_new_id(struct b2f_txn *txn, uint64_t size,
		   struct b2f_txn_chunk *chunk)
{
	uint64_t id = 0;
	int err = txn->protocol->number(txn, size, &id);

	if (err)
		return err;
	txn->numbers.last_tag = b2f_tag_next(txn->numbers.last_tag);
	/* The seal is decided later. */
	chunk->raw = (id | B2F_OBJECT_PENDING |
		      (uint64_t)txn->numbers.last_tag << 32) &
		     ~B2F_ENTRY_SEALED;
	chunk->nfailed = txn->fresh.nfailed;
	return 0;
}

void b2f_txn_note_foreign(struct b2f_txn *txn, uint64_t raw)
{
	/* Without memory the id is tried again. */
	(void)!b2f_ids_add(&txn->numbers.foreign, b2f_txn_chunk_id(raw));
}

int b2f_txn_note_file(struct b2f_txn *txn,
		       const struct b2f_txn_chunk *chunk)
{
	struct b2f_new_chunk *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->pending_id = (uint32_t)b2f_txn_id(chunk->raw);
	fresh->cbytes = chunk->cbytes;
	HASH_ADD(hh, txn->fresh.files, pending_id, sizeof(fresh->pending_id),
		 fresh);
	if (chunk->nfailed != txn->fresh.nfailed)
		b2f_txn_set_bad(txn, fresh);
	return 0;
}

bool b2f_txn_has_backlog(const struct b2f_txn *txn)
{
	return HASH_COUNT(txn->fresh.files) >= BACKLOG_MIN;
}
