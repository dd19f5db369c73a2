/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * form.h - makes a directory of a new file that grows large
 *
 * A new frame begins as one empty file.  Before any of its data are stored it
 * can become a directory (programs/file_form.h), once; from then on it keeps
 * its form.  It keeps its inode number and its node.  Requests that look up or
 * change names wait meanwhile (names_lock).
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_FORM_H
#define B2F_FUSE_FORM_H

#include <stdint.h>

struct fs;
struct fs_open_frame;

/*
 * Call this before a write of @size bytes at @buf (NULL: zeros) to @off of
 * @frame.  If that makes a new file larger than small=, it becomes a directory.
 * After an error it stays one file.
 */
void fs_form_decide(struct fs *fs, struct fs_open_frame *frame, const void *buf,
		    uint64_t size, uint64_t off);

#endif
