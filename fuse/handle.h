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

#include "b2frame/file.h"
#include "tree.h"

struct fs;
struct fs_listing;
struct fs_open_frame;

struct fs_handle {
	/* In the list of all; under fs->state_lock. */
	struct fs_handle *prev;
	struct fs_handle *next;
	/* One of the kernel's, and one for each request that outlives it. */
	_Atomic size_t nrefs;
	/* The node and its descriptor stay as long as the handle. */
	struct fs_pin pin;
	/* NULL: not a frame. */
	struct fs_open_frame *frame;
	struct b2f_stream *stream;
	/* Of a view: what is shown before the data; malloc'ed.  Else NULL. */
	uint8_t *head;
	size_t head_len;
	/* NULL: not a directory. */
	struct fs_listing *listing;
	/* Of any other file; -1: it is none. */
	int fd;
	/* That is counted in seen.h; under fs->state_lock. */
	bool is_seen;
	/* Opened for writing. */
	bool writes;
	/* When it was opened, what the kernel had cached was still right. */
	bool keep_cache;
	/* The kernel must not cache it. */
	bool direct_io;
	/* No frame, and changed by this handle. */
	atomic_bool wrote;
};

void fs_handle_init(struct fs *fs);

/* Closes whatever is still open.  No request may be running any more. */
void fs_handle_fini(struct fs *fs);

/*
 * Opens the frame or other file @node as open(2) @flags say.  Close *@out with
 * fs_handle_close().
 *
 * Returns 0, -ESTALE (it has gone or has changed: look it up again),
 * B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG or an errno; for
 * writing to a frame also as b2f_file_allow_write().
 */
B2F_MUST_CHECK
int fs_handle_open(struct fs *fs, struct fs_node *node, int flags,
		   struct fs_handle **out);

/*
 * The same for a frame that was just made, and is open as @frame, which is
 * taken over: what we have written ourselves need not be read again.
 */
B2F_MUST_CHECK
int fs_handle_open_made(struct fs *fs, struct fs_node *node,
			struct b2f_frame *frame, int flags,
			struct fs_handle **out);

/* Makes a handle of @listing, which it takes over.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_handle_open_listing(struct fs *fs, struct fs_node *node,
			   struct fs_listing *listing, struct fs_handle **out);

/*
 * Those of files that are no frames, each with a reference: free @out's array.
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_handle_others(struct fs *fs, struct fs_handle ***out, size_t *n);

/*
 * Takes one more reference to @handle, for what has to be done after the
 * answer to a request: its reader may close the file as soon as it has that.
 */
void fs_handle_ref(struct fs_handle *handle);

/* Gives back a reference; the last one closes. */
void fs_handle_close(struct fs *fs, struct fs_handle *handle);

#endif
