/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * s3_list.h - one page of a listing of an object store (ListObjectsV2)
 *
 * Layer: remote.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_REMOTE_S3_LIST_H
#define B2F_REMOTE_S3_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "b2frame/remote.h"
#include "base/why.h"

struct b2f_s3_item {
	/* The whole key, or the common prefix with its slash; malloc'ed. */
	char *key;
	bool is_prefix;
	struct b2f_remote_stat st;
};

struct b2f_s3_page {
	struct b2f_s3_item *items;
	size_t n;
	size_t room;
	/* For the request of the next page; NULL: this is the last one. */
	char *token;
};

/*
 * Parses the @n bytes of XML at @xml.  Returns 0, B2F_ECORRUPT (not a listing,
 * or incomplete) or -ENOMEM.  End with b2f_s3_page_fini(), also after an error.
 */
B2F_MUST_CHECK
int b2f_s3_page_parse(const uint8_t *xml, size_t n, struct b2f_s3_page *out,
		      struct b2f_why *why);
void b2f_s3_page_fini(struct b2f_s3_page *page);

#endif
