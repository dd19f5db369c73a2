/* SPDX-License-Identifier: BSD-3-Clause */
/* chunk_versions.c - the versions of chunks that were seen */
#include "remote/chunk_versions.h"

#include <stdlib.h>
#include <string.h>

/* Without memory an entry is left out, which costs a request later. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((void)(entry))
#include <uthash.h>

/* Limits memory to some 10 MB; then all entries are forgotten. */
#define KNOWN_MAX (64u << 10)

struct known {
	UT_hash_handle hh;
	int64_t id;
	uint64_t size;
	int64_t mtime;
	char etag[];
};

struct b2f_chunk_versions {
	struct known *table;
};

int b2f_chunk_versions_new(struct b2f_chunk_versions **out)
{
	struct b2f_chunk_versions *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	*out = v;
	return 0;
}

void b2f_chunk_versions_forget(struct b2f_chunk_versions *versions)
{
	struct known *k, *tmp;

	HASH_ITER(hh, versions->table, k, tmp) {
		HASH_DEL(versions->table, k);
		free(k);
	}
}

void b2f_chunk_versions_free(struct b2f_chunk_versions *versions)
{
	if (!versions)
		return;
	b2f_chunk_versions_forget(versions);
	free(versions);
}

void b2f_chunk_versions_put(struct b2f_chunk_versions *versions, int64_t id,
			    const struct b2f_remote_stat *version)
{
	size_t n = strlen(version->etag) + 1;
	struct known *k;

	HASH_FIND(hh, versions->table, &id, sizeof(id), k);
	if (k) {
		HASH_DEL(versions->table, k);
		free(k);
	}
	if (HASH_COUNT(versions->table) >= KNOWN_MAX)
		b2f_chunk_versions_forget(versions);
	k = calloc(1, sizeof(*k) + n);
	if (!k)
		return;
	k->id = id;
	k->size = version->size;
	k->mtime = version->mtime;
	memcpy(k->etag, version->etag, n);
	HASH_ADD(hh, versions->table, id, sizeof(id), k);
	if (!k->hh.tbl)
		free(k);
}

bool b2f_chunk_versions_get(struct b2f_chunk_versions *versions, int64_t id,
			    struct b2f_remote_stat *out)
{
	struct known *k;

	HASH_FIND(hh, versions->table, &id, sizeof(id), k);
	if (!k)
		return false;
	*out = (struct b2f_remote_stat){.size = k->size, .mtime = k->mtime};
	memcpy(out->etag, k->etag, strlen(k->etag) + 1);
	return true;
}
