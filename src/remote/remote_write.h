/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_write.h - changing a frame in an object store
 *
 * Layer: remote.  May include: base/ store/.  Threads: as store/write.h.
 */
#ifndef B2F_REMOTE_REMOTE_WRITE_H
#define B2F_REMOTE_REMOTE_WRITE_H

#include "remote/upload.h"
#include "store/write.h"

/* Write operations of the sparse stores of remote_store.h. */
extern const struct b2f_store_write_ops b2f_remote_write;

/*
 * Puts the first index of a frame, the @size bytes at @index, to @place.
 * Returns 0, -EEXIST or an error of requests.
 */
B2F_MUST_CHECK
int b2f_remote_write_first(struct b2f_remote_place *place, const void *index,
			   size_t size, struct b2f_why *why);

#endif
