/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sparse_garbage.c - chunk files of a sparse frame that are not needed any more
 *
 * A pending file is ours alone, and simply deleted.  But an id that no index
 * names may belong to a chunk that C-Blosc2 has just written, and is about to
 * name: it takes the number above the largest of its index, and writes over a
 * file of that name.  So a file with a name first loses it, and a program that
 * comes now makes another file; then it is deleted if no program has written to
 * it; otherwise it gets its name back.  This is safe without any lock.  Where
 * other programs use locks, the transaction holds one as well, so that no
 * program reads a file that it has found in an earlier index.
 */
#include "txn/garbage.h"

#include <string.h>

#include "b2frame/convert.h"
#include "programs/repair.h"
#include "base/log_line.h"
#include "chunk/seal.h"
#include "frame/frame_hold.h"
#include "frame/frame_report.h"
#include "txn/txn_commit.h"
#include "txn/txn_ids.h"
#include "txn/protocol.h"
#include "txn/txn.h"
#include "store/make.h"
#include "store/turn.h"

#define NS_PER_S INT64_C(1000000000)

/* Age of unused files without a seal that may be removed, in seconds. */
#define OLD_S 3600

/* How long the end of a transaction waits for a lock of other programs. */
#define END_WAIT_MS 200

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

/*
 * Is file @id unchanged since it retired?  If the clock stepped back since,
 * times prove nothing.
 */
static bool is_as_it_was(struct b2f_store *store, int64_t id, int64_t since_ns)
{
	struct b2f_frame_stamp now;

	if (b2f_store_identify(store, id, &now))
		return false;
	return (now.mtime_ns < since_ns && since_ns <= b2f_realtime_ns()) ||
	       is_sealed(store, id);
}

/* Gives a file without its name the name back, or removes it. */
static int end_hidden(struct b2f_store *store, int64_t id, bool remove,
		      struct b2f_why *why)
{
	int err = remove ? -EEXIST : b2f_store_name(store, id, why);

	/* If another file has the name, this one can go, too. */
	if (err == -EEXIST)
		err = b2f_store_remove(store, id | B2F_OBJECT_PENDING, why);
	return err;
}

static void remove_retired(const struct b2f_txn *txn,
			   const struct b2f_retired *file)
{
	int64_t id = (int64_t)file->number, hidden = id | B2F_OBJECT_PENDING;
	struct b2f_store *store = txn->store;
	int err = b2f_store_name(store, hidden, NULL);

	if (!err)
		err = end_hidden(store, id,
				 is_as_it_was(store, hidden, file->left_ns),
				 NULL);
	/* If that fails, the next writer will find it. */
	(void)err;
}

static void remove_dying(const struct b2f_txn *txn)
{
	for (size_t i = 0; i < txn->garbage.dying.n; i++)
		remove_pending(txn, b2f_txn_id(txn->garbage.dying.ids[i]));
}

bool b2f_sparse_delete(struct b2f_txn *txn)
{
	bool same;

	remove_dying(txn);
	if (txn->garbage.ndying == 0)
		return true;
	if (b2f_txn_lock_out(txn, 0, NULL))
		return false;
	same = b2f_txn_has_changed(txn) == 0;
	for (size_t i = 0; i < txn->garbage.ndying && same; i++)
		remove_retired(txn, &txn->garbage.retired.files[i]);
	b2f_txn_let_in(txn);
	return same;
}

/* Lists the ids that the index now on disk uses.  Locked. */
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
	if (txn->garbage.retired.n == 0 || !b2f_garbage_may_go(txn) ||
	    b2f_txn_lock_out(txn, END_WAIT_MS, NULL))
		return;
	/* Without the list, leave them to the next writer. */
	if (list_used_now(txn, &used) == 0) {
		b2f_garbage_keep(txn, &used);
		for (size_t i = 0; i < txn->garbage.retired.n; i++)
			remove_retired(txn, &txn->garbage.retired.files[i]);
	}
	b2f_ids_fini(&used);
	b2f_txn_let_in(txn);
}

