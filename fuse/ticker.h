/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ticker.h - what has to be done without being asked, once a second
 *
 *   timer commits   what was written more than commit= seconds ago becomes
 *                   durable
 *   syncs           what was closed without being durable becomes so, all of
 *                   it with one syncfs(2); see durable.h
 *   changes         open frames that somebody else has changed go on with what
 *                   is on disk, and the kernel drops what it has cached; so it
 *                   does of other files (seen.h)
 *
 * The last one must not be done while a request is being answered: the kernel
 * may wait for that very answer.  So it is done here, where no lock is held.
 *
 * With nothing open and nothing to sync the thread sleeps.
 *
 * Layer: fuse.  Threads: from the main one.
 */
#ifndef B2F_FUSE_TICKER_H
#define B2F_FUSE_TICKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "b2frame/error.h"

struct fs;

struct fs_ticker {
	pthread_t thread;
	bool is_running;
	/*
	 * Blocks read at the last look, and at the last trim; the thread's own.
	 */
	uint64_t nloads;
	uint64_t ntrimmed;
};

/* Starts the thread.  Returns 0 or -EAGAIN (no more threads). */
B2F_MUST_CHECK
int fs_ticker_start(struct fs *fs);

/*
 * Ends the thread.  Call it while the kernel is still being answered, or after
 * the end of the mount.  Does nothing if it does not run.
 */
void fs_ticker_stop(struct fs *fs);

#endif
