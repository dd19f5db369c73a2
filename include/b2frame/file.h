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
 * Makes a file of @frame, which it takes over (also the closing) if it
 * succeeds.  Close *@out with b2f_file_close().
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
 * Has @file, of which there is no reader yet, stay with the version of the frame
 * that was opened: when that cannot be read because another one has replaced it,
 * reads return -ESTALE, where they would go on with the other one.  It ends with
 * b2f_file_allow_write().
 */
void b2f_file_stay(struct b2f_file *file);

/* Closes the file once nothing decodes for it any more.  NULL does nothing. */
void b2f_file_close(struct b2f_file *file);

/* Decoded bytes of the file. */
uint64_t b2f_file_size(struct b2f_file *file);

/*
 * b2f_frame_npy_header() of the frame of @file as it is now.  *@out is
 * malloc'ed: free() it.
 */
B2F_MUST_CHECK
int b2f_file_npy_header(struct b2f_file *file, uint8_t **out, size_t *len);

/* b2f_frame_is_npy() of the frame of @file as it is now. */
bool b2f_file_is_npy(struct b2f_file *file);

/*
 * The frame of @file, as it was opened or refreshed; stays @file's.  Changes
 * that were written through @file are not in it.
 */
struct b2f_frame *b2f_file_frame(struct b2f_file *file);

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
 * Returns how many bytes were read: @size, or fewer at the end of the file, 0
 * from there on; or B2F_ECORRUPT, B2F_EUNSUPPORTED, -ENOMEM, or an errno of the
 * store if any of them cannot be read (a short count always means the end: a
 * kernel that gets one takes the file to be shorter).  The cause is logged.
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
 * until b2f_file_view_release(), which is due if @view->nbytes bytes >= 0 are
 * returned.
 */
B2F_MUST_CHECK
ssize_t b2f_file_view(struct b2f_file *file, struct b2f_stream *stream,
		      size_t size, uint64_t off, struct b2f_view *view);

/* Gives the bytes back and zeroes @view.  A zeroed @view does nothing. */
void b2f_file_view_release(struct b2f_view *view);

/*
 * The first position >= @off that is data; only chunks that the index says are
 * zeros are holes.  Returns -ENXIO if there is none, or as b2f_file_pread().
 */
B2F_MUST_CHECK
int64_t b2f_file_seek_data(struct b2f_file *file, uint64_t off);

/*
 * The first position >= @off that is in a hole; the end of the file is one.
 * Returns -ENXIO if @off is not inside the file, or as b2f_file_pread().
 */
B2F_MUST_CHECK
int64_t b2f_file_seek_hole(struct b2f_file *file, uint64_t off);

B2F_END_API

#endif
