/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * asker.h - does the program still wait that asked what this thread answers?
 *
 * A program that was killed stays until its request is answered, so that what waits
 * for a server gives up for it (b2frame/patience.h).  A signal that a program handles
 * ends no request: hardly any program expects that of a file.
 *
 * Layer: fuse.  Threads: any; each is asked by one program at a time.
 */
#ifndef B2F_FUSE_ASKER_H
#define B2F_FUSE_ASKER_H

#include <stdbool.h>

#include "fuse_api.h"

/* Notes who asks @req, which the calling thread answers. */
void fs_asker_note(fuse_req_t req);

/* Is the mount gone whose session has the descriptor @fd? */
bool fs_asker_is_cut(int fd);

/* The calling thread answers no request any more. */
void fs_asker_forget(void);

#endif
