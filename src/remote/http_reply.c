/* SPDX-License-Identifier: BSD-3-Clause */
/* http_reply.c - what a server answers: headers, body, and what went wrong */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "remote/http_priv.h"
#include "remote/object_sum.h"
#include "remote/s3_error.h"

static bool is_good(const struct b2f_http_reply *reply)
{
	return reply->status >= 200 && reply->status < 300;
}

void b2f_http_reply_begin(struct b2f_http_request *r)
{
	bool sent = r->reply.sent;

	if (!r->spec.into)
		free(r->reply.body);
	r->reply = (struct b2f_http_reply){.sent = sent};
	r->body_room = 0;
	r->judged = false;
	r->nerror = 0;
	r->curl_text[0] = '\0';
}

/* The value of a header of the last answer, or NULL. */
static const char *header_of(struct b2f_http_request *r, const char *name)
{
	struct curl_header *h = NULL;

	return b2f_curl()->easy_header(r->easy, name, 0, CURLH_HEADER, -1,
				       &h) == CURLHE_OK
		       ? h->value
		       : NULL;
}

static void take_etag(struct b2f_http_request *r)
{
	const char *etag = header_of(r, "ETag");
	size_t n = etag ? strlen(etag) : 0;

	if (n >= B2F_REMOTE_ETAG_SIZE)
		return;
	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)etag[i]))
			return;
	memcpy(r->reply.st.etag, etag ? etag : "", n + 1);
}

/* A header that is a date, since 1970 in seconds; -1: there is none. */
static time_t date_of(struct b2f_http_request *r, const char *name)
{
	const char *text = header_of(r, name);

	return text ? b2f_curl()->getdate(text, NULL) : -1;
}

/* A longer note is another program's. */
static void take_note(struct b2f_http_request *r)
{
	const char *note = header_of(r, B2F_HTTP_NOTE);

	if (note && strlen(note) < sizeof(r->reply.note))
		strcpy(r->reply.note, note);
}

/* Ignore a checksum of part checksums: it does not cover the bytes. */
static void take_sum(struct b2f_http_request *r)
{
	const char *sum = header_of(r, B2F_HTTP_SUM);
	const char *type = header_of(r, B2F_HTTP_SUM_TYPE);

	if (sum && (!type || strcmp(type, "FULL_OBJECT") == 0))
		r->reply.st.has_crc32 =
			b2f_object_sum_read(sum, &r->reply.st.crc32);
}

static void take_mtime(struct b2f_http_request *r)
{
	time_t t = date_of(r, "Last-Modified"), now = date_of(r, "Date");

	if (t <= 0)
		return;
	r->reply.st.mtime = t;
	r->reply.age_s = now > t ? now - t : 0;
}

/* Parses decimal digits at *@text; false if there are none. */
static bool parse_number(const char **text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*out = strtoull(*text, &end, 10);
	*text = end;
	return errno == 0;
}

/* "bytes FIRST-LAST/TOTAL" */
static bool parse_content_range(const char *text, uint64_t *first,
				uint64_t *last, uint64_t *total)
{
	if (!text || strncmp(text, "bytes ", 6) != 0)
		return false;
	text += 6;
	return parse_number(&text, first) && *text++ == '-' &&
	       parse_number(&text, last) && *text++ == '/' &&
	       parse_number(&text, total) && *text == '\0';
}

/* For status 206: is this the requested range? */
static int take_range(struct b2f_http_request *r)
{
	const struct b2f_http_spec *spec = &r->spec;
	uint64_t first, last, total;

	if (!parse_content_range(header_of(r, "Content-Range"), &first, &last,
				 &total) ||
	    first != spec->off || total == 0 || total > INT64_MAX ||
	    last != b2f_min_u64(spec->off + spec->n, total) - 1)
		return b2f_why_set(&r->reply.why, B2F_EUNSUPPORTED,
				   "the server sent another range than "
				   "requested");
	r->reply.st.size = total;
	return 0;
}

static uint64_t content_length(struct b2f_http_request *r)
{
	curl_off_t n = -1;

	b2f_curl()->easy_getinfo(r->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
				 &n);
	return n < 0 ? UINT64_MAX : (uint64_t)n;
}

