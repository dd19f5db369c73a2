/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.h - the chunks of a file that were read: their heads, and open files
 *
 * Layer: file.  May include: base/ frame/ (and what these show of chunk/).
 * Threads: any.
 */
#ifndef B2F_FILE_HEAD_H
#define B2F_FILE_HEAD_H

#include "file/file_state.h"
#include "frame/frame_chunk.h"

struct b2f_record;

/* Where the bytes from some position on come from. */
struct b2f_source {
	/* The chunk, as long as the file wants it. */
	struct b2f_frame_span span;
	/* Entry of the chunk, and decoded bytes of the stored chunk. */
	uint64_t raw;
	uint32_t nbytes;
	/* See struct b2f_reading. */
	bool in_order;
	/* Bytes from the position on that come from there; else from ... */
	uint32_t size;
	/* ... this record (holds a reference) or, without one, are zeros. */
	struct b2f_record *record;
	bool is_zeros;
	/* The whole chunk is zeros by its entry, and has no record. */
	bool is_hole;
};

/*
 * A chunk that was read: its head, shared by the threads that decode its units,
 * and its chunk file, open while a thread uses it and for a while after.
 */
struct b2f_head {
	atomic_uint refs;
	/* Outlives all users of the head. */
	struct b2f_file *file;
	/* Holds a reference; @loaded points into it. */
	struct b2f_frame *frame;
	/* The chunk: its number, its entry, and its decoded bytes. */
	uint64_t nchunk;
	uint64_t raw;
	uint32_t nbytes;
	/* Const for all that b2f_head_get() has given it to. */
	struct b2f_loaded *loaded;
	/* The last of the small reads (nexcerpts in runtime) of it; 0: none. */
	atomic_uint excerpt;
	/* The following fields are under the lock of struct b2f_open_chunks. */
	/*
	 * A thread loads it, and others wait; afterwards @err is the error of
	 * the load.
	 */
	bool is_loading;
	int err;
	struct b2f_object object;
	unsigned int nusers;
	bool is_open;
	/* The file stays open: the table of open chunks has a reference. */
	bool is_kept;
};

/*
 * Replaces *@head, the head of the piece before or NULL, by the head of @src in
 * @frame, often the same.  Give it back with b2f_head_put().  On an error
 * *@head becomes NULL.  Returns as b2f_frame_load_want(), or -EINTR (the
 * request was cancelled while another thread loaded it).
 */
B2F_MUST_CHECK
int b2f_head_get(struct b2f_file *file, struct b2f_frame *frame,
		 const struct b2f_source *src, struct b2f_head **head);
void b2f_head_ref(struct b2f_head *head);
void b2f_head_put(struct b2f_head *head);

/* Forgets all heads, as the frame has changed. */
void b2f_head_forget_all(struct b2f_file *file);

/*
 * Returns the open chunk file of @head, for b2f_head_close().  NULL: it is not
 * needed, or cannot be opened; the read that follows reports why.
 */
const struct b2f_object *b2f_head_open(struct b2f_head *head);

/* Ends the use of @object, a result of b2f_head_open(). */
void b2f_head_close(struct b2f_head *head, const struct b2f_object *object);

/*
 * Closes the chunk files of @file (NULL: of all files): the frame has changed,
 * or chunk files were deleted.
 */
void b2f_head_close_all(struct b2f_runtime *runtime,
			const struct b2f_file *file);

#endif
