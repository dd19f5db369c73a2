/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * asker.h - does the program whose request this thread answers still wait?
 *
 * A killed program exits only after its request is answered, so a thread that
 * waits for a server gives up (b2frame/patience.h).  A signal that the program
 * handles ends no request: hardly any program expects EINTR from a file.
 *
 * Layer: fuse.  Threads: any; each answers one request at a time.
 */
#ifndef B2F_FUSE_ASKER_H
#define B2F_FUSE_ASKER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Notes that the calling thread answers a request of the process @pid (0: the
 * kernel's own), which came by the descriptor @fd.
 */
void fs_asker_note(int fd, pid_t pid);

/* Is the mount gone that uses the descriptor @fd? */
bool fs_asker_is_cut(int fd);

/* The calling thread has answered its request. */
void fs_asker_forget(void);

#endif
