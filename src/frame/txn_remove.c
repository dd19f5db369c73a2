/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_remove.c - chunk files that are not needed any more
 *
 * A pending file is ours alone, and simply deleted.  But an id that no index
 * names may belong to a chunk that C-Blosc2 has just written, and is about to
 * name: it takes the number above the largest of its index, and writes over
 * what is there.  So a file with a name first loses it, and a program that
 * comes now makes another file; then it is looked at, and deleted if no program
 * has written to it, else gets its name back.  That is right without any lock;
 * where other programs use locks, one is held besides, so that none of them
 * reads what it has found in an index before.
 *
 * A reader of C-Blosc2 without locks may have read an index some commits ago.
 * So retired files stay for a while: those of the last commit in any case,
 * older ones as long as they are few and young.  They also stay while a loss of
 * power may bring back an index that names them.
 */
#include "frame/txn_remove.h"

#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "chunk/seal.h"
#include "frame/txn_commit.h"
#include "frame/single_space.h"
#include "frame/txn_ids.h"
#include "frame/txn_lock.h"
#include "frame/txn_priv.h"
#include "frame/single_commit.h"
#include "store/make.h"
#include "store/turn.h"

#define NS_PER_S INT64_C(1000000000)

/* Until when retired files stay: this age, or so many that are younger. */
#define RETIRED_S	  5
#define RETIRED_MIN	  64
#define RETIRED_PER_CHUNK 16

/* Age of unused files without a seal that may be removed, in seconds. */
#define OLD_S 3600

/* How long the end of a transaction waits for a lock of other programs. */
#define END_WAIT_MS 200

static int64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int reserve_retired(struct b2f_retirees *r, size_t more)
{
	struct b2f_retired *files;
	size_t cap = r->cap ? r->cap : 16;

	while (cap < r->n + more)
		cap *= 2;
	if (cap == r->cap)
		return 0;
	files = realloc(r->files, cap * sizeof(*files));
	if (!files)
		return -ENOMEM;
	r->files = files;
	r->cap = cap;
	return 0;
}

void b2f_txn_retire(struct b2f_txn *txn, const uint64_t *numbers, size_t n)
{
	struct b2f_retirees *r = &txn->retired;

	r->nnewest = 0;
	/*
	 * The next writer finds files that cannot be noted. A shared store
	 * knows them.
	 */
	if (n == 0 || txn->store->shared || reserve_retired(r, n))
		return;
	for (size_t i = 0; i < n; i++)
		r->files[r->n++] = (struct b2f_retired){numbers[i],
							txn->stamp.ctime_ns};
	r->nnewest = n;
}

