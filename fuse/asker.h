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

#include "fuse_api.h"

/* Notes which program sent @req, which the calling thread answers. */
void fs_asker_note(fuse_req_t req);

/* Is the mount gone that uses the descriptor @fd? */
bool fs_asker_is_cut(int fd);

/* The calling thread has answered its request. */
void fs_asker_forget(void);

#endif
