/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put.h - one conditional PUT, whose outcome is found out
 *
 *   sent       being sent
 *   done       the object is ours
 *   refused    the condition did not hold: another writer's object is there
 *   failed     the object was not written
 *   in doubt   the outcome could not be found out
 *
 * Only a clear success is believed: a proxy may repeat a request when a
 * connection breaks, and pass on the refusal of the second one.  After any
 * other answer, or none, the object is looked at: it is ours if it has our mark
 * (note.h).
 *
 * Layer: remote.  May include: base/.  Threads: a put belongs to one thread at
 * a time.
 */
#ifndef B2F_REMOTE_PUT_H
#define B2F_REMOTE_PUT_H

#include "remote/note.h"
#include "remote/parts.h"
#include "remote/remote_priv.h"

struct b2f_put_spec {
	/* NULL: there was no memory for it. */
	const char *path;
	/*
	 * The @size bytes to put, or @source, which reads them; both outlive
	 * the put.
	 */
	const void *data;
	size_t size;
	const struct b2f_remote_source *source;
	/* The version to replace; NULL: there must be no such object. */
	const struct b2f_remote_stat *replaces;
	/* The note, with its own mark first. */
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
	/* For a large object: its parts. */
	struct b2f_parts *parts;
	/* After b2f_put_wait(): the current version and its note, if known. */
	struct b2f_remote_stat now;
	struct b2f_note now_note;
	/* An attempt had no clear answer, and the server may still do it. */
	bool in_doubt;
	/* The PUT has clearly succeeded. */
	bool is_done;
	/* The last attempt: it failed; it was sent; it may be made again. */
	int err;
	bool sent;
	bool may_pass;
};

/*
 * Starts the PUT; does not block.  A large object is sent by b2f_put_wait().
 * Returns 0, -EROFS (the version to replace has no ETag) or -ENOMEM; end with
 * b2f_put_fini().
 */
B2F_MUST_CHECK
int b2f_put_start(struct b2f_remote *remote, const struct b2f_put_spec *spec,
		  struct b2f_put *out);

/*
 * Waits for the outcome.  Returns 0 (then @put->now is ours, unless its note
 * has other marks before ours: these writers have replaced it since), -EEXIST
 * (an object exists already), -ESTALE (another version is there, or none),
 * B2F_EINDOUBT (the outcome is unknown), or an error of requests.
 */
B2F_MUST_CHECK
int b2f_put_wait(struct b2f_put *put, struct b2f_why *why);

/* Pauses before the @try-th attempt (from 1 on), half at random. */
void b2f_put_pause(const struct b2f_remote *remote, unsigned int try);

/* Waits for a PUT under way, and frees.  A zeroed put may be ended. */
void b2f_put_fini(struct b2f_put *put);

/*
 * Starts, waits and ends; *@now, unless @now is NULL, is the version after a
 * success.  Returns as b2f_put_start() and b2f_put_wait().
 */
B2F_MUST_CHECK
int b2f_put_run(struct b2f_remote *remote, const struct b2f_put_spec *spec,
		struct b2f_remote_stat *now, struct b2f_why *why);

/*
 * Puts a new object of one byte, a sign for others.  Returns as b2f_put_run(),
 * but -EIO instead of B2F_EINDOUBT.
 */
B2F_MUST_CHECK
int b2f_put_sign(struct b2f_remote *remote, const char *path,
		 struct b2f_why *why);

#endif