/* For status 200: may the whole object be the answer? */
static int take_whole(struct b2f_http_request *r)
{
	const struct b2f_http_spec *spec = &r->spec;
	uint64_t n = content_length(r);

	if (spec->method != B2F_HTTP_GET && spec->method != B2F_HTTP_HEAD)
		return 0;
	if (spec->ranged && (spec->off > 0 || n > spec->n))
		return b2f_why_set(&r->reply.why, B2F_EUNSUPPORTED,
				   "the server does not serve ranges of files");
	if (spec->method == B2F_HTTP_HEAD && n > INT64_MAX)
		return b2f_why_set(&r->reply.why, B2F_EUNSUPPORTED,
				   "the server does not send its length");
	r->reply.st.size = n == UINT64_MAX ? 0 : n;
	return 0;
}

/* Before its second is over, an mtime may stand for two versions. */
static int check_age(struct b2f_http_request *r)
{
	const struct b2f_remote_stat *st = &r->reply.st;

	if (*st->etag || !st->mtime || date_of(r, "Date") != st->mtime)
		return 0;
	return b2f_why_set(&r->reply.why, -EBUSY,
			   "it was modified within the last second, and the "
			   "server has no ETags; try again");
}

static int check_version(struct b2f_http_request *r)
{
	const struct b2f_http_spec *spec = &r->spec;
	const struct b2f_remote_stat *st = &r->reply.st;

	if ((spec->etag && strcmp(spec->etag, st->etag) != 0) ||
	    (spec->mtime && spec->mtime != st->mtime))
		return b2f_why_set(&r->reply.why, -ESTALE,
				   "it is another version now");
	return 0;
}

/* Checks status and headers, as soon as they are there. */
static int judge(struct b2f_http_request *r)
{
	int err;

	r->judged = true;
	b2f_curl()->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE,
				 &r->reply.status);
	if (!is_good(&r->reply))
		return 0;
	take_etag(r);
	take_mtime(r);
	take_note(r);
	if (r->spec.method == B2F_HTTP_HEAD)
		take_sum(r);
	/*
	 * The request asked for no Content-Encoding, so a stored object has
	 * this one: ranges, length and ETag are of the encoded bytes.
	 */
	if (r->reply.status == 206 && r->spec.ranged)
		err = take_range(r);
	else
		err = take_whole(r);
	if (!err)
		err = check_version(r);
	return err ? err : check_age(r);
}

static int reserve(struct b2f_http_request *r, size_t n)
{
	struct b2f_http_reply *reply = &r->reply;
	uint64_t announced = content_length(r);
	size_t want = reply->size + n;
	uint8_t *body;

	if (want > r->spec.room)
		return b2f_why_set(&reply->why, B2F_ETOOBIG,
				   "the answer is longer than %zu bytes",
				   r->spec.room);
	if (r->spec.into) {
		reply->body = r->spec.into;
		return 0;
	}
	if (want <= r->body_room)
		return 0;
	want = b2f_max_u64(want, 2 * (uint64_t)r->body_room);
	if (announced != UINT64_MAX && announced > want)
		want = announced;
	want = b2f_min_u64(want, r->spec.room);
	body = realloc(reply->body, want);
	if (!body)
		return -ENOMEM;
	reply->body = body;
	r->body_room = want;
	return 0;
}

size_t b2f_http_reply_write(char *bytes, size_t one, size_t n, void *request)
{
	struct b2f_http_request *r = request;
	struct b2f_http_reply *reply = &r->reply;
	size_t room = sizeof(r->error_text) - r->nerror;

	n *= one;
	if (!r->judged)
		reply->err = judge(r);
	if (!reply->err && !is_good(reply)) {
		memcpy(r->error_text + r->nerror, bytes, n < room ? n : room);
		r->nerror += n < room ? n : room;
		return n;
	}
	if (!reply->err)
		reply->err = reserve(r, n);
	if (reply->err)
		return 0;
	memcpy(reply->body + reply->size, bytes, n);
	reply->size += n;
	return n;
}

static int refused_condition(struct b2f_http_request *r)
{
	struct b2f_why *why = &r->reply.why;

	if (r->spec.if_none_match)
		return b2f_why_set(why, -EEXIST, "it exists already");
	return b2f_why_set(why, -ESTALE, "it is another version now");
}

/* The range lies behind the end; for an empty object every range does. */
static int refused_range(struct b2f_http_request *r)
{
	if (r->spec.off > 0)
		return b2f_why_set(&r->reply.why, -ESTALE,
				   "it is shorter than it was");
	take_etag(r);
	take_mtime(r);
	return 0;
}

