/* SPDX-License-Identifier: BSD-3-Clause */
/* curl.c - libcurl, which is loaded when it is needed first */
#include "programs/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* From 7.85 on, allowed schemes are given as strings. */
#define VERSION_MIN 0x075500

/* The two builds of Debian: with OpenSSL, and with GnuTLS. */
static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

static const struct {
	const char *name;
	size_t off;
} calls[] = {
#define CALL(name) {"curl_" #name, offsetof(struct b2f_curl, name)},
	B2F_CURL_CALLS(CALL)
#undef CALL
};

/* One for the process, as in libcurl itself; constant once it is loaded. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct b2f_curl loaded;
static char why_not[256];

static void fail(const char *reason)
{
	snprintf(why_not, sizeof(why_not), "%s", reason);
}

/* Keeps the error of the first library, the usual one. */
static void *open_any(void)
{
	size_t n = sizeof(libraries) / sizeof(libraries[0]);
	void *handle = NULL;

	for (size_t i = 0; i < n && !handle; i++) {
		handle = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
		if (!handle && i == 0)
			fail(dlerror());
	}
	return handle;
}

static bool find_calls(void *handle)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *call = dlsym(handle, calls[i].name);

		if (!call) {
			fail(dlerror());
			return false;
		}
		memcpy((char *)&loaded + calls[i].off, &call, sizeof(call));
	}
	return true;
}

static void load(void)
{
	void *handle = open_any();

	/* Never closed: libcurl keeps state until the process ends. */
	if (!handle || !find_calls(handle))
		return;
	if (loaded.version_info(CURLVERSION_NOW)->version_num < VERSION_MIN)
		fail("libcurl is older than 7.85");
	else if (loaded.global_init(CURL_GLOBAL_DEFAULT))
		fail("libcurl fails to start");
	else
		why_not[0] = '\0';
}

const char *b2f_curl_error(void)
{
	pthread_once(&once, load);
	return why_not;
}

const struct b2f_curl *b2f_curl(void)
{
	return *b2f_curl_error() ? NULL : &loaded;
}

char *b2f_curl_escape(const char *text)
{
	const struct b2f_curl *curl = b2f_curl();
	char *coded = curl ? curl->easy_escape(NULL, text, 0) : NULL;
	char *own = coded ? strdup(coded) : NULL;

	/* It may be a secret. */
	if (coded)
		explicit_bzero(coded, strlen(coded));
	if (curl)
		curl->free(coded);
	return own;
}
