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
#include "file/head.h"

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
	/* NULL if the file was never writable. */
	struct b2f_writer *writer;
	/* See struct b2f_gate. */
	unsigned int round;
};

void b2f_reading_begin(struct b2f_file *file, struct b2f_reading *out);
void b2f_reading_end(struct b2f_reading *r);

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

/* unit.c */

/*
 * Pins unit @unit of the chunk @head in *@out,
 * decoding it if it is not in the cache.  Returns as b2f_frame_decode_unit().
 */
B2F_MUST_CHECK
int b2f_unit_pin(const struct b2f_reading *r, struct b2f_head *head,
		 uint32_t unit, struct b2f_cache_ref *out);

/*
 * For a small read of a chunk that no other read is likely to follow: pins only
 * the excerpt of unit @unit with the @size bytes at *@start, which becomes
 * their place in @out.  Returns false if the whole unit has to be pinned.
 */
bool b2f_unit_pin_excerpt(const struct b2f_reading *r, struct b2f_head *head,
			  uint32_t unit, uint32_t *start, uint32_t size,
			  struct b2f_cache_ref *out);

/*
 * Loads the units of [@start, @end) of the chunk @src that are not in the
 * cache; @at_once: several with one read of all stored bytes.  Returns whether
 * there were any; errors are logged.
 */
bool b2f_unit_load(const struct b2f_reading *r, const struct b2f_source *src,
		   uint64_t start, uint64_t end, bool at_once);

struct b2f_cache_key b2f_unit_key(const struct b2f_reading *r,
				  const struct b2f_loaded *loaded,
				  uint32_t unit);

#endif
