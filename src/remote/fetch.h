/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetch.h - a range of one version of an object
 *
 * The only way by which stored bytes come from a server; or from the local cache of
 * the remote, which is asked first about what never changes.
 *
 * Layer: remote.  May include: base/.  Threads: any; b2f_fetch_drop() once.
 */
#ifndef B2F_REMOTE_FETCH_H
#define B2F_REMOTE_FETCH_H

#include "remote/remote_priv.h"

struct b2f_fetch;

struct b2f_fetch_spec {
	const char *path;
	/* Version to read; NULL: the current one. */
	const struct b2f_remote_stat *version;
	/*
	 * The version of another object, the index: while it stays, this object
	 * does not change.  The cache then finds a chunk whose own version is
	 * not known.  Or NULL.
	 */
	const struct b2f_remote_stat *part_of;
	uint64_t off;
	/* Not 0; at the end of an object fewer bytes come. */
	size_t n;
	/* Room for them, for as long as the fetch is not dropped; or NULL. */
	void *into;
};

struct b2f_fetched {
	/* In spec.into, or valid until the fetch is dropped. */
	const uint8_t *bytes;
	size_t n;
	/* The version that they are of. */
	struct b2f_remote_stat version;
	/* For how long it has been so, by the server's clock; 0: not known. */
	int64_t age_s;
	/* The note of its writer (note.h); valid until the fetch is dropped. */
	const char *note;
};

/* Begins; waits for new keys at most, and reads no file.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_fetch_start(struct b2f_remote *remote, const struct b2f_fetch_spec *spec,
		    struct b2f_fetch **out);

/*
 * Waits for the end of it, also from several threads.  Returns 0, or an error of
 * requests (b2frame/remote.h).
 */
B2F_MUST_CHECK
int b2f_fetch_wait(struct b2f_fetch *fetch, struct b2f_fetched *out,
		   struct b2f_why *why);

/*
 * Drops the bytes for @spec, whose size may be 0, from the cache: they were
 * damaged.  Returns whether they were there.
 */
bool b2f_fetch_distrust(struct b2f_remote *remote,
			const struct b2f_fetch_spec *spec);

/* Ends it, done or not.  NULL does nothing. */
void b2f_fetch_drop(struct b2f_fetch *fetch);

#endif