void b2f_sparse_end(struct b2f_txn *txn)
{
	struct b2f_new_chunk *chunk, *next;

	HASH_ITER(hh, txn->fresh.files, chunk, next)
	if (!chunk->committed)
		remove_pending(txn, chunk->pending_id);
	for (size_t i = 0; i < txn->garbage.dead.n; i++)
		remove_pending(txn, b2f_txn_id(txn->garbage.dead.ids[i]));
	delete_retired(txn);
}

/*
 * Is the file so old that its writer cannot be about to name it?  If its name
 * was just taken, its ctime is the present time by the filesystem's clock,
 * which ours may be ahead of.
 */
static bool is_old(struct b2f_store *store, int64_t id)
{
	struct b2f_frame_stamp identity;
	int64_t now_ns;

	if (b2f_store_identify(store, id, &identity))
		return false;
	now_ns =
		id & B2F_OBJECT_PENDING ? identity.ctime_ns : b2f_realtime_ns();
	return identity.mtime_ns + OLD_S * NS_PER_S < now_ns;
}

/* Is the file @id, which no index names, certainly of no use to any writer? */
static bool is_leftover(struct b2f_store *store, int64_t id)
{
	/*
	 * C-Blosc2 may have just written a chunk that it is about to name; but
	 * it writes no seals.
	 */
	return id & B2F_OBJECT_PENDING || is_sealed(store, id) ||
	       is_old(store, id);
}

/*
 * Deletes a leftover.  Returns 0, 1 (it stays: another program has rewritten it
 * meanwhile, or by the filesystem's clock it is young) or an errno.
 */
static int remove_leftover(struct b2f_store *store, int64_t id,
			   struct b2f_why *why)
{
	int64_t hidden = id | B2F_OBJECT_PENDING;
	bool remove;
	int err;

	if (id & B2F_OBJECT_PENDING)
		return b2f_store_remove(store, id, why);
	err = b2f_store_name(store, hidden, why);
	if (err)
		return err == -ENOENT ? 0 : err;
	remove = is_sealed(store, hidden) || is_old(store, hidden);
	err = end_hidden(store, id, remove, why);
	return err ? err : !remove;
}

/*
 * Gives the pending file @id its name back, if the index names it (@used): a
 * killed writer took that away for a moment.
 */
static bool is_named_again(struct b2f_store *store, const struct b2f_ids *used,
			   int64_t id)
{
	int64_t named = id & ~B2F_OBJECT_PENDING;

	return id != named && b2f_ids_has_sorted(used, (uint64_t)named) &&
	       b2f_store_name(store, named, NULL) == 0;
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
	    is_named_again(clean->txn->store, &clean->used, id) ||
	    !is_leftover(clean->txn->store, id))
		return 0;
	if (!(id & B2F_OBJECT_PENDING) && !b2f_garbage_may_go(clean->txn))
		return 0;
	return b2f_ids_add(&clean->orphans, (uint64_t)id);
}

/*
 * A file that cannot be removed keeps its id, and the next writer tries again.
 */
static void remove_orphans(struct b2f_txn *txn, const struct b2f_ids *orphans)
{
	size_t ndeleted = 0;

	/* Files also stay while another program has the lock. */
	if (orphans->n == 0 || b2f_txn_lock_out(txn, END_WAIT_MS, NULL))
		return;
	for (size_t i = 0;
	     i < orphans->n && b2f_txn_has_changed(txn) == 0; i++)
		ndeleted += !remove_leftover(
			txn->store, (int64_t)orphans->ids[i], NULL);
	b2f_txn_let_in(txn);
	if (ndeleted)
		b2f_log(txn->frame->log, B2F_LOG_WARNING,
			"%s: removed %zu chunk files that no index names",
			txn->frame->label, ndeleted);
}

