/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn.h - changes to a frame, and their commit
 *
 * A transaction has two states of the frame's entries: the *committed* one,
 * which is on disk, and the *working* one, which a writer changes.  A changed
 * chunk is in a new file that no index names yet.  A commit makes the working
 * state, as it was at one moment, the committed one:
 *
 *   b2f_txn_freeze()     takes a snapshot of the working state
 *   b2f_txn_patch()      puts chunks in that belong to that moment but were
 *                         still being encoded
 *   b2f_txn_write()      new files durable, new index in the place of the old
 *   b2f_txn_finish()     the snapshot is the committed state now
 *
 * Nothing that the index on disk names is ever written to.  A new file is
 * *pending* (store/store.h) until the commit, and gets its name right before
 * the index that names it, under the lock of other programs if there is one:
 * until then C-Blosc2, which takes one more than the largest number of the
 * index, can neither take that name nor write over the file.  If another
 * program has taken the id by then, the chunk is written to another file; see
 * b2f_txn_find_bad().
 *
 * The states of a file:
 *
 *   pending    no index names it; it is in @fresh, after b2f_txn_drop() in
 *              @dead until it is deleted
 *   named      the index on disk names it
 *   replaced   the index on disk names it, the working state does not: in
 *              @replaced
 *   retired    an index before named it, and readers of that index may still
 *              come: in @retired, until it is old enough (garbage.c)
 *
 * In a contiguous frame each "file" above is a range of the one file, which
 * takes no name, and the new index is one, too.  Its commit is one write to the
 * header (single_commit.c).
 *
 * Entries are those of index/index.h, but those of files that were written here
 * keep the bit of pending ones.  Each file that a transaction writes gets a tag
 * of its own, so two equal entries of one transaction always mean the same
 * bytes.
 *
 * The files of a transaction, lowest first; each calls only those above it
 * here:
 *
 *   txn_state              the chunks of one moment: their data and sizes
 *   txn_ids                ids for new chunks
 *   protocol               steps of all protocols: locks, and the next index
 *   garbage                chunks that no index names, or soon none
 *   txn_commit             the steps of any commit
 *   sparse_garbage, sparse_commit, bucket_commit
 *                          the protocols of directories and object stores
 *   single_space, single_commit, single_shrink
 *                          the protocol of a file: its room, commit and end
 *   txn, txn_merge         the transaction itself; merging another program's
 *                          changes into it
 *   chunk_write            data into new chunk files
 *   editor, editor_seal    the public verbs (b2frame/editor.h)
 *
 * Layer: txn.  May include: base/ chunk/ index/ store/ frame/.
 *
 * Threads: the owner of a transaction holds a lock during every call, except
 * for the functions that say otherwise: those that read or write files.
 */
#ifndef B2F_TXN_TXN_H
#define B2F_TXN_TXN_H

#include "base/checked.h"
#include "chunk/encoder.h"
#include "frame/obstacle.h"
#include "txn/txn_state.h"
#include "index/index_write.h"
#include "store/lock.h"

/* Whether to take part in the locks of C-Blosc2. */
enum b2f_txn_locking {
	/* If the frame uses them. */
	B2F_TXN_LOCKING_IF_THERE,
	B2F_TXN_LOCKING_ALWAYS,
	B2F_TXN_LOCKING_NEVER,
};

/*
 * Makes a transaction of @frame, and locks its store; commits move
 * @durability.  Free *@out with b2f_txn_free().  Reads and deletes files.
 *
 * Returns 0, -EROFS (the frame, or its directory, cannot be written to;
 * logged), -ESTALE (@frame is not the one on disk; not logged), -EBUSY, -ENOMEM
 * or an errno of the store.
 */
B2F_MUST_CHECK
int b2f_txn_new(struct b2f_frame *frame, enum b2f_frame_use what,
		 enum b2f_txn_locking locking,
		 struct b2f_durability *durability, struct b2f_txn **out);

/* Ties @txn to the version that @generation belongs to, or to none. */
void b2f_txn_belong(struct b2f_txn *txn, struct b2f_generation *generation);

/* Deletes uncommitted files, and frees.  NULL does nothing. */
void b2f_txn_free(struct b2f_txn *txn);

/*
 * Sets the item size of a frame none of whose chunks has a file or was loaded.
 * A hole at the end has to be a whole number of items.
 */
void b2f_txn_set_typesize(struct b2f_txn *txn, uint32_t typesize);

/*
 * Sets chunk @nchunk (< n) of the working state to @chunk; @old is the stored
 * size of the old chunk.  Returns 0, or -ENOMEM with nothing changed.
 */
B2F_MUST_CHECK
int b2f_txn_put(struct b2f_txn *txn, uint64_t nchunk,
		 const struct b2f_txn_chunk *chunk, uint32_t old);

/*
 * Gives the working state @n chunks and @nbytes, laid out as txn_state.h says;
 * new ones are zeros.  @old is the stored size of the removed chunks together.
 * Returns 0, or B2F_ETOOBIG or -ENOMEM with nothing changed.
 */
B2F_MUST_CHECK
int b2f_txn_resize(struct b2f_txn *txn, uint64_t n, uint64_t nbytes,
		    uint64_t old);

/*
 * The committed state, with its settings, becomes the working one again.  No
 * commit is under way.  Returns 0, or -ENOMEM with nothing changed.
 */
B2F_MUST_CHECK
int b2f_txn_revert(struct b2f_txn *txn);

/* Notes that the working state has @raw no more.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_txn_drop(struct b2f_txn *txn, uint64_t raw);

/* Reserves room so that @n calls of b2f_txn_drop() cannot fail. */
B2F_MUST_CHECK
int b2f_txn_reserve_drops(struct b2f_txn *txn, size_t n);

/* The same for a cut of the working state to @n chunks. */
B2F_MUST_CHECK
int b2f_txn_reserve_cut(struct b2f_txn *txn, uint64_t n);

/* Returns the stamp of the index, unless another program has changed it. */
struct b2f_frame_stamp b2f_txn_stamp(const struct b2f_txn *txn);

/*
 * Another program changed the frame: makes its version, @theirs, the committed
 * state, and applies the changes of the working state to it.  On success the
 * transaction has a reference to @theirs.
 *
 * Returns 0, -ESTALE (both have changed the same) or an errno; after an error
 * @txn is unchanged.
 */
B2F_MUST_CHECK
int b2f_txn_merge(struct b2f_txn *txn, struct b2f_frame *theirs);

/*
 * If @theirs, on disk now, has the changes of the commit of unknown outcome,
 * that commit's state becomes the committed one.
 */
void b2f_txn_settle(struct b2f_txn *txn, const struct b2f_txn_state *theirs);

/*
 * Returns 0 if chunk @i is in @theirs, on disk now, as in the committed state;
 * -ESTALE if not; or an errno.
 */
B2F_MUST_CHECK
int b2f_txn_check_untouched(const struct b2f_txn *txn,
			    const struct b2f_txn_state *theirs, uint64_t i);

/*
 * Goes on with the settings and metalayers of @frame, which was derived from
 * the old frame, and the same chunks.  No commit is under way.
 */
void b2f_txn_set_frame(struct b2f_txn *txn, struct b2f_frame *frame);

/*
 * Gives the working state another layout: that of @frame, which was derived
 * from the old frame, with the chunks of @state (taken over).  No commit is
 * under way.  Returns 0, or -ENOMEM with nothing changed.
 */
B2F_MUST_CHECK
int b2f_txn_relayout(struct b2f_txn *txn, struct b2f_frame *frame,
		    struct b2f_txn_state *state);

#endif
