/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - handles of open files and directories
 *
 * In each volume (volume.h) a handle has one of three kinds of data:
 *
 *   a frame       @file; of a view behind @head
 *   a descriptor  @fd: a file of the tree that is no frame
 *   bytes         @ops->pread(): a member of a pack, or an object that is no
 *                 frame
 *
 * op_io.c and op_write.c answer the requests; a volume adds its own steps by a
 * struct fs_data_ops.
 *
 * Layer: fuse.
 *
 * Threads: any.
 */
#ifndef B2F_FUSE_HANDLE_H
#define B2F_FUSE_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "b2frame/file.h"
#include "b2frame/write.h"
#include "tree.h"

struct fs;
struct fs_anew;
struct fs_handle;
struct fs_listing;
struct fs_file;
struct fs_open_frame;
struct fs_bucket_names;
struct fs_share;

/*
 * Operations of a volume on open data.  A NULL does nothing.  The operations
 * from @begin_change on are for frames; a writable volume has all of them
 * except perhaps @check_room and @tidy.
 */
struct fs_data_ops {
	/* Closes the volume's part of the handle. */
	void (*close)(struct fs *fs, struct fs_handle *handle);
	/*
	 * Called when the open is answered.  Returns the number of the backing
	 * file that the kernel reads and writes itself; 0: it sends requests.
	 */
	int (*pass)(struct fs *fs, struct fs_handle *handle, int flags);
	/* Reads as pread(2); fewer bytes only at the end of the file. */
	ssize_t (*pread)(struct fs *fs, const struct fs_handle *handle,
			 void *buf, size_t size, uint64_t off);
	/*
	 * Called after a read, which returned @n bytes or an errno, and before
	 * its answer.  Returns 0, -EAGAIN (read again, because the version has
	 * changed), or an errno to answer.
	 */
	int (*check_read)(struct fs *fs, const struct fs_handle *handle,
			  ssize_t n);
	/* Called before and after each change of a frame. */
	void (*begin_change)(struct fs *fs, struct fs_handle *handle);
	void (*end_change)(struct fs *fs, struct fs_handle *handle);
	/* Is there room to store [@off, @end)?  Returns 0 or an errno. */
	int (*check_room)(const struct fs_handle *handle, uint64_t off,
			  uint64_t end);
	/* Has the kernel drop its pages. */
	void (*drop_cached)(struct fs *fs, struct fs_handle *handle);
	/* For fs_handle_commit(). */
	int (*commit)(struct fs *fs, struct fs_handle *handle,
		      enum b2f_commit_how how);
	/* Called after the commit of a flush, perhaps the last writer's. */
	void (*tidy)(struct fs *fs, struct fs_handle *handle);
	/* Goes back to the stored version. */
	void (*revert)(struct fs *fs, struct fs_handle *handle);
};

/*
 * Whether cache_state.h counts the open of a plain file; then, whether the
 * kernel reads and writes it itself (PASSED), or sends requests (ASKED).
 */
enum fs_seen { FS_UNSEEN, FS_SEEN, FS_SEEN_PASSED, FS_SEEN_ASKED };

