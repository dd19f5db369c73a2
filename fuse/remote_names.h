/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_names.h - the names in one directory of an object store, as shown
 *
 * What is called like a frame is taken for one, and shown without its suffix;
 * unless that name is, or could be, another one's.  So what is shown follows from
 * the listing alone, without a request per name.
 *
 * Layer: fuse.  Threads: immutable once it is read.
 */
#ifndef B2F_FUSE_REMOTE_NAMES_H
#define B2F_FUSE_REMOTE_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "b2frame/remote.h"

struct fs_remote_name {
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

struct fs_remote_names {
	_Atomic size_t nrefs;
	/* In the order of what is shown. */
	struct fs_remote_name *list;
	size_t n;
};

/*
 * Reads those in the directory @path.  Give *@out back with
 * fs_remote_names_put().  Returns 0, B2F_ETOOBIG (more than a million), or as
 * b2f_remote_list().
 */
B2F_MUST_CHECK
int fs_remote_names_read(struct b2f_remote *place, const char *path,
			 struct fs_remote_names **out);

/*
 * Makes those of a mount that has a single frame, shown as @shown: the path "".
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_remote_names_single(const char *shown, bool is_dir,
			   struct fs_remote_names **out);

/* What is shown as @shown, valid like @names; or NULL. */
const struct fs_remote_name *
fs_remote_names_find(const struct fs_remote_names *names, const char *shown);

void fs_remote_names_ref(struct fs_remote_names *names);

/* NULL does nothing. */
void fs_remote_names_put(struct fs_remote_names *names);

#endif
