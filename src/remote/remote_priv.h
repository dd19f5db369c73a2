/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_priv.h - a remote, as the files of remote/ see it
 *
 * From below: auth, extra and http (requests), url and s3_* (what to ask, what is answered), note
 * (what a writer puts beside an index), cache_cell and cachedir (a local cache), fetch
 * (ranges of versions), remote and remote_list (a place, single objects, names),
 * parts, conditions, put and copier (writes of objects), window (one open object), chunk_versions
 * and remote_place (what is known of a frame), ahead, upload and sweeper (chunks that
 * come and go), remote_store and remote_write (the objects of a frame), replaced,
 * remains and remote_open, then remote_change, remote_copy, remote_rename and
 * remote_sweep (whole frames).
 *
 * Layer: remote.  May include: base/ store/ frame/ pack/.
 *
 * Threads: constant once made, but for what says otherwise.
 */
#ifndef B2F_REMOTE_REMOTE_PRIV_H
#define B2F_REMOTE_REMOTE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "remote/auth.h"
#include "remote/cachedir.h"
#include "remote/extra.h"
#include "remote/http.h"
#include "remote/note.h"
#include "remote/url.h"

/* Number of frames that are remembered as swept. */
#define B2F_REMOTE_SWEPT 1024

struct b2f_remote {
	/* One reference of its maker, and one of each store in it. */
	atomic_uint refs;
	struct b2f_url url;
	struct b2f_http *http;
	/* The cache directory; NULL: none. */
	struct b2f_cachedir *cache;
	/* With it all requests are signed; or NULL. */
	struct b2f_auth *auth;
	struct b2f_extra extra;
	const struct b2f_log *log;
	unsigned int refresh_ms;
	/* Bytes that may be on their way before a reader has asked, and that are. */
	uint64_t ahead_bytes;
	atomic_ullong coming_bytes;
	/* The server's conditions for writing (conditions.h). */
	pthread_mutex_t probe_lock;
	bool probed;
	int probe_err;
	struct b2f_why probe_why;
	/* The server wants ETags without quotes in If-Match. */
	atomic_bool bare_etags;
	/* It keeps checksums that it is told, and gives them again. */
	atomic_bool keeps_sums;
	/* Under probe_lock: it takes objects in parts, with conditions: 1; not: -1. */
	int takes_parts;
	/* Under probe_lock: it refuses objects with a checksum. */
	bool refuses_sums;
	/* Longer objects are sent in parts. */
	uint64_t put_bytes;
	/* It takes conditions of DELETE. */
	atomic_bool deletes_match;
	/* How long chunks stay that were replaced, seconds. */
	unsigned int keep_s;
	/* Bytes of new objects that are on their way. */
	atomic_ullong sending;
	/* Hashes of frames and the versions of their indexes (sweeper.c). */
	_Atomic uint64_t swept[B2F_REMOTE_SWEPT];
};

/* @etag without its quotes, in @out; or @etag if it has none. */
const char *b2f_remote_bare_etag(const char *etag,
				 char out[B2F_REMOTE_ETAG_SIZE]);

struct b2f_remote *b2f_remote_ref(struct b2f_remote *remote);

/* @a, and @b behind it as a part of its own; malloc'ed, or NULL. */
char *b2f_remote_join(const char *a, const char *b);

/*
 * Starts the request @ask for @url, which is malloc'ed, or NULL if there was no
 * memory for it; frees it.  Sets the rest of @ask.  Returns as b2f_http_start().
 */
B2F_MUST_CHECK
int b2f_remote_start(struct b2f_remote *remote, struct b2f_http_spec *ask,
		     char *url, struct b2f_http_request **out);

/*
 * The same, and waits for the answer.  Returns 0 or an error of requests, with the
 * reason in *@why if that is not NULL; drop *@out, which may be NULL, in any case.
 */
B2F_MUST_CHECK
int b2f_remote_ask(struct b2f_remote *remote, struct b2f_http_spec *ask, char *url,
		   struct b2f_http_request **out, struct b2f_why *why);

/*
 * Asks for the version of @path as it is now (HEAD), and for the @note beside it if
 * that is not NULL, without a message.  Returns as b2f_remote_look().
 */
B2F_MUST_CHECK
int b2f_remote_head(struct b2f_remote *remote, const char *path,
		    struct b2f_remote_stat *out, struct b2f_note *note,
		    struct b2f_why *why);

/* The same, with the text of the note, which may make no sense. */
B2F_MUST_CHECK
int b2f_remote_head_text(struct b2f_remote *remote, const char *path,
			 struct b2f_remote_stat *out,
			 char text[B2F_HTTP_NOTE_SIZE], struct b2f_why *why);

/* Removes @path, if it is there.  Returns 0 or an error of requests. */
B2F_MUST_CHECK
int b2f_remote_delete(struct b2f_remote *remote, const char *path,
		      struct b2f_why *why);

/*
 * Like b2f_remote_list(), for the names behind @after ("": all), without
 * messages.
 */
B2F_MUST_CHECK
int b2f_remote_list_after(struct b2f_remote *remote, const char *path,
			  const char *after, b2f_remote_list_fn *fn, void *arg,
			  struct b2f_why *why);

/* Logs the error @err, if it is one, about @path; returns it. */
int b2f_remote_tell(const struct b2f_remote *remote, const char *path, int err,
		    const struct b2f_why *why);

/* The same, but for -ENOENT, which is an answer. */
int b2f_remote_report(const struct b2f_remote *remote, const char *path, int err,
		      const struct b2f_why *why);

#endif
