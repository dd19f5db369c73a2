/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write.h - writing to a frame as to a plain file
 *
 * Written bytes are kept in memory until a *commit*: it writes their chunks to
 * new chunk files, then a new index replaces the old one.  Whatever happens in
 * between, the frame on disk is as the last commit left it.
 *
 * Chunks that are complete are encoded by the workers while the writer goes on.
 * When all files together have more than the runtime's dirty_bytes, chunks are
 * encoded to files that no index names yet, and the writer waits.
 *
 * A failed commit loses nothing: written bytes stay in memory (or in files
 * without an index), are read as before, and the next commit tries again.
 *
 * Layer: public (made by file/).
 *
 * Threads: every function may be called from any thread, also at the same
 * time; writes to one file come one after the other, and each is seen by
 * readers as soon as it has returned.
 */
#ifndef B2FRAME_WRITE_H
#define B2FRAME_WRITE_H

#include <time.h>

#include "b2frame/api.h"
#include "b2frame/create.h"
#include "b2frame/file.h"

B2F_BEGIN_API

/* Zero is the default of every field. */
struct b2f_write_options {
	/* Write chunks without checksums. */
	bool no_seal;
	/* Take part in C-Blosc2's locks (.b2lock) even if there is none. */
	bool locking;
	/* Do not take part even if one is there. */
	bool no_locking;
	/*
	 * The frame is known to have no lock file now, so that none is looked
	 * for when writing is allowed; later transactions look again.
	 */
	bool no_lock_file;
	/*
	 * An empty frame without metalayers gets the item size of the first
	 * data that are written to it.
	 */
	bool guess_typesize;
	/*
	 * A frame without metalayers becomes an array while it holds exactly a
	 * .npy file; such an array takes any change.
	 */
	bool npy_arrays;
	/*
	 * In frames of level B2F_CLEVEL_DEFAULT (create.h), encode a chunk at
	 * level 1 if it has at most 16 KiB, or while other chunks wait for an
	 * encoder, so that the writer does not wait.
	 */
	bool adapt_clevel;
	/*
	 * After -ENOSPC or -EDQUOT a commit of a file that has only grown since
	 * the last one stores the beginning of the new data, as far as there is
	 * room, as other filesystems do.  Otherwise it is all or nothing.
	 */
	bool keep_beginning;
	/* For an empty frame that has no chunk size yet; 0 means 1 MiB. */
	uint32_t chunksize;
	/*
	 * The file may be closed later than the programs that wrote to it
	 * believe: closing changes a contiguous frame only where its lock
	 * protects it.  See b2f_file_tidy().
	 */
	bool ends_late;
	/*
	 * Commits update it until the file is closed.  NULL, for all programs
	 * but the daemon: a frame that is not empty counts as durable.
	 */
	struct b2f_durability *durability;
};

enum b2f_commit_how {
	/* On disk when it returns: survives a loss of power. */
	B2F_COMMIT_DURABLE,
	/*
	 * Readable by other programs when it returns; survives the end of this
	 * process, but perhaps not a loss of power.  If an older version of
	 * the frame is durable, this commit is durable, too: otherwise a loss
	 * of power could take both.
	 */
	B2F_COMMIT_VISIBLE,
};

/*
 * Allows writing to @file, once; later calls return 0 at once.  Removes the
 * leftovers of a crash.  While @file is open, other processes with bloscfs get
 * -EBUSY.
 *
 * Returns 0, -EROFS (b2f_frame_obstacle(), which is logged), -EBUSY, -ESTALE
 * (another program has deleted or replaced the frame, or keeps changing it),
 * -ENOMEM, or an errno of the filesystem (-EACCES, -EROFS: the directory cannot
 * be written to).
 */
B2F_MUST_CHECK
int b2f_file_allow_write(struct b2f_file *file,
			 const struct b2f_write_options *options);

/*
 * Ends writing before the file is closed: other processes can then write to the
 * frame while this one reads it.  b2f_file_allow_write() allows writing again.
 * No thread may be writing.  Does not wait for a commit of another thread.
 *
 * Returns 0; -EBUSY (something is uncommitted, or a commit is under way:
 * writing stays allowed) or as b2f_frame_open().
 */
