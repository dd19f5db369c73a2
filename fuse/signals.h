/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signals.h - INT, TERM, HUP and QUIT end the mount, USR1 asks for statistics
 *
 * They are blocked in every thread, and one thread fetches them; unlike a
 * signal handler it may call any function.
 *
 * Layer: fuse.  Threads: from the main one.
 */
#ifndef B2F_FUSE_SIGNALS_H
#define B2F_FUSE_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "b2frame/error.h"

struct fs;

struct fs_signals {
	struct fs *fs;
	/* Called when the mount is to end; then the main thread is woken. */
	void (*on_exit)(struct fs *fs, int signal);
	/* Private. */
	pthread_t thread;
	pthread_t main;
	atomic_bool done;
};

/*
 * Blocks these signals, ignores PIPE and ALRM, and gives USR2 a handler that
 * only interrupts.  Call it before the second thread starts.  Returns 0 or an
 * errno.
 */
B2F_MUST_CHECK
int fs_signals_block(void);

/*
 * Starts the thread; the public fields of @signals are set.  After on_exit()
 * the calling thread gets USR2 again and again until fs_signals_stop(), so that
 * it leaves any system call.  Returns 0 or -EAGAIN (no more threads).
 */
B2F_MUST_CHECK
int fs_signals_start(struct fs_signals *signals);

/* Ends the thread. */
void fs_signals_stop(struct fs_signals *signals);

#endif
