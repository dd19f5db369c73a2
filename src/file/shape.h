/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shape.h - changes of a plain file, and of an array
 *
 * Layer: file.  May include: base/ frame/ array/.  Threads: the caller holds
 * the write_lock, and no file.lock.
 */
#ifndef B2F_FILE_SHAPE_H
#define B2F_FILE_SHAPE_H

#include "file/writer.h"

/*
 * No array can take the change: the .npy file has to become a plain frame
 * first; see b2f_relayout_to_plain().
 */
#define B2F_ERELAYOUT (-EMEDIUMTYPE)

struct b2f_shape {
	/*
	 * Like b2f_file_pwrite(), with at least one byte; or returns ERELAYOUT.
	 */
	ssize_t (*write)(struct b2f_file *file, const uint8_t *buf,
			 uint64_t size, uint64_t off);
	/* Like b2f_file_truncate(); or returns ERELAYOUT. */
	int (*resize)(struct b2f_file *file, uint64_t size);
	/* Makes [@off, @end) of the file zeros.  Returns as resize(). */
	int (*zero)(struct b2f_file *file, uint64_t off, uint64_t end);
};

/* Is the file an array whose items alone can be changed?  Locked. */
bool b2f_shape_keeps_size(const struct b2f_file *file);

extern const struct b2f_shape b2f_shape_plain;
extern const struct b2f_shape b2f_shape_array;

/*
 * Makes the whole chunk @nchunk of @file zeros, padding included.  Returns 0 or
 * an errno.
 */
B2F_MUST_CHECK
int b2f_shape_plain_zero_chunk(struct b2f_file *file, uint64_t nchunk);

static inline const struct b2f_shape *b2f_shape_of(const struct b2f_file *file)
{
	return file->frame->layout.is_array ? &b2f_shape_array : &b2f_shape_plain;
}

#endif