B2F_MUST_CHECK
int b2f_file_end_write(struct b2f_file *file);

/* True after b2f_file_allow_write() succeeded. */
bool b2f_file_is_writable(struct b2f_file *file);

/*
 * Writes the @size bytes at @buf to @off; the range between the end of the file
 * and @off becomes zeros.  At the bound for dirty bytes it waits for the
 * workers.
 *
 * Returns the number of bytes written, from the first on: @size, or fewer if an
 * error followed; or -EBADF (not writable), -EPERM (an array keeps its size;
 * logged), -EFBIG, -ENOMEM, B2F_ECORRUPT (the chunk has damaged bytes beside
 * the new ones), at the bound for dirty bytes the errno of the store (-ENOSPC,
 * -EDQUOT, -EIO) with which writing dirty chunks failed, or, when the file went
 * on with the version of another program, as b2f_file_allow_write(): -EBUSY if
 * another process writes to the frame by then.
 */
B2F_MUST_CHECK
ssize_t b2f_file_pwrite(struct b2f_file *file, const void *buf, size_t size,
			uint64_t off);

/* Writes at the end of the file, whose position becomes *@off. */
B2F_MUST_CHECK
ssize_t b2f_file_append(struct b2f_file *file, const void *buf, size_t size,
			uint64_t *off);

/* Cuts the file, or extends it with zeros.  Returns 0 or as b2f_file_pwrite. */
B2F_MUST_CHECK
int b2f_file_truncate(struct b2f_file *file, uint64_t size);

/*
 * Makes [@off, @off + @size) zeros; whole chunks of zeros take no room.  The
 * size of the file does not change.  Returns as b2f_file_truncate().
 */
B2F_MUST_CHECK
int b2f_file_zero(struct b2f_file *file, uint64_t off, uint64_t size);

/* Changes of the settings for new chunks. */
struct b2f_encoding {
	/* See struct b2f_settings; -1: no change. */
	int codec;
	int clevel;
	/* B2F_SLOTS of them; NULL: as they are. */
	const uint8_t *filters;
};

/*
 * Encodes chunks from now on as @encoding says; existing chunks stay as they
 * are.  The change is committed like a write, but keeps the mtime.
 *
 * Returns 1 (changed), 0 (no change), -EBADF, -EROFS, -EINVAL (there is no such
 * codec, level or filter), -EBUSY (the array is being replaced) or -ENOMEM.  If
 * a commit finds that another program has changed the frame, the settings of
 * that program count: call this again until it returns 0.
 */
B2F_MUST_CHECK
int b2f_file_set_encoding(struct b2f_file *file,
			  const struct b2f_encoding *encoding);

/*
 * Commits all bytes written before this call; returns 0 if there are none.
 * Waits a few seconds for other programs that have locked the frame (.b2lock).
 *
 * Returns 0; -ESTALE (another program has changed the same chunks, or the size:
 * its version stays); -EBUSY (it changes other chunks without a pause, or the
 * array is being replaced) or -EAGAIN (it has locked the frame): try again
 * later; or an errno of the store.  The cause is logged.
 */
B2F_MUST_CHECK
int b2f_file_commit(struct b2f_file *file, enum b2f_commit_how how);

/*
 * Like b2f_file_commit() without waiting: also returns -EAGAIN while another
 * thread commits the file.  For threads that look after many files.
 */
B2F_MUST_CHECK
int b2f_file_try_commit(struct b2f_file *file, enum b2f_commit_how how);

/*
 * Cuts a contiguous frame where it ends.  With @last it also gives back all
 * room that the last commit does not use, and moves chunks there if there is
 * much of it, as b2f_file_close() does.  Call it when a writer may be leaving;
 * @last: it is the last one; @late: it may have left before (ends_late).  Does
 * nothing while something is uncommitted, or if another program has the frame,
 * or may have it: the next writer finds that room.
 */
void b2f_file_tidy(struct b2f_file *file, bool last, bool late);

/* True if there is something to commit, or to make durable. */
bool b2f_file_is_dirty(struct b2f_file *file);

/*
 * Nanoseconds for which data have been uncommitted or not durable.  0: all is
 * durable; or the commit should wait, because a program is still writing an
 * array.
 */
