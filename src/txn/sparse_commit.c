/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse_commit.c - a state of a transaction becomes a sparse frame */
#include "txn/protocol.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log_line.h"
#include "frame/frame_still.h"
#include "txn/garbage.h"
#include "txn/txn_ids.h"
#include "txn/txn.h"

/* A job for many files at once. */
struct sync_all {
	struct b2f_txn *txn;
	struct b2f_commit *commit;
	/* Sync the files; false: only wait for their writes. */
	bool durable;
	/* A refusal of a file, which fails the commit; or 0. */
	atomic_int refused;
};

/*
 * Does @err refuse the file at once?  If it does, the commit settles the other
 * files, too, to find all that have to be written again; otherwise each later
 * commit would find one more, after the disk or the room is back.  On a shared
 * store EIO is no refusal: it also means that the server does not answer, and
 * the commit waits for a server only once.
 */
static bool is_refusal(const struct b2f_txn *txn, int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EACCES ||
	       (err == -EIO && !txn->protocol->is_shared);
}

/* Syncs one file, or waits for its write: the kernel reports an error once. */
static int settle_file(void *arg, size_t i)
{
	struct sync_all *all = arg;
	const struct b2f_txn *txn = all->txn;
	int64_t id = (int64_t)all->commit->unsynced.ids[i];
	struct b2f_object object = {.fd = -1};
	char name[B2F_CHUNK_NAME_SIZE];
	struct b2f_why why = {""};
	bool is_refused = false;
	int err = b2f_object_open(txn->store, id, &object, &why);

	if (!err) {
		err = b2f_object_settle(&object, b2f_settle_of(all->durable),
					&why);
		/* If a file cannot be opened now, nothing is lost yet. */
		if (err)
			all->commit->unsynced.ids[i] |= B2F_TXN_FAILED;
		/* One line in the log stands for all refused files. */
		is_refused = is_refusal(txn, err);
		if (is_refused && atomic_exchange(&all->refused, err))
			err = 0;
	}
	b2f_object_close(&object);
	/* If another writer has taken the id, the data get another one. */
	if (err && err != -EEXIST) {
		b2f_chunk_name(id, name);
		b2f_log(txn->frame->log, B2F_LOG_ERROR, "%s: %s: %s",
			txn->frame->label, name, why.text);
	}
	return is_refused ? 0 : err;
}

/*
 * The data of a frame reach the disk before the files get their names, even if
 * nothing has to be durable: if the power fails, the frame is there as a whole
 * or not at all.  Without this, names could lead to files of 0 bytes.  The disk
 * writes all files at the same time, and nothing is flushed.
 */
static int begin_file(void *arg, size_t i)
{
	const struct sync_all *all = arg;
	struct b2f_object object = {.fd = -1};

	if (!b2f_object_open(all->txn->store,
			     (int64_t)all->commit->unsynced.ids[i], &object,
			     NULL))
		(void)!b2f_object_settle(&object, B2F_SETTLE_SOON, NULL);
	b2f_object_close(&object);
	return 0;
}

static int for_files(struct b2f_txn *txn, struct b2f_commit *commit,
		     int (*fn)(void *arg, size_t i), bool durable)
{
	struct sync_all all = {
		.txn = txn, .commit = commit, .durable = durable};
	size_t n = commit->unsynced.n;
	int err = 0;

	if (commit->each)
		err = commit->each(commit->each_context, n, fn, &all);
	for (size_t i = 0; !commit->each && i < n && !err; i++)
		err = fn(&all, i);
	return err ? err : atomic_load(&all.refused);
}

/* Takes the names away again from the first @n files that got one. */
static void hide_files(struct b2f_txn *txn, const struct b2f_ids *pending,
		       size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n; i++)
		if (!(pending->ids[i] & B2F_TXN_FAILED))
			err = b2f_store_name(txn->store,
					     b2f_txn_id(pending->ids[i]) |
						     B2F_OBJECT_PENDING,
					     NULL);
	/* The file can be read under its name, too; see show_file(). */
	(void)err;
}

/*
 * Gives one file its name; marks the file if it can never get it: another
 * program has the name, or a failed commit could not take it away again.
 */
static int show_file(struct b2f_txn *txn, uint64_t *id, struct b2f_why *why)
{
	int err = b2f_store_name(txn->store,
				 b2f_txn_id(*id) & ~B2F_OBJECT_PENDING, why);

	if (err != -EEXIST && err != -ENOENT)
		return err;
	*id |= B2F_TXN_FAILED;
	return -EEXIST;
}

/* Gives all new files their names, or none: -EEXIST if some are marked. */
static int show_files(struct b2f_txn *txn, struct b2f_commit *commit,
		      struct b2f_why *why)
{
	struct b2f_ids *pending = &commit->pending;
	int err = 0, marked = 0;
	size_t n;

