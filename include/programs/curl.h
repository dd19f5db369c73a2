/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * curl.h - libcurl, which is loaded when it is needed first; answers in XML
 *
 * libcurl brings some thirty libraries with it.  Programs that were linked with
 * it would take several times as long to start, also to read a local file.
 *
 * Layer: for bloscfs and bloscctl alone (made by remote/).  Threads: any; the
 * first call loads the library.
 */
#ifndef B2F_PROGRAMS_CURL_H
#define B2F_PROGRAMS_CURL_H

#include <curl/curl.h>

#include "b2frame/error.h"

/* The functions, without their prefix curl_. */
#define B2F_CURL_CALLS(X)                                                      \
	X(easy_cleanup)                                                        \
	X(easy_escape)                                                         \
	X(easy_getinfo)                                                        \
	X(easy_header)                                                         \
	X(easy_init)                                                           \
	X(easy_perform)                                                        \
	X(easy_reset)                                                          \
	X(easy_setopt)                                                         \
	X(easy_strerror)                                                       \
	X(easy_unescape)                                                       \
	X(free)                                                                \
	X(getdate)                                                             \
	X(global_init)                                                         \
	X(multi_add_handle)                                                    \
	X(multi_cleanup)                                                       \
	X(multi_info_read)                                                     \
	X(multi_init)                                                          \
	X(multi_perform)                                                       \
	X(multi_poll)                                                          \
	X(multi_remove_handle)                                                 \
	X(multi_setopt)                                                        \
	X(multi_wakeup)                                                        \
	X(slist_append)                                                        \
	X(slist_free_all)                                                      \
	X(version_info)

struct b2f_curl {
#define B2F_CURL_POINTER(name) __typeof__(&curl_##name) name;
	B2F_CURL_CALLS(B2F_CURL_POINTER)
#undef B2F_CURL_POINTER
};

/* NULL if libcurl cannot be loaded; b2f_curl_error() says why. */
const struct b2f_curl *b2f_curl(void);

/* The reason; "" after success. */
const char *b2f_curl_error(void);

/*
 * Returns @text with all but RFC 3986's unreserved characters encoded, as a
 * signature requires; malloc'ed.  NULL: no memory, or no libcurl.
 */
char *b2f_curl_escape(const char *text);

/* An element of an answer, at its end. */
struct b2f_xml_element {
	/* 1: the root. */
	unsigned int depth;
	/* Names: of the root, of what is below it, and of the element itself. */
	const char *root;
	const char *item;
	const char *name;
	/* The text behind its last element; NULL: longer than 64 KiB. */
	const char *text;
};

typedef void b2f_xml_fn(void *arg, const struct b2f_xml_element *element);

/*
 * Calls @fn for the elements of the @n bytes at @xml; keeps no secret in
 * memory.  Returns 0, B2F_ECORRUPT (no complete document) or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_xml_parse(const void *xml, size_t n, b2f_xml_fn *fn, void *arg);

#endif
