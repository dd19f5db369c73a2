/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather.h - arrays whose items are not stored in C order
 *
 * Layer: file.  May include: base/ frame/ array/ run/ (and what these show of
 * chunk/).  Threads: any.
 */
#ifndef B2F_FILE_GATHER_H
#define B2F_FILE_GATHER_H

#include "array/array_cells.h"
#include "file/stream.h"

/*
 * Copies [@off, @off + @size) of what the array shows, which must not go beyond
 * its end, to @buf, for @stream if that reads in order, or NULL.  Returns as
 * b2f_file_pread(), or -ESTALE.
 */
B2F_MUST_CHECK
int b2f_gather(const struct b2f_reading *r, struct b2f_stream *stream,
	       uint8_t *buf, uint64_t size, uint64_t off);

/* Copies a range of the data as they are stored, of any frame.  Likewise. */
B2F_MUST_CHECK
int b2f_gather_stored(const struct b2f_reading *r, uint8_t *buf, uint64_t size,
		      uint64_t off);

/* Queues the blocks of [@start, @end), which a reader will want soon. */
void b2f_gather_ahead(const struct b2f_reading *r, uint64_t start,
		      uint64_t end);

#endif
