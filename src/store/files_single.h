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

/* Frees what writing to a single file took.  NULL does nothing. */
void b2f_files_single_fini(struct b2f_files_writer *writer);

#endif
