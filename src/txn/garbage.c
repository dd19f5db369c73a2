/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * garbage.c - chunks of a transaction that no index names, or soon none
 *
 * A reader of C-Blosc2 without locks may have read an index some commits ago.
 * So retired files stay for a while: those of the last commit in any case,
 * older ones as long as they are few and young.  They also stay while a loss of
 * power may bring back an index that names them.
 */
#include "txn/garbage.h"

#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "txn/protocol.h"
#include "txn/txn_ids.h"
#include "txn/txn.h"

#define NS_PER_S INT64_C(1000000000)

/* Retired files go at this age, or when so many newer ones have come. */
#define RETIRED_S	  5
#define RETIRED_MIN	  64
#define RETIRED_PER_CHUNK 16

int64_t b2f_realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int reserve_retired(struct b2f_retirees *r, size_t more)
{
	struct b2f_retired *files = b2f_grown(r->files, &r->cap, r->n + more,
					      sizeof(*files));

	if (!files)
		return -ENOMEM;
	r->files = files;
	return 0;
}

/* Retires the @n files @numbers, which are the newest ones then. */
static void retire(struct b2f_txn *txn, const uint64_t *numbers, size_t n)
{
	struct b2f_retirees *r = &txn->garbage.retired;

	r->nnewest = 0;
	/*
	 * A shared store knows them. Files that cannot be noted are found by
	 * the next writer.
	 */
	if (n == 0 || txn->protocol->is_shared || reserve_retired(r, n))
		return;
	for (size_t i = 0; i < n; i++)
		r->files[r->n++] = (struct b2f_retired){numbers[i],
							txn->stamp.ctime_ns};
	r->nnewest = n;
}

void b2f_garbage_keep(struct b2f_txn *txn, const struct b2f_ids *used)
{
	struct b2f_retirees *r = &txn->garbage.retired;
	size_t n = 0, nnewest = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (b2f_ids_has_sorted(used, r->files[i].number))
			continue;
		nnewest += i >= r->n - r->nnewest;
		r->files[n++] = r->files[i];
	}
	r->n = n;
	r->nnewest = nnewest;
}

/* Counts the file replaced last as replaced by the commit under way. */
void b2f_garbage_patch(struct b2f_txn *txn)
{
	struct b2f_ids *replaced = &txn->garbage.replaced;
	uint64_t *last = &replaced->ids[replaced->n - 1], raw = *last;
	struct b2f_new_chunk *chunk = b2f_txn_find(txn, raw);

	if (chunk && !chunk->committed) {
		/* No index is going to name the file. */
		replaced->n--;
		if (b2f_ids_add(&txn->garbage.dead, raw) == 0)
			b2f_txn_forget(txn, chunk);
		return;
	}
	/* Sort it in with those that the commit replaces. */
	*last = replaced->ids[txn->garbage.nfrozen];
	replaced->ids[txn->garbage.nfrozen++] = raw;
}

/* After a commit that was not installed: its new files are pending. */
void b2f_garbage_refuse(struct b2f_txn *txn)
{
	struct b2f_ids *replaced = &txn->garbage.replaced;
	size_t n = 0;

	for (size_t i = 0; i < replaced->n; i++) {
		uint64_t raw = replaced->ids[i];

		if (!(raw & B2F_OBJECT_PENDING))
			replaced->ids[n++] = raw;
		else if (b2f_ids_add(&txn->garbage.dead, raw))
			continue; /* The next writer will find it. */
	}
	replaced->n = n;
}

/* Counts the old index as replaced, like the chunks that only it named. */
void b2f_garbage_replace(struct b2f_txn *txn, uint64_t id)
{
	struct b2f_ids *replaced = &txn->garbage.replaced;

	/* If memory is short, nothing gives its room back. */
	if (b2f_ids_add(replaced, id))
		return;
	replaced->ids[replaced->n - 1] = replaced->ids[txn->garbage.nfrozen];
	replaced->ids[txn->garbage.nfrozen++] = id;
}

