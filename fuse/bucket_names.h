/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bucket_names.h - the names in one directory of an object store, as shown
 *
 * A name with a frame's suffix is taken for a frame, and shown without it,
 * unless that would clash with another entry.  So what is shown follows from
 * the listing alone, without a request per name.
 *
 * Layer: fuse.  Threads: immutable once all are in it.
 */
#ifndef B2F_FUSE_BUCKET_NAMES_H
#define B2F_FUSE_BUCKET_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "b2frame/remote.h"

struct fs_bucket_name {
	/* The two are one string if no suffix was taken off. */
	const char *shown;
	char *stored;
	/* @stored without its suffix; NULL: it is not called like a frame. */
	char *stem;
	/* Paths begin with it; else it is an object. */
	bool is_dir;
	/* The version of the object; without size and ETag: not known. */
	uint64_t size;
	int64_t mtime;
	char *etag;
};

struct fs_bucket_names {
	_Atomic size_t nrefs;
	/* In the order of the shown names. */
	struct fs_bucket_name *list;
	size_t n;
	size_t room;
	/* How many more the store has, which cannot be shown. */
	size_t nhidden;
	/* All that is stored, and all stems, sorted; NULL: not known. */
	const char **keys;
	size_t nkeys;
};

/* Makes an empty list, with one reference; NULL: no memory. */
struct fs_bucket_names *fs_bucket_names_new(void);

/*
 * Adds one at the end, shown as it is stored, or without its suffix.  Returns 0 or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int fs_bucket_names_add(struct fs_bucket_names *names, const char *shown,
			const char *stored, bool is_dir);

/*
 * Reads those in the directory @path.  Give *@out back with
 * fs_bucket_names_put().  Returns 0, B2F_ETOOBIG (more than a million), or as
 * b2f_remote_list().
 */
B2F_MUST_CHECK
int fs_bucket_names_read(struct b2f_remote *place, const char *path,
			 struct fs_bucket_names **out);

/*
 * Makes those of a mount that has a single frame, shown as @shown: the path "".
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_bucket_names_single(const char *shown, bool is_dir,
			   struct fs_bucket_names **out);

/* Returns the entry that is shown as @shown, valid like @names; or NULL. */
const struct fs_bucket_name *
fs_bucket_names_find(const struct fs_bucket_names *names, const char *shown);

/* Is one of those that were read stored as @key, or that without a suffix? */
bool fs_bucket_names_has_key(const struct fs_bucket_names *names,
			     const char *key);

void fs_bucket_names_ref(struct fs_bucket_names *names);

/* NULL does nothing. */
void fs_bucket_names_put(struct fs_bucket_names *names);

#endif
