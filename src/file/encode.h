/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode.h - from a record of written pages to a chunk file
 *
 * Layer: file.  May include: base/ frame/.  Threads: any, with the locks that
 * each function names.
 */
#ifndef B2F_FILE_ENCODE_H
#define B2F_FILE_ENCODE_H

#include "file/record.h"
#include "txn/txn.h"

struct b2f_chunk_writer;
struct b2f_encoder;

/*
 * Makes @rec BUSY if it is OPEN; returns whether it did.  If so, the caller has
 * to call b2f_encode_run() with a reference to @rec.  The file is locked.
 */
bool b2f_encode_begin(struct b2f_record *rec);

/*
 * Encodes @rec, which is BUSY, writes its chunk file and removes the record.
 * @early: no commit waited for @rec before.  If a commit waits now, an error,
 * such as a full disk, may be outdated: encodes @rec once more.  Returns 0 or an
 * error.
 */
int b2f_encode_run(struct b2f_record *rec, bool early);

/* Has a worker encode @rec, which is OPEN and complete.  The file is locked. */
void b2f_encode_submit(struct b2f_record *rec);

/*
 * Encodes @rec in this thread; see b2f_spill_fn.  No lock of the file is held.
 */
int b2f_encode_spill(struct b2f_record *rec);

/* encode_patch.c */

/*
 * Writes the new chunk of the BUSY record @rec by changing only some blocks of
 * the old chunk; *@made says whether that was possible.  Returns 0, or as
 * b2f_chunk_write() or b2f_frame_load().
 */
B2F_MUST_CHECK
int b2f_encode_patch(struct b2f_record *rec, struct b2f_chunk_writer *cw,
		     bool *made, struct b2f_txn_chunk *out);

/* encode_guess.c */

/*
 * Sets the item size of the frame if it is still to be guessed and the BUSY
 * record @rec has bytes other than zero.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_encode_guess(struct b2f_record *rec, struct b2f_encoder *enc);

#endif
