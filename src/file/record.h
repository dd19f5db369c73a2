/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.h - written pages of chunks that are not encoded yet
 *
 * A record holds the written pages (4 KiB) of a chunk; its other pages come
 * from the *base*, the old chunk.
 *
 *   OPEN   may be written to
 *   BUSY   is being encoded: it can be read, but a writer of it waits
 *
 * Encoding stores the chunk in a new file and removes the record.  If encoding
 * fails, the record is OPEN again.
 *
 * Layer: file.  May include: base/ frame/.  Threads: any, with the locks that
 * each function names.
 */
#ifndef B2F_FILE_RECORD_H
#define B2F_FILE_RECORD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "base/attr.h"

struct b2f_file;
struct b2f_writer;

#define B2F_PAGE 4096u

enum b2f_record_state { B2F_RECORD_OPEN, B2F_RECORD_BUSY };

struct b2f_record {
	/* The key. */
	uint64_t nchunk;
	UT_hash_handle hh;
	atomic_uint refs;
	/* Without a reference: the file outlives its records. */
	struct b2f_file *file;
	/* Under file.lock, as the rest but the pages. */
	enum b2f_record_state state;
	/* The commit under way waits for this record. */
	bool in_commit;
	/* Decoded bytes of the new chunk, once BUSY. */
	uint32_t nbytes;
	/* The base: its entry, its length, how much of it counts. */
	uint64_t base_raw;
	uint32_t base_nbytes;
	uint32_t base_limit;
	/* Pages.  The lock is held to copy from or to them. */
	pthread_rwlock_t lock;
	/* Room for a whole chunk; unwritten pages hold garbage. */
	uint8_t *data;
	uint32_t room;
	/* A bit for each page that has been written. */
	uint64_t *valid;
	uint32_t nvalid;
	/* Highest end of a page that was ever written. */
	uint32_t used;
	/*
	 * The whole room may be in memory: it counts whole from the first page
	 * on.  Constant.
	 */
	bool in_memory;
	/* The state is BUSY; for the budget, which does not lock the file. */
	atomic_bool busy;
	/* The rest is under budget.lock; bytes under file.lock as well. */
	/* Bytes that the budget counts for this record. */
	uint64_t bytes;
	/* The last attempt to encode it failed; the data are still here. */
	bool failed;
	/* In the list of the budget, since its first byte was counted. */
	bool listed;
	struct b2f_record *older;
	struct b2f_record *newer;
};

static inline bool b2f_record_has(const struct b2f_record *rec, uint32_t page)
{
	return rec->valid[page / 64] >> (page % 64) & 1;
}

/* Returns the end of the page of byte @at, or @end if that is less. */
static inline uint32_t b2f_record_page_end(uint32_t at, uint32_t end)
{
	uint64_t next = (at / B2F_PAGE + 1) * (uint64_t)B2F_PAGE;

	return next < end ? (uint32_t)next : end;
}

static inline void b2f_record_ref(struct b2f_record *rec)
{
	atomic_fetch_add_explicit(&rec->refs, 1, memory_order_relaxed);
}

/* NULL does nothing. */
void b2f_record_unref(struct b2f_record *rec);

/* The record as it is, or NULL.  The file is locked. */
struct b2f_record *b2f_record_find(const struct b2f_writer *w, uint64_t nchunk);

/* Selects what b2f_record_get() does if there is no record. */
enum b2f_record_make {
	B2F_RECORD_NONE,
	B2F_RECORD_SPARSE,
	/* Most of the chunk is going to be written. */
	B2F_RECORD_DENSE,
};

/*
 * Gets the record of chunk @nchunk, after waiting while it is BUSY; makes one
 * if there is none, as @make says.  The file is locked; the lock is given up
 * while waiting.  Returns 0 (*@out is NULL if there is no record), -ENOMEM, or
 * B2F_ETOOBIG (logged): encoding the chunk would take too much memory.
 */
B2F_MUST_CHECK
int b2f_record_get(struct b2f_file *file, uint64_t nchunk,
		   enum b2f_record_make make, struct b2f_record **out);

/* Upper bound of the memory to encode a chunk of @nbytes. */
static inline uint64_t b2f_record_memory(uint32_t nbytes)
{
	/* The data, the new chunk, the old chunk, and buffers of filters. */
	return 4 * (uint64_t)nbytes;
}

/* Takes @rec out of the table and drops it.  The file is locked. */
void b2f_record_remove(struct b2f_record *rec);

/*
 * Removes the record of chunk @nchunk if the chunk is the same without it: one
 * that was made for a change that failed must not keep others from being
 * committed, nor the file from being clean.  The file is locked.
 */
void b2f_record_drop_needless(struct b2f_file *file, uint64_t nchunk);

/* Removes the records of chunk @first and of all behind it. */
void b2f_record_remove_from(struct b2f_writer *w, uint64_t first);

/*
 * Returns the bytes that writing to @npages more pages of @rec takes. The file
 * is locked.
 */
uint64_t b2f_record_cost(const struct b2f_record *rec, uint32_t npages);

/*
 * Contents of the first and the last page of a write, if only a part of them is
 * written.
 */
struct b2f_record_edges {
	bool has[2];
	uint8_t page[2][B2F_PAGE];
};

/*
 * Copies the @size bytes at @buf to @start of the chunk.  @edges gets the pages
 * that were not written before.
 */
void b2f_record_write(struct b2f_record *rec, uint32_t start,
		      const uint8_t *buf, uint32_t size,
		      const struct b2f_record_edges *edges);

/* Drops the written bytes behind the first @size bytes. */
void b2f_record_cut(struct b2f_record *rec, uint32_t size);

/* True if every page of @nbytes is written. */
bool b2f_record_is_full(const struct b2f_record *rec, uint32_t nbytes);

/*
 * The same, but pages of a base that was shorter than @nbytes need not be
 * written: an append that began in the middle of the chunk has reached its end.
 */
bool b2f_record_is_filled(const struct b2f_record *rec, uint32_t nbytes);

/*
 * Lays the record over @data, the @size bytes of the base from @off on: written
 * pages, and zeros where the base does not count.  @rec is BUSY, or its pages
 * are locked.
 */
void b2f_record_overlay(const struct b2f_record *rec, uint32_t off,
			uint32_t size, uint8_t *data);

#endif
