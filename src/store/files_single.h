/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files_single.h - changing a contiguous frame, which is one file
 *
 * Layer: store.  May include: base/.  Threads: as store.h.
 */
#ifndef B2F_STORE_FILES_SINGLE_H
#define B2F_STORE_FILES_SINGLE_H

#include <sys/stat.h>

#include "store/store.h"

struct b2f_files_writer;

extern const struct b2f_store_write_ops b2f_files_single_write;

/* Like stamp() of struct b2f_store_ops. */
B2F_MUST_CHECK
int b2f_files_single_stamp(struct b2f_store *store, enum b2f_stamp what,
			   struct b2f_frame_stamp *out);

/*
 * Prepares @store, without a file yet, for one that this process makes: then
 * writers need no other descriptor.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_files_single_make(struct b2f_store *store);

/*
 * Like b2f_store_lock() for the file of b2f_files_single_make(), which has been
 * locked since it was made, and has the attributes @st.
 */
void b2f_files_single_begin(struct b2f_store *store, const struct stat *st);

/*
 * Ends the lock, and frees what writing to a single file took.  NULL does
 * nothing.
 */
void b2f_files_single_fini(struct b2f_files_writer *writer);

#endif
