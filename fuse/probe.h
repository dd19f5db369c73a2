/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.h - looks whether a backing file is a frame, and how large it is
 *
 * A frame is a directory that holds chunks.b2frame, or a file that begins with
 * the magic, whatever their names are.  A file that cannot be read is a frame
 * if its name has the suffix of one.  Each of several names of a frame is that
 * frame (links.h).
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O.
 */
#ifndef B2F_FUSE_PROBE_H
#define B2F_FUSE_PROBE_H

#include "tree.h"

/* A backing file, opened as O_PATH and looked at. */
struct fs_probe {
	/* -1: closed, or from fs_probe_remembered(). */
	int fd;
	/* DIR, FRAME or OTHER. */
	enum fs_kind kind;
	/* Attributes of the file, and its creation time (0: unknown). */
	struct stat st;
	int64_t born_ns;
	/* The rest is for frames only. */
	bool sparse;
	/*
	 * The home of the frame (links.h), if @name is one of several names, or
	 * the place where it lies aside (aside.h); or "".
	 */
	char home[FS_NAME_SIZE];
	/* How many names the frame has; 0: only one. */
	unsigned int nlinks;
	/* Attributes of the index. */
	struct stat index;
	/* Why the disk does not give the sizes of a file; 0: it does. */
	int failure;
	/* The index was read, because its sizes were unknown (sizes.h). */
	bool was_read;
	/* Its header is valid, so the sizes are, even if they are 0. */
	bool has_header;
	/* Facts of @index; stamp and head_len only if they are known. */
	struct fs_sizes sizes;
};

/*
 * Opens @name in @dirfd and determines its kind.  Close *@out with
 * fs_probe_close().  Returns 0 or an errno (-ENOENT: no such name).
 */
B2F_MUST_CHECK
int fs_probe_open(struct fs_tree *tree, int dirfd, const char *name,
		  struct fs_probe *out);

/* The same, but leaves a sparse frame's sizes to fs_probe_sizes(). */
B2F_MUST_CHECK
int fs_probe_kind(struct fs_tree *tree, int dirfd, const char *name,
		  struct fs_probe *out);

/*
 * Gets the result of fs_probe_open(), without the descriptor, if @name in
 * @dirfd is a frame in one file and the last look at it is still true.  The
 * check takes one system call, which asks no daemon, not even this one.  The
 * directory is on the device @dev, and only this kernel changes what is in it.
 * Returns false if there is more to look at.
 */
bool fs_probe_remembered(struct fs_tree *tree, int dirfd, dev_t dev,
			 const char *name, struct fs_probe *out);

/* A name that is glanced at together with others. */
struct fs_glance {
	const char *name;
	/* Private. */
	int fd;
	/* It is the only name of a valid frame in one file. */
	bool is_frame;
};

/*
 * Sets @is_frame for @n names, at most FS_GLANCES, in @dirfd.  The disk reads
 * the heads of the files at the same time.  If @is_frame stays false, the file
 * may still be a frame.
 */
#define FS_GLANCES 32
void fs_probe_glance(const struct fs_tree *tree, int dirfd,
		     struct fs_glance *glances, size_t n);

/* Does @err come from a lack of memory or descriptors, not from the file? */
bool fs_probe_is_shortage(int err);

/*
 * Is @err such a shortage, or an error of the disk?  It tells nothing about the
 * file: to show its size as 0 would hide its data.
 */
bool fs_probe_is_failure(int err);

/* Closes the descriptor, if it is open. */
void fs_probe_close(struct fs_probe *probe);

/*
 * Attributes of the index of the frame @fd (a directory if @sparse).  Returns 0
 * or an errno (-ENOENT: not a frame any more).
 */
B2F_MUST_CHECK
int fs_probe_index(int fd, bool sparse, struct stat *out);

/* The same, and the attributes of @fd itself. */
B2F_MUST_CHECK
int fs_probe_both(int fd, bool sparse, struct stat *self, struct stat *index);

/*
 * Gets sizes and attributes of the frame @name in @dirfd; reads the index
 * unless they are known.  @probe has the frame's O_PATH descriptor, whether it
 * is sparse, and its index.  Returns 0 or an errno (-ESTALE: @name is another
 * file now).
 */
B2F_MUST_CHECK
int fs_probe_sizes(struct fs_tree *tree, int dirfd, const char *name,
		   struct fs_probe *probe);

/* Takes the known sizes of @probe->index (sizes.h), or returns false. */
bool fs_probe_known(struct fs_tree *tree, struct fs_probe *probe);

/*
 * Returns the stamp of @probe->index, if it is settled (cache_state.h), before
 * the index is read.  With it fs_probe_keep() keeps the sizes, if they are of
 * this very version, and whether there is an ACL.
 */
struct b2f_frame_stamp fs_probe_settled(const struct fs_probe *probe);
void fs_probe_keep(struct fs_tree *tree, struct fs_probe *probe,
		   const struct b2f_frame_stamp *before);

#endif
