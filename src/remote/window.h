/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * window.h - one open object, with fetched and requested ranges
 *
 * A request takes as long as some hundred kilobytes need to arrive, so parts of
 * an object that are needed soon are fetched together.  Expected ranges are
 * noted, and all are fetched when the reader first needs a missing range;
 * ranges close together share a request.
 *
 * Layer: remote.  May include: base/.
 *
 * Threads: any; b2f_windows_free() when there is no reader any more.
 */
#ifndef B2F_REMOTE_WINDOW_H
#define B2F_REMOTE_WINDOW_H

#include "remote/fetch.h"

struct b2f_windows;

/*
 * Opens @version of the object @path of @remote, which must outlive it.  The
 * first miss fetches at least @ahead bytes.  @part_of as in struct
 * b2f_fetch_spec.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_windows_new(struct b2f_remote *remote, const char *path,
		    const struct b2f_remote_stat *version,
		    const struct b2f_remote_stat *part_of, size_t ahead,
		    struct b2f_windows **out);

/* NULL does nothing. */
void b2f_windows_free(struct b2f_windows *w);

/*
 * Adds the @n bytes at @off of @fetch as a window; takes ownership of @fetch.
 */
void b2f_windows_add(struct b2f_windows *w, uint64_t off, uint64_t n,
		     struct b2f_fetch *fetch);

/* Notes that the @n bytes at @off will be read soon. */
void b2f_windows_expect(struct b2f_windows *w, uint64_t off, uint64_t n);

/*
 * Reads the @n bytes at @off, which must exist; never fetches beyond @limit.
 * Returns 0 or an error of requests.
 */
B2F_MUST_CHECK
int b2f_windows_read(struct b2f_windows *w, uint64_t off, void *buf, size_t n,
		     uint64_t limit, struct b2f_why *why);

#endif