void b2f_txn_keep_retired(struct b2f_txn *txn, const struct b2f_ids *used)
{
	struct b2f_retirees *r = &txn->retired;
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

/* How many of those that have retired, from the first one on, are to go. */
static size_t count_due(const struct b2f_txn *txn)
{
	const struct b2f_retirees *r = &txn->retired;
	size_t nolder = r->n - r->nnewest, n;
	size_t nkept = RETIRED_MIN + txn->committed.n / RETIRED_PER_CHUNK;
	int64_t until_ns = realtime_ns() - RETIRED_S * NS_PER_S;

	n = nolder - b2f_min_u64(nolder, nkept);
	while (n < nolder && r->files[n].since_ns <= until_ns)
		n++;
	return n;
}

/* Would a loss of power bring no index back that names what is to go? */
static bool may_delete_named(const struct b2f_txn *txn)
{
	enum b2f_durable_state state = b2f_durability_get(txn->durability);

	return state == B2F_DISK_DURABLE || state == B2F_DISK_NEW;
}

static size_t count_named(const struct b2f_txn *txn, enum b2f_delete what)
{
	if (what == B2F_DELETE_PENDING || !may_delete_named(txn))
		return 0;
	if (what == B2F_DELETE_ALL &&
	    b2f_durability_get(txn->durability) == B2F_DISK_DURABLE)
		return txn->retired.n;
	return count_due(txn);
}

bool b2f_txn_begin_delete(struct b2f_txn *txn, enum b2f_delete what)
{
	size_t ndue = count_named(txn, what);

	/* On a server, a look at the index comes first: once for each commit. */
	if (txn->store->shared && what == B2F_DELETE_PENDING)
		return false;
	/* A commit ends with another try. */
	if (txn->dying.n > 0 || txn->ndying > 0 || txn->committing)
		return false;
	if (txn->dead.n == 0 && ndue == 0 && !b2f_store_is_due(txn->store))
		return false;
	b2f_ids_fini(&txn->dying);
	txn->dying = txn->dead;
	txn->dead = (struct b2f_ids){0};
	txn->ndying = ndue;
	return true;
}

static void remove_pending(const struct b2f_txn *txn, int64_t id)
{
	/* If that fails, the next writer will find it. */
	int err = b2f_store_remove(txn->store, id, NULL);

	(void)err;
}

static bool is_sealed(struct b2f_store *store, int64_t id)
{
	uint8_t tail[B2F_SEAL_MARK_SIZE];
	struct b2f_object object = {.fd = -1};
	bool sealed;

	if (b2f_object_open(store, id, &object, NULL))
		return false;
	sealed = object.size >= sizeof(tail) &&
		 !b2f_object_read(&object, object.size - sizeof(tail), tail,
				  sizeof(tail), NULL) &&
		 b2f_seal_is_mark(tail);
	b2f_object_close(&object);
	return sealed;
}

/* Is file @id as it was when it retired? */
static bool is_as_it_was(struct b2f_store *store, int64_t id, int64_t since_ns)
{
	struct b2f_frame_stamp now;

	if (b2f_store_identify(store, id, &now))
		return false;
	return now.mtime_ns < since_ns || is_sealed(store, id);
}

/* A file without its name gets it back, or goes. */
static int end_hidden(struct b2f_store *store, int64_t id, bool remove,
		      struct b2f_why *why)
{
	int err = remove ? -EEXIST : b2f_store_show(store, id, why);

	/* Its name has another file: then this one can go, too. */
	if (err == -EEXIST)
		err = b2f_store_remove(store, id | B2F_OBJECT_PENDING, why);
	return err;
}

static void remove_retired(const struct b2f_txn *txn,
			   const struct b2f_retired *file)
{
	int64_t id = (int64_t)file->number, hidden = id | B2F_OBJECT_PENDING;
	struct b2f_store *store = txn->store;
	int err;

	err = b2f_store_hide(store, id, NULL);
	if (!err)
		err = end_hidden(store, id,
				 is_as_it_was(store, hidden, file->since_ns),
				 NULL);
	/* If that fails, the next writer will find it. */
	(void)err;
}

static void remove_dying(const struct b2f_txn *txn)
{
	for (size_t i = 0; i < txn->dying.n; i++)
		remove_pending(txn, b2f_txn_id(txn->dying.ids[i]));
}

static int add_pending(const struct b2f_ids *raws, struct b2f_ids *list)
{
	int err = 0;

	for (size_t i = 0; i < raws->n && !err; i++)
		err = b2f_ids_add(list, (uint64_t)b2f_txn_id(raws->ids[i]));
	return err;
}

/* In a shared store the index that is there says what may go, whatever is known here. */
static bool delete_shared(const struct b2f_txn *txn)
{
	struct b2f_ids list = {0};
	int err = add_pending(&txn->dying, &list);

	if (!err)
		err = b2f_store_sweep(txn->store, list.ids, list.n, NULL);
	b2f_ids_fini(&list);
	return !err;
}

bool b2f_txn_delete(struct b2f_txn *txn)
{
	bool sparse = txn->store->sparse, same;

	if (txn->store->shared)
		return delete_shared(txn);
	if (sparse)
		remove_dying(txn);
	if (sparse && txn->ndying == 0)
		return true;
	if (b2f_txn_lock_out(txn, 0, NULL))
		return false;
	same = b2f_txn_has_changed(txn) == 0;
	/* Where a range was, another program may have written since. */
	if (same && !sparse)
		b2f_txn_give_back(txn, &txn->dying, txn->ndying);
	for (size_t i = 0; i < txn->ndying && same && sparse; i++)
		remove_retired(txn, &txn->retired.files[i]);
	b2f_txn_let_in(txn);
	return same;
}

void b2f_txn_end_delete(struct b2f_txn *txn, bool deleted)
{
	struct b2f_retirees *r = &txn->retired;

	if (deleted && txn->ndying) {
		r->n -= txn->ndying;
		r->nnewest = b2f_min_u64(r->nnewest, r->n);
		memmove(r->files, r->files + txn->ndying,
			r->n * sizeof(*r->files));
	}
	txn->ndying = 0;
	txn->dying.n = 0;
}

/* Numbers that the index on disk uses, whatever that is now.  Locked. */
static int list_used_now(const struct b2f_txn *txn, struct b2f_ids *out)
{
	struct b2f_frame *now = NULL;
	int changed = b2f_txn_has_changed(txn), err;

	if (changed <= 0)
		return changed ? changed
			       : b2f_txn_list_ids(&txn->committed, out);
	err = b2f_frame_reopen(txn->frame, B2F_TURN_OURS, &now);
	if (!err)
		err = b2f_txn_frame_ids(now, out);
	b2f_frame_close(now);
	return err;
}

static void delete_retired(struct b2f_txn *txn)
{
	struct b2f_ids used = {0};

	/* A later writer deletes the files that have to stay. */
	if (txn->retired.n == 0 || !may_delete_named(txn) ||
	    b2f_txn_lock_out(txn, END_WAIT_MS, NULL))
		return;
	/* Without the list, rather leave them to the next writer. */
	if (list_used_now(txn, &used) == 0) {
		b2f_txn_keep_retired(txn, &used);
		for (size_t i = 0; i < txn->retired.n; i++)
			remove_retired(txn, &txn->retired.files[i]);
	}
	b2f_ids_fini(&used);
	b2f_txn_let_in(txn);
}

/* The same in a shared store: readers of the index before may be anywhere. */
static void delete_all_shared(struct b2f_txn *txn)
{
	struct b2f_new_chunk *chunk, *next;
	struct b2f_ids list = {0};
	int err = add_pending(&txn->dead, &list);

	HASH_ITER(hh, txn->fresh, chunk, next)
	if (!chunk->committed && !err)
		err = b2f_ids_add(&list, chunk->id);
	/* Files that stay are in nobody's way. */
	if (!err)
		(void)!b2f_store_sweep(txn->store, list.ids, list.n, NULL);
	b2f_ids_fini(&list);
}

void b2f_txn_delete_all(struct b2f_txn *txn)
{
	struct b2f_new_chunk *chunk, *next;

	if (txn->store->shared) {
		delete_all_shared(txn);
		return;
	}
	if (!txn->store->sparse) {
		b2f_txn_single_end(txn);
		return;
	}
	HASH_ITER(hh, txn->fresh, chunk, next)
	if (!chunk->committed)
		remove_pending(txn, chunk->id);
	for (size_t i = 0; i < txn->dead.n; i++)
		remove_pending(txn, b2f_txn_id(txn->dead.ids[i]));
	delete_retired(txn);
}

/* No program takes so long to write the index for a chunk. */
static bool is_old(struct b2f_store *store, int64_t id)
{
	struct b2f_frame_stamp identity;

	if (b2f_store_identify(store, id, &identity))
		return false;
	return identity.mtime_ns + OLD_S * NS_PER_S < realtime_ns();
}

bool b2f_txn_is_leftover(struct b2f_store *store, int64_t id)
{
	/*
	 * C-Blosc2 writes a chunk before it names it, too, and may be doing
	 * just that; but it writes no seals.
	 */
	return id & B2F_OBJECT_PENDING || is_sealed(store, id) ||
	       is_old(store, id);
}

int b2f_txn_remove_leftover(struct b2f_store *store, int64_t id,
			     struct b2f_why *why)
{
	int64_t hidden = id | B2F_OBJECT_PENDING;
	int err;

	if (id & B2F_OBJECT_PENDING)
		return b2f_store_remove(store, id, why);
	err = b2f_store_hide(store, id, why);
	if (err)
		return err == -ENOENT ? 0 : err;
	return end_hidden(store, id,
			  is_sealed(store, hidden) ||
				  is_old(store, hidden),
			  why);
}

/* Looks for leftovers. */
struct clean {
	struct b2f_txn *txn;
	struct b2f_ids used;
	struct b2f_ids orphans;
	bool new_index;
};

static int visit(void *arg, int64_t id)
{
	struct clean *clean = arg;

	if (id == B2F_OBJECT_NEW_INDEX) {
		clean->new_index = true;
		return 0;
	}
	if (b2f_ids_has_sorted(&clean->used, (uint64_t)id) ||
	    !b2f_txn_is_leftover(clean->txn->store, id))
		return 0;
	if (!(id & B2F_OBJECT_PENDING) && !may_delete_named(clean->txn))
		return 0;
	return b2f_ids_add(&clean->orphans, (uint64_t)id);
}

/*
 * A file that cannot be removed keeps its id, and the next writer tries again.
 */
static void remove_orphans(struct b2f_txn *txn, const struct b2f_ids *orphans)
{
	size_t ndeleted = 0;

	/* The same if another program is in the way. */
	if (orphans->n == 0 || b2f_txn_lock_out(txn, END_WAIT_MS, NULL))
		return;
	for (size_t i = 0;
	     i < orphans->n && b2f_txn_has_changed(txn) == 0; i++)
		ndeleted += !b2f_txn_remove_leftover(
			txn->store, (int64_t)orphans->ids[i], NULL);
	b2f_txn_let_in(txn);
	if (ndeleted)
		b2f_log(txn->frame->log, B2F_LOG_WARNING,
			"%s: removed %zu chunk files of a writer that did not "
			"end properly",
			txn->frame->label, ndeleted);
}

int b2f_txn_clean(struct b2f_txn *txn)
{
	struct clean clean = {.txn = txn};
	int err;

	/* Its maker's files are the first ones. */
	if (b2f_store_begin_new(txn->store))
		return 0;
	/* They may be another writer's, but for those that the store knows. */
	if (txn->store->shared) {
		if (b2f_store_is_due(txn->store))
			(void)!b2f_store_sweep(txn->store, NULL, 0, NULL);
		return 0;
	}
	err = b2f_txn_list_ids(&txn->committed, &clean.used);
	if (!err)
		err = b2f_store_list(txn->store, visit, &clean);
	if (!err && clean.new_index)
		err = b2f_store_remove(txn->store, B2F_OBJECT_NEW_INDEX, NULL);
	if (!err)
		remove_orphans(txn, &clean.orphans);
	b2f_ids_fini(&clean.used);
	b2f_ids_fini(&clean.orphans);
	return err;
}
