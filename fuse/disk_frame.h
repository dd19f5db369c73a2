/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disk_frame.h - a frame as it is on disk, even while it is open
 *
 * Layer: fuse.  Threads: any; all functions may block on I/O, but _label().
 */
#ifndef B2F_FUSE_DISK_FRAME_H
#define B2F_FUSE_DISK_FRAME_H

#include "probe.h"

struct fs;

/*
 * Makes the name of @name in @dir for messages; *@out is malloc'ed.  Returns 0
 * or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_disk_frame_label(struct fs *fs, struct fs_backed *dir, const char *name,
			char **out);

/*
 * Opens the frame @node (O_PATH descriptor @fd).  Returns as b2f_frame_open(),
 * but -ESTALE if it is no frame any more, and otherwise B2F_ECORRUPT for
 * B2F_ENOTFRAME.
 */
B2F_MUST_CHECK
int fs_disk_frame_open(struct fs *fs, struct fs_backed *node, int fd,
		       struct b2f_frame **out);

/* Makes the frame @node an empty one.  Returns as b2f_frame_reset(). */
B2F_MUST_CHECK
int fs_disk_frame_reset(struct fs *fs, struct fs_backed *node);

/*
 * Reads the sizes of the frame @node by opening it; @probe->fd and
 * @probe->index are set.  A frame that cannot be opened has size 0.  Returns 0
 * or an errno.
 */
B2F_MUST_CHECK
int fs_disk_frame_sizes(struct fs *fs, struct fs_backed *node,
			struct fs_probe *probe);

#endif
