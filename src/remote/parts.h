/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - a large object, sent in parts (multipart upload)
 *
 *   begun      the server has given the upload an id
 *   sent       the server has all parts; there is no object yet
 *   complete   one conditional request (put.c) has made the object of them
 *   ended      or the server has discarded the parts
 *
 * Memory holds a few parts, whatever the size of the object.
 *
 * Layer: remote.  May include: base/.  Threads: one at a time.
 */
#ifndef B2F_REMOTE_PARTS_H
#define B2F_REMOTE_PARTS_H

#include "remote/remote_priv.h"

struct b2f_parts;
struct b2f_put_spec;

/* Reads the @n bytes of @source at @off, some at a time.  0 or its error. */
B2F_MUST_CHECK
int b2f_parts_read(const struct b2f_remote_source *source, uint64_t off,
		   uint8_t *buf, size_t n);

/*
 * Sends all parts of the object @spec (put.h), which has bytes, with @note
 * (http.h), and waits.  Returns 0, B2F_EUNSUPPORTED (the server has no
 * multipart uploads), -ENOMEM, an error of requests or of the source.  End
 * *@out, which is NULL after an error, with b2f_parts_end().
 */
B2F_MUST_CHECK
int b2f_parts_send(struct b2f_remote *remote, const struct b2f_put_spec *spec,
		   const char *note, struct b2f_parts **out,
		   struct b2f_why *why);

/* Starts the conditional request that makes the object. 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_parts_complete(const struct b2f_parts *parts, const char *if_match,
		       const char *if_none_match,
		       struct b2f_http_request **out);

/*
 * Parses the answer to b2f_parts_complete(), whose status is good: returns 0
 * with the ETag in @now; or the error in its body, or -EIO if it is malformed.
 */
B2F_MUST_CHECK
int b2f_parts_judge(const struct b2f_http_reply *reply,
		    struct b2f_remote_stat *now, struct b2f_why *why);

/* Unless @done, has the server discard the parts.  NULL does nothing. */
void b2f_parts_end(struct b2f_parts *parts, bool done);

#endif
