/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disk_frame.h - opens, resets and measures frames on disk
 *
 * Layer: fuse.  Threads: any; all functions but _label() may block on I/O.
 */
#ifndef B2F_FUSE_DISK_FRAME_H
#define B2F_FUSE_DISK_FRAME_H

#include "probe.h"

struct fs;

/*
 * Makes the path of @name in @dir for messages; *@out is malloc'ed.  Returns 0
 * or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_disk_frame_label(struct fs *fs, struct fs_backed *dir, const char *name,
			char **out);

/*
 * Opens the frame @node by its O_PATH descriptor @fd.  Returns as
 * b2f_frame_open(), but -ESTALE if it is no frame any more; any other
 * B2F_ENOTFRAME becomes B2F_ECORRUPT.
 */
B2F_MUST_CHECK
int fs_disk_frame_open(struct fs *fs, struct fs_backed *node, int fd,
		       struct b2f_frame **out);

/* Empties the frame @node.  Returns as b2f_frame_reset(). */
B2F_MUST_CHECK
int fs_disk_frame_reset(struct fs *fs, struct fs_backed *node);

/*
 * Opens the frame @node to read its sizes; @probe->fd and @probe->index are
 * set.  A damaged frame has size 0.  Returns 0 or an fs_probe_is_failure().
 */
B2F_MUST_CHECK
int fs_disk_frame_sizes(struct fs *fs, struct fs_backed *node,
			struct fs_probe *probe);

#endif