int b2f_sparse_begin(struct b2f_txn *txn, struct b2f_why *why)
{
	struct clean clean = {.txn = txn};
	int err;

	(void)why;
	/* The maker of a new frame has no leftovers to look for. */
	if (b2f_store_begin_new(txn->store))
		return 0;
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

/* Leftovers of writers that did not end properly. */
struct sweep {
	struct b2f_frame *frame;
	enum b2f_sweep how;
	struct b2f_ids used;
	/* Files to be removed; an index is not among them. */
	struct b2f_ids unused;
	struct b2f_leftovers found;
};

static int visit_unused(void *arg, int64_t id)
{
	struct sweep *s = arg;
	struct b2f_frame_stamp identity;
	bool sure;

	if (id >= 0 && (b2f_ids_has_sorted(&s->used, (uint64_t)id) ||
			(s->how != B2F_SWEEP_LOOK &&
			 is_named_again(s->frame->store, &s->used, id))))
		return 0;
	if (b2f_store_identify(s->frame->store, id, &identity) == 0)
		s->found.nbytes += identity.size;
	if (id < 0) {
		s->found.nindexes++;
		return 0;
	}
	sure = is_leftover(s->frame->store, id);
	if (sure)
		s->found.nsure++;
	else
		s->found.nyoung++;
	if (s->how == B2F_SWEEP_ALL || (s->how == B2F_SWEEP_SURE && sure))
		return b2f_ids_add(&s->unused, (uint64_t)id);
	return 0;
}

static int remove_found(struct sweep *s, struct b2f_why *why)
{
	struct b2f_store *store = s->frame->store;
	int err = 0;

	if (s->how == B2F_SWEEP_LOOK)
		return 0;
	if (s->found.nindexes)
		err = b2f_store_remove(store, B2F_OBJECT_NEW_INDEX, why);
	for (size_t i = 0; i < s->unused.n && !err; i++) {
		int64_t id = (int64_t)s->unused.ids[i];

		err = s->how == B2F_SWEEP_ALL
			      ? b2f_store_remove(store, id, why)
			      : remove_leftover(store, id, why);
		if (err > 0) {
			s->found.nsure--;
			s->found.nyoung++;
			err = 0;
		}
	}
	return err;
}

/* Lists the ids of files that the index names, each once. */
static int list_used(struct sweep *s, struct b2f_why *why)
{
	struct b2f_txn_state state;
	int err = b2f_txn_state_of(s->frame, &state);

	if (err)
		return err;
	err = b2f_txn_used_ids(&state, &s->used);
	b2f_txn_state_fini(&state);
	if (err == B2F_EUNSUPPORTED)
		b2f_why_set(why, err, "two of its chunks are in one file");
	return err;
}

static int sweep(struct sweep *s, struct b2f_why *why)
{
	int err = list_used(s, why);

	if (!err)
		err = b2f_store_list(s->frame->store, visit_unused, s);
	if (!err)
		err = remove_found(s, why);
	return err;
}

bool b2f_frame_suits_stock(const struct b2f_frame *frame)
{
	const struct b2f_entries *e = &frame->entries;
	uint64_t n = e->raw ? e->n : e->n > 0;

	/* Chunks in the index alone have no ids. */
	return !frame->header.sparse || e->nspecial == e->n ||
	       b2f_index_margin(e->raw ? e->raw : &e->same, n) <=
		       frame->header.cbytes;
}

int b2f_frame_sweep(struct b2f_frame *frame, enum b2f_sweep how,
		    struct b2f_leftovers *out)
{
	struct sweep s = {.frame = frame, .how = how};
	struct b2f_why why = {""};
	int err;

	if (!frame->header.sparse) {
		b2f_why_set(&why, -EROFS,
			    "a contiguous frame has no leftovers");
		return b2f_frame_report(frame, -EROFS, &why);
	}
	/* A program that is writing may need what looks like a leftover. */
	err = how == B2F_SWEEP_LOOK ? b2f_frame_hold_to_look(frame)
				    : b2f_frame_hold(frame);
	if (err)
		return err;
	err = sweep(&s, &why);
	b2f_frame_let_in(frame);
	b2f_ids_fini(&s.used);
	b2f_ids_fini(&s.unused);
	if (err)
		return b2f_frame_report(frame, err, &why);
	*out = s.found;
	return 0;
}
