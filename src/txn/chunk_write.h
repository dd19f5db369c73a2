/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunk_write.h - data into a new chunk file of a transaction
 *
 * Layer: txn.  May include: base/ chunk/ index/ store/ frame/.
 *
 * Threads: any number of chunk writers of one transaction, whose owner has a
 * lock (struct b2f_txn_guard), which none of them holds.
 */
#ifndef B2F_TXN_CHUNK_WRITE_H
#define B2F_TXN_CHUNK_WRITE_H

#include "chunk/patch.h"
#include "txn/txn.h"

struct b2f_chunk_writer {
	struct b2f_txn *txn;
	struct b2f_encoder *encoder;
	/* The frame whose settings to use; NULL: those of the transaction. */
	const struct b2f_frame *as;
	/* The highest level to encode at; 0: the level of the settings. */
	unsigned int clevel_max;
	/* Without checksums. */
	bool no_seal;
};

/*
 * Encodes the @nbytes (> 0) at @data as chunk @nchunk (for messages), and
 * writes them to a new chunk file; zeros become an entry alone if they may.
 * The file is noted in the transaction; nothing names it yet.
 *
 * Returns 0, -ENOSPC, -EDQUOT, -EIO or another errno of the store, or -ENOMEM;
 * the cause is logged, and no file is left.
 */
B2F_MUST_CHECK
int b2f_chunk_write(struct b2f_chunk_writer *cw, uint64_t nchunk,
		    const uint8_t *data, uint32_t nbytes,
		    struct b2f_txn_chunk *out);

/*
 * The same with a chunk that is encoded already: its @cbytes bytes at @chunk.
 * Returns also B2F_ECORRUPT (it is no chunk).
 */
B2F_MUST_CHECK
int b2f_chunk_write_encoded(struct b2f_chunk_writer *cw, uint64_t nchunk,
			    const uint8_t *chunk, uint32_t cbytes,
			    struct b2f_txn_chunk *out);

/*
 * True if b2f_chunk_write_patch() may turn @chunk, of which the head suffices,
 * into a chunk of @nbytes.
 */
bool b2f_chunk_write_may_patch(struct b2f_chunk_writer *cw,
			       const struct b2f_chunk *chunk, uint32_t nbytes);

/*
 * The same with the chunk that @patch makes of the old one. *@made tells
 * whether it was written; if not, the caller has to put the data together for
 * b2f_chunk_write().  @made is also false if a part to be kept is damaged; the
 * full read that follows reports it.
 */
B2F_MUST_CHECK
int b2f_chunk_write_patch(struct b2f_chunk_writer *cw, uint64_t nchunk,
			  const struct b2f_patch *patch, bool *made,
			  struct b2f_txn_chunk *out);

#endif
