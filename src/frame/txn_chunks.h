/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_chunks.h - which of the data each chunk of a transaction has
 *
 * Where all chunks but the last have one size, division tells.  Where chunks
 * have different sizes, a state has a table: the chunks that there were keep
 * their sizes, and what the data grow by goes to new chunks.
 *
 * Layer: frame.  Threads: as txn.h; but the table of the working state changes
 * only with the number of chunks.
 */
#ifndef B2F_FRAME_TXN_CHUNKS_H
#define B2F_FRAME_TXN_CHUNKS_H

#include "frame/txn.h"

/* Where chunk @nchunk (<= n) of @state begins; that of chunk n is the end. */
uint64_t b2f_txn_chunk_start(const struct b2f_txn *txn,
			      const struct b2f_txn_state *state,
			      uint64_t nchunk);

/* Decoded bytes of chunk @nchunk of @state; 0 if there is none. */
uint32_t b2f_txn_chunk_nbytes(const struct b2f_txn *txn,
			       const struct b2f_txn_state *state,
			       uint64_t nchunk);

/* The chunk of the working state that has byte @off (< nbytes). */
struct b2f_frame_span b2f_txn_locate(const struct b2f_txn *txn,
				      uint64_t off);

/* Returns the size to which chunk @nchunk (< n) can grow. */
uint32_t b2f_txn_chunk_room(const struct b2f_txn *txn, uint64_t nchunk);

/* How many chunks the working state has when it gets @nbytes. */
uint64_t b2f_txn_count_chunks(const struct b2f_txn *txn, uint64_t nbytes);

/*
 * Can an index entry alone stand for a chunk of @nbytes of zeros?  Readers of
 * it have to know how many items that are.
 */
static inline bool b2f_txn_may_be_hole(const struct b2f_txn *txn,
					uint32_t nbytes)
{
	return !txn->working.starts && nbytes % txn->header.typesize == 0;
}

/*
 * The same for all chunks but the last.  C-Blosc2 makes frames whose chunks are
 * no whole number of items, too.
 */
static inline bool b2f_txn_may_have_holes(const struct b2f_txn *txn)
{
	return b2f_txn_may_be_hole(txn, (uint32_t)txn->header.chunksize);
}

/*
 * Gives the working state @nbytes and @n chunks, as b2f_txn_count_chunks()
 * counts them; its table has room for them.
 */
void b2f_txn_lay_out(struct b2f_txn *txn, uint64_t n, uint64_t nbytes);

/*
 * Gives @state, which is that of @frame, a table.  May read the heads of all
 * chunks.  Returns -ENOMEM or as b2f_frame_span_get().
 */
B2F_MUST_CHECK
int b2f_txn_make_starts(struct b2f_frame *frame, struct b2f_txn_state *state);

/*
 * The state of @theirs, another version of the frame, with a table if the
 * states of @txn have one.  Free it with b2f_txn_state_fini().  Returns as
 * b2f_txn_make_starts().
 */
B2F_MUST_CHECK
int b2f_txn_state_like(const struct b2f_txn *txn, struct b2f_frame *theirs,
			struct b2f_txn_state *out);

#endif
