/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - handles: what the kernel has open, be it frame, file or directory
 *
 * There are three kinds of data, whatever volume they are of (volume.h):
 *
 *   a frame       @file; of a view behind @head
 *   a descriptor  @fd: a file of the tree that is no frame
 *   bytes         @ops->pread(): a member of a pack or an object that is no frame
 *
 * op_io.c and op_write.c have the requests about all of them; what a volume has to
 * add is in its struct fs_data_ops.
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
struct fs_member;
struct fs_bucket_names;
struct fs_object;
struct fs_share;

/*
 * Operations of a volume on open data; NULL: nothing.  Those from @begin_change
 * on are for frames; a volume that can be written to has all of these but
 * @check_room and @tidy.
 */
struct fs_data_ops {
	/* Closes what the volume has opened. */
	void (*close)(struct fs *fs, struct fs_handle *handle);
	/*
	 * The open of @handle is being answered.  Returns the number by which the
	 * kernel itself reads and writes the file below; 0: it asks for the data.
	 */
	int (*pass)(struct fs *fs, struct fs_handle *handle, int flags);
	/* Reads bytes, as pread(2), but ends early at the end only. */
	ssize_t (*pread)(struct fs *fs, const struct fs_handle *handle,
			 void *buf, size_t size, uint64_t off);
	/*
	 * Comes between a read, which gave @n bytes or an errno, and its answer.
	 * Returns 0, -EAGAIN (read it once more, as that is another version), or an
	 * errno to answer with.
	 */
	int (*check_read)(struct fs *fs, const struct fs_handle *handle,
			  ssize_t n);
	/* Before and after each change of a frame. */
	void (*begin_change)(struct fs *fs, struct fs_handle *handle);
	void (*end_change)(struct fs *fs, struct fs_handle *handle);
	/* Is there room for what [@off, @end) has to store?  0, or an errno. */
	int (*check_room)(const struct fs_handle *handle, uint64_t off,
			  uint64_t end);
	/* Has the kernel drop what it has cached. */
	void (*drop_cached)(struct fs *fs, struct fs_handle *handle);
	/* Stores all changes, by whichever handle. */
	int (*commit)(struct fs *fs, struct fs_handle *handle,
		      enum b2f_commit_how how);
	/* After the commit of a flush: the handle may be the last writer's. */
	void (*tidy)(struct fs *fs, struct fs_handle *handle);
	/* Goes back to what is stored. */
	void (*revert)(struct fs *fs, struct fs_handle *handle);
};

/* A file that is no frame, and who moves its data once the open is answered. */
enum fs_seen { FS_UNSEEN, FS_SEEN, FS_SEEN_PASSED, FS_SEEN_ASKED };

struct fs_handle {
	/* In the list of all; under fs->state_lock. */
	TAILQ_ENTRY(fs_handle) all;
	/* Held with I/O: while a directory is listed, or an array is begun anew. */
	pthread_mutex_t lock;
	/* The kernel's reference, and one per request that may outlive it. */
	_Atomic size_t nrefs;
	const struct fs_data_ops *ops;
	/* The open node: of the tree, of a pack, or of a bucket. */
	struct fs_pin pin;
	struct fs_member *packed;
	struct fs_object *bucket;
	/* The user who has opened it (tree_handle.c). */
	uid_t opener;
	/* NULL: it is no frame.  The volume closes it. */
	struct fs_file *open;
	/* Its data. */
	struct b2f_file *file;
	struct b2f_stream *stream;
	/* For a frame in the tree: the state that all its handles share. */
	struct fs_open_frame *frame;
	/*
	 * For a view: the header shown before the data, malloc'ed.  Otherwise
	 * NULL.
	 */
	uint8_t *_Atomic head;
	_Atomic size_t head_len;
	/* @ndropped of the frame when this handle was last told of it. */
	_Atomic uint64_t ndropped;
	/*
	 * For an array that was opened with O_TRUNC (anew.h); otherwise NULL.
	 */
	struct fs_anew *anew;
	/* For a directory: the names in it, in the tree or in a bucket. */
	struct fs_listing *listing;
	struct fs_bucket_names *names;
	/* For a file of the tree that is no frame; otherwise -1. */
	int fd;
	/* How many bytes there are, of what has neither @file nor @fd. */
	uint64_t nbytes;
	/* @fd is counted in cache_state.h; under fs->state_lock. */
	enum fs_seen is_seen;
	/* Opened for writing. */
	bool writes;
	/* At the open, what the kernel had cached was still right. */
	bool keep_cache;
	/* The kernel must not cache it. */
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

/* How a user opens something. */
struct fs_open_how {
	/* Flags of open(2). */
	int flags;
	uid_t uid;
};

/* Closes whatever is still open.  No request may be running any more. */
void fs_handle_fini(struct fs *fs);

/* Makes a handle, which is in the list; NULL: no memory. */
struct fs_handle *fs_handle_new(struct fs *fs, const struct fs_data_ops *ops);

/*
 * Shows @open, which @handle->ops->close() closes, or its view.  Returns 0, -ENOMEM,
 * or as b2f_file_npy_header().
 */
B2F_MUST_CHECK
int fs_handle_show(struct fs_handle *handle, struct fs_file *open,
		   bool is_view);

/*
 * Call this before @handle is used: -ESTALE if the frame that it shows a view of has a
 * header of its own by now.  Then there is no view any more, and all bytes have moved.
 */
B2F_MUST_CHECK
int fs_handle_check_view(const struct fs_handle *handle);

/*
 * All handles of files that are no frames, each with a reference; free the
 * array *@out.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_handle_others(struct fs *fs, struct fs_handle ***out, size_t *n);

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
