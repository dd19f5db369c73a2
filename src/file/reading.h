/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reading.h - one reader of a file that may be changed meanwhile
 *
 * Layer: file.  May include: base/ frame/ run/ (and what these show of chunk/).
 * Threads: a reading belongs to one thread, or to those that it has called.
 */
#ifndef B2F_FILE_READING_H
#define B2F_FILE_READING_H

#include "file/file_state.h"
#include "frame/frame_chunk.h"

/*
 * A reader's snapshot, from its begin to its end: one version of the frame,
 * whose chunk files are not deleted meanwhile.
 */
struct b2f_reading {
	struct b2f_file *file;
	/* Holds a reference. */
	struct b2f_frame *frame;
	uint64_t version;
	uint64_t cache_id;
	/* Size of the file at the beginning. */
	uint64_t size;
	/* The reader is sequential: it needs each unit once. */
	bool in_order;
	/* The thread has a loan of the cache for decoding (run/cache.h). */
	bool has_loan;
	/* The file has half an array, which is not to be read. */
	bool is_half;
	/* Writer whose gate is held; NULL if the file was never writable. */
	struct b2f_writer *writer;
};

void b2f_reading_begin(struct b2f_file *file, struct b2f_reading *out);
void b2f_reading_end(struct b2f_reading *r);

/* Where the bytes from some position on come from. */
struct b2f_source {
	/* The chunk, as long as the file wants it. */
	struct b2f_frame_span span;
	/* Entry of the chunk, and decoded bytes of the stored chunk. */
	uint64_t raw;
	uint32_t nbytes;
	/* Bytes from the position on that come from there; else from ... */
	uint32_t size;
	/* ... this record (holds a reference) or, without one, are zeros. */
	struct b2f_record *record;
	bool is_zeros;
	/* The whole chunk is zeros by its entry, and has no record. */
	bool is_hole;
};

/* Reads with @r.  Returns a negative errno if it failed. */
typedef int64_t b2f_reading_fn(void *arg, struct b2f_reading *r);

/*
 * Calls @fn with @arg and a reading of @file; again, a few times, if it fails
 * because another program changes the frame.  Returns the last result of @fn.
 */
int64_t b2f_reading_run(struct b2f_file *file, b2f_reading_fn *fn, void *arg);

/*
 * Finds where the bytes from @off (< size) on come from.  The caller drops the
 * reference to @out->record.  Returns as b2f_frame_locate(), or -ESTALE: @r is
 * outdated.
 */
B2F_MUST_CHECK
int b2f_reading_find(const struct b2f_reading *r, uint64_t off,
		     struct b2f_source *out);

/*
 * Reads [@off, @off + @size) of the chunk that @rec replaces into @buf, by way
 * of the cache; @has_loan: see struct b2f_reading.  Returns as
 * b2f_file_pread().
 */
B2F_MUST_CHECK
int b2f_reading_copy_base(const struct b2f_record *rec, uint32_t off,
			  uint8_t *buf, uint32_t size, bool has_loan);

/* head.c */

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
	/* The following fields are under the lock of struct b2f_open_chunks. */
	/* A thread loads it; others wait.  Then the error of the load. */
	bool is_loading;
	int err;
	struct b2f_object object;
	unsigned int nusers;
	bool is_open;
	/* The file stays open: the table of open chunks has a reference. */
	bool is_kept;
};

/*
 * The head of the chunk @src, from the table or from the store.  Give *@out
 * back with b2f_head_put().  Returns as b2f_frame_load().
 */
B2F_MUST_CHECK
int b2f_head_get(const struct b2f_reading *r, const struct b2f_source *src,
		 struct b2f_head **out);

/*
 * Replaces *@head, the head of the previous piece or NULL, by the head of @src,
 * often the same.  On an error *@head becomes NULL.
 */
B2F_MUST_CHECK
int b2f_head_next(const struct b2f_reading *r, const struct b2f_source *src,
		  struct b2f_head **head);
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

/* unit.c */

/*
 * Pins unit @unit of the chunk @head in *@out,
 * decoding it if it is not in the cache.  Returns as b2f_frame_decode_unit().
 */
B2F_MUST_CHECK
int b2f_unit_pin(const struct b2f_reading *r, struct b2f_head *head,
		 uint32_t unit, struct b2f_cache_ref *out);

/*
 * Loads units [@first, @last] that are not in the cache; @at_once: several with
 * one read of all stored bytes.  Returns whether there were any; errors are
 * logged.
 */
bool b2f_unit_load(const struct b2f_reading *r, struct b2f_head *head,
		   uint32_t first, uint32_t last, bool at_once);

struct b2f_cache_key b2f_unit_key(const struct b2f_reading *r,
				  const struct b2f_loaded *loaded,
				  uint32_t unit);

#endif
