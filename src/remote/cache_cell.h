/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_cell.h - a cell: 256 KiB of one version of an object, as far as they came
 *
 * The file of a cell is written once, as a whole; all integers little endian:
 *
 *   8   "b2fcell1"
 *   8   XXH3-64 of all that follows
 *   8   which cell of the object
 *   8   size of the object
 *   8   its time, seconds since 1970
 *   4   bytes of the name, and its bytes
 *   4   bytes of the ETag, and its bytes
 *   4   extents, and of each its first byte and its end, in the cell (4, 4)
 *   .   their bytes
 *
 * The name says which version of which object it is, so that a file that was renamed
 * is no answer.
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

/* A longer file is no cell. */
#define B2F_CELL_FILE_MAX (B2F_CELL_SIZE + 16384)

#define B2F_CELL_EXTENTS_MAX 64

/* Sorted by @begin, and apart from each other. */
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
 * Reads the @size bytes at @raw as cell @number of @name.  Returns 0 or
 * B2F_ECORRUPT, also if they are another cell's.
 */
B2F_MUST_CHECK
int b2f_cell_parse(const uint8_t *raw, size_t size, const char *name,
		   uint64_t number, struct b2f_cell *out);

/* The bytes of @cell in [@begin, @end), or NULL if it has not all of them. */
const uint8_t *b2f_cell_find(const struct b2f_cell *cell, uint32_t begin,
			     uint32_t end);

/* Bytes to put into a cell. */
struct b2f_cell_piece {
	const char *name;
	uint64_t number;
	const struct b2f_remote_stat *version;
	uint32_t begin;
	/* Not 0; the extent ends in the cell. */
	uint32_t n;
	const uint8_t *bytes;
};

/*
 * Makes the file of a cell with @piece, and what @old has of the same version; NULL:
 * nothing.  *@out is malloc'ed.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_cell_make(const struct b2f_cell *old, const struct b2f_cell_piece *piece,
		  uint8_t **out, size_t *size);

#endif