	for (n = 0; n < pending->n && !err; n++) {
		err = show_file(txn, &pending->ids[n], why);
		if (err == -EEXIST) {
			marked = err;
			err = 0;
		}
	}
	n -= err != 0;
	if (!err)
		err = marked;
	if (err)
		hide_files(txn, pending, n);
	return err;
}

/*
 * Syncs all files at once, names too: a journal, which keeps earlier changes
 * with each later one, then writes one entry instead of one per file, and the
 * other syncs have nothing to do.
 */
static int sync_files(struct b2f_txn *txn, struct b2f_commit *commit,
		      const struct b2f_object *index, struct b2f_why *why)
{
	int err = for_files(txn, commit, settle_file, true);

	if (!err)
		err = b2f_object_sync(index, why);
	if (!err && commit->pending.n)
		err = b2f_store_sync_names(txn->store, why);
	return err;
}

/*
 * Until the new index is in its place, the first one has to say that the frame
 * is empty: beside chunk files, one without its content counts as damaged.  If
 * the commit need not be durable, this costs a write per new file, and guards
 * only against a journal that ends between the two names: leave it out.
 */
static int sync_first_index(const struct b2f_txn *txn,
			    const struct b2f_commit *commit,
			    struct b2f_why *why)
{
	if (!commit->durable || commit->before != B2F_DISK_NEW ||
	    commit->pending.n == 0)
		return 0;
	return b2f_store_sync_index(txn->store, why);
}

int b2f_sparse_has_changed(const struct b2f_txn *txn)
{
	int ret = b2f_frame_has_changed(txn->frame, &txn->stamp);

	return ret == -ENOENT ? 1 : ret;
}

/*
 * 0 if no other program has written, else -ESTALE or an errno.  A shared store
 * checks that in the last step.
 */
static int check_same(const struct b2f_txn *txn)
{
	int changed = txn->protocol->is_shared ? 0 : b2f_sparse_has_changed(txn);

	if (!changed && txn->guard.lock)
		b2f_lock_adopt(txn->guard.lock);
	return changed > 0 ? -ESTALE : changed;
}

/*
 * Checks that no other program has written, then puts the new @index in its
 * place.
 */
static int replace_index(struct b2f_txn *txn, struct b2f_commit *commit,
			 const struct b2f_object *index, struct b2f_why *why)
{
	const struct b2f_install what = {
		.base = &txn->stamp,
		.replaced = commit->replaced.ids,
		.nreplaced = commit->replaced.n,
	};
	int err = check_same(txn);

	if (!err)
		err = sync_first_index(txn, commit, why);
	if (!err)
		err = show_files(txn, commit, why);
	if (err)
		return err;
	if (commit->durable)
		err = sync_files(txn, commit, index, why);
	/* A program without locks may have written during the syncs. */
	if (!err && commit->durable)
		err = check_same(txn);
	if (!err)
		err = b2f_store_install(txn->store, &what, why);
	if (err) {
		commit->in_doubt = err == B2F_EINDOUBT;
		hide_files(txn, &commit->pending, commit->pending.n);
		return err;
	}
	commit->installed = true;
	err = b2f_store_own_stamp(txn->store, &commit->stamp);
	if (!err && commit->durable)
		err = b2f_store_sync_names(txn->store, why);
	commit->durable &= !err;
	return err;
}

int b2f_sparse_write(struct b2f_txn *txn, struct b2f_commit *commit,
		     struct b2f_why *why)
{
	struct b2f_object index = {.fd = -1};
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err = for_files(txn, commit, begin_file, false);

	if (!err)
		err = b2f_txn_make_index(txn, commit, NULL, &bytes, &size,
					  why);
	if (!err)
		err = b2f_store_write_index(
			txn->store, bytes, size,
			commit->has_mtime ? &commit->mtime : NULL, &index,
			why);
	/* This takes longest, so other programs are not locked out. */
	if (!err)
		err = for_files(txn, commit, settle_file, false);
	free(bytes);
	if (err)
		goto out;
	commit->frame_len = size;
	commit->told_cbytes = commit->state.cbytes +
			      b2f_pages_margin(&commit->state.pages,
					       commit->state.n);
	err = b2f_txn_lock_out(txn, commit->lock_wait_ms, why);
	if (err)
		goto out;
	err = replace_index(txn, commit, &index, why);
	b2f_txn_let_in(txn);
out:
	b2f_object_close(&index);
	return err;
}

const struct b2f_protocol b2f_sparse_protocol = {
	.begin = b2f_sparse_begin,
	.number = b2f_sparse_number,
	.write = b2f_sparse_write,
	.has_changed = b2f_sparse_has_changed,
	.delete = b2f_sparse_delete,
	.end = b2f_sparse_end,
};
