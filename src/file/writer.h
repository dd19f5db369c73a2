/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.h - the state of a writable file
 *
 * A chunk that was written to and is not encoded yet is *dirty*: it has a
 * record (record.h).  The working state of the transaction describes every
 * other chunk; its length follows from the size of the file.
 *
 * Layer: file.  May include: base/ frame/ array/ run/ (and what these show of
 * chunk/).
 *
 * Locks: in the order of docs/internals.md, "Locks".
 */
#ifndef B2F_FILE_WRITER_H
#define B2F_FILE_WRITER_H

#include "b2frame/write.h"
#include "file/file_state.h"
#include "file/record.h"
#include "txn/txn.h"
#include "txn/txn_commit.h"
#include "txn/garbage.h"

/* Does a file begin like a .npy file? */
enum b2f_npy_hint { B2F_NPY_UNKNOWN, B2F_NPY_NO, B2F_NPY_MAYBE };

enum b2f_anew {
	B2F_ANEW_NOT,
	/* A program is replacing the array: no commit is made meanwhile. */
	B2F_ANEW_BEGUN,
	/*
	 * The replacement was given up, but the stored array could not be
	 * opened: the incomplete one is not read, and the next commit or writer
	 * drops it first.
	 */
	B2F_ANEW_HALF,
};

/* The changes since the last commit. */
struct b2f_dirty {
	/* Time of the first change; 0: none. */
	uint64_t since_ns;
	/* The lowest byte that was written to or cut off; UINT64_MAX: none. */
	uint64_t from;
	/* Time of the last write, if there was one. */
	bool has_mtime;
	struct timespec mtime;
};

#define B2F_NOT_DIRTY ((struct b2f_dirty){.from = UINT64_MAX})

/* Memory of entries (holes.c). */
struct b2f_hole_count {
	struct b2f_reserved reserved;
	/* Number of chunks when holes were last counted. */
	uint64_t nchunks;
	/* Other entries that the frame had when it became writable. */
	uint64_t nfound;
};

struct b2f_writer {
	struct b2f_write_options options;
	pthread_mutex_t write_lock;
	/* Do the first bytes look like a .npy file?  Under write_lock. */
	_Atomic enum b2f_npy_hint hint;
	/* Bytes of records that could not be encoded.  Under budget.lock. */
	uint64_t stuck_bytes;
	/* Signals that a record is not BUSY any more; with file.lock. */
	pthread_cond_t changed;
	/* The following fields are under file.lock. */
	/*
	 * NULL if another program made the frame unwritable, or, with @is_lost,
	 * if a new one could not be opened for a while.
	 */
	struct b2f_txn *txn;
	atomic_bool is_lost;
	/* All records; a uthash. */
	struct b2f_record *records;
	size_t nbusy;
	/* The commit that records are being encoded for, or NULL. */
	struct b2f_commit *commit;
	/*
	 * Records that the commit waits for, the first error, and the lowest
	 * failed chunk.
	 */
	size_t ncommit;
	int commit_err;
	uint64_t commit_failed;
	/* Threads that delete files. */
	size_t ndeleting;
	/*
	 * The transaction is about to be removed or replaced: encoding of
	 * records must not begin.
	 */
	bool closing;
	/* A lock of another program was logged.  Under commit_lock. */
	bool told_locked;
	/* Durability of the commits: from the options, or @own. */
	struct b2f_durability *durability;
	struct b2f_durability own;
	struct b2f_dirty dirty;
	struct b2f_hole_count holes;
	/*
	 * The bytes of an array that exist: all, unless a program is still
	 * writing it, as a .npy file or as a replacement.
	 */
	uint64_t array_nbytes;
	/* Set under file.lock; any thread looks. */
	_Atomic enum b2f_anew anew;
	/* The item size is still to be guessed. */
	bool guess_typesize;
};

/*
 * Takes the commit_lock and the write_lock of @file, which has a writer:
 * nothing commits or changes it until b2f_writer_unlock().
 */
