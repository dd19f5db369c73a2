/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - the connection to the kernel: mount, serve, unmount
 *
 * Layer: fuse.  Threads: from the main one.
 */
#ifndef B2F_FUSE_SESSION_H
#define B2F_FUSE_SESSION_H

#include "fs.h"

/*
 * Mounts @fs on its mountpoint; fs->session is set then.  Afterwards the tree
 * knows its own device.  Returns 0, -ENOMEM, or -EIO with @reason set.
 */
B2F_MUST_CHECK
int fs_session_mount(struct fs *fs, char reason[FS_REASON_SIZE]);

/* Answers requests until the unmount or a signal.  Returns 0 or an errno. */
B2F_MUST_CHECK
int fs_session_run(struct fs *fs);

/*
 * Has the kernel write back its dirty pages of mapped files, and with
 * writeback_cache of all files.  Waits some seconds at most.  Do not call it
 * from a thread that answers requests.
 */
void fs_session_sync(struct fs *fs);

/* Unmounts unless a program uses the mount.  Returns whether it did. */
bool fs_session_unmount_idle(struct fs *fs);

/* Makes all requests fail that still wait for an answer. */
void fs_session_cut(struct fs *fs);

/*
 * Unmounts, if still mounted, and frees.  Returns whether there was a mount and
 * it is gone; a mount that stays is logged.  Does nothing without a session.
 */
bool fs_session_close(struct fs *fs);

#endif
