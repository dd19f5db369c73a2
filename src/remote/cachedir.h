/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cachedir.h - the cache directory for bytes from servers
 *
 * Stored bytes are kept as the server sent them, in cells (cache_cell.h): one
 * file per cell, named by the hash of its object's version and its number, in
 * one of 256 directories of DIR/b2fcache-1.  All state is on disk: several
 * programs share a directory without talking to each other, and each may be
 * killed at any time.  A file is written under a temporary name and renamed,
 * never synced, and trusted only if its checksum is right.
 *
 * The mtime of a file is the time of its last use, to the minute.  A program
 * that has written 1/32 of the limit scans all files, and deletes the least
 * recently used ones (LRU); a lock keeps other programs from scanning
 * meanwhile.
 *
 * A full or read-only disk stops writing for a while, with one message.  The
 * cache never makes a read fail.
 *
 * Layer: remote.  May include: base/ store/.  Threads: any, but
 * b2f_cachedir_close().
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
 * disk; after a disk error nothing is written for @rest_ms.  Logs errors as
 * warnings.  Returns 0, -EACCES (the directory belongs to another user, or
 * others have access to it), -ENOMEM or an errno of the disk.
 */
B2F_MUST_CHECK
int b2f_cachedir_open(const char *dir, uint64_t max_bytes,
		      unsigned int rest_ms, const struct b2f_log *log,
		      struct b2f_cachedir **out);

/* NULL does nothing. */
void b2f_cachedir_close(struct b2f_cachedir *cache);

/* A range of the object and version that @name identifies. */
struct b2f_cachedir_range {
	const char *name;
	uint64_t off;
	/* At least 1. */
	size_t n;
};

/* Is the first cell of @range likely to be cached? Reads no data. */
bool b2f_cachedir_may_have(struct b2f_cachedir *cache,
			   const struct b2f_cachedir_range *range);

/*
 * Copies @range to @buf, and its version to @version.  Returns the number of
 * bytes, fewer only at the end of the object; or -ENOENT, with anything in
 * @buf.
 */
ssize_t b2f_cachedir_get(struct b2f_cachedir *cache,
			 const struct b2f_cachedir_range *range, uint8_t *buf,
			 struct b2f_remote_stat *version);

/* Removes the cells of @range; returns whether there were any. */
bool b2f_cachedir_drop(struct b2f_cachedir *cache,
		       const struct b2f_cachedir_range *range);

/* Its directory, for messages. */
const char *b2f_cachedir_path(const struct b2f_cachedir *cache);

/* Caches the bytes @buf of @range, of an object in @version. */
void b2f_cachedir_put(struct b2f_cachedir *cache,
		      const struct b2f_cachedir_range *range,
		      const struct b2f_remote_stat *version, const uint8_t *buf);

#endif
