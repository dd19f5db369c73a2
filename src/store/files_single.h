/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files_single.h - changing a contiguous frame, which is one file
 *
 * Layer: store.  May include: base/.  Threads: as store.h.
 */
#ifndef B2F_STORE_FILES_SINGLE_H
#define B2F_STORE_FILES_SINGLE_H

#include "store/store.h"

struct b2f_files_writer;

extern const struct b2f_store_write_ops b2f_files_single_write;

/* Like stamp() of struct b2f_store_ops. */
B2F_MUST_CHECK
int b2f_files_single_stamp(struct b2f_store *store, enum b2f_stamp what,
			   struct b2f_frame_stamp *out);

/* Frees what writing to a single file took.  NULL does nothing. */
void b2f_files_single_fini(struct b2f_files_writer *writer);

#endif
