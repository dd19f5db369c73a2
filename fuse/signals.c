/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signals.c - INT, TERM, HUP and QUIT end the mount, USR1 asks for statistics
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "signals.h"
#include "stats.h"

/* How often the main thread is woken until it leaves its loop. */
#define WAKE_NS 20000000

static void fill_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGUSR1);
}

static void only_interrupt(int signal)
{
	(void)signal;
}

int fs_signals_block(void)
{
	/* Without SA_RESTART: the signal only interrupts. */
	struct sigaction wake = {.sa_handler = only_interrupt};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t set;
	int err;

	fill_set(&set);
	err = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (err)
		return -err;
	if (sigaction(SIGUSR2, &wake, NULL) ||
	    sigaction(SIGPIPE, &ignore, NULL) ||
	    /* A file beyond RLIMIT_FSIZE: the write fails with EFBIG. */
	    sigaction(SIGXFSZ, &ignore, NULL) ||
	    /* A timer of the starting program survives exec(2). */
	    sigaction(SIGALRM, &ignore, NULL))
		return -errno;
	return 0;
}

/*
 * libfuse's loop tests its exit flag and then sleeps; a single wake-up in
 * between would be lost.
 */
static void wake_main(struct fs_signals *s)
{
	const struct timespec pause = {.tv_nsec = WAKE_NS};

	while (!atomic_load(&s->done)) {
		pthread_kill(s->main, SIGUSR2);
		nanosleep(&pause, NULL);
	}
}

static void *run(void *arg)
{
	struct fs_signals *s = arg;
	sigset_t set;
	int signal;

	fill_set(&set);
	while (!atomic_load(&s->done)) {
		if (sigwait(&set, &signal) || atomic_load(&s->done))
			continue;
		if (signal == SIGUSR1) {
			fs_stats_log(s->fs);
			continue;
		}
		s->on_exit(s->fs, signal);
		wake_main(s);
	}
	return NULL;
}

int fs_signals_start(struct fs_signals *signals)
{
	int err;

	signals->main = pthread_self();
	atomic_init(&signals->done, false);
	err = pthread_create(&signals->thread, NULL, run, signals);
	return -err;
}

void fs_signals_stop(struct fs_signals *signals)
{
	atomic_store(&signals->done, true);
	pthread_kill(signals->thread, SIGUSR1);
	pthread_join(signals->thread, NULL);
}
