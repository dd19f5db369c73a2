/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.h - is this file of the backing filesystem a frame, and how large?
 *
 * A frame is a directory that holds chunks.b2frame, or a file that begins with
 * the magic; both whatever their names are.  What cannot be read is not known
 * to be a frame, so it is shown as it is.  One of several names of a frame is
 * that frame (links.h).
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_PROBE_H
#define B2F_FUSE_PROBE_H

#include "tree.h"

/* A file of the backing filesystem, opened as O_PATH and looked at. */
struct fs_probe {
	/* -1: closed. */
	int fd;
	/* DIR, FRAME or OTHER. */
	enum fs_kind kind;
	/* Of the file itself. */
	struct stat st;
	/* The rest is for frames, and not set by fs_probe_kind(). */
	bool sparse;
	/*
	 * Where it lies, if it was found by one of several names (links.h);
	 * else "".
	 */
	char home[FS_NAME_SIZE];
	/* How many names it has; 0: only one. */
	unsigned int nlinks;
	/* Of the index. */
	struct stat index;
	/* It is an array that a .npy file can tell of, and is one itself. */
	bool has_npy_header;
	bool is_npy;
	/* Both 0 for a frame whose header makes no sense. */
	uint64_t nbytes;
	uint64_t cbytes;
};

/*
 * Opens @name in @dirfd and finds out what it is.  Close *@out with
 * fs_probe_close().  Returns 0 or an errno (-ENOENT: no such name).
 */
B2F_MUST_CHECK
int fs_probe_open(struct fs_tree *tree, int dirfd, const char *name,
		  struct fs_probe *out);

/* As fs_probe_open(), but finds only the kind, and closes again. */
B2F_MUST_CHECK
int fs_probe_kind(struct fs_tree *tree, int dirfd, const char *name,
		  enum fs_kind *out);

/* Closes the descriptor, if it is open. */
void fs_probe_close(struct fs_probe *probe);

/*
 * Attributes of the index of the frame that @fd is (a directory if @sparse).
 * Returns 0 or an errno (-ENOENT: this is no frame any more).
 */
B2F_MUST_CHECK
int fs_probe_index(int fd, bool sparse, struct stat *out);

/*
 * Sizes of the frame @name in @dirfd, whose O_PATH descriptor is @probe->fd and
 * whose @probe->sparse is set; sets @probe->index too.
 * Returns 0 or an errno (-ESTALE: @name is another file now).
 */
B2F_MUST_CHECK
int fs_probe_sizes(int dirfd, const char *name, struct fs_probe *probe);

#endif
