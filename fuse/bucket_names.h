/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_names.h - the names in one directory of an object store, as shown
 *
 * A name with a frame's suffix is taken for a frame, and shown without it,
 * unless that would clash with another entry.  So the listing alone gives the
 * shown names, without a request per name.
 *
 * Layer: fuse.  Threads: the list is immutable once it is complete.
 */
#ifndef B2F_FUSE_BUCKET_NAMES_H
#define B2F_FUSE_BUCKET_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "b2frame/remote.h"

struct fs_bucket_name {
	/* Both point to one string if no suffix was taken off. */
	const char *shown;
	char *stored;
	/* @stored without its suffix; NULL: it has no frame suffix. */
	char *stem;
	/* A prefix of keys; else an object. */
	bool is_dir;
	/* The version of the object; size 0 and no ETag: unknown. */
	uint64_t size;
	int64_t mtime;
	char *etag;
};

struct fs_bucket_names {
	_Atomic size_t nrefs;
	/* Sorted by shown name. */
	struct fs_bucket_name *list;
	size_t n;
	size_t room;
	/* How many more names the store has, which cannot be shown. */
	size_t nhidden;
	/* All stored names, and all stems, sorted; NULL: unknown. */
	const char **keys;
	size_t nkeys;
};

/* Makes an empty list, with one reference; NULL: no memory. */
struct fs_bucket_names *fs_bucket_names_new(void);

/* Adds a name at the end.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int fs_bucket_names_add(struct fs_bucket_names *names, const char *shown,
			const char *stored, bool is_dir);

/*
 * Reads the names in the directory @path.  Give *@out back with
 * fs_bucket_names_put().  Returns 0, B2F_ETOOBIG (more than a million), or as
 * b2f_remote_list().
 */
B2F_MUST_CHECK
int fs_bucket_names_read(struct b2f_remote *place, const char *path,
			 struct fs_bucket_names **out);

/* Returns the entry shown as @shown, which lives as long as @names; or NULL. */
const struct fs_bucket_name *
fs_bucket_names_find(const struct fs_bucket_names *names, const char *shown);

/* Has the listing the key @key, or a key whose stem is @key? */
bool fs_bucket_names_has_key(const struct fs_bucket_names *names,
			     const char *key);

void fs_bucket_names_ref(struct fs_bucket_names *names);

/* Gives back a reference; NULL does nothing. */
void fs_bucket_names_put(struct fs_bucket_names *names);

#endif
