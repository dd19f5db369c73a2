/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * way.h - the way to a server, as the environment tells it: a proxy, certificates
 *
 * The variables are those of curl(1): http_proxy (in small letters only, as a server
 * program's HTTP_PROXY is the header of a client), https_proxy or HTTPS_PROXY, else
 * all_proxy or ALL_PROXY; no_proxy or NO_PROXY.  AWS_CA_BUNDLE, CURL_CA_BUNDLE or
 * SSL_CERT_FILE names the file of certificates; BLOSCCTL_RETRY tells for how many
 * seconds bloscctl repeats a request.  An empty variable counts as not set.
 *
 * Layer: words, below both programs.  Threads: main only, before there are others.
 */
#ifndef B2F_WORDS_WAY_H
#define B2F_WORDS_WAY_H

/* NULL: not told.  All belong to the environment, or last as long. */
struct b2f_way {
	/* A name and a password may be in it. */
	const char *proxy;
	/* Hosts that are reached without it, with commas between them; "*": all. */
	const char *no_proxy;
	/* NULL: the certificates that libcurl knows. */
	const char *ca_file;
	/*
	 * For how long bloscctl asks again, ms; 0: as the library does; UINT_MAX: not
	 * at all.
	 */
	unsigned int retry_ms;
};

/* To the server of a URL, or at the endpoint @url; NULL: AWS. */
struct b2f_way b2f_way_to(const char *url);

#endif