void b2f_garbage_retire(struct b2f_txn *txn)
{
	struct b2f_ids *replaced = &txn->garbage.replaced;
	size_t nfrozen = txn->garbage.nfrozen;

	for (size_t i = 0; i < replaced->n; i++)
		replaced->ids[i] = b2f_txn_chunk_id(replaced->ids[i]);
	retire(txn, replaced->ids, nfrozen);
	replaced->n -= nfrozen;
	if (replaced->n)
		memmove(replaced->ids, replaced->ids + nfrozen,
			replaced->n * sizeof(*replaced->ids));
}

/* Counts the retired files, from the first one on, that are to go. */
static size_t count_due(const struct b2f_txn *txn)
{
	const struct b2f_retirees *r = &txn->garbage.retired;
	size_t nolder = r->n - r->nnewest, n;
	size_t nkept = RETIRED_MIN + txn->committed.n / RETIRED_PER_CHUNK;
	int64_t until_ns = b2f_realtime_ns() - RETIRED_S * NS_PER_S;

	n = nolder - b2f_min_u64(nolder, nkept);
	while (n < nolder && r->files[n].left_ns <= until_ns)
		n++;
	return n;
}

/* Is it certain that no loss of power brings back an index of dying files? */
bool b2f_garbage_may_go(const struct b2f_txn *txn)
{
	enum b2f_durable_state state = b2f_durability_get(txn->durability);

	return state == B2F_DISK_DURABLE || state == B2F_DISK_NEW;
}

static size_t count_named(const struct b2f_txn *txn, enum b2f_delete what)
{
	if (what == B2F_DELETE_PENDING || !b2f_garbage_may_go(txn))
		return 0;
	if (what == B2F_DELETE_ALL &&
	    b2f_durability_get(txn->durability) == B2F_DISK_DURABLE)
		return txn->garbage.retired.n;
	return count_due(txn);
}

bool b2f_txn_begin_delete(struct b2f_txn *txn, enum b2f_delete what)
{
	size_t ndue = count_named(txn, what);

	/* A server is asked for the index first, so only once per commit. */
	if (txn->protocol->is_shared && what == B2F_DELETE_PENDING)
		return false;
	/* A commit ends with another try. */
	if (txn->garbage.dying.n > 0 || txn->garbage.ndying > 0 ||
	    txn->garbage.committing)
		return false;
	if (txn->garbage.dead.n == 0 && ndue == 0 && !b2f_store_is_due(txn->store))
		return false;
	b2f_ids_fini(&txn->garbage.dying);
	txn->garbage.dying = txn->garbage.dead;
	txn->garbage.dead = (struct b2f_ids){0};
	txn->garbage.ndying = ndue;
	return true;
}

/* Ranges that could not be given back are tried again. */
static void put_back(struct b2f_garbage *g)
{
	if (b2f_ids_reserve(&g->dead, g->dying.n))
		return; /* The room stays taken until the next open. */
	for (size_t i = 0; i < g->dying.n; i++)
		g->dead.ids[g->dead.n++] = g->dying.ids[i];
}

void b2f_txn_end_delete(struct b2f_txn *txn, bool deleted)
{
	struct b2f_retirees *r = &txn->garbage.retired;

	/* Pending files do not wait for a lock, so they are gone. */
	if (!deleted && txn->disk)
		put_back(&txn->garbage);

	if (deleted && txn->garbage.ndying) {
		r->n -= txn->garbage.ndying;
		r->nnewest = b2f_min_u64(r->nnewest, r->n);
		memmove(r->files, r->files + txn->garbage.ndying,
			r->n * sizeof(*r->files));
	}
	txn->garbage.ndying = 0;
	txn->garbage.dying.n = 0;
}

void b2f_garbage_fini(struct b2f_garbage *garbage)
{
	b2f_ids_fini(&garbage->replaced);
	free(garbage->retired.files);
	b2f_ids_fini(&garbage->dead);
	b2f_ids_fini(&garbage->dying);
}
