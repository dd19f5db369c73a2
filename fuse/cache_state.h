/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_state.h - the state of the kernel's cache of a file
 *
 * The kernel keeps cached pages until the daemon tells it another size, or to
 * drop them.  The daemon has to do so when another program changed the file,
 * but not when only this mount did: the kernel would drop pages that are being
 * written before their data have arrived here, and cache the old data for a
 * reader of that moment.  So foreign changes must be told from ours.
 *
 * A version is identified by the stamp of the frame's index, or of the file
 * itself.  The kernel's cache of a node is in one of these states:
 *
 *   UNKNOWN  nothing is known of it
 *   UNSURE   it has data of @stamp, which another version may have too: the
 *            clock of the filesystem has not ticked since
 *   SURE     it has data of @stamp, and no other version has that
 *   MIXED    it may have older data as well
 *
 *              opened           changed by      changed by       closed
 *              first            us              others
 *   UNKNOWN    SURE or UNSURE   UNSURE          -                -
 *   UNSURE     SURE or UNSURE   UNSURE          MIXED, dropped   SURE if ours
 *              of others, and only read: MIXED, dropped, once the clock ticked
 *   SURE       SURE or UNSURE   UNSURE          MIXED, dropped   SURE
 *   MIXED      SURE or UNSURE   MIXED           MIXED, dropped   MIXED
 *
 * The first open keeps the pages if they are SURE and of the same version;
 * otherwise it drops them.  Further opens keep them, but wait until marked
 * pages are dropped.
 *
 * The answer to an open could drop pages, too.  But it may reach the kernel
 * when another open has been answered and written to, and the kernel drops a
 * page that is being written as well.  A read that overtakes the write then
 * brings back the old page, and nothing corrects it.  So pages are dropped by
 * messages to the kernel: of a file that nothing has open in the first open,
 * otherwise by the ticker, because the kernel may wait for requests meanwhile.
 * If a change was under way, its end has the pages dropped again.
 *
 * Layer: fuse.
 *
 * Threads: any.  The caller of a function with a struct fs_cache_state holds
 * fs->state_lock; a function with a struct fs takes it.
 */
#ifndef B2F_FUSE_CACHE_STATE_H
#define B2F_FUSE_CACHE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/frame.h"

struct b2f_file_now;
struct fs;
struct fs_backed;
struct fs_handle;

enum fs_cache_knowledge {
	FS_CACHE_UNKNOWN,
	FS_CACHE_UNSURE,
	FS_CACHE_SURE,
	FS_CACHE_MIXED,
};

/* The inodes whose pages the kernel must drop. */
enum {
	FS_CACHE_DROP_SELF = 1,
	FS_CACHE_DROP_VIEW = 2,
};

struct fs_cache_state {
	struct b2f_frame_stamp stamp;
	enum fs_cache_knowledge cache;
	/* Our commit made this version; stat(2) shows @ctime for it. */
	bool is_ours;
	struct timespec ctime;
	/* The kernel may have a wrong size, which only a new inode corrects. */
	bool resized;
	unsigned int drop;
	/* A change was under way during that drop: drop them again. */
	unsigned int again;
	/* Drops under way. */
	size_t ndropping;
	/* It was opened before: the kernel may have pages. */
	bool was_open;
	/* Opens not yet closed. */
	size_t nopen;
	/*
	 * How many of our changes have begun, how many have ended, and, for
	 * files that are no frames, how many of them @stamp includes.
	 */
	uint64_t nbegun;
	uint64_t nended;
	uint64_t nseen;
};

/*
 * Call these around each drop.  _begin takes the marks of @which, and returns
 * them; 0: there is nothing to do.  *@nended is for _end.
 */
unsigned int fs_cache_state_begin_drop(struct fs_cache_state *seen,
				       unsigned int which, uint64_t *nended);
void fs_cache_state_end_drop(struct fs_cache_state *seen, unsigned int drop,
			     uint64_t nended);

/* Notes the end of a change.  Returns whether the kernel must drop pages. */
bool fs_cache_state_end_change(struct fs_cache_state *seen);

/*
 * Notes an open.  @stamp is the version on disk; @settled: no other version can
 * have that stamp.  Returns whether the kernel may keep its pages.
 */
bool fs_cache_state_open(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *stamp, bool settled);

/* Must the kernel drop its pages before the first open of @stamp? */
bool fs_cache_state_must_drop(const struct fs_cache_state *seen,
			      const struct b2f_frame_stamp *stamp);

