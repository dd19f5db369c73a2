/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openfiles.h - handles: what the kernel has open, be it frame, file or folder
 *
 * What all handles of one frame share is in open_frames.h.
 *
 * Layer: fuse.
 *
 * Threads: any.  files->lock, which also protects the state of nodes and open
 * frames, is taken before the tree's lock, and never held during I/O.
 */
#ifndef B2F_FUSE_OPENFILES_H
#define B2F_FUSE_OPENFILES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "b2frame/file.h"
#include "tree.h"

struct fs;
struct fs_listing;

struct fs_handle {
	/* In the list of all; under the lock. */
	struct fs_handle *prev;
	struct fs_handle *next;
	/* One of the kernel's, and one for each request that outlives it. */
	_Atomic size_t nrefs;
	/* The node and its descriptor stay as long as the handle. */
	struct fs_pin pin;
	/* A frame; else NULL. */
	struct fs_file *file;
	struct b2f_stream *stream;
	/* Of a view: what is shown before the data; malloc'ed.  Else NULL. */
	uint8_t *head;
	size_t head_len;
	/* A folder; else NULL. */
	struct fs_listing *listing;
	/* Any other file; else -1. */
	int fd;
	/* That is counted in seen.h; under the lock. */
	bool is_seen;
	/* Opened for writing. */
	bool writes;
	/* The kernel was told not to cache it: set before it has the handle. */
	bool direct_io;
	/* Another file than a frame, and changed by this handle. */
	atomic_bool wrote;
};

struct fs_openfiles {
	pthread_mutex_t lock;
	/* Head of the list of all handles. */
	struct fs_handle all;
};

/* What to answer to an open. */
struct fs_opened {
	struct fs_handle *handle;
	/* The kernel's cache of data is still right. */
	bool keep_cache;
	/* It must not be used. */
	bool direct_io;
};

void fs_openfiles_init(struct fs_openfiles *files);

/* Closes whatever is still open.  No request may be running any more. */
void fs_openfiles_fini(struct fs *fs);

/*
 * Opens the frame or other file @node as open(2) @flags say.  Close
 * @out->handle with fs_openfiles_close().
 *
 * Returns 0, -ESTALE (it has gone or has changed: look it up again),
 * B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG or an errno; for
 * writing to a frame also as b2f_file_allow_write().
 */
B2F_MUST_CHECK
int fs_openfiles_open(struct fs *fs, struct fs_node *node, int flags,
		      struct fs_opened *out);

/*
 * The same for a frame that was just made, and is open as @frame, which is
 * taken over: what we have written ourselves need not be read again.
 */
B2F_MUST_CHECK
int fs_openfiles_open_made(struct fs *fs, struct fs_node *node,
			   struct b2f_frame *frame, int flags,
			   struct fs_opened *out);

/* Makes a handle of @listing, which it takes over.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_openfiles_add_listing(struct fs *fs, struct fs_node *node,
			     struct fs_listing *listing,
			     struct fs_handle **out);

/*
 * All of other files than frames, each with a reference: free @out's array.
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_openfiles_others(struct fs *fs, struct fs_handle ***out, size_t *n);

/*
 * Takes one more reference to @handle, for what has to be done after the
 * answer to a request: its reader may close the file as soon as it has that.
 */
void fs_openfiles_ref(struct fs_handle *handle);

/* Gives back a reference; the last one closes. */
void fs_openfiles_close(struct fs *fs, struct fs_handle *handle);

#endif
