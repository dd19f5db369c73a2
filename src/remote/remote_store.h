/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_store.h - a frame on a server, as a store
 *
 * A sparse frame is the objects PATH/chunks.b2frame and PATH/XXXXXXXX.chunk, a
 * contiguous one the object PATH.  The store pins the version of the index that
 * it saw first; b2f_store_stat_index() returns the current version,
 * and asks the server at most once per refresh_ms of the remote.
 *
 * Layer: remote.  May include: base/ store/.  Threads: as store/store.h.
 */
#ifndef B2F_REMOTE_REMOTE_STORE_H
#define B2F_REMOTE_REMOTE_STORE_H

#include "remote/remote_place.h"
#include "store/write.h"

/*
 * Makes the store of the frame @path, @sparse or not; makes no request.  Free
 * *@out with b2f_store_free().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_remote_store_new(struct b2f_remote *remote, const char *path,
			 bool sparse, struct b2f_store **out);

/*
 * Reads the index of @store for the first time.  Returns 0 or an error of
 * requests (b2frame/remote.h).
 */
B2F_MUST_CHECK
int b2f_remote_store_begin(struct b2f_store *store, struct b2f_why *why);

/* Returns the place of @store. */
struct b2f_remote_place *b2f_remote_store_place(const struct b2f_store *store);

/* Write operations of the sparse stores (remote_write.c). */
extern const struct b2f_store_write_ops b2f_remote_write;

#endif
