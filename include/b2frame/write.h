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
	 * Chunks of frames of B2F_CLEVEL_DEFAULT (create.h) are encoded at level 1
	 * while others wait for an encoder, so that the writer need not.
	 */
	bool adapt_clevel;
	/* For an empty frame that has no chunk size yet; 0 means 1 MiB. */
	uint32_t chunksize;
	/*
	 * Programs that wrote to the file may believe that it is closed before
	 * it is: then closing changes a contiguous frame only as far as its
	 * lock protects it.  See b2f_file_tidy().
	 */
	bool ends_late;
	/*
	 * NULL, for all but the daemon: a frame that is not empty counts as
	 * durable.  Commits update it until the file is closed.
	 */
	struct b2f_durability *durability;
};

enum b2f_commit_how {
	/* On disk when it returns: survives a loss of power. */
	B2F_COMMIT_DURABLE,
	/*
	 * Readable by others when it returns; survives the end of this process,
	 * but not surely a loss of power.  Durable nevertheless unless the
	 * frame is new and no commit to it was durable: data that survive now
	 * could be lost otherwise.
	 */
	B2F_COMMIT_VISIBLE,
};

/*
 * Allows writing to @file, once; later calls return 0 at once.  Removes what a
 * crash left.  While @file is open, other processes with bloscfs get -EBUSY.
 *
 * Returns 0, -EROFS (contiguous, variable chunks, a plugin's pipeline ... the
 * cause is logged), -EBUSY, -ENOMEM, or an errno of the filesystem
 * (-EACCES, -EROFS: the directory cannot be written to).
 */
B2F_MUST_CHECK
int b2f_file_allow_write(struct b2f_file *file,
			 const struct b2f_write_options *options);

/*
 * Ends writing before the file is closed, so that other processes can write to
 * it while it is read here; b2f_file_allow_write() allows it again.  No thread
 * may be writing.  Waits for no other commit.
 *
 * Returns 0; -EBUSY (there is something to commit, or a commit is under way: nothing
 * has changed) or as b2f_frame_open().
 */
B2F_MUST_CHECK
int b2f_file_end_write(struct b2f_file *file);

/* True after b2f_file_allow_write() succeeded. */
bool b2f_file_is_writable(struct b2f_file *file);

/*
 * Writes the @size bytes at @buf to @off; what lies between the end of the file
 * and @off becomes zeros.  May wait for the workers if too much is dirty.
 *
 * Returns the number of bytes written, from the first on: @size, or fewer if an
 * error came after some; or -EBADF (not writable), -EPERM (an array has one
 * size and keeps it; logged), -EFBIG, -ENOMEM, B2F_ECORRUPT (damaged data that
 * were to be kept beside the new ones), or an errno of the store (-ENOSPC,
 * -EDQUOT, -EIO) that keeps dirty chunks from being written, and so memory from
 * being free.
 */
B2F_MUST_CHECK
ssize_t b2f_file_pwrite(struct b2f_file *file, const void *buf, size_t size,
			uint64_t off);

/* Writes at the current end of the file; *@off is its position. */
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
 * Returns 1, 0 (no change), -EBADF, -EROFS, -EINVAL (there is no such codec,
 * level or filter), -EBUSY (the array is being written anew) or -ENOMEM.  If a
 * commit finds that another program has changed the frame, the settings of that
 * program count: call this again until it returns 0.
 */
B2F_MUST_CHECK
int b2f_file_set_encoding(struct b2f_file *file,
			  const struct b2f_encoding *encoding);

/*
 * Commits all bytes written before this call; returns 0 if there are none.
 * Waits a few seconds for other programs that have locked the frame (.b2lock).
 *
 * Returns 0; -ESTALE (another program has changed the same chunks, or the size,
 * since; nothing of its work is touched); -EBUSY (it changed others again and
 * again meanwhile; or the array is being written anew) or -EAGAIN (it has
 * locked the frame): to be tried later; or an errno of the store.  The cause is
 * logged.  With -ENOSPC or -EDQUOT, of a file that only became longer since its
 * last commit, the beginning that could be stored is committed.
 */
