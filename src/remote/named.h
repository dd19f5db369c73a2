/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * named.h - the chunks that the index on the server names, now
 *
 * Layer: remote.  May include: base/ store/ frame/.  Threads: any.
 */
#ifndef B2F_REMOTE_NAMED_H
#define B2F_REMOTE_NAMED_H

#include "frame/ids.h"
#include "remote/note.h"
#include "remote/remote_priv.h"

/*
 * Reads the index @path, whatever was seen of it before, and what is beside it; lists in @out the ids that it names, sorted.  Without an index both are
 * empty.  End @out with b2f_ids_fini().  Returns 0, B2F_ECORRUPT and the like (it is no index that can be
 * read), or an error of requests.
 */
B2F_MUST_CHECK
int b2f_named_list(struct b2f_remote *remote, const char *path,
		   struct b2f_ids *out, struct b2f_note *note,
		   struct b2f_why *why);

#endif
