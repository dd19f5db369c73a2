/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_priv.h - a remote, as the files of remote/ see it
 *
 * The files, lowest first: auth, extra and http (requests), url and s3_* (URLs
 * and answers), note (metadata of objects), cache_cell and cachedir (a local
 * cache), fetch (ranges of objects), remote and remote_list (a location, single
 * objects, names), parts, conditions and put (writes of objects), window (one
 * open object), chunk_versions and remote_place (known state of a frame),
 * upload and sweeper (new and removed chunks), remote_store and remote_write
 * (the objects of a frame), remains and remote_open, then remote_change,
 * remote_target, remote_rename and remote_sweep (whole frames).
 *
 * Layer: remote.  May include: base/ store/ frame/ pack/.
 *
 * Threads: constant once made, but for fields that say otherwise.
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
	/* One reference for its maker, and one for each store. */
	atomic_uint refs;
	struct b2f_url url;
	struct b2f_http *http;
	/* The cache directory; NULL: none. */
	struct b2f_cachedir *cache;
	/* Signs all requests; or NULL. */
	struct b2f_auth *auth;
	struct b2f_extra extra;
	const struct b2f_log *log;
	unsigned int refresh_ms;
	/* Limit of bytes that are prefetched, and how many are now. */
	uint64_t ahead_bytes;
	atomic_ullong coming_bytes;
	/* The server's conditions for writing (conditions.h). */
	pthread_mutex_t probe_lock;
	bool probed;
	int probe_err;
	struct b2f_why probe_why;
	/* The server wants ETags without quotes in If-Match. */
	atomic_bool bare_etags;
	/* The server stores checksums, and returns them. */
	atomic_bool keeps_sums;
	/* Under probe_lock: 1: conditional multipart uploads; -1: not. */
	int takes_parts;
	/* Under probe_lock: the server refuses objects with a checksum. */
	bool refuses_sums;
	/* Longer objects are sent in parts, if the server supports that. */
	uint64_t put_bytes;
	/* The server honours conditions of DELETE. */
	atomic_bool deletes_match;
	/* How long replaced chunks are kept, seconds. */
	unsigned int keep_s;
	/* Bytes of new objects that are being sent. */
	atomic_ullong sending;
	/* Hashes of frames and of the versions of their indexes (sweeper.c). */
	_Atomic uint64_t swept[B2F_REMOTE_SWEPT];
};

/* Returns @etag without its quotes, in @out; or @etag if it has none. */
const char *b2f_remote_bare_etag(const char *etag,
				 char out[B2F_REMOTE_ETAG_SIZE]);

struct b2f_remote *b2f_remote_ref(struct b2f_remote *remote);

/* Returns @a/@b, or one if the other is empty; malloc'ed, or NULL. */
char *b2f_remote_join(const char *a, const char *b);

/*
 * Starts the request @ask for @url, and frees @url, which may be NULL (then:
 * -ENOMEM).  Fills in the rest of @ask, as room that of a short answer. Returns
 * as b2f_http_start().
 */
B2F_MUST_CHECK
int b2f_remote_start(struct b2f_remote *remote, struct b2f_http_spec *ask,
		     char *url, struct b2f_http_request **out);

/*
 * Like b2f_remote_start(), and waits for the answer.  Returns 0 or an error of
 * requests, with the cause in *@why if that is not NULL; drop *@out, which may
 * be NULL, in any case.
 */
B2F_MUST_CHECK
int b2f_remote_ask(struct b2f_remote *remote, struct b2f_http_spec *ask, char *url,
		   struct b2f_http_request **out, struct b2f_why *why);

/*
 * Asks for the current version of @path (HEAD), and its note if @note is not
 * NULL; logs nothing.  Returns as b2f_remote_look().
 */
B2F_MUST_CHECK
int b2f_remote_head(struct b2f_remote *remote, const char *path,
		    struct b2f_remote_stat *out, struct b2f_note *note,
		    struct b2f_why *why);

/* Like b2f_remote_head(), for the index of the sparse frame @path. */
B2F_MUST_CHECK
int b2f_remote_head_index(struct b2f_remote *remote, const char *path,
			  struct b2f_remote_stat *out, struct b2f_why *why);

/*
 * Like b2f_remote_head(), for @url, which it frees, and with the text of the
 * note, which may be malformed; @text may be NULL.
 */
B2F_MUST_CHECK
int b2f_remote_head_url(struct b2f_remote *remote, char *url,
			struct b2f_remote_stat *out,
			char text[B2F_HTTP_NOTE_SIZE], struct b2f_why *why);

/* Removes what @url names, which it frees; what stays only takes space. */
void b2f_remote_tidy(struct b2f_remote *remote, char *url);

/*
 * Like b2f_remote_list(), for the names greater than @after ("": all); logs
 * nothing.
 */
B2F_MUST_CHECK
int b2f_remote_list_after(struct b2f_remote *remote, const char *path,
			  const char *after, b2f_remote_list_fn *fn, void *arg,
			  struct b2f_why *why);

/* Logs the error @err (0: nothing) about @path; returns it. */
int b2f_remote_tell(const struct b2f_remote *remote, const char *path, int err,
		    const struct b2f_why *why);

/* Like b2f_remote_tell(), but does not log -ENOENT. */
int b2f_remote_report(const struct b2f_remote *remote, const char *path, int err,
		      const struct b2f_why *why);

#endif
