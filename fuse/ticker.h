/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ticker.h - periodic work, once a second
 *
 *   timer commits   changes older than commit= seconds become durable
 *   syncs           frames that were closed without being durable become so, by
 *                   one syncfs(2); see durable.h
 *   changes         open frames with foreign changes go on with what is on
 * disk, and the kernel drops what it cached of changed files (cache_state.h) memory
 * goes back to the system when nothing is read any more
 *
 * A request must not tell the kernel to drop anything: the kernel may wait for
 * that very request.  The ticker holds no lock meanwhile.
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
	/* Bytes read and written when memory was last freed. */
	uint64_t work_trimmed;
	/* And at the last look; all that follow are the thread's own. */
	uint64_t work;
	/* fs_stats_uses() at the last tick, and seconds that it has been so. */
	uint64_t nuses;
	int64_t unused_s;
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