static int redirected(struct b2f_http_request *r)
{
	const char *region = header_of(r, "x-amz-bucket-region");
	size_t n = region ? strspn(region, "abcdefghijklmnopqrstuvwxyz"
					   "0123456789-")
			  : 0;

	if (n > 0 && !region[n] && n < 40)
		return b2f_why_set(&r->reply.why, -EREMOTE,
				   "the bucket is in the region %s", region);
	return b2f_why_set(&r->reply.why, -EREMOTE,
			   "the server redirects to another place (%ld)",
			   r->reply.status);
}

/* The proxy refuses the connection, or cannot make one. */
static int refused_by_proxy(struct b2f_http_request *r, long status)
{
	struct b2f_why *why = &r->reply.why;

	if (status == 401 || status == 403 || status == 407)
		return b2f_why_set(why, -EACCES, "the proxy denies access (%ld)",
				   status);
	/* The proxy may not reach the server. */
	if (status >= 500)
		return b2f_why_set(why, -ECONNREFUSED,
				   "the proxy does not reach the server (%ld)",
				   status);
	return b2f_why_set(why, -EPROTO, "the proxy answers %ld", status);
}

static int err_of_status(struct b2f_http_request *r)
{
	struct b2f_why *why = &r->reply.why;
	long status = r->reply.status;
	char code[B2F_S3_CODE_SIZE];
	int err;

	if (status == 304 || status == 412)
		return refused_condition(r);
	if (status == 416 && r->spec.ranged)
		return refused_range(r);
	if (status >= 300 && status < 400)
		return redirected(r);
	b2f_s3_error_code(r->error_text, r->nerror, code);
	err = b2f_s3_error_explain(code, why);
	if (err == -EREMOTE && header_of(r, "x-amz-bucket-region"))
		return redirected(r);
	if (err)
		return err;
	switch (status) {
	case 404:
	case 410:
		return b2f_why_set(why, -ENOENT, "the server has no such file");
	case 407:
		return refused_by_proxy(r, status);
	case 401:
	case 403:
		return b2f_why_set(why, -EACCES,
				   "the server denies access (%ld)", status);
	case 409:
		return b2f_why_set(why, -EBUSY,
				   "another request was faster (%ld)", status);
	case 405:
	case 501:
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "the server does not support this (%ld)", status);
	case 507:
		return b2f_why_set(why, -ENOSPC, "the server is full");
	default:
		return b2f_why_set(why, -EIO, "the server answers %ld%s%s",
				   status, *code ? " " : "", code);
	}
}

/*
 * A user without a key who is refused may not know which places were searched
 * for keys.
 */
static int err_of_answer(struct b2f_http_request *r)
{
	const char *why = b2f_http_options_of(r->http)->unsigned_why;
	struct b2f_why first;
	int err = err_of_status(r);

	if (err != -EACCES || r->spec.auth || !why || r->reply.status == 407)
		return err;
	first = r->reply.why;
	return b2f_why_set(&r->reply.why, err, "%s; there were no keys: tried %s",
			   first.text, why);
}

/* Refuses with @err: "cannot connect to HOST:PORT: @cause". */
static int no_connection(struct b2f_http_request *r, int err, const char *cause)
{
	bool by_proxy = b2f_http_options_of(r->http)->proxy != NULL;
	const char *url = r->spec.url, *host;

	/* After a redirect the host may differ. */
	b2f_curl()->easy_getinfo(r->easy, CURLINFO_EFFECTIVE_URL, &url);
	host = strstr(url, "://");
	host = host ? host + 3 : url;
	return b2f_why_set(&r->reply.why, err, "cannot connect to %.*s%s: %s",
			   (int)strcspn(host, "/?#"), host,
			   by_proxy ? ", or to the proxy" : "", cause);
}

static int not_connected(struct b2f_http_request *r)
{
	long err = 0;

	b2f_curl()->easy_getinfo(r->easy, CURLINFO_OS_ERRNO, &err);
	return no_connection(r, -ECONNREFUSED,
			     err == ECONNREFUSED ? "refused"
			     : err		 ? strerror((int)err)
						 : "no answer");
}

/* Returns the TLS error that prevented a connection; NULL: none. */
static const char *tls_cause(CURLcode code)
{
	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
		return "TLS: the server's certificate is not trusted, or is for "
		       "another host";
	case CURLE_SSL_CACERT_BADFILE:
		return "TLS: the file of certificates to trust cannot be read";
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
		return "TLS: the server does not speak it, or refuses";
	default:
		return NULL;
	}
}

