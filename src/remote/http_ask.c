/* SPDX-License-Identifier: BSD-3-Clause */
/* http_ask.c - a request as options of libcurl */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/version.h"
#include "programs/io.h"
#include "remote/auth.h"
#include "remote/extra.h"
#include "remote/http_priv.h"

/* Bytes that libcurl reads from a socket at once. */
#define BUFFER_SIZE (512L << 10)

/* The time limit of an answer grows by 1 ms for so many bytes. */
#define BYTES_PER_MS 16

static unsigned int kinds_of(const struct b2f_http_spec *spec)
{
	unsigned int kinds = B2F_EXTRA_ANY;

	bool puts = b2f_http_is_put(spec->method);

	if (spec->method != B2F_HTTP_DELETE && !spec->lists)
		kinds |= B2F_EXTRA_OBJECT;
	if (puts && !spec->is_part)
		kinds |= B2F_EXTRA_NEW;
	if (spec->copy_from)
		kinds |= B2F_EXTRA_COPY;
	return kinds;
}

static int add_extra(struct b2f_http_request *r)
{
	const struct b2f_extra *extra = r->spec.extra;
	unsigned int kinds = kinds_of(&r->spec);
	int err = 0;

	for (size_t i = 0; extra && i < extra->n && !err; i++)
		if (kinds & extra->headers[i].on)
			err = b2f_auth_header(&r->headers,
					      strdup(extra->headers[i].line));
	return err;
}

static int add_headers(struct b2f_http_request *r)
{
	const struct b2f_http_spec *spec = &r->spec;
	/* A weak ETag never matches; check the reply instead. */
	bool is_strong = spec->etag && strncmp(spec->etag, "W/", 2) != 0;
	char range[64] = "";
	/* Without a value, a header is left out. */
	const char *const headers[][2] = {
		{"Range", spec->ranged ? range : NULL},
		{"If-Match", is_strong ? spec->etag : NULL},
		{"If-Match", spec->if_match},
		{"If-None-Match", spec->if_none_match},
		{"x-amz-copy-source", spec->copy_from},
		{B2F_HTTP_NOTE, spec->note},
		{B2F_HTTP_SUM, spec->sum},
		{"x-amz-checksum-algorithm",
		 spec->sums_parts && !spec->sum ? "CRC32" : NULL},
		{B2F_HTTP_SUM_TYPE, spec->sums_parts ? "FULL_OBJECT" : NULL},
		/* Object stores tell the checksum only with this header. */
		{"x-amz-checksum-mode",
		 spec->method == B2F_HTTP_HEAD && spec->extra ? "ENABLED"
							      : NULL},
		/* The chunks have checksums of their own. */
		{"x-amz-content-sha256",
		 spec->auth ? "UNSIGNED-PAYLOAD" : NULL},
	};
	int err = 0;

	snprintf(range, sizeof(range), "bytes=%" PRIu64 "-%" PRIu64, spec->off,
		 spec->off + spec->n - 1);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]) && !err;
	     i++)
		if (headers[i][1])
			err = b2f_auth_header(&r->headers,
					      b2f_io_text("%s: %s",
							  headers[i][0],
							  headers[i][1]));
	return err ? err : add_extra(r);
}

static size_t read_body(char *bytes, size_t one, size_t n, void *request)
{
	struct b2f_http_request *r = request;
	const struct b2f_remote_source *source = r->spec.source;
	size_t room = one * n, left = r->spec.size - r->nsent;

	n = left < room ? left : room;
	if (n > 0 && source)
		r->read_err = source->read(source->arg, r->nsent, bytes, n);
	else if (n > 0)
		memcpy(bytes, (const char *)r->spec.data + r->nsent, n);
	if (r->read_err)
		return CURL_READFUNC_ABORT;
	r->nsent += n;
	return n;
}

/* libcurl itself repeats a request when a kept connection was closed. */
static int seek_body(void *request, curl_off_t off, int whence)
{
	struct b2f_http_request *r = request;

	if (whence != SEEK_SET || off < 0 || (uint64_t)off > r->spec.size)
		return CURL_SEEKFUNC_FAIL;
	r->nsent = (size_t)off;
	return CURL_SEEKFUNC_OK;
}

static void set_method(struct b2f_http_request *r)
{
	const struct b2f_curl *curl = b2f_curl();
	CURL *easy = r->easy;

	switch (r->spec.method) {
	case B2F_HTTP_GET:
		curl->easy_setopt(easy, CURLOPT_HTTPGET, 1L);
		break;
	case B2F_HTTP_HEAD:
		curl->easy_setopt(easy, CURLOPT_NOBODY, 1L);
		break;
	case B2F_HTTP_PUT:
	case B2F_HTTP_POST:
		curl->easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		if (r->spec.method == B2F_HTTP_POST)
			curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "POST");
		curl->easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
				  (curl_off_t)r->spec.size);
		curl->easy_setopt(easy, CURLOPT_READFUNCTION, read_body);
		curl->easy_setopt(easy, CURLOPT_READDATA, r);
		curl->easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_body);
		curl->easy_setopt(easy, CURLOPT_SEEKDATA, r);
		/*
		 * Do not wait for leave: a body sent in vain costs less than a
		 * round trip.
		 */
		curl->easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
		break;
	case B2F_HTTP_DELETE:
		curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
		break;
	}
}

