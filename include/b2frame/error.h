/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error.h - the error numbers of libb2frame
 *
 * Every function that can fail returns 0 (or a count >= 0) on success and a
 * negative errno on failure.  An errno of the backing store (ENOSPC, EACCES,
 * EMFILE, ...) passes through unchanged.  Errors of the format itself have the
 * names below.  Two of them share their number with errors of other kinds:
 * B2F_ENOTFRAME is the -EINVAL of an argument that makes no sense, and
 * B2F_EUNSUPPORTED the -ENOTSUP of a filesystem.
 *
 * On error, out-parameters and objects are untouched, unless a function says
 * otherwise.
 *
 * Layer: public (made by base/).  Threads: any.
 */
#ifndef B2FRAME_ERROR_H
#define B2FRAME_ERROR_H

#include <errno.h>
#include <stdbool.h>

#include "b2frame/api.h"

B2F_BEGIN_API

/* The result of the function that follows must not be ignored. */
#define B2F_MUST_CHECK __attribute__((warn_unused_result))

/* The stored bytes break a rule of the format; no data can be got from them. */
#define B2F_ECORRUPT (-EBADMSG)

/* Well formed, but needs a codec, filter or version that is not built in. */
#define B2F_EUNSUPPORTED (-ENOTSUP)

/* A size beyond what the format or this machine can hold. */
#define B2F_ETOOBIG (-EFBIG)

/* The file or directory is no Blosc2 frame. */
#define B2F_ENOTFRAME (-EINVAL)

/*
 * Is @err one of the four above?  It comes from the stored bytes, so that a
 * second look would fail, too; any other error tells nothing about them.
 */
bool b2f_is_format_error(int err);

/*
 * The outcome of a change on a server is unknown: the server may have made it,
 * or may still make it.  Either the old object is there, whole, or the new one.
 */
#define B2F_EINDOUBT (-EINPROGRESS)

/*
 * Returns the message of strerror(3) for @err, an error of this library, or a
 * better one where the errno means something else.  Do not free it.
 */
const char *b2f_strerror(int err);

B2F_END_API

#endif
