/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.h - inside of a file that is written to
 *
 * A chunk that was written to and is not encoded yet is *dirty*: a record holds
 * the pages (4 KiB) that were written, and says where the others come from.  A
 * record is OPEN, and may be written to, or BUSY, being encoded; then it is
 * read, but who wants to write to it waits.  When it is encoded, its chunk is
 * in a new file and the record goes.
 *
 * A chunk without a record is as the working state of the edit says, and its
 * length is that which follows from the size of the file.
 *
 * Layer: file.  May include: base/ frame/ array/ run/ (and what these show of
 * chunk/).
 *
 * Locks, in the order they are taken:
 *   writer.commit_lock   one commit at a time
 *   writer.write_lock    one change at a time; a commit holds it for a moment
 *   file.allow_lock      nobody else makes an edit, or what goes with it
 *   file.lock            the edit, the table of records and their states
 *   dirty.lock           the pages of one record
 *   runtime.dirty_lock   the list of all records, and their bytes
 * writer.gate is held by readers while they use chunk files, and by nobody who
 * waits for any of these locks but file.lock; who deletes files waits until
 * all have left who came before.
 */
#ifndef B2F_FILE_WRITER_H
#define B2F_FILE_WRITER_H

#include <uthash.h>

#include "b2frame/write.h"
#include "file/file.h"
#include "frame/edit.h"

struct b2f_chunk_writer;

#define B2F_PAGE 4096u

enum b2f_dirty_state { B2F_DIRTY_OPEN, B2F_DIRTY_BUSY };

struct b2f_dirty {
	/* The key. */
	uint64_t nchunk;
	UT_hash_handle hh;
	atomic_uint refs;
	/* Without a reference: the file outlives its records. */
	struct b2f_file *file;
	/* Under file.lock, as the rest but the pages. */
	enum b2f_dirty_state state;
	/* The commit under way waits for it. */
	bool in_commit;
	/* What it is encoded as: decoded bytes. */
	uint32_t nbytes;
	/* The chunk before: its entry, its length, how much of it counts. */
	uint64_t base_raw;
	uint32_t base_nbytes;
	uint32_t base_limit;
	/* Pages.  The lock is held to copy from or to them. */
	pthread_rwlock_t lock;
	/*
	 * Room for a whole chunk; what is not written holds garbage, and is
	 * usually not in memory.
	 */
	uint8_t *data;
	uint32_t room;
	/* A bit for each page that has been written. */
	uint64_t *valid;
	uint32_t nvalid;
	/*
	 * All of the room may be in memory, so it counts as a whole from the
	 * first page on.  Constant.
	 */
	bool is_whole;
	/* What it counts for in the runtime's dirty bytes; its dirty_lock too. */
	uint64_t bytes;
	/* It is in the runtime's list: from the first byte it counts for. */
	bool listed;
	/* For who looks for something to encode without the file's lock. */
	atomic_bool busy;
	/* The rest is under the runtime's dirty_lock. */
	/* The last try to encode it failed; the data are still here. */
	bool failed;
	/* In the runtime's list, oldest first. */
	struct b2f_dirty *older;
	struct b2f_dirty *newer;
};

/* Does a file begin like a .npy file? */
enum b2f_npy_hint { B2F_NPY_UNKNOWN, B2F_NPY_NO, B2F_NPY_MAYBE };

