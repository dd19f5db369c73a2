/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - a large object, sent in parts (multipart upload)
 *
 *   begun      the server has a number for it
 *   sent       it has all parts, and there is no object yet
 *   complete   one conditional request makes the object of them: put.c sees to that
 *   ended      or it has thrown them away
 *
 * Some parts are in memory at a time, whatever the size of the object.
 *
 * Layer: remote.  May include: base/.  Threads: one at a time.
 */
#ifndef B2F_REMOTE_PARTS_H
#define B2F_REMOTE_PARTS_H

#include "remote/remote_priv.h"

struct b2f_parts;

struct b2f_parts_spec {
	const char *path;
	/*
	 * From b2f_put_spec: the bytes, or their source; their number, not 0.
	 */
	const void *data;
	const struct b2f_remote_source *source;
	uint64_t size;
	/* Metadata of the object (http.h). */
	const char *note;
};

/* Does what has @size bytes go in parts, if the server takes these? */
bool b2f_parts_are_for(const struct b2f_remote *remote, uint64_t size);

/*
 * Sends all parts, and waits.  Returns 0, B2F_EUNSUPPORTED (the server has no parts),
 * -ENOMEM, an error of requests or what the source has returned.  End *@out, which is
 * NULL after an error, with b2f_parts_end().
 */
B2F_MUST_CHECK
int b2f_parts_send(struct b2f_remote *remote, const struct b2f_parts_spec *spec,
		   struct b2f_parts **out, struct b2f_why *why);

/* Starts the request that makes the object, with its conditions.  0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_parts_complete(const struct b2f_parts *parts, const char *if_match,
		       const char *if_none_match,
		       struct b2f_http_request **out);

/*
 * Parses the answer to that, whose status is good: 0 with the ETag in @now; or
 * the error in its body, or -EIO if it is malformed.
 */
B2F_MUST_CHECK
int b2f_parts_judge(const struct b2f_http_reply *reply,
		    struct b2f_remote_stat *now, struct b2f_why *why);

/* Has the server throw the parts away, unless they are @done.  NULL does nothing. */
void b2f_parts_end(struct b2f_parts *parts, bool done);

#endif
