/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grow.h - a small frame, which is one file, becomes a directory
 *
 * The library exchanges the one for the other (b2frame/file_grow.h).  To the kernel it
 * stays the same inode with the same number, and to the mount the same node:
 *
 *   1. no request renames, deletes or links anything (fs_grow_lock_names())
 *   2. the node is found as either file, so that a lookup which comes between
 *      3 and 4 gets no node of its own
 *   3. the names are exchanged
 *   4. the node is the directory from now on, its descriptor too; a lookup that has
 *      seen the file before 3 still finds it
 *
 * The number that was shown stays as long as the frame is open, and a little longer,
 * until no program can have it from the kernel's cache.  All that time the old file
 * stays open, so that no other one gets the number.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_GROW_H
#define B2F_FUSE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct fs;
struct fs_grown;
struct fs_open_frame;

TAILQ_HEAD(fs_grown_list, fs_grown);

/*
 * Call this before @size bytes at @buf are written to @off of @frame: if that makes
 * a small frame too large, it becomes a directory first.  NULL: zeros.  May block
 * for a commit.  What goes wrong leaves the frame as it is.
 */
void fs_grow_before(struct fs *fs, struct fs_open_frame *frame, const void *buf,
		    uint64_t size, uint64_t off);

/* Is a new file to be a small frame?  Not where one has failed to grow. */
bool fs_grow_makes_small(struct fs *fs);

/*
 * Call these around all that gives a frame another name, or takes one away.  The
 * lock comes before those of the library, and may be held during I/O.
 */
void fs_grow_lock_names(struct fs *fs);
void fs_grow_unlock_names(struct fs *fs);

/* The number to show for the file @ino on @dev, as a listing has it. */
ino_t fs_grow_shown_ino(struct fs *fs, dev_t dev, ino_t ino);

/* Gives back the numbers that nothing needs any more.  Returns if some stay. */
bool fs_grow_tick(struct fs *fs);

/* Gives all back; no frame is open any more. */
void fs_grow_fini(struct fs *fs);

#endif