struct b2f_writer {
	struct b2f_write_options options;
	pthread_mutex_t commit_lock;
	pthread_mutex_t write_lock;
	pthread_rwlock_t gate;
	/* What is known of the first bytes.  Under write_lock. */
	_Atomic enum b2f_npy_hint hint;
	/* Bytes of records that could not be encoded.  Under dirty_lock. */
	uint64_t stuck_bytes;
	/* Its part of the runtime's hole_bytes.  Likewise. */
	uint64_t hole_bytes;
	/* A record is not BUSY any more; with file.lock. */
	pthread_cond_t changed;
	/* The rest is under file.lock. */
	/* NULL if somebody else made the frame one that cannot be edited. */
	struct b2f_edit *edit;
	/* All records; a uthash. */
	struct b2f_dirty *dirty;
	size_t nbusy;
	/* The commit that records are being encoded for, or NULL. */
	struct b2f_commit *commit;
	/*
	 * Records it waits for, the first error of one, and the first chunk of
	 * those that failed.
	 */
	size_t ncommit;
	int commit_err;
	uint64_t commit_failed;
	/* Threads that delete files. */
	size_t ndeleting;
	/* The edit is about to go, and maybe another one to come. */
	bool closing;
	/* The log tells of another program's lock.  Under commit_lock. */
	bool told_locked;
	/* Of what its edits commit: that of the options, or its own. */
	struct b2f_durability *durability;
	struct b2f_durability own;
	/* When there was the first change since the last commit; 0: none. */
	uint64_t dirty_since_ns;
	/* Chunks there were, or were to be, when holes were counted. */
	uint64_t ncounted;
	/*
	 * Bytes of an array that are there: all of them, unless it is a .npy
	 * file that somebody still writes.
	 */
	uint64_t array_nbytes;
	/* The item size is still to be guessed. */
	bool guess_typesize;
	/* When it was written to last, if it was. */
	bool has_mtime;
	struct timespec mtime;
};

/* dirty.c: records */

static inline bool b2f_dirty_has(const struct b2f_dirty *d, uint32_t page)
{
	return d->valid[page / 64] >> (page % 64) & 1;
}

/*
 * The record of chunk @nchunk, waiting while it is BUSY; makes one if there is
 * none and @make.  The file is locked; the lock is given up while waiting.
 * Returns 0 (*@out is NULL if there is none), or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_dirty_get(struct b2f_file *file, uint64_t nchunk, bool make,
		  struct b2f_dirty **out);

/* The record as it is, or NULL.  The file is locked. */
struct b2f_dirty *b2f_dirty_find(const struct b2f_writer *w, uint64_t nchunk);

void b2f_dirty_ref(struct b2f_dirty *d);
void b2f_dirty_unref(struct b2f_dirty *d);

/* What it takes to write to @npages more pages of @d.  The file is locked. */
uint64_t b2f_dirty_cost(const struct b2f_dirty *d, uint32_t npages);

/* Counts @bytes, which were taken, for @d.  The file is locked. */
void b2f_dirty_count(struct b2f_dirty *d, uint64_t bytes);

/* Takes @d out of the table and frees what it holds.  The file is locked. */
void b2f_dirty_remove(struct b2f_dirty *d);

/* Frees the buffer of a large record. */
void b2f_dirty_unmap(uint8_t *data, uint32_t room);

/* Pages from the end of @size bytes on are not written any more. */
void b2f_dirty_cut(struct b2f_dirty *d, uint32_t size);

/*
 * Copies the @size bytes at @buf to @start of the chunk.  @edge has the
 * contents of the two pages at the ends, as far as they are not written yet and
 * only a part of them is now; or is NULL.
 */
struct b2f_dirty_edges {
	bool has[2];
	uint8_t page[2][B2F_PAGE];
};
void b2f_dirty_write(struct b2f_dirty *d, uint32_t start, const uint8_t *buf,
		     uint32_t size, const struct b2f_dirty_edges *edges);

/* True if every page of @nbytes is written. */
bool b2f_dirty_is_full(const struct b2f_dirty *d, uint32_t nbytes);

/* budget.c: how much is dirty */

/*
 * Waits until @bytes more may be dirty, and counts them; encodes some records
 * itself if it has to.  No lock is held but a write_lock.  Returns 0, or why
 * records of @file, which take all of the room, cannot be encoded.  Those of
 * other files that cannot keep it waiting for no more than one try.
 */
B2F_MUST_CHECK
int b2f_budget_take(struct b2f_file *file, uint64_t bytes);
/* Gives back what was taken for no record. */
void b2f_budget_give(struct b2f_runtime *rt, uint64_t bytes);
/* @d, whose file is locked, counts for @bytes more, which were taken. */
void b2f_budget_add(struct b2f_dirty *d, uint64_t bytes);
/* It counts for @bytes less. */
void b2f_budget_drop(struct b2f_dirty *d, uint64_t bytes);
/* Notes whether the last try to encode @d failed. */
void b2f_budget_fail(struct b2f_dirty *d, bool failed);
/* Enters @d in the list, or leaves it. */
void b2f_budget_enter(struct b2f_dirty *d);
void b2f_budget_leave(struct b2f_dirty *d);
/* One record more, or less, is being encoded. */
void b2f_budget_encoding(struct b2f_runtime *rt, int more);

