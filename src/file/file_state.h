/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_state.h - inside of an open file
 *
 * The files of this directory, lowest first: each one calls those above it in
 * this list, and no other.
 *
 *   tally          how much was encoded and decoded
 *   idle           decoders, encoders and page buffers between two uses
 *   budget, holes  how much memory changes may take, of all files together
 *   record         pages that were written, chunk by chunk
 *   head, unit     chunks that were read, and their units by way of the cache
 *   writer         what a file has while it can be written to
 *   file           an open file: its life and its version of the frame
 *   file_now       what can be told of a file that is being written to
 *   file_allow     a file becomes one that can be written to
 *   reading        one reader: where the bytes come from
 *   file_refresh   changes of the index that are no commits of ours
 *   gather*        a range of an array that is not stored in C order
 *   stream         decodes ahead of a reader
 *   file_view, file_seek, slice             what readers call
 *   encode_guess, encode_patch, encode_job  from a record to a chunk file
 *   part, size     changes to the chunks: their bytes, and how many there are
 *   shape_*        what a write, a cut and zeros are for a plain file, an array
 *   relayout       a plain file becomes an array, and the other way round
 *   file_anew      an array is written from the beginning
 *   file_change, file_commit, file_settings what writers call
 *   file_form      a new file becomes a sparse frame
 *   file_move      the frame of a file gets another place
 *   runtime        makes what all files share
 *   check          whole frames
 *
 * Layer: file.  May include: base/ frame/ array/ run/ (and what these show of
 * chunk/).
 *
 * Locks: in the order of docs/internals.md, "Locks".
 */
#ifndef B2F_FILE_FILE_STATE_H
#define B2F_FILE_FILE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "b2frame/file.h"
#include "file/runtime_state.h"
#include "frame/frame.h"

struct b2f_head;
struct b2f_writer;

/*
 * The readings under way, which may use chunk files of the version in which
 * they began.  They are of two rounds, so that a thread can wait for those that
 * began before without keeping new ones waiting: a reading may wait for memory
 * that another thread gives back only after a reading of its own.  Protected
 * by file.lock.
 */
struct b2f_gate {
	/* New readings are of this round. */
	unsigned int round;
	size_t nreadings[2];
	/* A thread waits for those of the other round. */
	bool is_waited_for;
	/* A round has no reading any more, or no thread waits for it. */
	pthread_cond_t left;
};

struct b2f_file {
	struct b2f_runtime *runtime;
	/* One reference for the owner and one for each job. */
	atomic_uint refs;
	/* One thread commits, refreshes, makes it writable or moves it. */
	pthread_mutex_t commit_lock;
	pthread_mutex_t lock;
	/* Holds a reference.  Protected by lock. */
	struct b2f_frame *frame;
	/* Grows each time @frame is replaced.  Protected by lock. */
	uint64_t version;
	/*
	 * Names the file in the cache; new for each @frame, as chunk files may
	 * have been rewritten.  Protected by lock.
	 */
	uint64_t cache_id;
	/*
	 * The file took over changes of other programs, and no caller was told
	 * yet.  Protected by lock.
	 */
	bool has_foreign;
	/* How often uncommitted changes were dropped.  Protected by lock. */
	uint64_t ndropped;
	/* Reads and changes do not replace @frame. */
	atomic_bool stays;
	/* Set once, at the first allow_write, under lock; any thread looks. */
	struct b2f_writer *_Atomic writer;
	/*
	 * Indexed by entry; NULL if empty.  Under the lock of struct
	 * b2f_open_chunks.
	 */
	struct b2f_head **heads;
	size_t nheads;
	/* Bytes of the heads in the table, under that lock, too. */
	size_t heads_bytes;
	/*
	 * Bytes of a unit of the chunk whose head was read last, a hint; or 0.
	 */
	atomic_uint last_unit;
	/*
	 * A hint: the streams of the last excerpt (b2f_unit_pin_excerpt()) that
	 * were stored as they are, or 0.  -1: too few, so none is tried again.
	 */
	atomic_int nplain;
	/* List of readers.  It and they are protected by lock. */
	struct b2f_stream *streams;
	struct b2f_gate gate;
};

static inline void b2f_file_ref(struct b2f_file *file)
{
	atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
}

/* Drops a reference; the last one frees @file. */
void b2f_file_unref(struct b2f_file *file);

/* b2f_file_size() with the file locked. */
uint64_t b2f_file_size_locked(const struct b2f_file *file);

/*
 * Gives the file the version @frame, which it takes over.  The file is locked;
 * b2f_head_forget_all() has to follow when it is not.
 */
void b2f_file_set_frame(struct b2f_file *file, struct b2f_frame *frame);

/* file_refresh.c */

/* Stamp of the index as read, or as our last change left it.  Locked. */
struct b2f_frame_stamp b2f_file_known_stamp(const struct b2f_file *file);

/*
 * Continues with @newer, which it takes over; @revert: drops uncommitted
 * changes.  The commit_lock is held, and the write_lock of the writer @w,
 * NULL if there is none.  Returns 0, or -EBUSY (something is not committed).
 */
B2F_MUST_CHECK
int b2f_file_continue_with(struct b2f_file *file, struct b2f_writer *w,
			   struct b2f_frame *newer, bool revert);

/*
 * Takes over changes of other programs, if nothing is dirty and no commit under
 * way; b2f_file_refresh() will report them.  No lock is held.
 */
void b2f_file_catch_up(struct b2f_file *file);

/*
 * Drops half an array, if there is one.  The commit_lock is held.  Returns 0 or
 * -EIO.
 */
B2F_MUST_CHECK
int b2f_writer_drop_half(struct b2f_file *file);

struct b2f_reading;

/* Reads with @r.  Returns a negative errno if it failed. */
typedef int64_t b2f_reading_fn(void *arg, struct b2f_reading *r);

/*
 * Calls @fn with @arg and a reading of @file; again, a few times, if it fails
 * because another program changes the frame.  Returns the last result of @fn.
 */
int64_t b2f_file_retry(struct b2f_file *file, b2f_reading_fn *fn, void *arg);

#endif
