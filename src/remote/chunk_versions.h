/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunk_versions.h - the versions of chunks that were seen
 *
 * A chunk whose version and head are known is opened again without a request.
 *
 * Layer: remote.  May include: base/.  Threads: one at a time.
 */
#ifndef B2F_REMOTE_CHUNK_VERSIONS_H
#define B2F_REMOTE_CHUNK_VERSIONS_H

#include "b2frame/remote.h"

struct b2f_chunk_versions;

/* Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_chunk_versions_new(struct b2f_chunk_versions **out);

/* NULL does nothing. */
void b2f_chunk_versions_free(struct b2f_chunk_versions *versions);

/* Notes that chunk @id has @version; forgets the others if too many. */
void b2f_chunk_versions_put(struct b2f_chunk_versions *versions, int64_t id,
			    const struct b2f_remote_stat *version);

/* Forgets all chunks. */
void b2f_chunk_versions_forget(struct b2f_chunk_versions *versions);

/* Returns false if the version of chunk @id is not known. */
bool b2f_chunk_versions_get(struct b2f_chunk_versions *versions, int64_t id,
			    struct b2f_remote_stat *out);

#endif
