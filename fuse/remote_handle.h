/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_handle.h - what the kernel has open in a mount of an object store
 *
 * Layer: fuse.  Threads: any; all but _put and _opened make requests.
 */
#ifndef B2F_FUSE_REMOTE_HANDLE_H
#define B2F_FUSE_REMOTE_HANDLE_H

#include <stdatomic.h>

#include "remote_node.h"

struct fs_anew_state;

/* A frame, a view of it, or plain bytes. */
struct fs_remote_handle {
	/* In the list of all; under the lock of the remote. */
	TAILQ_ENTRY(fs_remote_handle) all;
	/* The kernel's, and one per request: it may close while we still answer. */
	_Atomic size_t nrefs;
	struct fs_remote_node *node;
	/* Without a file, but with a size: plain bytes. */
	struct fs_shown shown;
	/* It is a writer of the node (remote_writer.h). */
	bool writes;
	/* Of an array that was opened with O_TRUNC (remote_anew.h); else NULL. */
	struct fs_anew_state *anew;
};

static inline struct fs_remote_handle *
fs_remote_handle_of(const struct fuse_file_info *fi)
{
	return (struct fs_remote_handle *)(uintptr_t)fi->fh;
}

/*
 * Opens @entry, whose node it keeps, with the @flags of open(2).  Give *@out back
 * with fs_remote_handle_put().  Returns 0, -EROFS, -ESTALE (another version has its
 * name), what the frame is broken by, -ENOMEM, or an error of requests.
 */
B2F_MUST_CHECK
int fs_remote_handle_open(struct fs *fs, const struct fs_remote_entry *entry,
			  int flags, struct fs_remote_handle **out);

/* Sets in @fi the answer to the open that made @handle. */
void fs_remote_handle_opened(struct fs *fs,
			     struct fs_remote_handle *handle,
			     struct fuse_file_info *fi);

/* Gives back a reference; the last one closes. */
void fs_remote_handle_put(struct fs *fs, struct fs_remote_handle *handle);

/* Closes whatever is still open.  No request may be running any more. */
void fs_remote_handle_fini(struct fs *fs);

/* lseek(2) to data or holes; what is written to is data all over. */
B2F_MUST_CHECK
int64_t fs_remote_handle_seek(struct fs *fs,
			      const struct fs_remote_handle *handle, off_t off,
			      int whence);

#endif
