/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http.h - requests to a web server, many at a time
 *
 * One thread makes all requests (libcurl's multi interface), with connections
 * that stay open.  A caller starts a request, does something else, and waits
 * for it; or drops it.  The thread repeats a request after a temporary error;
 * but not a DELETE that may have happened, because a new object may be there. A
 * busy server (429, 503) is taken at its word, unless the caller does that.
 *
 *   queued     waits to be sent
 *   running    libcurl works on it
 *   paused     failed, and is repeated after a pause
 *   done       the reply is final
 *
 * This file knows HTTP and the signature of S3 (libcurl's), but neither keys
 * nor frames.
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
 * The part of struct b2f_remote_options that concerns requests, with defaults
 * filled in.
 */
struct b2f_http_options {
	const char *proxy;
	const char *no_proxy;
	const char *ca_file;
	/* Why requests are not signed, for messages; or NULL. */
	const char *unsigned_why;
	unsigned int connect_ms;
	unsigned int stall_ms;
	unsigned int answer_ms;
	unsigned int retry_ms;
	unsigned int backoff_ms;
	unsigned int connections;
	b2f_unwanted_fn *ends;
	void *ends_arg;
};

/* Limit for the body of an error; also the room for short answers. */
#define B2F_HTTP_ERROR_ROOM 4096

/* Room for a note and its 0: S3 takes 2 KiB of metadata, names included. */
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
	/* Signs the request, and outlives it; NULL: not signed. */
	struct b2f_auth *auth;
	/* Extra headers, which outlive the request; or NULL. */
	const struct b2f_extra *extra;
	/* GET, HEAD: ETag of the required version, or NULL. */
	const char *etag;
	/* GET, HEAD: required mtime, without an ETag, s since 1970; or 0. */
	int64_t mtime;
	/* PUT, DELETE: values of headers, or NULL. */
	const char *if_match;
	const char *if_none_match;
	/* GET: a listing, not an object. */
	bool lists;
	/* GET: only the @n bytes (not 0) at @off. */
	bool ranged;
	uint64_t off;
	uint64_t n;
	/* Limit for the body. */
	size_t room;
	/* Buffer for the body, which outlives the request; NULL: reply.body. */
	void *into;
	/*
	 * PUT, POST: the checksum of the object (object_sum.h), or NULL;
	 * whether it has one of its parts; whether this is a part, or made of
	 * parts.
	 */
	const char *sum;
	bool sums_parts;
	bool is_part;
	/* PUT, POST: the body, which outlives the request; or NULL: @source. */
	const void *data;
	size_t size;
	const struct b2f_remote_source *source;
	/* PUT: name of the object that the server copies, or NULL. */
	const char *copy_from;
	/* PUT: metadata to keep with the object (reply.note), or NULL. */
	const char *note;
	/* Never repeated: the caller does that. */
	bool once;
};

struct b2f_http_reply {
	/*
	 * 0, or an error of requests (b2frame/remote.h); for PUT and DELETE
	 * also
	 * -EEXIST (If-None-Match) and -EBUSY (409: another request was faster).
	 */
	int err;
	/* The cause, without the URL and without credentials. */
	struct b2f_why why;
	/* The last status; 0: no answer. */
	long status;
	/*
	 * For a failed PUT or DELETE: an attempt was sent.  Whatever the
	 * answer, the server may have done it or may still do it: a proxy may
	 * send a request twice, and pass on the second answer.
	 */
	bool sent;
	/* The error may be temporary. */
	bool may_pass;
	/* Size of the whole object, and its version. */
	struct b2f_remote_stat st;
	/* GET, HEAD: age of this version by the server's clock; 0: not told. */
	int64_t age_s;
	/* GET, HEAD: the note of the object; "": none. */
	char note[B2F_HTTP_NOTE_SIZE];
	/* The body, in spec.into or malloc'ed for the reply. */
	uint8_t *body;
	size_t size;
};

/*
 * Starts the thread; copies the strings of @options.  Returns 0, -ENOMEM or
 * -EAGAIN.  End with b2f_http_free().
 */
B2F_MUST_CHECK
int b2f_http_new(const struct b2f_http_options *options, struct b2f_http **out);

/* All requests must have been dropped.  NULL does nothing. */
void b2f_http_free(struct b2f_http *http);

/* Starts the request @spec. Returns 0 or -ENOMEM. End with b2f_http_drop(). */
B2F_MUST_CHECK
int b2f_http_start(struct b2f_http *http, const struct b2f_http_spec *spec,
		   struct b2f_http_request **out);

/*
 * Waits until @request is done; the reply is valid until it is dropped.  It is
 * -EINTR, and a change is over, if the caller was interrupted (base/waiting.h).
 */
const struct b2f_http_reply *b2f_http_wait(struct b2f_http_request *request);

/*
 * Cancels @request if needed, and frees it; waits only until the thread has let
 * go of it, but for a PUT of the caller's bytes until its end.  NULL does
 * nothing.
 */
void b2f_http_drop(struct b2f_http_request *request);

/* Starts request @i of a row; takes its answer, also an error. */
typedef int b2f_http_start_fn(void *arg, size_t i,
			      struct b2f_http_request **out);
typedef int b2f_http_end_fn(void *arg, size_t i,
			    const struct b2f_http_reply *reply,
			    struct b2f_why *why);

/* Most requests of a row at a time. */
#define B2F_HTTP_ROW_MAX 16

/*
 * Makes @n requests in order, @limit at a time, and waits.  Returns 0, or the
 * first error of the functions, after which no request is started.
 */
B2F_MUST_CHECK
int b2f_http_row(size_t n, size_t limit, b2f_http_start_fn *start,
		 b2f_http_end_fn *end, void *arg, struct b2f_why *why);

/* How patiently to wait for servers. */
enum b2f_http_patience {
	B2F_HTTP_PATIENT,
	/* Reads and removals get two seconds, and are not repeated. */
	B2F_HTTP_HURRIED,
	/* All requests fail now, and new ones at once. */
	B2F_HTTP_ENDED,
};

/* Sets the patience; it never rises again. */
void b2f_http_hurry(struct b2f_http *http, enum b2f_http_patience patience);

/* Returns the options given to b2f_http_new(). */
const struct b2f_http_options *b2f_http_options_of(const struct b2f_http *http);

/*
 * Retries of an operation after temporary errors, as many as the time limit
 * allows.  Zero-initialize it.
 */
struct b2f_http_tries {
	uint64_t begun_ns;
	unsigned int n;
};

/* Pauses; returns false if there are no more tries. */
bool b2f_http_try_again(struct b2f_http *http, struct b2f_http_tries *tries);

struct b2f_remote_counts b2f_http_counts(const struct b2f_http *http);

#endif
