/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * removal.h - one object that goes, of which the outcome is known in the end
 *
 * If the answer to a DELETE is lost, another writer may have made a new object
 * of that name since.  So a HEAD comes before a second DELETE; and where the
 * server takes conditions of DELETE, only the version that was seen is deleted.
 *
 * Layer: remote.  May include: base/.  Threads: any.
 */
#ifndef B2F_REMOTE_REMOVAL_H
#define B2F_REMOTE_REMOVAL_H

#include "remote/note.h"
#include "remote/remote_priv.h"

/* The object to remove, in the version that was seen. */
struct b2f_removal {
	const char *path;
	struct b2f_remote_stat version;
	struct b2f_note note;
};

/*
 * Returns 0: it is gone; -EAGAIN: it is there, in a later version; -ESTALE: something
 * else is there now, and stays; or an error of requests.
 */
B2F_MUST_CHECK
int b2f_removal_run(struct b2f_remote *remote, const struct b2f_removal *removal,
		    struct b2f_why *why);

#endif
