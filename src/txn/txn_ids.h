/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_ids.h - ids of chunk files: used, and free
 *
 * Layer: txn.  Threads: as txn.h.
 */
#ifndef B2F_TXN_TXN_IDS_H
#define B2F_TXN_TXN_IDS_H

#include "txn/txn.h"

/*
 * Begins @chunk with the id of a new chunk file, or range of @size bytes.
 * Returns 0, -ENOSPC, -ENOMEM; -EFBIG.
 */
B2F_MUST_CHECK
int b2f_txn_new_id(struct b2f_txn *txn, uint64_t size,
		   struct b2f_txn_chunk *chunk);

/* In a shared store, other writers have taken ids meanwhile. */
void b2f_txn_skip_ids(struct b2f_txn *txn);

/*
 * The member number of struct b2f_protocol.  A bucket reuses no id while unused
 * ones are left.
 */
B2F_MUST_CHECK
int b2f_sparse_number(struct b2f_txn *txn, uint64_t size, uint64_t *id);
B2F_MUST_CHECK
int b2f_bucket_number(struct b2f_txn *txn, uint64_t size, uint64_t *id);

/* Notes that another program has the id of @raw: no new file gets it. */
void b2f_txn_note_foreign(struct b2f_txn *txn, uint64_t raw);

/* Notes that the file of @chunk was written.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_txn_note_file(struct b2f_txn *txn,
		       const struct b2f_txn_chunk *chunk);

/* Would a commit have to make many files durable? */
bool b2f_txn_has_backlog(const struct b2f_txn *txn);

/* Ids of the files that @state names, sorted.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_txn_list_ids(const struct b2f_txn_state *state, struct b2f_ids *out);

/* The same of @frame. */
B2F_MUST_CHECK
int b2f_txn_frame_ids(const struct b2f_frame *frame, struct b2f_ids *out);

/* The same; also B2F_EUNSUPPORTED if an id is named twice. */
B2F_MUST_CHECK
int b2f_txn_used_ids(const struct b2f_txn_state *state, struct b2f_ids *out);

/* The id above all that @state names. */
uint64_t b2f_txn_above(const struct b2f_txn_state *state);

bool b2f_ids_has_sorted(const struct b2f_ids *list, uint64_t id);

#endif