struct fs_handle {
	/* In the list of all handles; under fs->state_lock. */
	TAILQ_ENTRY(fs_handle) all;
	/*
	 * Held while a directory is listed, or the replacement of an array
	 * begins.
	 */
	pthread_mutex_t lock;
	/* References of the kernel, and of each request that may outlive it. */
	_Atomic size_t nrefs;
	const struct fs_data_ops *ops;
	/* The open node, with a reference. */
	struct fs_node *node;
	/* In the tree: the file itself, or the frame of a view. */
	struct fs_pin pin;
	/* In the tree: of the user who has opened it (tree_handle.c). */
	struct fs_share *share;
	/* The frame, which the volume closes; NULL: the file is no frame. */
	struct fs_file *open;
	/* Its data. */
	struct b2f_file *file;
	struct b2f_stream *stream;
	/* For a frame in the tree: the state that all its handles share. */
	struct fs_open_frame *frame;
	/* For a view: the header before the data, malloc'ed; otherwise NULL. */
	uint8_t *_Atomic head;
	_Atomic size_t head_len;
	/* How often changes were dropped (b2f_file_now) that it knows of. */
	_Atomic uint64_t ndropped;
	/* For an array opened with O_TRUNC (anew.h); otherwise NULL. */
	struct fs_anew *anew;
	/* For a directory: the names in it, in the tree or in a bucket. */
	struct fs_listing *listing;
	struct fs_bucket_names *names;
	/* For a file of the tree that is no frame; otherwise -1. */
	int fd;
	/* The size, if the file has neither @file nor @fd. */
	uint64_t nbytes;
	/* See the enum; under fs->state_lock. */
	enum fs_seen is_seen;
	/* Opened for writing. */
	bool writes;
	/* The kernel may keep the pages that it had before the open. */
	bool keep_cache;
	/* The kernel must not cache the file. */
	bool direct_io;
	/* This handle changed a file that is no frame. */
	atomic_bool wrote;
};

TAILQ_HEAD(fs_handles, fs_handle);

/* How many handles each user has; under fs->state_lock. */
struct fs_shares {
	/* A uthash by user. */
	struct fs_share *users;
	size_t nhandles;
};

/* The flags and the user of an open. */
struct fs_open_how {
	/* Flags of open(2). */
	int flags;
	uid_t uid;
	/* A new frame is known to have no lock file. */
	bool no_lock_file;
};

/* Closes all open files, when no request is running any more. */
void fs_handle_fini(struct fs *fs);

/*
 * Gives @handle to the caller; with @err, which it returns, closes @handle
 * instead.
 */
B2F_MUST_CHECK
int fs_handle_give(struct fs *fs, struct fs_handle *handle, int err,
		   struct fs_handle **out);

/* Makes a handle of @node and adds it to the list; NULL: no memory. */
struct fs_handle *fs_handle_new(struct fs *fs, const struct fs_data_ops *ops,
				struct fs_node *node);

/*
 * Has @handle show @open, the frame of its node, which @handle->ops->close()
 * closes.  Returns 0, -ENOMEM, or as b2f_file_npy_header().
 */
B2F_MUST_CHECK
int fs_handle_show(struct fs_handle *handle, struct fs_file *open);

/*
 * Notes which dropped changes @handle knows of.  Returns whether others were
 * dropped since it did so before.
 */
bool fs_handle_note_dropped(struct fs_handle *handle);

/*
 * Commits the changes of all handles of a frame.  Returns 0; -ESTALE, also once
 * for each writing handle if changes were dropped with half an array (anew.h);
 * or as b2f_file_commit().
 */
B2F_MUST_CHECK
int fs_handle_commit(struct fs *fs, struct fs_handle *handle,
		     enum b2f_commit_how how);

/*
 * Call this before @handle is used.  Returns -ESTALE if it shows a view of a
 * frame that has a header of its own now: the frame has no view any more, and
 * all bytes have moved.
 */
B2F_MUST_CHECK
int fs_handle_check_view(const struct fs_handle *handle);

/*
 * The handle of a plain file that is next to @before, with a reference; that to
 * @before is given back.  NULL begins with the first, and ends the list.
 */
struct fs_handle *fs_handle_next(struct fs *fs, struct fs_handle *before);

/*
 * Takes a reference to @handle for work after the answer to a request: the
 * reader may close the file as soon as it has the answer.
 */
static inline void fs_handle_ref(struct fs_handle *handle)
{
	atomic_fetch_add_explicit(&handle->nrefs, 1, memory_order_relaxed);
}

/* Gives back a reference; the last one closes. */
void fs_handle_close(struct fs *fs, struct fs_handle *handle);

#endif
