/* SPDX-License-Identifier: BSD-3-Clause */
/* extra.c - headers that a bucket may require: requester pays, encryption */
#include "remote/extra.h"

#include <ctype.h>
#include <nettle/base64.h>
#include <nettle/md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/url.h"

#define SSE   "x-amz-server-side-encryption"
#define SSE_C "server-side-encryption-customer-"

static int add(struct b2f_extra *extra, enum b2f_extra_on on, const char *name,
	       const char *value, struct b2f_why *why)
{
	char *line;

	for (const char *c = value; *c; c++)
		if (!isgraph((unsigned char)*c))
			return b2f_why_set(why, -EINVAL,
					   "%s has a blank or a control "
					   "character in its value", name);
	line = b2f_io_text("%s: %s", name, value);
	if (!line)
		return -ENOMEM;
	extra->headers[extra->n].line = line;
	extra->headers[extra->n++].on = on;
	return 0;
}

/* Is the connection safe for a key: TLS, or this machine? */
static bool is_private(const char *origin)
{
	const char *host = strstr(origin, "://") + 3;
	size_t n = strcspn(host, "/:");

	if (strncmp(origin, "https:", 6) == 0 || strncmp(host, "[::1]", 5) == 0)
		return true;
	if (strncmp(host, "127.", 4) == 0)
		return strspn(host, "0123456789.") == n;
	return n == 9 && strncmp(host, "localhost", n) == 0;
}

/* Adds the three SSE-C headers for the object, and for the source of a copy. */
static int add_key(struct b2f_extra *extra, const char *key, const char *sum,
		   struct b2f_why *why)
{
	static const struct {
		const char *name;
		enum b2f_extra_on on;
	} of[] = {{"x-amz-" SSE_C, B2F_EXTRA_OBJECT},
		  {"x-amz-copy-source-" SSE_C, B2F_EXTRA_COPY}};
	const char *const parts[][2] = {
		{"algorithm", "AES256"}, {"key", key}, {"key-MD5", sum}};
	char name[80];
	int err = 0;

	for (size_t i = 0; i < 6 && !err; i++) {
		snprintf(name, sizeof(name), "%s%s", of[i / 3].name,
			 parts[i % 3][0]);
		err = add(extra, of[i / 3].on, name, parts[i % 3][1], why);
	}
	return err;
}

static int add_customer(const struct b2f_remote_options *o, const char *origin,
			struct b2f_extra *out, struct b2f_why *why)
{
	uint8_t sum[MD5_DIGEST_SIZE];
	char key64[BASE64_ENCODE_RAW_LENGTH(B2F_REMOTE_SSE_C_SIZE) + 1] = "";
	char sum64[BASE64_ENCODE_RAW_LENGTH(MD5_DIGEST_SIZE) + 1] = "";
	struct md5_ctx md5;
	int err;

	if (!is_private(origin))
		return b2f_why_set(why, -EINVAL,
				   "a key for encryption is sent over https "
				   "only");
	md5_init(&md5);
	md5_update(&md5, B2F_REMOTE_SSE_C_SIZE, o->sse_c_key);
	md5_digest(&md5, sizeof(sum), sum);
	base64_encode_raw(key64, B2F_REMOTE_SSE_C_SIZE, o->sse_c_key);
	base64_encode_raw(sum64, sizeof(sum), sum);
	err = add_key(out, key64, sum64, why);
	explicit_bzero(key64, sizeof(key64));
	explicit_bzero(&md5, sizeof(md5));
	return err;
}

int b2f_extra_make(const struct b2f_remote_options *o, const char *origin,
		   struct b2f_extra *out, struct b2f_why *why)
{
	int err = 0;

	*out = (struct b2f_extra){.n = 0};
	if (o->sse_c_key && (o->sse || o->sse_kms_key))
		return b2f_why_set(why, -EINVAL,
				   "a key for SSE-C and a key of the server "
				   "exclude each other");
	if (o->request_payer)
		err = add(out, B2F_EXTRA_ANY, "x-amz-request-payer",
			  "requester", why);
	if (!err && (o->sse || o->sse_kms_key))
		err = add(out, B2F_EXTRA_NEW, SSE, o->sse ? o->sse : "aws:kms",
			  why);
	if (!err && o->sse_kms_key)
		err = add(out, B2F_EXTRA_NEW, SSE "-aws-kms-key-id",
			  o->sse_kms_key, why);
	if (!err && o->sse_c_key)
		err = add_customer(o, origin, out, why);
	return err;
}

void b2f_extra_fini(struct b2f_extra *extra)
{
	for (size_t i = 0; i < extra->n; i++)
		b2f_secret_end(&extra->headers[i].line);
	*extra = (struct b2f_extra){.n = 0};
}
