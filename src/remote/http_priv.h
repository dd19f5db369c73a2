/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http_priv.h - a request, as the files of http.h see it
 *
 * Layer: remote.  May include: base/.  Threads: see the fields.
 */
#ifndef B2F_REMOTE_HTTP_PRIV_H
#define B2F_REMOTE_HTTP_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "programs/curl.h"
#include "remote/http.h"

/* The header with a note. */
#define B2F_HTTP_NOTE "x-amz-meta-b2frame"

/* The checksum of an object; its kind: of the object, or of its parts. */
#define B2F_HTTP_SUM	  "x-amz-checksum-crc32"
#define B2F_HTTP_SUM_TYPE "x-amz-checksum-type"

struct b2f_http_request {
	struct b2f_http *http;
	/* In the list of queued, running or paused requests. */
	struct b2f_http_request *prev;
	struct b2f_http_request *next;
	struct b2f_http_spec spec;
	/* Owned: what @spec points to, and all headers. */
	char *strings;
	struct curl_slist *headers;
	/* Under http->lock; until it is done, the thread has the request. */
	bool done;
	bool dropped;
	/* The caller waits until the thread has let go of the request. */
	bool cancelled;
	pthread_cond_t changed;
	/* Below: the thread's until the request is done, then the caller's. */
	CURL *easy;
	struct b2f_http_tries tries;
	uint64_t due_ns;
	/*
	 * This attempt: its start, when it was sent (or 0), and whether libcurl
	 * wanted to send it twice.
	 */
	uint64_t started_ns;
	uint64_t begun_ns;
	bool sent_twice;
	unsigned int answer_ms;
	struct b2f_http_reply reply;
	size_t body_room;
	/* For PUT: the bytes sent so far, and the error of the source. */
	size_t nsent;
	int read_err;
	/* The status and the headers were checked. */
	bool judged;
	char error_text[B2F_HTTP_ERROR_ROOM];
	size_t nerror;
	char curl_text[CURL_ERROR_SIZE];
};

/* Does @method make an object or a part? */
static inline bool b2f_http_is_put(enum b2f_http_method method)
{
	return method == B2F_HTTP_PUT || method == B2F_HTTP_POST;
}

/* http_reply.c: called before an attempt, for its body, and after it. */
void b2f_http_reply_begin(struct b2f_http_request *r);
size_t b2f_http_reply_write(char *bytes, size_t one, size_t n, void *request);
void b2f_http_reply_end(struct b2f_http_request *r, CURLcode code);

/* May the error be temporary? */
bool b2f_http_reply_may_pass(const struct b2f_http_request *r);

/* http_ask.c: makes @r->easy ask what @r->spec says.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_http_ask(struct b2f_http_request *r,
		 const struct b2f_http_options *options);

#endif
