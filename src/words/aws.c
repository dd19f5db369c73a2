/* SPDX-License-Identifier: BSD-3-Clause */
/* aws.c - keys, region and endpoint of an object store: AWS_*, ~/.aws */
#include "words/aws.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words/aws_flows.h"
#include "words/aws_settings.h"
#include "words/way.h"

#define DEFAULT_REGION "us-east-1"

/* Copies the first of @n values that is not empty; false: no memory. */
static bool copy_first(char **to, const char *const *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] && *values[i]) {
			*to = strdup(values[i]);
			return *to != NULL;
		}
	return true;
}

static int read_place(const struct b2f_aws_options *o, struct b2f_aws *out)
{
	char *const *set = out->settings->of;
	const char *const regions[] = {
		o->region, b2f_aws_environment("AWS_REGION"),
		b2f_aws_environment("AWS_DEFAULT_REGION"), set[B2F_AWS_REGION],
		DEFAULT_REGION};
	const char *const endpoints[] = {
		o->endpoint, b2f_aws_environment("AWS_ENDPOINT_URL_S3"),
		b2f_aws_environment("AWS_ENDPOINT_URL"),
		set[B2F_AWS_S3_ENDPOINT], set[B2F_AWS_ENDPOINT]};

	return copy_first(&out->region, regions, 5) &&
			       copy_first(&out->endpoint, endpoints, 5)
		       ? 0
		       : -ENOMEM;
}

/* Reads a key of SSE-C.  It comes from a file, as all users see arguments. */
static int read_key(const char *path, uint8_t out[B2F_REMOTE_SSE_C_SIZE],
		    char reason[B2F_AWS_REASON])
{
	char bytes[B2F_REMOTE_SSE_C_SIZE + 1];
	FILE *f = fopen(path, "re");
	int err = f ? 0 : -errno;
	size_t n = 0;

	if (f) {
		setvbuf(f, NULL, _IONBF, 0);
		n = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
	}
	if (!err && n != B2F_REMOTE_SSE_C_SIZE)
		err = -EINVAL;
	if (err)
		snprintf(reason, B2F_AWS_REASON, "%s: %s", path,
			 f ? "a key of SSE-C is a file of 32 bytes"
			   : strerror(-err));
	else
		memcpy(out, bytes, B2F_REMOTE_SSE_C_SIZE);
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

int b2f_aws_read(const struct b2f_aws_options *options, struct b2f_aws *out,
		 char reason[B2F_AWS_REASON])
{
	struct b2f_aws_flow flow;
	int err;

	*out = (struct b2f_aws){.given = *options};
	err = b2f_aws_settings_read(options->profile, &out->settings, reason);
	if (!err && options->sse_c_key)
		err = read_key(options->sse_c_key, out->sse_c_key, reason);
	if (err)
		return err;
	snprintf(reason, B2F_AWS_REASON, "%s", strerror(ENOMEM));
	err = read_place(options, out);
	if (err || options->no_keys)
		return err;
	flow = (struct b2f_aws_flow){out->settings, out->region, &out->keys,
				     reason};
	out->source = b2f_aws_flow_first(&flow, &out->tried);
	return out->source < 0 ? out->source : 0;
}

static int renew(void *arg, struct b2f_remote_keys *out, char *reason,
		 size_t size)
{
	const struct b2f_aws *aws = arg;
	char why[B2F_AWS_REASON];
	const struct b2f_aws_flow flow = {aws->settings, aws->region, out, why};
	int err = b2f_aws_flow_again(&flow, aws->source);

	if (err)
		snprintf(reason, size, "%s", why);
	return err;
}

void b2f_aws_fill(const struct b2f_aws *aws, const char *url,
		  struct b2f_remote_options *options)
{
	const struct b2f_way way = b2f_way_to(aws ? aws->endpoint : url);

	options->proxy = way.proxy;
	options->no_proxy = way.no_proxy;
	options->ca_file = way.ca_file;
	options->retry_ms = way.retry_ms;
	if (!aws)
		return;
	options->endpoint = aws->endpoint;
	options->region = aws->region;
	options->access_key = aws->keys.access_key;
	options->secret_key = aws->keys.secret_key;
	options->session_token = aws->keys.session_token;
	options->keys_end_s = aws->keys.end_s;
	options->renew = renew;
	options->renew_arg = (void *)(uintptr_t)aws;
	options->unsigned_why = aws->tried;
	options->request_payer = aws->given.request_payer;
	options->sse = aws->given.sse;
	options->sse_kms_key = aws->given.sse_kms_key;
	if (aws->given.sse_c_key)
		options->sse_c_key = aws->sse_c_key;
}

void b2f_aws_fini(struct b2f_aws *aws)
{
	b2f_aws_keys_fini(&aws->keys);
	b2f_aws_settings_free(aws->settings);
	explicit_bzero(aws->sse_c_key, sizeof(aws->sse_c_key));
	free(aws->tried);
	free(aws->region);
	free(aws->endpoint);
	*aws = (struct b2f_aws){0};
}
