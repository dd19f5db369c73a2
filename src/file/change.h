/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * change.h - changes to the chunks of a file
 *
 * part.c changes their bytes, size.c their number.  Neither knows what the file
 * shows: shape.h does.
 *
 * Layer: file.  May include: base/ frame/.  Threads: the caller holds the
 * write_lock, and file.lock only where that is said.
 */
#ifndef B2F_FILE_CHANGE_H
#define B2F_FILE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct b2f_file;

/* A write within one chunk. */
struct b2f_part {
	uint64_t nchunk;
	/* First byte in the chunk, and number of bytes. */
	uint32_t start;
	uint32_t size;
	/* The rest of the chunk is likely to be written, too. */
	bool dense;
	const uint8_t *buf;
};

/* Writes @part.  Returns 0 or as b2f_file_pwrite(). */
B2F_MUST_CHECK
int b2f_part_write(struct b2f_file *file, const struct b2f_part *part);

/*
 * Writes [@off, @off + @size) of the stored data, which are long enough.
 * Returns the number of bytes written; if they are fewer than @size, *@err is
 * the cause.
 */
uint64_t b2f_part_write_range(struct b2f_file *file, const uint8_t *buf,
			      uint64_t size, uint64_t off, int *err);

/* Like b2f_record_drop_needless(), for a file that is not locked. */
void b2f_part_drop_unwritten(struct b2f_file *file, uint64_t nchunk);

/* Makes all data of chunk @nchunk dirty.  Returns as b2f_part_write(). */
B2F_MUST_CHECK
int b2f_part_rewrite_chunk(struct b2f_file *file, uint64_t nchunk);

/* size.c */

/* Keeps positions, and sums of them, within off_t. */
#define B2F_SIZE_LIMIT (UINT64_C(1) << 62)

/* Cuts or extends the stored data.  Returns as b2f_file_truncate(). */
B2F_MUST_CHECK
int b2f_size_set(struct b2f_file *file, uint64_t size);

/* Extends the stored data with zeros to @size.  The file is locked. */
B2F_MUST_CHECK
int b2f_size_grow(struct b2f_file *file, uint64_t size);

#endif
