/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open_frames.h - open frames: what all who have a frame open share
 *
 * Each node has one struct fs_file at most, so there is one state of a frame,
 * and one place its changes go to, however many handles there are.
 *
 * What we write ourselves is known: the library says what the index is after
 * each commit.  When somebody else changes a frame that is open here, *and* it
 * has no uncommitted changes, the open file goes on with what is on disk then.
 * That is noticed at the next open or stat(2), and once a second by the ticker;
 * whoever notices it has the kernel's cache dropped:
 *
 *   an open         by not keeping it
 *   all others      through the ticker, which tells the kernel (a request must
 *                   not: the kernel may hold what it would have to wait for)
 *
 * So a reader may get bytes of the old version for a moment after new ones of
 * another part, as with any network filesystem, and never a block made of both.
 * With uncommitted changes here the commit decides (b2f_file_commit()).
 *
 * A frame that is the root of the mount is whatever has its name.  If that is
 * another directory now, while the old one is open, the new one gets a file of
 * its own, past the kernel's cache.
 *
 * Two versions may have the same stamp if they follow each other within one
 * tick of the filesystem's clock.  So a frame that somebody else has just
 * changed is opened a moment later, when its stamp can belong to one only.
 *
 * Layer: fuse.
 *
 * Threads: any.  All fields that change are under files->lock (openfiles.h),
 * which is taken before the tree's lock and never held during I/O.
 */
#ifndef B2F_FUSE_OPEN_FRAMES_H
#define B2F_FUSE_OPEN_FRAMES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "b2frame/write.h"
#include "tree.h"

struct fs;
struct fs_probe;

struct fs_file {
	/* These never change.  The pin holds the node. */
	struct fs_pin pin;
	struct b2f_file *file;
	/* What messages call it. */
	char *label;
	/* Of the directory or file that is open. */
	dev_t dev;
	ino_t ino;
	/* The kernel's cache is of another one: see above. */
	bool past_cache;

	/* How often it was changed, and how many of those are committed. */
	_Atomic uint64_t nchanges;
	_Atomic uint64_t ncommitted;
	/* Handles that may write, and truncations by name. */
	_Atomic size_t nwriters;
	/* What a commit refused is being forgotten: no writer may begin. */
	bool reverting;

	/* In the list of all. */
	struct fs_file *prev;
	struct fs_file *next;
	/* 0: only kept until what it holds can be stored. */
	size_t nrefs;
	/* Not to be tried before, on the monotonic clock. */
	time_t retry_s;
	/* Set once it is open for writing; under the lock of durable.h. */
	struct fs_durable *durable;
	/* As shown last, for when it cannot be looked at. */
	struct stat attr;
	/* The mtime of what is being committed, as shown before. */
	struct timespec mtime;
	bool has_mtime;
};

struct fs_frames {
	/* Head of the list of all. */
	struct fs_file all;
	/* One of them has been closed, or reverted. */
	pthread_cond_t closed;
};

/* What to answer to an open. */
struct fs_frame_opened {
	struct fs_file *file;
	/* The kernel's cache of data is still right. */
	bool keep_cache;
	/* It must not be used. */
	bool direct_io;
};

void fs_frames_init(struct fs_frames *frames);

/*
 * Commits and closes what is still kept; all handles are closed.  What other
 * programs have locked comes last, and is not waited for without end.  Returns
 * 0, or the first error: then something that was written is lost, as is logged.
 */
B2F_MUST_CHECK
int fs_frames_fini(struct fs *fs);

/*
 * Opens the frame @node, or shares it.  Give @out->file back with
 * fs_frames_put().
 *
 * Returns 0, -ESTALE (it has gone: look it up again), B2F_ECORRUPT,
 * B2F_EUNSUPPORTED, B2F_ETOOBIG or an errno.
 */
B2F_MUST_CHECK
int fs_frames_get(struct fs *fs, struct fs_node *node,
		  struct fs_frame_opened *out);

/*
 * The same if @node was just made, and is open as @frame, which is taken over.
 * Returns 0, -ESTALE, -ENOMEM or an errno.
 */
B2F_MUST_CHECK
int fs_frames_add(struct fs *fs, struct fs_node *node, struct b2f_frame *frame,
		  struct fs_frame_opened *out);

