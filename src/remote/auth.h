/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth.h - the keys of an object store: temporary keys are renewed before they
 * end
 *
 *   good      the keys never end, or not yet
 *   due       one caller renews them before its request; others go on
 *   ended     all callers wait for the caller that renews the keys
 *
 * If renewal fails, requests are signed with the old keys, which the server
 * refuses once they have ended; the next request tries again, after a pause.
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
 * Copies @options, except for the log.  Returns 0, with NULL in *@out if
 * @options has no keys; -EINVAL (half a key) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_auth_new(const struct b2f_remote_options *options,
		 struct b2f_auth **out);

/* Wipes the keys from memory.  NULL does nothing. */
void b2f_auth_free(struct b2f_auth *auth);

/* Call before a request: renews the keys if they are due.  May block. */
void b2f_auth_renew(struct b2f_auth *auth);

/* Has libcurl's @easy sign; may add a header to *@headers. 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_auth_sign(struct b2f_auth *auth, void *easy,
		  struct curl_slist **headers);

/*
 * Adds @line, malloc'ed, to *@headers; then wipes it, because some are secret,
 * and frees it.  Returns 0 or -ENOMEM, also for NULL.
 */
B2F_MUST_CHECK
int b2f_auth_header(struct curl_slist **headers, char *line);

#endif
