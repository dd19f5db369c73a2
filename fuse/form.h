/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * form.h - a new file that is to be large becomes a directory
 *
 * A new frame is one file, with nothing in it.  Once, before any of its data
 * are stored, it can become a directory (programs/file_form.h); from then on
 * it keeps its form.  To the kernel it is the same inode with the same number,
 * and to the mount the same node: what finds a file by its name, or changes
 * names, waits meanwhile (names_lock), and finds what has the name then.
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_FORM_H
#define B2F_FUSE_FORM_H

#include <stdint.h>

struct fs;
struct fs_open_frame;

/*
 * Call this before @size bytes at @buf are written to @off of @frame: if that
 * makes a new file larger than small= says, it becomes a directory.  NULL:
 * zeros.  After an error it stays one file.
 */
void fs_form_decide(struct fs *fs, struct fs_open_frame *frame, const void *buf,
		    uint64_t size, uint64_t off);

#endif
