/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conditions.h - does the server keep to conditions?
 *
 * A commit is one PUT on the condition that the index is still the one that it
 * began with.  On a server that ignores the condition, or keeps no metadata of
 * objects, writers would undo each other's work.  So before the first write two
 * PUTs of one new object are sent at once, of which the server has to refuse
 * one; then a PUT on the condition of another version, which it has to refuse,
 * and one on the right condition.
 *
 * Layer: remote.  May include: base/.  Threads: any.
 */
#ifndef B2F_REMOTE_CONDITIONS_H
#define B2F_REMOTE_CONDITIONS_H

#include "remote/remote_priv.h"

/*
 * Asks once for each remote, with an object below the directory @path, that is removed
 * again.  Returns 0; -EROFS (no object store, or conditions are not kept; @why says
 * so) or an error of requests, after which it is asked again.
 */
B2F_MUST_CHECK
int b2f_remote_probe(struct b2f_remote *remote, const char *path,
		     struct b2f_why *why);

/* Is @name the name of such an object?  An old one was left by a kill. */
bool b2f_remote_is_probe(const char *name);

/* Was that asked, and does it keep to them? */
bool b2f_remote_is_written(struct b2f_remote *remote);

/*
 * The same of objects in parts, for the object @path: asked once, when there is a large
 * one.  Returns 0, or B2F_EUNSUPPORTED (they are not made, or without conditions; or
 * that could not be found out) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_remote_probe_parts(struct b2f_remote *remote, const char *path,
			   struct b2f_why *why);

#endif
