/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put.h - one conditional PUT, of which the outcome is known in the end
 *
 *   sent       it is on its way
 *   done       the object is ours
 *   refused    the condition did not hold: another writer's object is there
 *   failed     it is not there
 *   in doubt   that could not be found out
 *
 * No answer but a clear success is believed: what is between us and the server asks
 * twice if a connection breaks, and tells that the second time was refused.  After any
 * other answer, or none, the object is looked at: it is ours if it has our mark (note.h).
 *
 * Layer: remote.  May include: base/.  Threads: a put belongs to one thread at a time.
 */
#ifndef B2F_REMOTE_PUT_H
#define B2F_REMOTE_PUT_H

#include "remote/note.h"
#include "remote/parts.h"
#include "remote/remote_priv.h"

struct b2f_put_spec {
	const char *path;
	/*
	 * The @size bytes to put, or @source, which reads them; they outlive the put.
	 */
	const void *data;
	size_t size;
	const struct b2f_remote_source *source;
	/* The version that it replaces; NULL: there must be no such object. */
	const struct b2f_remote_stat *replaces;
	/* With its own mark first. */
	struct b2f_note note;
	/* For an index: the text of gone.h, which outlives the put; or NULL. */
	const char *gone;
};

struct b2f_put {
	struct b2f_remote *remote;
	struct b2f_put_spec spec;
	/* Owned. */
	char *path;
	struct b2f_http_request *request;
	/* For a large object: its parts, which the request puts together. */
	struct b2f_parts *parts;
	/* After b2f_put_wait(): what is there, if that is known. */
	struct b2f_remote_stat now;
	struct b2f_note now_note;
	/* An attempt had no clear answer, and the server may still do it. */
	bool in_doubt;
	/* It was done, and that is clear. */
	bool is_done;
	/* The last attempt: it failed; it was sent; it may be made again. */
	int err;
	bool sent;
	bool may_pass;
};

/*
 * Begins; waits for nothing.  A large one is sent by b2f_put_wait().  Returns 0, -EROFS (what it replaces has no ETag) or
 * -ENOMEM; end with b2f_put_fini().
 */
B2F_MUST_CHECK
int b2f_put_start(struct b2f_remote *remote, const struct b2f_put_spec *spec,
		  struct b2f_put *out);

/*
 * Waits until it is settled.  Returns 0 (then @put->now is ours, unless its note has
 * other marks before ours: these writers have replaced it since), -EEXIST (there is
 * one already), -ESTALE (it is another version now, or none), B2F_EINDOUBT (it may be,
 * may have been or become ours), or an error of requests.
 */
B2F_MUST_CHECK
int b2f_put_wait(struct b2f_put *put, struct b2f_why *why);

/* Before the @try-th attempt (from 1 on): half of the pause is by chance. */
void b2f_put_pause(const struct b2f_remote *remote, unsigned int try);

/* Waits if it is on its way.  A zeroed one may be ended. */
void b2f_put_fini(struct b2f_put *put);

#endif