B2F_MUST_CHECK
int b2f_file_commit(struct b2f_file *file, enum b2f_commit_how how);

/*
 * Like b2f_file_commit() without waiting: -EAGAIN also while another thread
 * commits the file.  For threads that have other files to care for.
 */
B2F_MUST_CHECK
int b2f_file_try_commit(struct b2f_file *file, enum b2f_commit_how how);

/*
 * Cuts a contiguous frame where it ends, and with @last gives back all room that its
 * last commit does without, and moves chunks there if there is much of it, as the end
 * of @file does otherwise; call it when a
 * writer, or the @last one, may be leaving; @late: one that @ends_late may have left
 * before.  Nothing happens while there is something to commit, or if another program
 * is, or may be, in the way: the next writer finds that room.
 */
void b2f_file_tidy(struct b2f_file *file, bool last, bool late);

/* True if there is something to commit, or to make durable. */
bool b2f_file_is_dirty(struct b2f_file *file);

/*
 * Nanoseconds since something became dirty, or was left without a sync; 0 if
 * all is durable, or if it is better to wait with the commit, as an array is
 * still being written.
 */
uint64_t b2f_file_dirty_ns(struct b2f_file *file);

/* Drops all uncommitted changes; for a file that has been deleted. */
void b2f_file_discard(struct b2f_file *file);

/*
 * After a refused commit (-ESTALE): drops all uncommitted changes, and goes on
 * with the version on disk.  A write of another thread meanwhile is dropped
 * too, or changes the version on disk. b2f_file_take_foreign() reports the
 * change.
 *
 * Returns 0; or nothing was forgotten: as b2f_frame_open(), or B2F_ENOTFRAME
 * (it has gone).
 */
B2F_MUST_CHECK
int b2f_file_revert(struct b2f_file *file);

/* The state of a file that may be changing. */
struct b2f_file_now {
	/* Decoded bytes. */
	uint64_t nbytes;
	/* Chunks of the frame as it was opened, or went on with. */
	uint64_t nchunks;
	/* Stored bytes, at the last commit. */
	uint64_t cbytes;
	/* The index as of the last commit, or as it was opened. */
	struct b2f_frame_stamp stamp;
	/* Another version may have that stamp, too: b2f_file_refresh() tells. */
	bool in_doubt;
	/* Something is to be committed. */
	bool dirty;
	/* Written to since the last commit, at @mtime. */
	bool has_mtime;
	struct timespec mtime;
};

void b2f_file_now_get(struct b2f_file *file, struct b2f_file_now *out);

/*
 * Calls @fn with @arg and a descriptor of the directory the index
 * (B2F_INDEX_NAME) is in, while no commit replaces it; for chmod and the like.
 * Afterwards the index counts as known, whatever @fn did to its attributes; it
 * may set the mtime only with @sets_mtime, and then the next commit leaves that
 * alone unless something is written first.
 *
 * A contiguous frame has no directory, so @dirfd is -1: its one file has the
 * attributes.  Returns what @fn returned.
 */
B2F_MUST_CHECK
int b2f_file_with_index(struct b2f_file *file, bool sets_mtime,
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
 * Returns 0; as b2f_file_commit(); -ESTALE (another program has changed the frame);
 * -EBUSY (there is always more to commit); as b2f_frame_open(), or what @fn returned:
 * then @file stays where it was.
 */
B2F_MUST_CHECK
int b2f_file_move(struct b2f_file *file, b2f_file_move_fn *fn, void *arg);

/*
 * Returns true once after a change by another program became visible: a write
 * began with it, or a commit was merged with it.  Drop any bytes of the file
 * that were kept.  b2f_file_refresh() tells of such a change, too.
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
