/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conditions.h - does the server honour conditional requests?
 *
 * A commit is one PUT on the condition that the index is still the version that
 * the commit began with.  On a server that ignores the condition, or keeps no
 * metadata of objects, writers would undo each other's work.  So before the
 * first write two PUTs of one new object are sent at once, and the server has
 * to refuse one of them; then a PUT on the condition of another version, which
 * the server has to refuse, and a PUT on the right condition.
 *
 * Layer: remote.  May include: base/.  Threads: any.
 */
#ifndef B2F_REMOTE_CONDITIONS_H
#define B2F_REMOTE_CONDITIONS_H

#include "remote/remote_priv.h"

/*
 * Asks once per remote, with an object in the directory @path, deleted
 * afterwards.  Returns 0; -EROFS (no object store, or conditions are ignored;
 * @why says so) or an error of requests, after which the next call asks again.
 */
B2F_MUST_CHECK
int b2f_remote_probe(struct b2f_remote *remote, const char *path,
		     struct b2f_why *why);

/* Is @name a probe object? Old ones are leftovers of killed programs. */
bool b2f_remote_is_probe(const char *name);

/* Has the probe been made, and does the server honour conditions? */
bool b2f_remote_is_written(struct b2f_remote *remote);

/*
 * Like b2f_remote_probe(), for multipart uploads, with the object @path: asks
 * once, before the first large object.  Returns 0, or B2F_EUNSUPPORTED (no
 * multipart uploads, or without conditions; or the probe failed) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_remote_probe_parts(struct b2f_remote *remote, const char *path,
			   struct b2f_why *why);

#endif
