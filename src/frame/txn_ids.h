/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_ids.h - ids of chunk files: used, and free
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_IDS_H
#define B2F_FRAME_TXN_IDS_H

#include "frame/txn.h"

/*
 * A number for a new chunk file, or for a range of @size bytes, as an entry.
 * Returns 0, -ENOSPC, -ENOMEM; -EFBIG.
 */
B2F_MUST_CHECK
int b2f_txn_new_id(struct b2f_txn *txn, uint64_t size, uint64_t *raw);

/*
 * In a shared store: ids begin above all that the frame ever had, and a little more,
 * by chance, as other writers begin there, too.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_txn_begin_ids(struct b2f_txn *txn, struct b2f_why *why);

/* There, other writers have taken ids meanwhile. */
void b2f_txn_skip_ids(struct b2f_txn *txn);

/* Notes that the file of @chunk was written.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_txn_note_file(struct b2f_txn *txn,
		       const struct b2f_txn_chunk *chunk);

/* Is it much that a commit would have to make durable? */
bool b2f_txn_has_backlog(const struct b2f_txn *txn);

/* Ids of the files that @state names, sorted.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_txn_list_ids(const struct b2f_txn_state *state, struct b2f_ids *out);

/* The same of @frame. */
B2F_MUST_CHECK
int b2f_txn_frame_ids(const struct b2f_frame *frame, struct b2f_ids *out);

/* Also B2F_EUNSUPPORTED if one is named twice. */
B2F_MUST_CHECK
int b2f_txn_used_ids(const struct b2f_txn_state *state, struct b2f_ids *out);

/* The id above all that @state names. */
uint64_t b2f_txn_above(const struct b2f_txn_state *state);

bool b2f_ids_has_sorted(const struct b2f_ids *list, uint64_t id);

#endif
