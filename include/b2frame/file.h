/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - a frame as a plain file: bytes at any position
 *
 * Layer: public (made by file/).
 *
 * Threads: every function may be called from any thread, but a *_free() or
 * *_close() only when no other thread uses the object any more.
 */
#ifndef B2FRAME_FILE_H
#define B2FRAME_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "b2frame/api.h"
#include "b2frame/frame.h"
#include "b2frame/runtime.h"

B2F_BEGIN_API

struct b2f_file;
struct b2f_stream;

/*
 * Makes a file of @frame.  On success the file owns @frame and closes it; on an
 * error @frame stays the caller's.  Close *@out with b2f_file_close().
 *
 * The file of an array has its items in C order, not in the order of the
 * chunks.  An array that was made from a .npy file has that header first
 * (b2f_frame_is_npy()).
 *
 * Returns 0, -ENOMEM, or B2F_ECORRUPT (an array whose chunks do not fit its
 * shape; the cause was logged when the frame was opened).
 */
B2F_MUST_CHECK
int b2f_file_open(struct b2f_runtime *runtime, struct b2f_frame *frame,
		  struct b2f_file **out);

/*
 * Has @file stay with its version of the frame: once another version has
 * replaced it, reads that fail return -ESTALE instead of continuing with the
 * new version, and changes are made to the old one.  Lasts until
 * b2f_file_allow_write(), after which it may be called again.  Takes no lock.
 */
void b2f_file_stay(struct b2f_file *file);

/* Closes the file once nothing decodes for it any more.  NULL does nothing. */
void b2f_file_close(struct b2f_file *file);

/* Decoded bytes of the file. */
uint64_t b2f_file_size(struct b2f_file *file);

/*
 * Returns b2f_frame_npy_header() of the current frame of @file.  *@out is
 * malloc'ed: free() it.
 */
B2F_MUST_CHECK
int b2f_file_npy_header(struct b2f_file *file, uint8_t **out, size_t *len);

/* Returns b2f_frame_is_npy() of the current frame of @file. */
bool b2f_file_is_npy(struct b2f_file *file);

/*
 * Returns the frame of @file as it was opened or refreshed, without changes
 * that were written through @file.  @file owns it.
 */
struct b2f_frame *b2f_file_frame(struct b2f_file *file);

/*
 * The same while other threads may refresh @file; end the reference with
 * b2f_frame_close().
 */
struct b2f_frame *b2f_file_frame_ref(struct b2f_file *file);

/*
 * Makes a stream: a reader whose sequential reads are detected.  Free *@out
 * with b2f_stream_free() before the file is closed.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_stream_new(struct b2f_file *file, struct b2f_stream **out);

/* NULL does nothing. */
void b2f_stream_free(struct b2f_stream *stream);

/*
 * Reads up to @size bytes at @off into @buf.  @stream may be NULL: then
 * nothing is decoded ahead.
 *
 * Returns the number of bytes read: @size, or fewer at the end of the file, 0
 * from there on; or B2F_ECORRUPT, B2F_EUNSUPPORTED, -ENOMEM, or an errno of the
 * store if any byte cannot be read (never a short count: the kernel takes it
 * for the end of the file).  The cause is logged.
 */
B2F_MUST_CHECK
ssize_t b2f_file_pread(struct b2f_file *file, struct b2f_stream *stream,
		       void *buf, size_t size, uint64_t off);

/* Bytes of a file, pinned in the cache.  Zero-initialize it. */
struct b2f_view {
	struct iovec *iov;
	size_t niov;
	/* Sum of all iov_len. */
	size_t nbytes;
	/* Private to the library. */
	void *pins;
};

/*
 * Like b2f_file_pread(), but without a copy: @view->iov points to the bytes
 * until b2f_file_view_release(), which the caller owes unless an error is
 * returned.
 */
B2F_MUST_CHECK
ssize_t b2f_file_view(struct b2f_file *file, struct b2f_stream *stream,
		      size_t size, uint64_t off, struct b2f_view *view);

/* Gives the bytes back and zeroes @view.  A zeroed @view does nothing. */
void b2f_file_view_release(struct b2f_view *view);

/*
 * Returns the first position >= @off of data.  A chunk is a hole if the index
 * says that it is zeros.  Returns -ENXIO if no data follow, or as
 * b2f_file_pread().
 */
B2F_MUST_CHECK
int64_t b2f_file_seek_data(struct b2f_file *file, uint64_t off);

/*
 * Returns the first position >= @off in a hole; the end of the file counts as a
 * hole.  Returns -ENXIO if @off is not inside the file, or as b2f_file_pread().
 */
B2F_MUST_CHECK
int64_t b2f_file_seek_hole(struct b2f_file *file, uint64_t off);

B2F_END_API

#endif
