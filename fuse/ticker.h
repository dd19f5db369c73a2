/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ticker.h - periodic work, once a second
 *
 *   timer commits   changes older than commit= seconds become durable
 *   syncs           frames that were closed without a sync become durable, by
 *                   one syncfs(2); see durable.h
 *   changes         open frames take in foreign changes, and the kernel drops
 *                   its pages of changed files (cache_state.h)
 *   memory          goes back to the system when reads and writes pause
 *
 * A request must not have the kernel drop pages, because the kernel may wait
 * for that very request.  The ticker holds no lock while it does.
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
	/* Bytes at the last look; from here on for the thread alone. */
	uint64_t work;
	/* fs_stats_uses() at the last tick; seconds without a change. */
	uint64_t nuses;
	int64_t unused_s;
};

/* Starts the thread.  Returns 0 or -EAGAIN (no more threads). */
B2F_MUST_CHECK
int fs_ticker_start(struct fs *fs);

/*
 * Ends the thread.  Call it while requests are still answered, or after the end
 * of the mount.  Does nothing if the thread does not run.
 */
void fs_ticker_stop(struct fs *fs);

#endif