static inline void b2f_writer_lock(struct b2f_file *file)
{
	pthread_mutex_lock(&file->commit_lock);
	pthread_mutex_lock(&file->writer->write_lock);
}

static inline void b2f_writer_unlock(struct b2f_file *file)
{
	pthread_mutex_unlock(&file->writer->write_lock);
	pthread_mutex_unlock(&file->commit_lock);
}

/* @is_empty: the file has no data.  Returns NULL if there is no memory. */
struct b2f_writer *b2f_writer_new(const struct b2f_write_options *options,
				  bool is_empty);

/*
 * Opens a transaction of the frame on disk.  If that is newer than *@frame,
 * *@frame is replaced.  After an error *@frame is closed.  Returns as
 * b2f_txn_new() and b2f_frame_open().
 */
B2F_MUST_CHECK
int b2f_writer_open_txn(struct b2f_writer *w, struct b2f_frame **frame,
			struct b2f_txn **out);

/*
 * file_allow.c: makes @w the writer of @file, with a transaction of the version
 * on disk.  The commit_lock is held.  Returns as b2f_file_allow_write().
 */
B2F_MUST_CHECK
int b2f_writer_allow(struct b2f_file *file, struct b2f_writer *w);

/*
 * The same for the writer of @file if it has lost its transaction.  The
 * commit_lock is not held.
 */
B2F_MUST_CHECK
int b2f_writer_allow_again(struct b2f_file *file);

/* Frees @w, which has no transaction and no holes, and may be NULL. */
void b2f_writer_free(struct b2f_writer *w);

/*
 * Ends writing to a file that its owner closes, so that others can write to the
 * frame, even if a job still decodes ahead.  Dirty records are dropped.
 */
void b2f_writer_end(struct b2f_file *file);

/*
 * Waits until no record is BUSY and no thread deletes files, and lets nothing
 * of that begin until b2f_writer_let_encode().  The file is not locked.
 */
void b2f_writer_stop_encoding(struct b2f_file *file);
void b2f_writer_let_encode(struct b2f_file *file);

/* Has the file of @w (or NULL) half an array, which is to be dropped? */
static inline bool b2f_writer_has_half(const struct b2f_writer *w)
{
	return w && w->anew == B2F_ANEW_HALF;
}

/* Are all changes committed?  Locked. */
static inline bool b2f_writer_is_clean(const struct b2f_writer *w)
{
	return !w->dirty.since_ns && !w->records;
}

/*
 * Takes the transaction of a clean writer away, when nothing uses it any more;
 * the caller frees it.  Locked; gives up the lock meanwhile.
 */
struct b2f_txn *b2f_writer_take_txn(struct b2f_file *file);

/* file_commit.c: b2f_file_try_commit() with the commit_lock held. */
B2F_MUST_CHECK
int b2f_commit_now(struct b2f_file *file, enum b2f_commit_how how);

/*
 * Waits until the readers of the version before, which may use its chunk files,
 * have ended, and closes these.  No lock of the file but commit_lock and
 * write_lock is held.
 */
void b2f_writer_end_readers(struct b2f_file *file);

/* Waits until no record is BUSY; gives up the lock meanwhile, too. */
void b2f_writer_wait_idle(struct b2f_file *file);

/* Notes a change that has to be committed.  The file is locked. */
void b2f_writer_note(struct b2f_writer *w);

/* Decoded bytes of each chunk of a frame that has none yet. */
uint32_t b2f_writer_chunksize(const struct b2f_writer *w);

/*
 * Stored bytes of the chunk that entry @raw names; 0 if its header cannot be
 * read.  No lock of the file is held.
 */
uint32_t b2f_writer_cbytes(struct b2f_file *file, uint64_t raw);

/*
 * Deletes files that are not needed any more; with the commit_lock held also
 * those that an index has named.
 */
void b2f_writer_delete_dead(struct b2f_file *file, enum b2f_delete what);

#endif
