/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extent.h - a part of a file as the store of a contiguous frame
 *
 * Layer: store.  May include: base/.  Threads: as store.h.
 */
#ifndef B2F_STORE_EXTENT_H
#define B2F_STORE_EXTENT_H

#include "store/store.h"

/*
 * Makes a read-only store of the @size bytes at @off of the contiguous store
 * @whole, which it clones.  Reads stay inside these bytes.  Free *@out with
 * b2f_store_free().
 *
 * Returns 0, B2F_ECORRUPT (@whole has fewer bytes), -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int b2f_extent_new(struct b2f_store *whole, uint64_t off, uint64_t size,
		  struct b2f_store **out, struct b2f_why *why);

#endif