/* What messages call @name in @dir; *@out is malloc'ed.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_frames_label(struct fs *fs, struct fs_node *dir, const char *name,
		    char **out);

/* To be called after each change of the data of @file, before its answer. */
static inline void fs_frames_note_change(struct fs_file *file)
{
	atomic_fetch_add(&file->nchanges, 1);
}

/* Is everything committed that was written? */
static inline bool fs_frames_is_committed(const struct fs_file *file)
{
	return atomic_load(&file->ncommitted) == atomic_load(&file->nchanges);
}

/* The file of @node if it is open, as it is, with a reference; else NULL. */
struct fs_file *fs_frames_peek(struct fs *fs, struct fs_node *node);

/*
 * Gives back a reference; the last one commits and closes, without waiting for
 * other programs.  If that fails, the file is kept, and the ticker tries again.
 */
void fs_frames_put(struct fs *fs, struct fs_file *file);

/* b2f_file_allow_write(), which waits a moment for another writer's end. */
B2F_MUST_CHECK
int fs_frames_allow_write(struct fs *fs, struct fs_file *f);

/*
 * Commits @file; DURABLE makes its name durable as well, if it is new.  Does
 * nothing for one that was deleted.  Returns as b2f_file_commit().
 */
B2F_MUST_CHECK
int fs_frames_commit(struct fs *fs, struct fs_file *file,
		     enum b2f_commit_how how);

/*
 * Around all that a handle, or a truncation by name, may write to @file.  At
 * the end of the last one what the kernel has written back since its flush (of
 * mmap(2), mostly) is committed.  If the commit is refused (-ESTALE), which has
 * been told at the flush, the file is as on disk again; the begin waits for
 * that.
 */
void fs_frames_begin_writer(struct fs *fs, struct fs_file *file);
void fs_frames_end_writer(struct fs *fs, struct fs_file *file);

/*
 * As fs_frames_commit(), DURABLE, if something has been waiting for that as
 * long as the timer says; but waits for nobody, as b2f_file_try_commit().
 */
B2F_MUST_CHECK
int fs_frames_commit_old(struct fs *fs, struct fs_file *file);

/* Looks for changes of others; the ticker will tell the kernel of them. */
B2F_MUST_CHECK
int fs_frames_refresh(struct fs *fs, struct fs_file *file);

/* The same if its index was @index a moment ago. */
B2F_MUST_CHECK
int fs_frames_refresh_seen(struct fs *fs, struct fs_file *file,
			   const struct stat *index);

/* The ticker has the kernel drop what it has cached of @file. */
void fs_frames_drop_cached(struct fs *fs, struct fs_file *file);

/*
 * If a write or a commit has taken in what others had written, the ticker will
 * tell the kernel, as after fs_frames_refresh().
 */
void fs_frames_take_news(struct fs *fs, struct fs_file *file);

/*
 * Deletes the sparse frame @name in @dirfd: out of sight now, its files when
 * @node goes, which is its node, and is held; NULL: there is none.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_frames_delete(struct fs *fs, int dirfd, const char *name,
		     struct fs_node *node);

/*
 * References to all open files, for the ticker.  *@out is malloc'ed.
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_frames_all(struct fs *fs, struct fs_file ***out, size_t *n);

/*
 * Is the last change of the file so long ago that another one now would get
 * another time?  Clocks of filesystems tick every few milliseconds, some only
 * every other second; what is younger than that may change without a trace.
 */
bool fs_frames_settled(const struct stat *st);

/*
 * Opens the frame @node (O_PATH descriptor @fd) as it is on disk.  Returns as
 * b2f_frame_open(), but B2F_ECORRUPT for B2F_ENOTFRAME, or -ESTALE (it has
 * gone).
 */
B2F_MUST_CHECK
int fs_frames_open_disk(struct fs *fs, struct fs_node *node, int fd,
			struct b2f_frame **out);

/*
 * Sizes of the frame @node by opening it; @probe->fd and @probe->index are set.
 * A frame that cannot be opened has size 0.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_frames_sizes(struct fs *fs, struct fs_node *node,
		    struct fs_probe *probe);

#endif
