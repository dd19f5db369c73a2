/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetch.h - a range of one version of an object
 *
 * All stored bytes are read by fetches, from the server or, if their version is
 * known, from the remote's cache.
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
	 * Version of the index: this object does not change while that version
	 * is current.  With it the cache finds a chunk whose own version is not
	 * known.  Or NULL.
	 */
	const struct b2f_remote_stat *part_of;
	uint64_t off;
	/* At least 1; at the end of an object fewer bytes may arrive. */
	size_t n;
	/* Buffer for the bytes, which outlives the fetch; or NULL. */
	void *into;
};

struct b2f_fetched {
	/* In spec.into, or valid until the fetch is dropped. */
	const uint8_t *bytes;
	size_t n;
	/* Version of the object. */
	struct b2f_remote_stat version;
	/* Age of this version by the server's clock; 0: not known. */
	int64_t age_s;
	/* The writer's note (note.h); valid until the fetch is dropped. */
	const char *note;
};

/* Starts; waits at most for new keys, and reads no file. 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_fetch_start(struct b2f_remote *remote, const struct b2f_fetch_spec *spec,
		    struct b2f_fetch **out);

/*
 * Waits for the bytes; several threads may wait.  Returns 0, or an error of
 * requests (b2frame/remote.h).
 */
B2F_MUST_CHECK
int b2f_fetch_wait(struct b2f_fetch *fetch, struct b2f_fetched *out,
		   struct b2f_why *why);

/*
 * Removes the bytes of @spec, whose size may be 0, from the cache because they
 * are damaged.  Returns whether they were there.
 */
bool b2f_fetch_distrust(struct b2f_remote *remote,
			const struct b2f_fetch_spec *spec);

/* Frees @fetch, and cancels it if it is under way.  NULL does nothing. */
void b2f_fetch_drop(struct b2f_fetch *fetch);

#endif
