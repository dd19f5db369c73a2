/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openfiles.h - what is open: frames, other files, folders
 *
 * All who have a frame open share one struct fs_file, as long as it is the
 * same version of the frame (the stamp of its index).  When somebody else has
 * changed it meanwhile:
 *
 *   nobody has it open    the next open drops the kernel's cache, and opens
 *                         the new version
 *   the old one is open   the node is retired and the open fails with ESTALE;
 *                         the kernel looks the name up again, gets a new node,
 *                         and opens that.  So each node, and with it the
 *                         kernel's cache of it, has bytes of one version only;
 *                         who has the old one keeps it.
 *   the same, of a root   a root cannot be replaced: the new version is read
 *                         past the kernel's cache as long as the old is open.
 *
 * Two versions may have the same stamp if they follow each other within one
 * tick of the filesystem's clock.  So a frame that has just been changed is
 * opened a moment later, when its stamp can belong to one version only.
 *
 * Layer: fuse.
 *
 * Threads: any.  files->lock is taken before the tree's lock, and never held
 * during I/O.
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
struct fs_probe;

/* One version of a frame. */
struct fs_file {
	/* Handles that use it; under the lock. */
	size_t nrefs;
	/* These never change. */
	struct fs_node *node;
	struct b2f_file *file;
	struct b2f_frame_stamp stamp;
	/* The stamp cannot belong to another version too. */
	bool settled;
	uint64_t cbytes;
	/* As shown when it was opened. */
	struct stat attr;
};

/* What the kernel calls a file handle. */
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
	/* A folder; else NULL. */
	struct fs_listing *listing;
	/* Any other file; else -1. */
	int fd;
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
 * Opens the frame or other file @node for reading.  Close @out->handle with
 * fs_openfiles_close().
 *
 * Returns 0, -ESTALE (it has gone or has changed: look it up again),
 * B2F_ENOTFRAME, B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG or an errno.
 */
__attribute__((warn_unused_result)) int
fs_openfiles_open(struct fs *fs, struct fs_node *node, struct fs_opened *out);

/* Makes a handle of @listing, which it takes over.  Returns 0 or an errno. */
__attribute__((warn_unused_result)) int
fs_openfiles_add_listing(struct fs *fs, struct fs_node *node,
			 struct fs_listing *listing, struct fs_handle **out);

/*
 * Takes one more reference to @handle, for what has to be done after the
 * answer to a request: its reader may close the file as soon as it has that.
 */
void fs_openfiles_ref(struct fs_handle *handle);

/* Gives back a reference; the last one closes. */
void fs_openfiles_close(struct fs *fs, struct fs_handle *handle);

/*
 * Retires @node if it is open in another version than @index's.  Returns
 * whether it has.
 */
bool fs_openfiles_retire_old(struct fs *fs, struct fs_node *node,
			     const struct stat *index);

/*
 * Is the last change of the file so long ago that another one now would get
 * another time?  Clocks of filesystems tick every few milliseconds, some only
 * every other second; what is younger than that may change without a trace.
 */
bool fs_openfiles_settled(const struct stat *st);

/*
 * Sizes of the frame @node by opening it; @probe->fd and @probe->index are set.
 * A frame that cannot be opened has size 0.  Returns 0 or an errno.
 */
__attribute__((warn_unused_result)) int
fs_openfiles_sizes(struct fs *fs, struct fs_node *node, struct fs_probe *probe);

#endif