/*
 * A redirect would carry the signature to the wrong server; and a redirect must
 * not lead from https to http.
 */
static void set_redirects(struct b2f_http_request *r)
{
	const struct b2f_curl *curl = b2f_curl();
	bool tls = strncmp(r->spec.url, "https:", 6) == 0;

	curl->easy_setopt(r->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl->easy_setopt(r->easy, CURLOPT_REDIR_PROTOCOLS_STR,
			  tls ? "https" : "http,https");
	if (r->spec.auth || r->spec.method >= B2F_HTTP_PUT)
		return;
	curl->easy_setopt(r->easy, CURLOPT_FOLLOWLOCATION, 1L);
	curl->easy_setopt(r->easy, CURLOPT_MAXREDIRS, 5L);
}

/*
 * The request is sent now: waiting for a free connection does not count.  When
 * a reused connection ends without an answer, libcurl sends the request again:
 * this stops a change, which may have happened the first time.
 */
static int note_begin(void *request, char *to, char *from, int to_port,
		      int from_port)
{
	struct b2f_http_request *r = request;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	r->sent_twice = r->begun_ns != 0 && r->spec.method >= B2F_HTTP_PUT;
	r->begun_ns = b2f_monotonic_ns();
	return r->sent_twice ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/*
 * Called at least once a second: has the answer taken too long?  A server that
 * sends a byte now and then never stalls.
 */
static int check_time(void *request, curl_off_t to_get, curl_off_t got,
		      curl_off_t to_send, curl_off_t sent)
{
	const struct b2f_http_request *r = request;
	uint64_t limit_ms = r->answer_ms +
			    (uint64_t)(got + sent) / BYTES_PER_MS;

	/* Do not trust the length that a server announces. */
	(void)to_get;
	(void)to_send;
	return r->begun_ns != 0 &&
	       b2f_monotonic_ns() - r->begun_ns > limit_ms * 1000000;
}

static void set_time(struct b2f_http_request *r,
		     const struct b2f_http_options *options)
{
	const struct b2f_curl *curl = b2f_curl();

	r->begun_ns = 0;
	r->sent_twice = false;
	r->answer_ms = options->answer_ms;
	curl->easy_setopt(r->easy, CURLOPT_PREREQFUNCTION, note_begin);
	curl->easy_setopt(r->easy, CURLOPT_PREREQDATA, r);
	curl->easy_setopt(r->easy, CURLOPT_NOPROGRESS, 0L);
	curl->easy_setopt(r->easy, CURLOPT_XFERINFOFUNCTION, check_time);
	curl->easy_setopt(r->easy, CURLOPT_XFERINFODATA, r);
}

static void set_connection(CURL *easy, const struct b2f_http_options *options)
{
	const struct b2f_curl *curl = b2f_curl();

	curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl->easy_setopt(easy, CURLOPT_USERAGENT, "b2frame/" B2F_VERSION);
	curl->easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl->easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_SIZE);
	curl->easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_SIZE);
	curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			  (long)options->connect_ms);
	curl->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
			  (long)(options->stall_ms + 999) / 1000);
	/* Empty strings: libcurl would take a proxy from the environment. */
	curl->easy_setopt(easy, CURLOPT_PROXY,
			  options->proxy ? options->proxy : "");
	curl->easy_setopt(easy, CURLOPT_NOPROXY,
			  options->no_proxy ? options->no_proxy : "");
	if (options->ca_file)
		curl->easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
}

int b2f_http_ask(struct b2f_http_request *r,
		 const struct b2f_http_options *options)
{
	const struct b2f_curl *curl = b2f_curl();
	CURL *easy = r->easy;
	int err;

	r->nsent = 0;
	r->read_err = 0;
	curl->easy_reset(easy);
	/* The keys may have changed since the last attempt. */
	curl->slist_free_all(r->headers);
	r->headers = NULL;
	err = add_headers(r);
	if (!err && r->spec.auth)
		err = b2f_auth_sign(r->spec.auth, easy, &r->headers);
	if (err)
		return err;
	curl->easy_setopt(easy, CURLOPT_URL, r->spec.url);
	curl->easy_setopt(easy, CURLOPT_PRIVATE, r);
	curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, r->curl_text);
	curl->easy_setopt(easy, CURLOPT_HTTPHEADER, r->headers);
	curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, b2f_http_reply_write);
	curl->easy_setopt(easy, CURLOPT_WRITEDATA, r);
	/* libcurl takes an object modified in that very second for too new. */
	if (r->spec.mtime) {
		curl->easy_setopt(easy, CURLOPT_TIMECONDITION,
				  (long)CURL_TIMECOND_IFUNMODSINCE);
		curl->easy_setopt(easy, CURLOPT_TIMEVALUE_LARGE,
				  (curl_off_t)r->spec.mtime + 1);
	}
	set_connection(easy, options);
	set_time(r, options);
	set_redirects(r);
	set_method(r);
	return 0;
}
