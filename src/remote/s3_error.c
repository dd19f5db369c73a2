/* SPDX-License-Identifier: BSD-3-Clause */
/* s3_error.c - the errors of an object store */
#include "remote/s3_error.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct search {
	unsigned int depth;
	bool in_code;
	char *code;
	size_t n;
};

static void enter(void *arg, const char *name, const char **attributes)
{
	struct search *s = arg;

	(void)attributes;
	s->depth++;
	s->in_code = s->depth == 2 && strcmp(name, "Code") == 0 && s->n == 0;
}

static void leave(void *arg, const char *name)
{
	struct search *s = arg;

	(void)name;
	s->depth--;
	s->in_code = false;
}

static void take_text(void *arg, const char *text, int len)
{
	struct search *s = arg;

	for (int i = 0; s->in_code && i < len; i++)
		if (isalnum((unsigned char)text[i]) &&
		    s->n < B2F_S3_CODE_SIZE - 1)
			s->code[s->n++] = text[i];
}

void b2f_s3_error_code(const char *body, size_t n, char out[B2F_S3_CODE_SIZE])
{
	struct search s = {.code = out};
	XML_Parser parser = n ? XML_ParserCreate(NULL) : NULL;

	memset(out, 0, B2F_S3_CODE_SIZE);
	if (!parser)
		return;
	XML_SetUserData(parser, &s);
	XML_SetElementHandler(parser, enter, leave);
	XML_SetCharacterDataHandler(parser, take_text);
	/* A body that is not XML has no code. */
	(void)XML_Parse(parser, body, (int)n, 0);
	XML_ParserFree(parser);
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
		{"EntityTooLarge", -EFBIG, "the object is too large"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(code, known[i].code) == 0)
			return b2f_why_set(why, known[i].err, "%s (%s)",
					   known[i].words, code);
	return 0;
}
