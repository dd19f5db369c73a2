/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seen.h - what the kernel and we have seen of a frame
 *
 * A commit gives the index a new ctime, long after the change that it stores was
 * answered.  As long as the index is as our commit left it, what is shown is
 * the ctime of that change.
 *
 * Layer: fuse.  Threads: any; takes files->lock where nothing else is said.
 */
#ifndef B2F_FUSE_SEEN_H
#define B2F_FUSE_SEEN_H

#include "open_frames.h"
#include "tree.h"

struct fs;

/*
 * Notes that we have just made @node what the index @now says; @before is what
 * it was (NULL: nothing), and if that was not known to be ours, nor is this.
 */
void fs_seen_note_own(struct fs *fs, struct fs_node *node,
		      const struct stat *before, const struct stat *now);

/* Notes that our last close has left the index @stamp.  Locked by the caller. */
void fs_seen_note_left(struct fs_state *state,
		       const struct b2f_frame_stamp *stamp);

/*
 * Notes that a commit of ours has made @file, which was as @before tells, what
 * it is now, and that it was changed when the last change was answered.
 */
void fs_seen_note_commit(struct fs *fs, struct fs_file *file,
			 const struct b2f_file_now *before);

/* The ctime to show of @node, whose index is @index. */
struct timespec fs_seen_ctime(struct fs *fs, const struct fs_node *node,
			      const struct stat *index);

#endif