/*
 * A buffer of @size bytes with old data, or NULL if there is none; saves fresh
 * pages, which cost more than what is copied to them.
 */
uint8_t *b2f_budget_spare_get(struct b2f_runtime *rt, uint32_t size);
/* Keeps @data for the next one if there is room; returns whether it did. */
bool b2f_budget_spare_put(struct b2f_runtime *rt, uint8_t *data, uint32_t size);
void b2f_budget_free_spares(struct b2f_runtime *rt);

/* encode_*.c: from a record to a chunk file */

/*
 * Makes @d BUSY if it is OPEN.  The file is locked.  Returns whether it did;
 * then b2f_encode_run() has to follow, with a reference to @d.
 */
bool b2f_encode_begin(struct b2f_dirty *d);

/* Encodes @d, writes its file, and removes the record.  0 or an error. */
int b2f_encode_run(struct b2f_dirty *d);

/*
 * Changes the @size bytes at @data, those from @off on of the chunk before, to
 * what the record @d says: written pages, and zeros where the chunk before does
 * not count.  It is BUSY, or its pages are locked.
 */
void b2f_encode_overlay(struct b2f_dirty *d, uint32_t off, uint32_t size,
			uint8_t *data);

/*
 * Writes the new chunk of the BUSY record @d by changing only some blocks of
 * the chunk before; *@made says whether that could be done.  Returns 0, or as
 * b2f_chunk_write() or b2f_frame_load().
 */
B2F_MUST_CHECK
int b2f_encode_patch(struct b2f_dirty *d, struct b2f_chunk_writer *cw,
		     bool *made, struct b2f_edit_chunk *out);

/*
 * Sets the item size of the frame if that is still to be guessed and the BUSY
 * record @d is more than zeros.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_encode_guess(struct b2f_dirty *d, struct b2f_encoder *enc);

/* Has a worker encode @d, which is OPEN and complete.  The file is locked. */
void b2f_encode_submit(struct b2f_dirty *d);

/* file_write.c */

/* Notes a change that has to be committed.  The file is locked. */
void b2f_writer_note(struct b2f_writer *w);

/*
 * Takes the write_lock of @file in *@out, if it can be written to.  Returns 0,
 * -EBADF or -EROFS.
 */
B2F_MUST_CHECK
int b2f_change_begin(struct b2f_file *file, struct b2f_writer **out);

/* One write within one chunk. */
struct b2f_part {
	uint64_t nchunk;
	/* First byte in the chunk, and how many. */
	uint32_t start;
	uint32_t size;
	const uint8_t *buf;
};

/* Writes it; the write_lock is held.  Returns as b2f_file_pwrite(), or 0. */
B2F_MUST_CHECK
int b2f_write_part(struct b2f_file *file, const struct b2f_part *part);

/*
 * Writes to the stored data, as much as it can, and returns how much that is;
 * the write_lock is held, and the data long enough.
 */
uint64_t b2f_write_parts(struct b2f_file *file, const uint8_t *buf,
			 uint64_t size, uint64_t off, int *err);

/* Makes all data of chunk @nchunk dirty; the write_lock is held. */
B2F_MUST_CHECK
int b2f_file_rewrite_chunk(struct b2f_file *file, uint64_t nchunk);

/* Waits until no record is BUSY.  The file is locked. */
void b2f_writer_wait_idle(struct b2f_file *file);

/* holes.c */

/*
 * Before the file grows to @n chunks.  Returns 0, or B2F_ETOOBIG (logged) if
 * that were too many holes.  The file is locked.
 */
B2F_MUST_CHECK
int b2f_holes_grow(struct b2f_file *file, uint64_t n);

/* After it was cut.  The file is locked. */
void b2f_holes_cut(struct b2f_file *file);

/*
 * Before there is an edit of the frame of @file, for the writer @w.  Returns 0,
 * or -ENOMEM (logged) unless it is the only file with many holes.
 */
B2F_MUST_CHECK
int b2f_holes_open(struct b2f_file *file, struct b2f_writer *w);

/* After the edit of @w has gone. */
void b2f_holes_close(struct b2f_runtime *rt, struct b2f_writer *w);

