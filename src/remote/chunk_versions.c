/* SPDX-License-Identifier: BSD-3-Clause */
/* chunk_versions.c - the versions of chunks that were seen */
#include "remote/remote_place.h"

#include <stdlib.h>
#include <string.h>

/* Without memory an entry is left out, which costs a request later. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((void)(entry))
#include <uthash.h>

/* Limits memory to some 10 MB; then all entries are forgotten. */
#define KNOWN_MAX (64u << 10)

struct b2f_known {
	UT_hash_handle hh;
	int64_t id;
	uint64_t size;
	int64_t mtime;
	char etag[];
};

void b2f_chunk_versions_forget(struct b2f_remote_place *place)
{
	struct b2f_known *k, *tmp;

	HASH_ITER(hh, place->versions, k, tmp) {
		HASH_DEL(place->versions, k);
		free(k);
	}
}

void b2f_chunk_versions_put(struct b2f_remote_place *place, int64_t id,
			    const struct b2f_remote_stat *version)
{
	size_t n = strlen(version->etag) + 1;
	struct b2f_known *k;

	HASH_FIND(hh, place->versions, &id, sizeof(id), k);
	if (k) {
		HASH_DEL(place->versions, k);
		free(k);
	}
	if (HASH_COUNT(place->versions) >= KNOWN_MAX)
		b2f_chunk_versions_forget(place);
	k = calloc(1, sizeof(*k) + n);
	if (!k)
		return;
	k->id = id;
	k->size = version->size;
	k->mtime = version->mtime;
	memcpy(k->etag, version->etag, n);
	HASH_ADD(hh, place->versions, id, sizeof(id), k);
	if (!k->hh.tbl)
		free(k);
}

bool b2f_chunk_versions_get(struct b2f_remote_place *place, int64_t id,
			    struct b2f_remote_stat *out)
{
	struct b2f_known *k;

	HASH_FIND(hh, place->versions, &id, sizeof(id), k);
	if (!k)
		return false;
	*out = (struct b2f_remote_stat){.size = k->size, .mtime = k->mtime};
	memcpy(out->etag, k->etag, strlen(k->etag) + 1);
	return true;
}
