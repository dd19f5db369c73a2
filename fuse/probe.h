/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.h - is this file of the backing filesystem a frame, and how large?
 *
 * A frame is a directory that holds chunks.b2frame, or a file that begins with
 * the magic, whatever their names are.  A file that cannot be read is not known
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
	/* The rest is for frames only; fs_probe_kind() does not set it. */
	bool sparse;
	/*
	 * The home of the frame (links.h), if this is one of several names; or
	 * "".
	 */
	char home[FS_NAME_SIZE];
	/* How many names the frame has; 0: only one. */
	unsigned int nlinks;
	/* Of the index. */
	struct stat index;
	/*
	 * It is an array that a .npy header can describe; it is shown with one.
	 */
	bool has_npy_header;
	bool is_npy;
	/* It has a b2f_frame_obstacle(). */
	bool read_only;
	/* Both 0 if its header is invalid. */
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

/*
 * Finds only the kind, and closes the descriptor.  Returns as fs_probe_open().
 */
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
 * Reads the sizes and the index of the frame @name in @dirfd; @probe has its
 * O_PATH descriptor, and whether it is sparse.  Returns 0 or an errno (-ESTALE:
 * @name is another file now).
 */
B2F_MUST_CHECK
int fs_probe_sizes(int dirfd, const char *name, struct fs_probe *probe);

#endif
