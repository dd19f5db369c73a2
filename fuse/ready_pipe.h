/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready_pipe.h - tells a named pipe what became of the mount (notify_pipe=)
 *
 * One byte, as of squashfuse: "s" when the mount answers, "f" when there will be
 * none.  Opening a pipe waits for a reader, so nothing of the mount may wait for
 * that.
 *
 * Layer: fuse.  Threads: from the main one.
 */
#ifndef B2F_FUSE_READY_PIPE_H
#define B2F_FUSE_READY_PIPE_H

#include "b2frame/error.h"

/* Returns 0 if @path is a named pipe, -ENOSTR if it is not, or an errno. */
B2F_MUST_CHECK
int fs_ready_pipe_check(const char *path);

/* The mount answers; a thread tells the reader when there is one. */
void fs_ready_pipe_mounted(const char *path);

/*
 * There will be no mount.  Waits for a reader, but no longer than some seconds:
 * a byte is lost when the last one who has the pipe open ends.
 */
void fs_ready_pipe_failed(const char *path);

#endif
