/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http.h - requests to a web server, many at a time
 *
 * One thread makes all requests (libcurl's multi interface), with connections
 * that stay open.  A caller starts a request, does something else, and waits
 * for it; or drops it.  The thread makes a request again after an error that
 * may pass; but no DELETE that may have happened, as something new may be there.
 *
 *   queued     it waits to be sent
 *   running    libcurl works on it
 *   paused     it failed, and is made again when its time has come
 *   done       the reply stands, and changes no more
 *
 * It knows HTTP and the signature of S3 (libcurl's), and neither keys nor
 * frames.
 *
 * Layer: remote.  May include: base/.
 *
 * Threads: any, but b2f_http_free().
 */
#ifndef B2F_REMOTE_HTTP_H
#define B2F_REMOTE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/error.h"
#include "b2frame/remote.h"
#include "base/attr.h"
#include "base/why.h"

struct b2f_auth;
struct b2f_extra;
struct b2f_http;
struct b2f_http_request;

/*
 * The part of struct b2f_remote_options for requests, with all defaults filled
 * in.
 */
struct b2f_http_options {
	char *proxy;
	char *no_proxy;
	char *ca_file;
	/* Why requests are not signed, for messages; or NULL. */
	char *unsigned_why;
	unsigned int connect_ms;
	unsigned int stall_ms;
	unsigned int answer_ms;
	unsigned int retry_ms;
	unsigned int backoff_ms;
	unsigned int connections;
	b2f_unwanted_fn *ends;
	void *ends_arg;
};

/* Bytes of an error's body that are kept; also the room for short answers. */
#define B2F_HTTP_ERROR_ROOM 4096

/* Room for a note, and its 0: S3 takes 2 KiB of them, with their names. */
#define B2F_HTTP_NOTE_SIZE 2000

enum b2f_http_method {
	B2F_HTTP_GET,
	B2F_HTTP_HEAD,
	B2F_HTTP_PUT,
	B2F_HTTP_DELETE,
	B2F_HTTP_POST,
};

/* A request; the strings are copied. */
struct b2f_http_spec {
	enum b2f_http_method method;
	const char *url;
	/* Signs the request, and outlives it; NULL: it is not signed. */
	struct b2f_auth *auth;
	/* Headers for it, which outlive it; or NULL. */
	const struct b2f_extra *extra;
	/* GET, HEAD: the version that is wanted, by its ETag, or NULL. */
	const char *etag;
	/* The same of a server without ETags: seconds since 1970, or 0. */
	int64_t mtime;
	/* PUT, DELETE: values of headers, or NULL. */
	const char *if_match;
	const char *if_none_match;
	/* GET: it is for names, and for no object. */
	bool lists;
	/* GET: the @n bytes (not 0) at @off, and not all. */
	bool ranged;
	uint64_t off;
	uint64_t n;
	/* No more bytes than these are taken. */
	size_t room;
	/* Room for them, which outlives the request; NULL: reply.body. */
	void *into;
	/*
	 * PUT, POST: the checksum of the object (object_sum.h), or NULL; and that it is
	 * to have one, which is that of its parts.  It is a part, or made of parts.
	 */
	const char *sum;
	bool sums_parts;
	bool is_part;
	/* PUT, POST: what to send, which outlives the request; NULL: what @source reads. */
	const void *data;
	size_t size;
	const struct b2f_remote_source *source;
	/* PUT: the object that the server copies instead, as it names it, or NULL. */
	const char *copy_from;
	/* PUT: what the server is to keep beside the object (reply.note), or NULL. */
	const char *note;
	/* It is not made again: the caller sees to that. */
	bool once;
};

struct b2f_http_reply {
	/*
	 * 0, or an error of requests (b2frame/remote.h); for PUT and DELETE also
	 * -EEXIST (If-None-Match) and -EBUSY (409: another request was faster).
	 */
	int err;
	/* Why, without the URL; no credential is in it. */
	struct b2f_why why;
	/* The last status; 0: none came. */
	long status;
	/*
	 * For a failed PUT or DELETE: an attempt was sent.  The server may have
	 * done it, or may still do it, whatever the answer: a proxy may send a
	 * request twice, and answer for the second one.
	 */
	bool sent;
	/* It failed with what may pass. */
	bool may_pass;
	/* The object: its size as a whole, and its version. */
	struct b2f_remote_stat st;
	/* GET, HEAD: for how long it has been so, by the server's clock; 0: not told. */
	int64_t age_s;
	/* GET, HEAD: what was put beside it; "": nothing, or no such thing. */
	char note[B2F_HTTP_NOTE_SIZE];
	/* The body, in spec.into or malloc'ed for the reply. */
	uint8_t *body;
	size_t size;
};

/*
 * Starts the thread.  Takes what @options point to, also if it fails.  Returns
 * 0, -ENOMEM or -EAGAIN.  End with b2f_http_free().
 */
B2F_MUST_CHECK
int b2f_http_new(struct b2f_http_options *options, struct b2f_http **out);

/* There must be no request any more.  NULL does nothing. */
void b2f_http_free(struct b2f_http *http);

/* Starts what @spec asks.  Returns 0 or -ENOMEM.  End with b2f_http_drop(). */
B2F_MUST_CHECK
int b2f_http_start(struct b2f_http *http, const struct b2f_http_spec *spec,
		   struct b2f_http_request **out);

/*
 * Waits until @request is done; the reply is valid until it is dropped.  It is -EINTR if
 * nobody wants it any more (base/waiting.h): what changes something has ended then.
 */
const struct b2f_http_reply *b2f_http_wait(struct b2f_http_request *request);

/*
 * Ends @request, done or not; waits no longer than the thread needs to let go
 * of it, but for the end of a PUT of the caller's bytes.  NULL does nothing.
 */
void b2f_http_drop(struct b2f_http_request *request);

/* How much is waited for. */
enum b2f_http_patience {
	B2F_HTTP_PATIENT,
	/* Reads and removals get two seconds, and no second try. */
	B2F_HTTP_HURRIED,
	/* All requests end now, and new ones at once. */
	B2F_HTTP_ENDED,
};

/* From now on; it never becomes more again. */
void b2f_http_hurry(struct b2f_http *http, enum b2f_http_patience patience);

/* Returns the options that it was made with. */
const struct b2f_http_options *b2f_http_options_of(const struct b2f_http *http);

/*
 * Attempts at something that fails with what may pass: as often as there is time for.
 * Zero-initialize it.
 */
struct b2f_http_tries {
	uint64_t begun_ns;
	unsigned int n;
};

/* How long to pause before the next one, ms, half of it by chance; -1: no more. */
int64_t b2f_http_pause_ms(struct b2f_http *http, struct b2f_http_tries *tries);

/* Pauses; false: there is to be no other one. */
bool b2f_http_try_again(struct b2f_http *http, struct b2f_http_tries *tries);

struct b2f_remote_counts b2f_http_counts(const struct b2f_http *http);

#endif
