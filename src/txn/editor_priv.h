/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * editor_priv.h - between the source files of an editor
 *
 * Layer: txn.  Threads: as b2frame/editor.h.
 */
#ifndef B2F_TXN_EDITOR_PRIV_H
#define B2F_TXN_EDITOR_PRIV_H

#include "b2frame/editor.h"
#include "txn/chunk_write.h"

struct b2f_editor {
	/* The transaction, and how its chunks are written. */
	struct b2f_chunk_writer cw;
	struct b2f_durability durability;
	/* Chunks can only be replaced by others of the same length. */
	bool any_kind;
};

/* Logs that something cannot be done, and returns @err. */
int b2f_editor_refuse(const struct b2f_editor *editor, int err,
		      const char *what);

/*
 * Puts @chunk, a new one, in the place of chunk @nchunk; drops it on an error.
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_editor_put(struct b2f_editor *editor, uint64_t nchunk,
		   const struct b2f_txn_chunk *chunk);

#endif
