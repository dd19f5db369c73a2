/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - handles: what the kernel has open, be it frame, file or directory
 *
 * What all handles of one frame share is in open_frame.h.
 *
 * Layer: fuse.
 *
 * Threads: any.
 */
#ifndef B2F_FUSE_HANDLE_H
#define B2F_FUSE_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "b2frame/file.h"
#include "tree.h"

struct fs;
struct fs_anew;
struct fs_listing;
struct fs_open_frame;

struct fs_handle {
	/* In the list of all; under fs->state_lock. */
	TAILQ_ENTRY(fs_handle) all;
	/* The kernel's reference, and one per request that outlives it. */
	_Atomic size_t nrefs;
	/* The user who has opened it (share.h). */
	uid_t opener;
	/* The node and its descriptor stay as long as the handle. */
	struct fs_pin pin;
	/* NULL: the file is no frame. */
	struct fs_open_frame *frame;
	struct b2f_stream *stream;
	/*
	 * Of a view: the header shown before the data, malloc'ed.  Otherwise
	 * NULL.
	 */
	uint8_t *_Atomic head;
	_Atomic size_t head_len;
	/* @ndropped of the frame when this handle was last told of it. */
	_Atomic uint64_t ndropped;
	/* Of an array that was opened with O_TRUNC (anew.h); else NULL. */
	struct fs_anew *anew;
	/* NULL: no directory. */
	struct fs_listing *listing;
	/* Of a file that is no frame; otherwise -1. */
	int fd;
	/* @fd is counted in seen.h; under fs->state_lock. */
	bool is_seen;
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

/* Closes whatever is still open.  No request may be running any more. */
void fs_handle_fini(struct fs *fs);

/* How a user opens something. */
struct fs_open_how {
	/* Of open(2). */
	int flags;
	uid_t uid;
};

/*
 * Opens the frame or other file @node.  Close *@out with fs_handle_close().
 *
 * Returns 0, -ENFILE (fs_share_take()), -ESTALE (it is gone or has changed: the kernel must look it up
 * again), B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG or an errno; for writing
 * to a frame also the errors of b2f_file_allow_write().
 */
B2F_MUST_CHECK
int fs_handle_open(struct fs *fs, struct fs_node *node,
		   const struct fs_open_how *how, struct fs_handle **out);

/*
 * fs_handle_open() for a frame that we have just made and still have open as
 * @frame, which is taken over.
 */
B2F_MUST_CHECK
int fs_handle_open_made(struct fs *fs, struct fs_node *node,
			struct b2f_frame *frame, const struct fs_open_how *how,
			struct fs_handle **out);

/* Makes a handle of @listing for @uid, and takes it over.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_handle_open_listing(struct fs *fs, struct fs_node *node,
			   struct fs_listing *listing, uid_t uid,
			   struct fs_handle **out);

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
