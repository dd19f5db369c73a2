/* SPDX-License-Identifier: BSD-3-Clause */
/* s3_error.c - answers of an object store, and its errors */
#include "remote/s3_error.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <string.h>

static void enter(void *arg, const char *name, const char **attributes)
{
	struct b2f_s3_answer *a = arg;

	(void)attributes;
	if (a->depth++ == 0)
		snprintf(a->root, sizeof(a->root), "%s", name);
	a->inside = a->depth == 2 && a->n == 0 && strcmp(name, a->wanted) == 0;
}

static void leave(void *arg, const char *name)
{
	struct b2f_s3_answer *a = arg;

	(void)name;
	a->depth--;
	a->inside = false;
}

static void take_text(void *arg, const char *text, int len)
{
	struct b2f_s3_answer *a = arg;
	size_t n = (size_t)len;

	if (!a->inside || n >= sizeof(a->text) - a->n)
		return;
	memcpy(a->text + a->n, text, n);
	a->n += n;
}

bool b2f_s3_find(const char *body, size_t n, const char *wanted,
		 struct b2f_s3_answer *out)
{
	XML_Parser parser = XML_ParserCreate(NULL);
	bool good;

	*out = (struct b2f_s3_answer){.wanted = wanted};
	if (!parser)
		return false;
	/* A slow server sends spaces to keep the connection open. */
	for (; n > 0 && strchr(" \t\r\n", *body) && *body; n--)
		body++;
	XML_SetUserData(parser, out);
	XML_SetElementHandler(parser, enter, leave);
	XML_SetCharacterDataHandler(parser, take_text);
	good = n > 0 && XML_Parse(parser, body, (int)n, 1) == XML_STATUS_OK;
	XML_ParserFree(parser);
	return good;
}

void b2f_s3_error_code(const char *body, size_t n, char out[B2F_S3_CODE_SIZE])
{
	struct b2f_s3_answer a;
	size_t at = 0;

	memset(out, 0, B2F_S3_CODE_SIZE);
	/* A body that is not XML has no code. */
	(void)b2f_s3_find(body, n, "Code", &a);
	for (size_t i = 0; i < a.n && at < B2F_S3_CODE_SIZE - 1; i++)
		if (isalnum((unsigned char)a.text[i]))
			out[at++] = a.text[i];
}

int b2f_s3_error_explain(const char *code, struct b2f_why *why)
{
	static const struct {
		const char *code;
		int err;
		const char *words;
	} known[] = {
		{"AccessDenied", -EACCES, "the server denies access"},
		{"InvalidAccessKeyId", -EACCES,
		 "the server does not know the access key"},
		{"XAdminUserNotFound", -EACCES,
		 "the server does not know the access key"},
		{"SignatureDoesNotMatch", -EACCES,
		 "the signature is wrong: the secret key, or the region"},
		{"RequestTimeTooSkewed", -EACCES,
		 "the clock of this machine, or of the server, is wrong"},
		{"ExpiredToken", -EACCES, "the session token has expired"},
		{"InvalidToken", -EACCES, "the session token is wrong"},
		{"NoSuchBucket", -ENOENT, "there is no such bucket"},
		{"NoSuchUpload", -EIO, "the server has deleted the parts"},
		{"BadDigest", -EIO, "the server got other bytes than were sent"},
		{"NoSuchKey", -ENOENT, "there is no such object"},
		{"PermanentRedirect", -EREMOTE,
		 "the bucket is in another region"},
		{"TemporaryRedirect", -EREMOTE,
		 "the bucket is in another region"},
		{"AuthorizationHeaderMalformed", -EREMOTE,
		 "the bucket is in another region"},
		{"IllegalLocationConstraintException", -EREMOTE,
		 "the bucket is in another region"},
		{"InvalidBucketName", -EINVAL, "a bucket cannot have this name"},
		{"RequestTimeout", -ETIMEDOUT,
		 "the server does not get the request in time"},
		{"QuotaExceeded", -EDQUOT, "the quota is used up"},
		{"KeyTooLongError", -ENAMETOOLONG, "the key is too long"},
		{"EntityTooLarge", -EFBIG, "the object is too large"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(code, known[i].code) == 0)
			return b2f_why_set(why, known[i].err, "%s (%s)",
					   known[i].words, code);
	return 0;
}

int b2f_s3_confirm(const char *body, size_t n, const char *root,
		   struct b2f_s3_answer *out, struct b2f_why *why)
{
	char code[B2F_S3_CODE_SIZE];
	int err;

	if (b2f_s3_find(body, n, "ETag", out) && strcmp(out->root, root) == 0 &&
	    out->n > 0)
		return 0;
	b2f_s3_error_code(body, n, code);
	if (strcmp(code, "PreconditionFailed") == 0)
		return b2f_why_set(why, -ESTALE, "it is another version now");
	err = b2f_s3_error_explain(code, why);
	return err ? err
		   : b2f_why_set(why, -EIO, "the server answers %s",
				 *code ? code : "with an unknown error");
}