static int err_of_transfer(struct b2f_http_request *r, CURLcode code)
{
	struct b2f_why *why = &r->reply.why;
	const char *tls = tls_cause(code);
	long proxy = 0;

	b2f_curl()->easy_getinfo(r->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
	if (proxy != 0 && (proxy < 200 || proxy >= 300))
		return refused_by_proxy(r, proxy);
	if (tls)
		return no_connection(r, -EPROTO, tls);
	if (r->sent_twice)
		code = CURLE_GOT_NOTHING;
	switch (code) {
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_ABORTED_BY_CALLBACK:
		if (r->begun_ns == 0)
			return no_connection(r, -ETIMEDOUT,
					     "no answer in time");
		return b2f_why_set(why, -ETIMEDOUT,
				   "the server does not answer in time");
	case CURLE_COULDNT_RESOLVE_HOST:
		return no_connection(r, -EHOSTUNREACH,
				     "unknown host, or no name server "
				     "answers");
	case CURLE_COULDNT_RESOLVE_PROXY:
		return b2f_why_set(why, -EHOSTUNREACH,
				   "unknown proxy, or no name server answers");
	case CURLE_COULDNT_CONNECT:
		return not_connected(r);
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY:
		return b2f_why_set(why, -EPROTO, "it is not an HTTP server");
	case CURLE_TOO_MANY_REDIRECTS:
		return b2f_why_set(why, -EREMOTE, "redirected too often");
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return b2f_why_set(why, -ECONNRESET,
				   "the server ends the connection early");
	default:
		return b2f_why_set(why, -EIO, "%s",
				   b2f_curl()->easy_strerror(code));
	}
}

/* Have all bytes arrived that the headers announced? */
static int check_complete(struct b2f_http_request *r)
{
	const struct b2f_http_spec *spec = &r->spec;
	uint64_t want = r->reply.st.size;

	if (!spec->ranged)
		return 0;
	want = b2f_min_u64(spec->n, want - b2f_min_u64(spec->off, want));
	/* Without Content-Length, the body received is the whole object. */
	if (r->reply.status == 200 && r->reply.st.size == 0)
		r->reply.st.size = want = r->reply.size;
	return r->reply.size == want
		       ? 0
		       : b2f_why_set(&r->reply.why, -ECONNRESET,
				     "the server sent fewer bytes than "
				     "announced");
}

static bool is_busy(const struct b2f_http_request *r)
{
	return r->reply.status == 503 || r->reply.status == 429;
}

static bool status_may_pass(const struct b2f_http_request *r)
{
	switch (r->reply.status) {
	case 0:
	case 408:
	case 425:
	case 429:
	case 500:
	case 502:
	case 503:
	case 504:
		return true;
	case 409:
		return r->spec.method >= B2F_HTTP_PUT;
	default:
		return is_good(&r->reply);
	}
}

static bool err_may_pass(const struct b2f_http_request *r)
{
	switch (-r->reply.err) {
	case ETIMEDOUT:
	case ECONNRESET:
	case ECONNREFUSED:
	case EHOSTUNREACH:
		return true;
	case EBUSY:
	case EIO:
		return status_may_pass(r);
	case EPROTO:
		/* A host that speaks HTTP will answer again. */
		return r->reply.sent;
	default:
		return false;
	}
}

static void find_err(struct b2f_http_request *r, CURLcode code)
{
	struct b2f_http_reply *reply = &r->reply;

	if (!r->judged && code == CURLE_OK && !reply->err)
		reply->err = judge(r);
	if (reply->err)
		return;
	if (code != CURLE_OK)
		reply->err = err_of_transfer(r, code);
	else if (!is_good(reply))
		reply->err = err_of_answer(r);
	else
		reply->err = check_complete(r);
}

void b2f_http_reply_end(struct b2f_http_request *r, CURLcode code)
{
	struct b2f_http_reply *reply = &r->reply;

	/* A server discards an incomplete body. */
	if (r->read_err) {
		reply->err = b2f_why_set(&reply->why, r->read_err,
					 "cannot read the data to send: %s",
					 strerror(-r->read_err));
		return;
	}
	find_err(r, code);
	if (!reply->err)
		return;
	reply->sent |= r->spec.method >= B2F_HTTP_PUT && r->begun_ns != 0;
	reply->may_pass = err_may_pass(r);
}

bool b2f_http_reply_may_pass(const struct b2f_http_request *r)
{
	/* Another program may have made a new object since. */
	return r->reply.may_pass && (r->spec.method != B2F_HTTP_DELETE ||
				     !r->reply.sent || is_busy(r));
}
