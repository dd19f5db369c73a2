/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth.h - who asks an object store: keys that may end, and are renewed before
 *
 *   good      they end never, or not yet
 *   due       a caller renews them before its request; all others go on with them
 *   ended     all wait for the one that renews them
 *
 * If they cannot be renewed, requests are signed with the old ones, which the server
 * refuses when they have ended; the next request tries again, after a pause.
 *
 * Layer: remote.  May include: base/.  Threads: any, but b2f_auth_free().
 */
#ifndef B2F_REMOTE_AUTH_H
#define B2F_REMOTE_AUTH_H

#include "b2frame/remote.h"
#include "base/attr.h"

struct b2f_auth;
struct curl_slist;

/*
 * Makes it from @options, which are copied, except for the log.  Returns 0,
 * with NULL in *@out if @options has no keys; -EINVAL (half a key) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_auth_new(const struct b2f_remote_options *options,
		 struct b2f_auth **out);

/* Nothing secret stays in memory.  NULL does nothing. */
void b2f_auth_free(struct b2f_auth *auth);

/* Before a request: renews the keys if they are due.  May block. */
void b2f_auth_renew(struct b2f_auth *auth);

/* Has libcurl's @easy sign, and adds a header to *@headers if need be.  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_auth_sign(struct b2f_auth *auth, void *easy,
		  struct curl_slist **headers);

#endif
