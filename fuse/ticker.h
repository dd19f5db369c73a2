/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ticker.h - what has to be done without being asked, once a second
 *
 *   timer commits   what was written more than commit= seconds ago becomes
 *                   durable
 *   syncs           what was closed without being durable becomes so, all of
 *                   it with one syncfs(2)
 *   changes         open frames that somebody else has changed go on with what
 *                   is on disk, and the kernel drops what it has cached; so it
 *                   does of other files (seen.h)
 *
 * The last one must not be done while a request is being answered: the kernel
 * may wait for that very answer.  So it is done here, where no lock is held.
 *
 * With nothing open and nothing to sync the thread sleeps.
 *
 * Layer: fuse.  Threads: _wake and _sync_later from any; the rest from the main
 * one.
 */
#ifndef B2F_FUSE_TICKER_H
#define B2F_FUSE_TICKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct fs;

/* A filesystem that has changes which are not durable. */
struct fs_sync {
	struct fs_sync *next;
	/* No other one has, or will have, this number; never 0. */
	uint64_t number;
	dev_t dev;
	int fd;
	/* Of the oldest one, on the monotonic clock. */
	time_t since_s;
	/* It is being synced; what comes now needs another one. */
	bool is_running;
};

struct fs_ticker {
	pthread_t thread;
	bool is_running;
	/* The most that was cached since memory was given back; its own. */
	uint64_t cached_max;
	pthread_mutex_t lock;
	/* The rest is under the lock. */
	pthread_cond_t wake;
	/* Something is open, or has to be synced. */
	bool is_busy;
	/* The kernel has to drop something, at once. */
	bool is_urgent;
	bool ended;
	struct fs_sync *syncs;
	/* How many there have been. */
	uint64_t nsyncs;
};

void fs_ticker_init(struct fs_ticker *ticker);

/* Starts the thread.  Returns 0 or -EAGAIN (no more threads). */
__attribute__((warn_unused_result)) int fs_ticker_start(struct fs *fs);

/*
 * Ends the thread; to be called while the kernel is still being answered, or
 * after the mount has ended.  Does nothing if it does not run.
 */
void fs_ticker_stop(struct fs *fs);

/* Makes all durable that waits for it.  Returns 0 or an errno. */
__attribute__((warn_unused_result)) int fs_ticker_fini(struct fs *fs);

/* Something was opened; with @is_urgent, the kernel has to drop something. */
void fs_ticker_wake(struct fs_ticker *ticker, bool is_urgent);

/* May something on the filesystem @dev be waiting to become durable? */
bool fs_ticker_has_sync(struct fs *fs, dev_t dev);

/* Is the sync @number, from fs_ticker_sync_later(), still to come, or to end?
 */
bool fs_ticker_waits_for(struct fs *fs, uint64_t number);

/*
 * Something on the filesystem @dev, which has the directory @dirfd, shall be
 * durable before long.  Returns the number of the sync that will do it, or 0 if
 * it is durable now.
 */
uint64_t fs_ticker_sync_later(struct fs *fs, int dirfd, dev_t dev);

#endif
