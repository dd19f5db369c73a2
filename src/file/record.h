/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.h - records of chunks that were written to and are not encoded yet
 *
 * A record holds the pages (4 KiB) of a chunk that were written, and says where
 * the others come from: the *base*, which is the chunk as it was.
 *
 *   OPEN   may be written to
 *   BUSY   is being encoded: it can be read, but a writer of it waits
 *
 * When it is encoded, its chunk is in a new file and the record goes.  If that
 * failed, it is OPEN again.
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
	/* The commit under way waits for it. */
	bool in_commit;
	/* Decoded bytes of the chunk that it becomes. */
	uint32_t nbytes;
	/* The base: its entry, its length, how much of it counts. */
	uint64_t base_raw;
	uint32_t base_nbytes;
	uint32_t base_limit;
	/* Pages.  The lock is held to copy from or to them. */
	pthread_rwlock_t lock;
	/* Room for a whole chunk; what is not written holds garbage. */
	uint8_t *data;
	uint32_t room;
	/* A bit for each page that has been written. */
	uint64_t *valid;
	uint32_t nvalid;
	/* Where the last page ends that ever was. */
	uint32_t used;
	/*
	 * All of the room may be in memory, so it counts as a whole from the
	 * first page on.  Constant.
	 */
	bool in_memory;
	/* BUSY, for the budget, which has no lock of the file. */
	atomic_bool busy;
	/* The rest is under budget.lock; bytes under file.lock as well. */
	/* Bytes that the budget counts for it. */
	uint64_t bytes;
	/* The last try to encode it failed; the data are still here. */
	bool failed;
	/* In the list of the budget: from the first byte it counts for. */
	bool listed;
	struct b2f_record *older;
	struct b2f_record *newer;
};

static inline bool b2f_record_has(const struct b2f_record *rec, uint32_t page)
{
	return rec->valid[page / 64] >> (page % 64) & 1;
}

/* Where the page that byte @at is in ends, or @end if that is before. */
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

/* What b2f_record_get() does if there is no record. */
enum b2f_record_make {
	B2F_RECORD_NONE,
	B2F_RECORD_SPARSE,
	/* Most of the chunk is going to be written. */
	B2F_RECORD_DENSE,
};

/*
 * The record of chunk @nchunk, waiting while it is BUSY; makes one if there is
 * none, as @make says.  The file is locked; the lock is given up while waiting.
 * Returns 0 (*@out is NULL if there is none), -ENOMEM, or B2F_ETOOBIG (logged): it
 * takes more memory to encode the chunk than there may be.
 */
B2F_MUST_CHECK
int b2f_record_get(struct b2f_file *file, uint64_t nchunk,
		   enum b2f_record_make make, struct b2f_record **out);

/* The most memory that it takes to encode a chunk of @nbytes. */
static inline uint64_t b2f_record_memory(uint32_t nbytes)
{
	/* The data, the chunk of them, the chunk before, and filters' buffers. */
	return 4 * (uint64_t)nbytes;
}

/* Takes @rec out of the table, and frees its memory.  The file is locked. */
void b2f_record_remove(struct b2f_record *rec);

/* Does so with those of chunk @first and of all behind it. */
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
 * Copies the @size bytes at @buf to @start of the chunk.  @edges tells of pages
 * that were not written before.
 */
void b2f_record_write(struct b2f_record *rec, uint32_t start,
		      const uint8_t *buf, uint32_t size,
		      const struct b2f_record_edges *edges);

/* Pages from the end of @size bytes on are not written any more. */
void b2f_record_cut(struct b2f_record *rec, uint32_t size);

/* True if every page of @nbytes is written. */
bool b2f_record_is_full(const struct b2f_record *rec, uint32_t nbytes);

/*
 * Changes the @size bytes at @data, those from @off on of the base, to what the
 * record says: written pages, and zeros where the base does not count.  It is
 * BUSY, or its pages are locked.
 */
void b2f_record_overlay(const struct b2f_record *rec, uint32_t off,
			uint32_t size, uint8_t *data);

#endif
