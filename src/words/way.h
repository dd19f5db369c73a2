/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * way.h - proxy, certificates and retries, from the environment
 *
 * The variables are those of curl(1): http_proxy (in small letters only: in a
 * CGI program HTTP_PROXY is a header of the client), https_proxy or
 * HTTPS_PROXY, else all_proxy or ALL_PROXY; no_proxy or NO_PROXY.
 * AWS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE is the file of certificates.
 * For BLOSCCTL_RETRY seconds bloscctl repeats a failed request.  An empty
 * variable counts as not set.
 *
 * Layer: words, below both programs.  Threads: main only, before others start.
 */
#ifndef B2F_WORDS_WAY_H
#define B2F_WORDS_WAY_H

/* NULL: not set.  Strings belong to the environment, or are constant. */
struct b2f_way {
	/* May have a user name and a password. */
	const char *proxy;
	/* Hosts to reach without the proxy, comma-separated; "*": all. */
	const char *no_proxy;
	/* NULL: the certificates that libcurl knows. */
	const char *ca_file;
	/*
	 * For how long bloscctl repeats requests, ms; 0: the library's default;
	 * UINT_MAX: not at all.
	 */
	unsigned int retry_ms;
};

/* Returns the settings for the server of @url, or for AWS if it is NULL. */
struct b2f_way b2f_way_to(const char *url);

#endif