/* Like fs_cache_state_open(), for an open by the daemon itself. */
void fs_cache_state_open_inside(struct fs_cache_state *seen,
				const struct b2f_frame_stamp *stamp,
				bool settled);

/* May a further open of a file that is open keep the kernel's pages? */
bool fs_cache_state_may_share(const struct fs_cache_state *seen);

/*
 * Notes that we changed the file to @stamp; _at: with a ctime to show that is
 * not the stamp's.
 */
void fs_cache_state_ours(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *stamp);
void fs_cache_state_ours_at(struct fs_cache_state *seen,
			    const struct b2f_frame_stamp *stamp,
			    int64_t ctime_ns);

/* Notes that we changed attributes, but no data: @before became @now. */
void fs_cache_state_meta(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *before,
			 const struct b2f_frame_stamp *now);

/* Notes a foreign change of the open file to @stamp; NULL: unknown. */
void fs_cache_state_theirs(struct fs_cache_state *seen,
			   const struct b2f_frame_stamp *stamp);

/*
 * Notes a close.  @stamp: our last version, or NULL if it is unknown;
 * @is_there: it is still on disk; @settled: no other version can have its
 * stamp.
 */
void fs_cache_state_close(struct fs_cache_state *seen,
			  const struct b2f_frame_stamp *stamp, bool is_there,
			  bool settled);

/*
 * With writeback_cache the kernel takes no size from us for an inode that it
 * knows.  Returns whether a closed file, now in version @stamp, needs a new
 * inode for that reason.
 */
bool fs_cache_state_must_renew(struct fs_cache_state *seen,
			       const struct b2f_frame_stamp *stamp);

/* Did this mount make the version @stamp? */
bool fs_cache_state_is_ours(const struct fs_cache_state *seen,
			    const struct b2f_frame_stamp *stamp);

/* The result of a look at a file that is no frame. */
struct fs_look {
	struct b2f_frame_stamp stamp;
	/* No other version can have that stamp. */
	bool settled;
	/* None of our changes was under way during the look. */
	bool alone;
};

/* Finds out whether other programs changed the file since the last look. */
void fs_cache_state_compare(struct fs_cache_state *seen,
			    const struct fs_look *look);

/*
 * Call this when the clock has ticked since another program changed the open
 * file, to which this mount does not write.  The other program may have changed
 * it twice with the same stamp, so the kernel may have the older data.
 */
void fs_cache_state_resolve(struct fs_cache_state *seen,
			    const struct fs_look *look);

/*
 * fs_cache_state_compare(), then fs_cache_state_open().  @is_written: a handle
 * of this mount may write to the file.
 */
bool fs_cache_state_open_look(struct fs_cache_state *seen,
			      const struct fs_look *look, bool is_written);

/* cache_state_look.c */

/*
 * Notes that we changed attributes of a closed frame from @before to @now;
 * NULL: that we have just made the frame.
 */
void fs_cache_state_note_meta(struct fs *fs, struct fs_backed *node,
			      const struct stat *before,
			      const struct stat *now);

/*
 * Notes our commit of the open frame @node from @before to @now.  The commit
 * gives the index a new ctime, long after the write was answered; stat(2) still
 * shows the ctime of the write, or @shown if that is later.
 */
void fs_cache_state_note_commit(struct fs *fs, struct fs_backed *node,
				const struct b2f_file_now *before,
				const struct b2f_file_now *now,
				const struct timespec *shown);

/* The ctime to show for the frame @node with the index @index. */
struct timespec fs_cache_state_ctime(struct fs *fs,
				     const struct fs_backed *node,
				     const struct stat *index);

/* For files that are no frames: @fd is any descriptor for fstat(2). */

/*
 * Like fs_cache_state_open(), for @handle: sets its @keep_cache and @is_seen,
 * and counts a writer.  Marks pages that the kernel may not keep.  *@first:
 * nothing else has the file open.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_cache_state_open_plain(struct fs *fs, struct fs_handle *handle,
			      bool *first);

void fs_cache_state_close_plain(struct fs *fs, struct fs_backed *node, int fd);

/*
 * Call these around each change by this mount.  @size: the size that an append
 * must leave, or -1.
 */
void fs_cache_state_begin(struct fs *fs, struct fs_backed *node, int fd);
void fs_cache_state_end(struct fs *fs, struct fs_backed *node, int fd,
			int64_t size);

/* Looks for changes by other programs. */
void fs_cache_state_look(struct fs *fs, struct fs_backed *node, int fd);

#endif
