/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cachedir.h - a directory that keeps what came from servers
 *
 * Stored bytes, as they came, in cells (cache_cell.h): one file per cell, called by
 * the hash of its object's version and its number, in one of 256 directories of
 * DIR/b2fcache-1.  The disk is all that is known: several programs share a
 * directory without a word to each other, and each may be killed at any time.  A
 * file is written by a temporary name and renamed, never synced, and believed only
 * if its sum is right.
 *
 * The time of a file is that of its last use, to the minute.  A program that has
 * written the 32nd part of what is allowed looks at all files, and deletes those
 * that were not used for longest; the others keep out of its way meanwhile.
 *
 * A disk that is full or read-only ends the writing for a while, with one message.  The cache
 * never makes a read fail.
 *
 * Layer: remote.  May include: base/ store/.  Threads: any, but b2f_cachedir_close().
 */
#ifndef B2F_REMOTE_CACHEDIR_H
#define B2F_REMOTE_CACHEDIR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "b2frame/remote.h"
#include "base/attr.h"

struct b2f_cachedir;

/*
 * Opens, or makes, the cache in the directory @dir, for up to @max_bytes on
 * disk; after an error of the disk, it is left alone for @rest_ms.  Logs
 * obstacles as a warning.  Returns 0, -EACCES (it belongs to another user, or
 * others may look into it), -ENOMEM or an errno of the disk.
 */
B2F_MUST_CHECK
int b2f_cachedir_open(const char *dir, uint64_t max_bytes,
		      unsigned int rest_ms, const struct b2f_log *log,
		      struct b2f_cachedir **out);

/* NULL does nothing. */
void b2f_cachedir_close(struct b2f_cachedir *cache);

/* Bytes of an object's version, which @name tells from all others. */
struct b2f_cachedir_range {
	const char *name;
	uint64_t off;
	/* Not 0. */
	size_t n;
};

/* Is it likely that the first of them are there?  Reads no data. */
bool b2f_cachedir_may_have(struct b2f_cachedir *cache,
			   const struct b2f_cachedir_range *range);

/*
 * Copies @range to @buf, and its version to @version.  Returns how many bytes these
 * are, fewer at the end of the object only; or -ENOENT, with anything in @buf.
 */
ssize_t b2f_cachedir_get(struct b2f_cachedir *cache,
			 const struct b2f_cachedir_range *range, uint8_t *buf,
			 struct b2f_remote_stat *version);

/* Removes all of it; returns whether there was anything. */
bool b2f_cachedir_drop(struct b2f_cachedir *cache,
		       const struct b2f_cachedir_range *range);

/* Its directory, for messages. */
const char *b2f_cachedir_path(const struct b2f_cachedir *cache);

/* Keeps the bytes @buf of @range, of an object in @version. */
void b2f_cachedir_put(struct b2f_cachedir *cache,
		      const struct b2f_cachedir_range *range,
		      const struct b2f_remote_stat *version, const uint8_t *buf);

#endif
