/* SPDX-License-Identifier: BSD-3-Clause */
/* url.c - the parts of a remote's URL, and the URLs of objects below it */
#include "remote/url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "programs/curl.h"
#include "programs/io.h"

static const char *const schemes[] = {"s3://", "http://", "https://"};

static const char *scheme_of(const char *text)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
			return schemes[i];
	return NULL;
}

/* Any scheme: b2f_url_parse() names an unknown one in its error. */
bool b2f_remote_is_url(const char *path)
{
	size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

	return n > 0 && isalpha((unsigned char)*path) &&
	       strncmp(path + n, "://", 3) == 0;
}

bool b2f_remote_is_s3(const char *path)
{
	return scheme_of(path) == schemes[0];
}

static int refuse(struct b2f_why *why, const char *cause)
{
	return b2f_why_set(why, -EINVAL, "%s", cause);
}

/* A control character in a URL could end a line of the request. */
static bool is_clean(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			return false;
	return true;
}

/* Returns the length of @text without trailing slashes. */
static size_t bare_length(const char *text, size_t n)
{
	while (n > 0 && text[n - 1] == '/')
		n--;
	return n;
}

/* Are the @n bytes at @host "HOST", "HOST:PORT" or "[IPV6]:PORT"? */
static bool is_host(const char *host, size_t n)
{
	return n > 0 && n < 300 && !memchr(host, '@', n) &&
	       strspn(host, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%") >= n;
}

/* Returns why no bucket can be called @name, of @n bytes; NULL: one can. */
static const char *refuse_bucket(const char *name, size_t n)
{
	if (memchr(name, '@', n) || memchr(name, ':', n))
		return "keys in URLs are refused; set AWS_ACCESS_KEY_ID and "
		       "AWS_SECRET_ACCESS_KEY";
	if (n == 0)
		return "the name of a bucket is missing";
	/* Some stores, and old buckets of AWS, have longer names. */
	if (n < 3 || n > 255)
		return "bucket names have 3 to 63 characters";
	return strspn(name, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") >= n
		       ? NULL
		       : "bucket names have letters, digits, '.', '-' and '_' "
			 "alone";
}

/* http://HOST/PATH?QUERY */
static int parse_http(const char *text, const char *scheme,
		      struct b2f_url *out, struct b2f_why *why)
{
	const char *host = text + strlen(scheme);
	size_t nhost = strcspn(host, "/?#");
	const char *path = host + nhost;
	size_t npath = strcspn(path, "?#");
	const char *query = path + npath;

	if (!is_host(host, nhost))
		return refuse(why, memchr(host, '@', nhost)
					   ? "names and passwords in URLs are "
					     "refused"
					   : "a host cannot have this name");
	npath = *query == '?' ? npath : bare_length(path, npath);
	out->origin = b2f_io_text("%s%.*s", scheme, (int)nhost, host);
	out->base = npath ? strndup(path, npath) : strdup("");
	out->query = strndup(query, *query == '?' ? strcspn(query, "#") : 0);
	out->label = b2f_io_text("%s%.*s%.*s", scheme, (int)nhost, host,
				 (int)npath, path);
	return 0;
}

/* Is @path "" or "/PREFIX", encoded, as behind an endpoint? */
static bool is_prefix(const char *path, size_t n)
{
	return n == 0 ||
	       (*path == '/' &&
		strspn(path, "abcdefghijklmnopqrstuvwxyz"
			     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%/") >= n);
}

static int make_origin(const struct b2f_remote_options *options,
		       const char *bucket, char **out, struct b2f_why *why)
{
	const char *region = options->region ? options->region : "us-east-1";
	const char *endpoint = options->endpoint, *scheme, *host;
	bool in_path = options->path_style ||
		       (endpoint && !options->host_style);
	B2F_OWN char *made = NULL;
	size_t n, nhost;

	/* A wildcard certificate does not match a name with more dots. */
	if (strchr(bucket, '.'))
		in_path = true;
	if (!is_host(region, strlen(region)) || strchr(region, ':'))
		return refuse(why, "a region cannot have this name");
	if (!endpoint) {
		endpoint = made = b2f_io_text(
			"https://s3.%s.amazonaws.com%s", region,
			strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
		if (!made)
			return -ENOMEM;
	}
	scheme = scheme_of(endpoint);
	if (!scheme || scheme == schemes[0] || !is_clean(endpoint))
		return refuse(why, "an endpoint begins with http:// or "
				   "https://");
	host = endpoint + strlen(scheme);
	n = bare_length(host, strlen(host));
	nhost = strcspn(host, "/");
	nhost = nhost < n ? nhost : n;
	if (!is_host(host, nhost) || !is_prefix(host + nhost, n - nhost))
		return refuse(why, "an endpoint is "
				   "http[s]://HOST[:PORT][/PREFIX]");
	*out = in_path ? b2f_io_text("%s%.*s/%s", scheme, (int)n, host, bucket)
		       : b2f_io_text("%s%s.%.*s", scheme, bucket, (int)n, host);
	return 0;
}

/* s3://BUCKET/KEY */
static int parse_s3(const char *text, const struct b2f_remote_options *options,
		    struct b2f_url *out, struct b2f_why *why)
{
	const char *bucket = text + strlen(schemes[0]);
	size_t n = strcspn(bucket, "/");
	const char *key = bucket + n, *cause = refuse_bucket(bucket, n);
	int err;

	out->s3 = true;
	if (cause)
		return refuse(why, cause);
	while (*key == '/')
		key++;
	if (strlen(key) > B2F_URL_KEY_MAX)
		return refuse(why, "the key is too long");
	out->bucket = strndup(bucket, n);
	if (!out->bucket)
		return -ENOMEM;
	err = make_origin(options, out->bucket, &out->origin, why);
	out->base = strndup(key, bare_length(key, strlen(key)));
	out->query = strdup("");
	out->label = strndup(text, bare_length(text, strlen(text)));
	return err;
}

int b2f_url_parse(const char *text, const struct b2f_remote_options *options,
		  struct b2f_url *out, struct b2f_why *why)
{
	const char *scheme = scheme_of(text);
	int err;

	*out = (struct b2f_url){.s3 = false};
	if (!scheme)
		return refuse(why, "URLs begin with s3://, http:// or "
				   "https://");
	/* Keys of s3 are encoded anyway. */
	if (scheme != schemes[0] && !is_clean(text))
		return refuse(why, "a control character in a URL");
	err = scheme == schemes[0] ? parse_s3(text, options, out, why)
				   : parse_http(text, scheme, out, why);
	if (err)
		return err;
	return out->origin && out->base && out->query && out->label ? 0
								    : -ENOMEM;
}

void b2f_url_fini(struct b2f_url *url)
{
	free(url->bucket);
	free(url->origin);
	free(url->base);
	free(url->query);
	free(url->label);
	*url = (struct b2f_url){.s3 = false};
}

/* Like b2f_curl_escape(), but keeps slashes. */
static char *encode_path(const char *path)
{
	char *coded = b2f_curl_escape(path), *to = coded;

	for (const char *at = coded; at && *at; to++) {
		bool slash = strncmp(at, "%2F", 3) == 0;

		*to = slash ? '/' : *at;
		at += slash ? 3 : 1;
	}
	if (coded)
		*to = '\0';
	return coded;
}

char *b2f_url_key(const struct b2f_url *url, const char *path)
{
	return b2f_io_text("%s%s%s", url->base, *url->base && *path ? "/" : "",
			   path);
}

char *b2f_url_of(const struct b2f_url *url, const char *path)
{
	B2F_OWN char *key = encode_path(url->s3 ? url->base : "");
	B2F_OWN char *rest = path ? encode_path(path) : NULL;
	const char *slash =
		path && *path && (!url->s3 || *url->base) ? "/" : "";

	return key && rest ? b2f_io_text("%s%s%s%s%s%s", url->origin,
					 url->s3 ? "/" : url->base, key, slash,
					 rest, url->query)
			   : NULL;
}

char *b2f_url_source(const struct b2f_url *url, const char *path)
{
	B2F_OWN char *key = b2f_url_key(url, path);
	B2F_OWN char *coded = key ? encode_path(key) : NULL;

	return coded ? b2f_io_text("/%s/%s", url->bucket, coded) : NULL;
}

char *b2f_url_of_list(const struct b2f_url *url, const char *prefix,
		      const char *token, const char *after)
{
	B2F_OWN char *below = b2f_curl_escape(prefix);
	B2F_OWN char *behind = b2f_curl_escape(after);
	B2F_OWN char *from = b2f_curl_escape(token ? token : "");

	if (!below || !behind || !from)
		return NULL;
	/* The signature requires the parameters in the order of their names. */
	return b2f_io_text(
		"%s/?%s%s%sdelimiter=%%2F&encoding-type=url&list-type=2"
		"&max-keys=1000&prefix=%s%s%s",
		url->origin, token ? "continuation-token=" : "", from,
		token ? "&" : "", below, *after ? "&start-after=" : "", behind);
}