/* file_size.c; the write_lock is held */

/* So that positions fit off_t, and their sums too. */
#define B2F_SIZE_LIMIT (UINT64_C(1) << 62)

/* Cuts or extends the file.  Returns as b2f_file_truncate(). */
B2F_MUST_CHECK
int b2f_size_set(struct b2f_file *file, uint64_t size);

/* Extends it to @size, which is larger, with zeros.  Locked. */
B2F_MUST_CHECK
int b2f_size_grow(struct b2f_file *file, uint64_t size);

/*
 * A hole at the end that is no whole number of items cannot be an entry alone:
 * gives it a record.  Locked.
 */
B2F_MUST_CHECK
int b2f_size_fix_last(struct b2f_file *file);

/* array_file.c: writing to arrays; the write_lock is held */

/*
 * The change would make something else of a .npy file than its array: it has to
 * be a plain frame first; see b2f_reform_to_plain().
 */
#define B2F_EREFORM (-EMEDIUMTYPE)

/* As b2f_file_pwrite(), b2f_file_truncate(), b2f_file_zero(), or EREFORM. */
B2F_MUST_CHECK
ssize_t b2f_array_file_write(struct b2f_file *file, const uint8_t *buf,
			     uint64_t size, uint64_t off);
B2F_MUST_CHECK
int b2f_array_file_resize(struct b2f_file *file, uint64_t size);
B2F_MUST_CHECK
int b2f_array_file_zero(struct b2f_file *file, uint64_t off, uint64_t end);

/* reform.c: a .npy file becomes an array, or ceases to be one */

/*
 * Makes @file a plain frame with the first @keep bytes that it shows.  No lock
 * is held.  Returns 0 or as b2f_file_pwrite(), and then it is as before.
 */
B2F_MUST_CHECK
int b2f_reform_to_plain(struct b2f_file *file, uint64_t keep);

/*
 * Makes @file an array if what it is, or begins to be, is a .npy file: before
 * @size bytes at @buf are written to @off, so that they need not be written
 * twice.  No lock is held.
 */
void b2f_reform_before(struct b2f_file *file, const void *buf, uint64_t size,
		       uint64_t off);

/*
 * Before a commit: an array that is not complete becomes plain, a plain file
 * that is a whole .npy file an array, if it can.  The commit_lock and the
 * write_lock are held.  Returns as b2f_reform_to_plain().
 */
B2F_MUST_CHECK
int b2f_reform_for_commit(struct b2f_file *file);

/* file_writer.c */

/* The writer of @file, or NULL as long as nobody has written to it. */
struct b2f_writer *b2f_writer_of(struct b2f_file *file);

/* Decoded bytes of each chunk of a frame that has none yet. */
uint32_t b2f_writer_chunksize(const struct b2f_writer *w);

/*
 * Continues with what another program made of the frame, if nothing is dirty
 * and no commit under way; b2f_file_refresh() will tell.  No lock is held.
 */
void b2f_file_catch_up(struct b2f_file *file);

/*
 * Gives the file the version @frame, which it takes over.  The file is locked;
 * b2f_file_forget_heads() has to follow when it is not.
 */
void b2f_file_set_frame(struct b2f_file *file, struct b2f_frame *frame);

/* file_writer.c: files that are not needed any more */

/* Waits until all readers have ended that are at it now. */
void b2f_writer_wait_readers(struct b2f_writer *w);

/*
 * Deletes files that are not needed any more; @retired ones too if the
 * commit_lock is held.
 */
void b2f_writer_delete_dead(struct b2f_file *file, bool retired);

/* Encodes with the encoder of nobody; give it back. */
B2F_MUST_CHECK
int b2f_runtime_encoder_get(struct b2f_runtime *runtime,
			    struct b2f_encoder **out);
void b2f_runtime_encoder_put(struct b2f_runtime *runtime,
			     struct b2f_encoder *enc);

/*
 * Reads [@off, @off + @size) of the chunk of entry @raw, which has @nbytes,
 * into
 * @buf.  Returns as b2f_file_pread().
 */
B2F_MUST_CHECK
int b2f_file_read_chunk(struct b2f_file *file, uint64_t nchunk, uint64_t raw,
			uint32_t nbytes, uint32_t off, uint8_t *buf,
			uint32_t size);

#endif
