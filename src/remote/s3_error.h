/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * s3_error.h - answers of an object store, and its errors
 *
 * Layer: remote.  May include: base/.  Threads: any.
 */
#ifndef B2F_REMOTE_S3_ERROR_H
#define B2F_REMOTE_S3_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/why.h"

/* Room for a code, as "NoSuchKey", and its 0. */
#define B2F_S3_CODE_SIZE 48

/* The parts of an answer. */
struct b2f_s3_answer {
	/* The names of the root, and of the wanted element below it. */
	char root[40];
	const char *wanted;
	/* The text of the first such element. */
	char text[2048];
	size_t n;
};

/*
 * Finds the element @wanted in the @n bytes of XML at @body.  Returns whether
 * they are a complete document; @out has what stands before its end.
 */
bool b2f_s3_find(const char *body, size_t n, const char *wanted,
		 struct b2f_s3_answer *out);

/*
 * Finds the code in the @n bytes of XML at @body, which may be cut off; "" if
 * there is none.  The message is not used: it may quote the signed request.
 */
void b2f_s3_error_code(const char *body, size_t n, char out[B2F_S3_CODE_SIZE]);

/* Returns the errno of a known @code, and sets @why; or 0. */
int b2f_s3_error_explain(const char *code, struct b2f_why *why);

/*
 * Judges the body of an answer whose good status was sent before the outcome
 * was known.  Returns 0 if it is a complete document with the root @root and an
 * ETag, which @out has; or the error in it, or -EIO.
 */
B2F_MUST_CHECK
int b2f_s3_confirm(const char *body, size_t n, const char *root,
		   struct b2f_s3_answer *out, struct b2f_why *why);

#endif