uint64_t b2f_file_dirty_ns(struct b2f_file *file);

/*
 * After a refused commit (-ESTALE): drops all uncommitted changes, and goes on
 * with the version on disk; if that is gone, @file keeps the version that it
 * has, and there is nothing to commit.  A write of another thread meanwhile is
 * either dropped, too, or applied to that version.  b2f_file_take_foreign()
 * reports the change.
 *
 * Returns 0; or, with nothing dropped, -ENOMEM or as b2f_frame_open().  If an
 * array was being written anew, its half is not read then (-EIO): the next
 * commit or b2f_file_allow_write() drops it first, or returns -EIO.
 */
B2F_MUST_CHECK
int b2f_file_revert(struct b2f_file *file);

/* The state of a file that may be changing. */
struct b2f_file_now {
	/* Decoded bytes. */
	uint64_t nbytes;
	/* Chunks of the frame as it was opened or refreshed. */
	uint64_t nchunks;
	/* Stored bytes, at the last commit. */
	uint64_t cbytes;
	/* The index as of the last commit, or as it was opened. */
	struct b2f_frame_stamp stamp;
	/*
	 * Another version may have that stamp, too: b2f_file_refresh() tells.
	 */
	bool in_doubt;
	/* There is something to commit. */
	bool dirty;
	/*
	 * The file has half an array, which b2f_file_revert() could not drop.
	 */
	bool half;
	/* How often changes of the file were dropped. */
	uint64_t ndropped;
	/* The file was written to since the last commit, at @mtime. */
	bool has_mtime;
	struct timespec mtime;
};

void b2f_file_now_get(struct b2f_file *file, struct b2f_file_now *out);

/*
 * Calls @fn with @arg and a descriptor of the directory that holds the index
 * (B2F_INDEX_NAME), while no commit replaces it; for chmod(2) and the like.
 * Changes that @fn makes to attributes of the index do not count as changes by
 * another program.  If @fn sets the mtime, @mtime is the new one, as for
 * utimensat(2); the next commit keeps that mtime unless data are written first.
 * NULL: @fn leaves the mtime.
 *
 * A contiguous frame is one file, which has the attributes; @dirfd is -1 then.
 * Returns the value of @fn.
 */
B2F_MUST_CHECK
int b2f_file_with_index(struct b2f_file *file, const struct timespec *mtime,
			int (*fn)(void *arg, int dirfd), void *arg);

/*
 * Moves the stored @frame to another place, and opens it there: *@out has the
 * same data.  Returns 0 or an error.
 */
typedef int b2f_file_move_fn(void *arg, struct b2f_frame *frame,
			     struct b2f_frame **out);

/*
 * Commits everything, calls @fn with @arg while no thread can write, and
 * continues @file with the frame that @fn opened.  Current readers may use the
 * old frame until they end.
 *
 * Returns 0; or, with @file where it was: as b2f_file_commit(), -ESTALE
 * (another program has changed the frame), -EBUSY (writers leave no pause), as
 * b2f_frame_open(), or the error of @fn.
 */
B2F_MUST_CHECK
int b2f_file_move(struct b2f_file *file, b2f_file_move_fn *fn, void *arg);

/*
 * Returns true once after a change by another program became visible: a write
 * began with it, or a commit was merged with it.  Drop any copies of bytes of
 * the file.  b2f_file_refresh() reports such a change, too.
 */
bool b2f_file_take_foreign(struct b2f_file *file);

/* Will b2f_file_take_foreign() return true? */
bool b2f_file_has_foreign(struct b2f_file *file);

/*
 * Has another program changed the frame, so that b2f_file_refresh() has work?
 * Asks a server no more often than its refresh_ms says.
 */
bool b2f_file_is_outdated(struct b2f_file *file);

/*
 * If another program has changed the frame, and nothing here is dirty,
 * continues @file with the version on disk and sets *@changed.  If that program
 * has locked the frame, waits @wait_ms at most.  Returns 0, or an errno
 * (-EAGAIN: it is still locked): then @file stays as it is.
 */
B2F_MUST_CHECK
int b2f_file_refresh(struct b2f_file *file, uint32_t wait_ms, bool *changed);

B2F_END_API

#endif
