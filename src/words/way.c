/* SPDX-License-Identifier: BSD-3-Clause */
/* way.c - proxy, certificates and retries, from the environment */
#include "words/way.h"

#include <stddef.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "programs/curl.h"

/* The first variable of @names (NULL ends them) that is not empty, or NULL. */
static const char *first_of(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && *value)
			return value;
	}
	return NULL;
}

static const char *proxy_to(const char *url)
{
	static const char *const plain[] = {"http_proxy", "all_proxy",
					    "ALL_PROXY", NULL};
	static const char *const tls[] = {"https_proxy", "HTTPS_PROXY",
					  "all_proxy", "ALL_PROXY", NULL};

	return first_of(strncasecmp(url, "http:", 5) == 0 ? plain : tls);
}

/* Milliseconds of BLOSCCTL_RETRY; 0 unless it is a number from 0 to a day. */
static unsigned int retry_ms(void)
{
	static const char *const names[] = {"BLOSCCTL_RETRY", NULL};
	const char *text = first_of(names);
	char *end = NULL;
	double s = text ? strtod(text, &end) : 0;

	if (!text || *end || !(s >= 0) || s > 86400)
		return 0;
	return s < 0.001 ? UINT_MAX : (unsigned int)(s * 1000);
}

/*
 * The system's certificates, if libcurl does not find them: a libcurl in a
 * Python wheel may have been built for another distribution.  NULL: libcurl
 * finds them.
 */
static const char *certificates(void)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt", /* Fedora */
		"/etc/ssl/ca-bundle.pem",	    /* openSUSE */
		NULL};
	const struct b2f_curl *curl = b2f_curl();
	const char *known =
		curl ? curl->version_info(CURLVERSION_NOW)->cainfo : NULL;
	const char *const *place = places;

	if (!known || access(known, R_OK) == 0)
		return NULL;
	while (*place && access(*place, R_OK) != 0)
		place++;
	return *place;
}

struct b2f_way b2f_way_to(const char *url)
{
	static const char *const without[] = {"no_proxy", "NO_PROXY", NULL};
	static const char *const files[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE",
					    "SSL_CERT_FILE", NULL};

	const char *ca_file = first_of(files);

	return (struct b2f_way){
		.proxy = proxy_to(url ? url : "https:"),
		.no_proxy = first_of(without),
		.ca_file = ca_file ? ca_file : certificates(),
		.retry_ms = retry_ms(),
	};
}
