/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * s3_error.h - the errors of an object store
 *
 * Layer: remote.  May include: base/.  Threads: any.
 */
#ifndef B2F_REMOTE_S3_ERROR_H
#define B2F_REMOTE_S3_ERROR_H

#include <stddef.h>

#include "base/why.h"

/* Room for a code, as "NoSuchKey", and its 0. */
#define B2F_S3_CODE_SIZE 48

/*
 * Finds the code in the @n bytes of XML at @body, which may be cut off; "" if
 * there is none.  The message is not used: it may quote the signed request.
 */
void b2f_s3_error_code(const char *body, size_t n, char out[B2F_S3_CODE_SIZE]);

/* Returns the errno of a known @code, and sets @why; or 0. */
int b2f_s3_error_explain(const char *code, struct b2f_why *why);

#endif
