/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seen.h - what the kernel and we have seen of the data of a file
 *
 * The kernel keeps data until it is told of another size or to drop them.  It
 * must be told to when another program has changed them, and must not be told
 * to when only we have: it lets go of the pages that it is writing before we
 * have their data, and who reads them again at that moment would see the old
 * ones from then on.  So changes of ours are known from those of others.
 *
 * A version is told by its stamp: that of the index of a frame, or of the file
 * itself.  What is known of the kernel's cache of a node is one of these:
 *
 *   UNKNOWN  nothing
 *   UNSURE   it has data of @stamp, which another version may have too: the
 *            clock of the filesystem has not ticked since
 *   SURE     it has data of @stamp, and no other version has that
 *   MIXED    it may have older data as well
 *
 *              opened           changed by      changed by       closed
 *              first            us              others
 *   UNKNOWN    SURE or UNSURE   UNSURE          -                -
 *   UNSURE     SURE or UNSURE   UNSURE          MIXED, dropped   SURE if ours
 *   SURE       SURE or UNSURE   UNSURE          MIXED, dropped   SURE
 *   MIXED      SURE or UNSURE   MIXED           MIXED, dropped   MIXED
 *
 * The kernel may keep its cache for the first of several opens if this is SURE
 * and the version still the same (if not, the open drops it, so all that it has
 * then is of that version); for others if nothing waits to be dropped.  A
 * request never drops: the kernel may wait for that very request.  The ticker
 * does.
 *
 * Layer: fuse.
 *
 * Threads: any.  What gets a struct fs_seen is called with fs->state_lock held;
 * what gets a struct fs takes it.
 */
#ifndef B2F_FUSE_SEEN_H
#define B2F_FUSE_SEEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "b2frame/frame.h"

struct b2f_file_now;
struct fs;
struct fs_node;

enum fs_seen_cache {
	FS_SEEN_UNKNOWN,
	FS_SEEN_UNSURE,
	FS_SEEN_SURE,
	FS_SEEN_MIXED,
};

/* What the kernel is to drop, and is just being told to. */
enum {
	FS_SEEN_DROP_SELF = 1,
	FS_SEEN_DROP_VIEW = 2,
	FS_SEEN_DROPPING = 4,
};

struct fs_seen {
	struct b2f_frame_stamp stamp;
	enum fs_seen_cache cache;
	/* We have made that version, and then the ctime to show for it. */
	bool is_ours;
	struct timespec ctime;
	/* The kernel may know another size, which only a new inode mends. */
	bool resized;
	unsigned int drop;
	/* Opens that were not closed yet. */
	size_t nopen;
	/*
	 * Changes of ours to a file that is no frame: how many have begun and
	 * ended, and how many of them @stamp has.
	 */
	uint64_t nbegun;
	uint64_t nended;
	uint64_t nseen;
};

/*
 * Opened: @stamp is what is on disk, and @settled if no other version can have
 * that.  Returns whether the kernel's cache is right.
 */
bool fs_seen_open(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		  bool settled);

/* Is it right for one more open of what is open? */
bool fs_seen_may_share(const struct fs_seen *seen);

/* Changed by us, to @stamp; with the ctime to show for it if that is another.
 */
void fs_seen_ours(struct fs_seen *seen, const struct b2f_frame_stamp *stamp);
void fs_seen_ours_at(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		     int64_t ctime_ns);

/* We have changed no data, but attributes of @before, which makes it @now. */
void fs_seen_meta(struct fs_seen *seen, const struct b2f_frame_stamp *before,
		  const struct b2f_frame_stamp *now);

/* Changed by others, to @stamp (NULL: the version stays), while it is open. */
void fs_seen_theirs(struct fs_seen *seen, const struct b2f_frame_stamp *stamp);

/*
 * Closed.  @stamp: what our last version is, NULL if that is not known; and it
 * is still there, @settled if no other version can have it.
 */
void fs_seen_close(struct fs_seen *seen, const struct b2f_frame_stamp *stamp,
		   bool is_there, bool settled);

/*
 * With writeback_cache the kernel takes no size from us for an inode that it
 * knows.  Returns whether it needs another one for what is not open, and is
 * @stamp now.
 */
bool fs_seen_must_renew(struct fs_seen *seen,
			const struct b2f_frame_stamp *stamp);

/* Is the version @stamp one that we have made? */
bool fs_seen_is_ours(const struct fs_seen *seen,
		     const struct b2f_frame_stamp *stamp);

/* A look at a file that is no frame. */
struct fs_look {
	struct b2f_frame_stamp stamp;
	/* No other version can have that. */
	bool settled;
	/* It is sure to be without a half of a change of ours. */
	bool alone;
};

/* Have others changed what is open, since the last look? */
void fs_seen_compare(struct fs_seen *seen, const struct fs_look *look);

/* As fs_seen_open(), behind that; @is_written: others may write to it here. */
bool fs_seen_open_look(struct fs_seen *seen, const struct fs_look *look,
		       bool is_written);

/* seen_look.c */

/*
 * Is the last change of the file so long ago that another one now would get
 * another time?  Clocks of filesystems tick every few milliseconds, some only
 * every other second; what is younger than that may change without a trace.
 */
bool fs_seen_is_settled(const struct stat *st);

/*
 * Attributes of a frame that is not open were changed by us, from @before to
 * @now; NULL: it was just made.
 */
void fs_seen_note_meta(struct fs *fs, struct fs_node *node,
		       const struct stat *before, const struct stat *now);

/*
 * We have committed the open frame @node, which was @before, and is @now.  A
 * commit gives the index a new ctime, long after the change was answered; the
 * one to be shown is that of the change, or @shown if that is later.
 */
void fs_seen_note_commit(struct fs *fs, struct fs_node *node,
			 const struct b2f_file_now *before,
			 const struct b2f_file_now *now,
			 const struct timespec *shown);

/* The ctime to show of the frame @node, whose index is @index. */
struct timespec fs_seen_ctime(struct fs *fs, const struct fs_node *node,
			      const struct stat *index);

/* Files that are no frames, seen by fstat(2) of @fd, of any kind. */

/* As fs_seen_open().  Returns 0, and then it is counted, or an errno. */
B2F_MUST_CHECK
int fs_seen_open_plain(struct fs *fs, struct fs_node *node, int fd, bool *keep);

void fs_seen_close_plain(struct fs *fs, struct fs_node *node, int fd);

/* Around each change of ours. */
void fs_seen_begin(struct fs *fs, struct fs_node *node, int fd);
void fs_seen_end(struct fs *fs, struct fs_node *node, int fd);

/* Looks for changes of others. */
void fs_seen_look(struct fs *fs, struct fs_node *node, int fd);

#endif
