/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_cell.h - a cell: the cached bytes of 256 KiB of one version of an
 * object
 *
 * The file of a cell is written once, as a whole; all integers little endian:
 *
 *   8   "b2fcell1"
 *   8   XXH3-64 of everything that follows
 *   8   number of the cell in the object
 *   8   size of the object
 *   8   mtime of the object, seconds since 1970
 *   4   length of the name, and the name
 *   4   length of the ETag, and the ETag
 *   4   number of extents; for each its first byte and end (4, 4)
 *   .   the bytes of the extents
 *
 * The name identifies object and version, so a renamed cell file never matches.
 *
 * Layer: remote.  May include: base/.  Threads: pure functions.
 */
#ifndef B2F_REMOTE_CACHE_CELL_H
#define B2F_REMOTE_CACHE_CELL_H

#include <stddef.h>
#include <stdint.h>

#include "b2frame/remote.h"
#include "base/attr.h"

#define B2F_CELL_SIZE (UINT32_C(256) << 10)

/* A longer file is not a cell. */
#define B2F_CELL_FILE_MAX (B2F_CELL_SIZE + 16384)

#define B2F_CELL_EXTENTS_MAX 64

/* Sorted by @begin; the extents do not touch each other. */
struct b2f_cell_extent {
	uint32_t begin;
	uint32_t end;
};

struct b2f_cell {
	/* Version of the object. */
	struct b2f_remote_stat version;
	uint32_t nextents;
	struct b2f_cell_extent extents[B2F_CELL_EXTENTS_MAX];
	/* Bytes of the current extent, inside the parsed cell. */
	const uint8_t *bytes;
};

/*
 * Parses the @size bytes at @raw as cell @number of @name.  Returns 0, or
 * B2F_ECORRUPT, also if they are another cell.
 */
B2F_MUST_CHECK
int b2f_cell_parse(const uint8_t *raw, size_t size, const char *name,
		   uint64_t number, struct b2f_cell *out);

/* Returns bytes [@begin, @end) of @cell, or NULL if some are missing. */
const uint8_t *b2f_cell_find(const struct b2f_cell *cell, uint32_t begin,
			     uint32_t end);

/* Bytes to put into a cell. */
struct b2f_cell_piece {
	const char *name;
	uint64_t number;
	const struct b2f_remote_stat *version;
	uint32_t begin;
	/* At least 1; @begin + @n does not exceed the cell. */
	uint32_t n;
	const uint8_t *bytes;
};

/*
 * Makes the file of a cell from @piece and the bytes of @old, which has the
 * same version or is NULL.  *@out is malloc'ed.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_cell_make(const struct b2f_cell *old, const struct b2f_cell_piece *piece,
		  uint8_t **out, size_t *size);

#endif
