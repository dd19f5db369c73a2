/* SPDX-License-Identifier: BSD-3-Clause */
/* s3_error.c - answers of an object store, and its errors */
#include "remote/s3_error.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/curl.h"

struct parser {
	b2f_xml_fn *fn;
	void *arg;
	unsigned int depth;
	/* Of the root, and of the element below it. */
	char names[2][40];
	/* Text of the innermost element; @n is its whole size: too long. */
	size_t n;
	char text[64 << 10];
};

static void enter(void *arg, const char *name, const char **attributes)
{
	struct parser *p = arg;

	(void)attributes;
	if (p->depth < 2)
		snprintf(p->names[p->depth], sizeof(p->names[0]), "%s", name);
	p->depth++;
	p->n = 0;
}

static void take_text(void *arg, const char *text, int len)
{
	struct parser *p = arg;
	size_t n = (size_t)len;

	if (n < sizeof(p->text) - p->n)
		memcpy(p->text + p->n, text, n);
	else
		n = sizeof(p->text) - p->n;
	p->n += n;
}

static void leave(void *arg, const char *name)
{
	struct parser *p = arg;
	bool fits = p->n < sizeof(p->text);
	const struct b2f_xml_element element = {
		.depth = p->depth,
		.root = p->names[0],
		.item = p->names[1],
		.name = name,
		.text = fits ? p->text : NULL,
	};

	if (fits)
		p->text[p->n] = '\0';
	p->fn(p->arg, &element);
	p->depth--;
	p->n = 0;
}

int b2f_xml_parse(const void *xml, size_t n, b2f_xml_fn *fn, void *arg)
{
	struct parser *p = calloc(1, sizeof(*p));
	XML_Parser parser = p ? XML_ParserCreate(NULL) : NULL;
	int err = -ENOMEM;

	if (parser) {
		p->fn = fn;
		p->arg = arg;
		XML_SetUserData(parser, p);
		XML_SetElementHandler(parser, enter, leave);
		XML_SetCharacterDataHandler(parser, take_text);
		err = 0;
		if (n > INT32_MAX ||
		    XML_Parse(parser, xml, (int)n, 1) != XML_STATUS_OK)
			err = B2F_ECORRUPT;
	}
	XML_ParserFree(parser);
	if (p)
		explicit_bzero(p, sizeof(*p));
	free(p);
	return err;
}

/* Takes the first of the wanted elements. */
static void take_wanted(void *arg, const struct b2f_xml_element *element)
{
	struct b2f_s3_answer *a = arg;

	snprintf(a->root, sizeof(a->root), "%s", element->root);
	if (element->depth != 2 || a->n || !element->text ||
	    strcmp(element->name, a->wanted) != 0)
		return;
	snprintf(a->text, sizeof(a->text), "%s", element->text);
	a->n = strlen(a->text);
}

bool b2f_s3_find(const char *body, size_t n, const char *wanted,
		 struct b2f_s3_answer *out)
{
	*out = (struct b2f_s3_answer){.wanted = wanted};
	/* A slow server sends spaces to keep the connection open. */
	for (; n > 0 && strchr(" \t\r\n", *body) && *body; n--)
		body++;
	return n > 0 && !b2f_xml_parse(body, n, take_wanted, out);
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
