/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signals.h - INT, TERM, HUP and QUIT end the mount, USR1 asks for statistics
 *
 * All of them are blocked in every thread and fetched by one thread of ours,
 * which may therefore do what a signal handler may not.
 *
 * Layer: fuse.  Threads: from the main one.
 */
#ifndef B2F_FUSE_SIGNALS_H
#define B2F_FUSE_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "b2frame/error.h"

struct fs_signals {
	/* Runs when the mount shall end; the main thread is woken after it. */
	void (*on_exit)(void *arg, int signal);
	void (*on_stats)(void *arg);
	void *arg;
	/* Private. */
	pthread_t thread;
	pthread_t main;
	atomic_bool done;
};

/*
 * Blocks our signals, ignores PIPE and ALRM, and lets USR2 do nothing but interrupt.
 * Call it before there is any other thread.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int fs_signals_block(void);

/*
 * Starts the thread; @signals has its callbacks set.  After on_exit() the
 * calling thread gets USR2 again and again until fs_signals_stop(), so that it
 * leaves whatever it waits in.  Returns 0 or -EAGAIN (no more threads).
 */
B2F_MUST_CHECK
int fs_signals_start(struct fs_signals *signals);

/* Ends the thread. */
void fs_signals_stop(struct fs_signals *signals);

#endif
