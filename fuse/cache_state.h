/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_state.h - what the kernel and we have seen of the data of a file
 *
 * The kernel keeps data until it is told of another size or to drop them.  It
 * must be told so when another program changed them, but not when only we did:
 * it lets go of pages that it is writing before we have their data, and a
 * reader that comes at that moment would see the old data from then on.  So
 * foreign changes must be told from ours.
 *
 * A version is known by its stamp: that of the index of a frame, or of the file
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
 * The first of several opens may keep the cache if that is SURE and the version
 * is still the same; otherwise it drops the cache, which then has only the new
 * version.  Further opens may keep it if nothing waits to be dropped.  Requests
 * do not tell the kernel to drop anything, as the kernel may wait for that very
 * request; the ticker does.  Only the first open of a frame does (open_frame.c),
 * as no page can wait for an answer then.
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

enum fs_cache_knowledge {
	FS_CACHE_UNKNOWN,
	FS_CACHE_UNSURE,
	FS_CACHE_SURE,
	FS_CACHE_MIXED,
};

/* Caches that the ticker must tell the kernel to drop, or is dropping. */
enum {
	FS_CACHE_DROP_SELF = 1,
	FS_CACHE_DROP_VIEW = 2,
	FS_CACHE_DROPPING = 4,
};

struct fs_cache_state {
	struct b2f_frame_stamp stamp;
	enum fs_cache_knowledge cache;
	/* Our commit made that version; @ctime is what stat(2) shows for it. */
	bool is_ours;
	struct timespec ctime;
	/* The kernel may have another size, which only a new inode corrects. */
	bool resized;
	unsigned int drop;
	/* It was opened once: the kernel may have data of it. */
	bool was_open;
	/* Opens not yet closed. */
	size_t nopen;
	/*
	 * For files that are no frames: how many changes of ours have begun,
	 * how many have ended, and how many of them @stamp includes.
	 */
	uint64_t nbegun;
	uint64_t nended;
	uint64_t nseen;
};

/*
 * Notes an open.  @stamp is the version on disk; @settled: no other version can
 * have that stamp.  Returns whether the kernel's cache is right.
 */
bool fs_cache_state_open(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *stamp, bool settled);

/* Has the kernel's cache to be dropped before the first open of @stamp? */
bool fs_cache_state_must_drop(const struct fs_cache_state *seen,
			      const struct b2f_frame_stamp *stamp);

/* fs_cache_state_open() by ourselves: the kernel drops nothing for that. */
void fs_cache_state_open_inside(struct fs_cache_state *seen,
				const struct b2f_frame_stamp *stamp,
				bool settled);

/* May a further open keep the kernel's cache of a file that is open already? */
bool fs_cache_state_may_share(const struct fs_cache_state *seen);

/*
 * Notes that we changed the file to @stamp; _at with the ctime to show, if that
 * is not the stamp's.
 */
void fs_cache_state_ours(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *stamp);
void fs_cache_state_ours_at(struct fs_cache_state *seen,
			    const struct b2f_frame_stamp *stamp,
			    int64_t ctime_ns);

/*
 * Notes that we changed attributes, but no data: the version @before is @now.
 */
void fs_cache_state_meta(struct fs_cache_state *seen,
			 const struct b2f_frame_stamp *before,
			 const struct b2f_frame_stamp *now);

/*
 * Notes that another program changed the open file to @stamp; NULL: to a
 * version that we do not know yet.
 */
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
 * knows.  Returns whether a file that is not open, and is @stamp now, needs a
 * new inode for that reason.
 */
bool fs_cache_state_must_renew(struct fs_cache_state *seen,
			       const struct b2f_frame_stamp *stamp);

/* Did this mount make the version @stamp? */
bool fs_cache_state_is_ours(const struct fs_cache_state *seen,
			    const struct b2f_frame_stamp *stamp);

/* A look at a file that is no frame. */
struct fs_look {
	struct b2f_frame_stamp stamp;
	/* No other version can have that. */
	bool settled;
	/* No change of ours was under way during the look. */
	bool alone;
};

/* Finds out whether other programs changed the file since the last look. */
void fs_cache_state_compare(struct fs_cache_state *seen,
			    const struct fs_look *look);

/*
 * The clock has ticked since the open file, which nothing of this mount writes to,
 * was made by another program: if that has changed it once more before, with the
 * same stamp, the kernel has older data.
 */
void fs_cache_state_resolve(struct fs_cache_state *seen,
			    const struct fs_look *look);

/*
 * fs_cache_state_compare(), then fs_cache_state_open().  @is_written: a handle of this mount
 * may write to the file.
 */
bool fs_cache_state_open_look(struct fs_cache_state *seen,
			      const struct fs_look *look, bool is_written);

/* cache_state_look.c */

/*
 * Notes that we changed attributes of a frame that is not open, from @before to
 * @now; NULL: that we have just made it.
 */
void fs_cache_state_note_meta(struct fs *fs, struct fs_backed *node,
			      const struct stat *before,
			      const struct stat *now);

/*
 * Notes our commit of the open frame @node, which was @before and is @now.  The
 * commit gives the index a new ctime, long after the write was answered;
 * stat(2) goes on to show that of the write, or @shown if that is later.
 */
void fs_cache_state_note_commit(struct fs *fs, struct fs_backed *node,
				const struct b2f_file_now *before,
				const struct b2f_file_now *now,
				const struct timespec *shown);

/* The ctime to show of the frame @node, whose index is @index. */
struct timespec fs_cache_state_ctime(struct fs *fs,
				     const struct fs_backed *node,
				     const struct stat *index);

/* For files that are no frames: @fd is any descriptor for fstat(2). */

/* fs_cache_state_open() for @fd.  Returns 0, and has counted it, or an errno. */
B2F_MUST_CHECK
int fs_cache_state_open_plain(struct fs *fs, struct fs_backed *node, int fd,
			      bool *keep);

void fs_cache_state_close_plain(struct fs *fs, struct fs_backed *node, int fd);

/* Call these around each change of ours. */
void fs_cache_state_begin(struct fs *fs, struct fs_backed *node, int fd);
void fs_cache_state_end(struct fs *fs, struct fs_backed *node, int fd);

/* Looks for changes by other programs. */
void fs_cache_state_look(struct fs *fs, struct fs_backed *node, int fd);

#endif
