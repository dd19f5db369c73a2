/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cleanup.c - removes unfinished results on INT, TERM, HUP and QUIT
 *
 * A thread of its own waits for the signals, so it may take locks and read
 * directories, as a signal handler may not.
 */
#include "cli/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/message.h"
#include "programs/directory.h"

#define PATHS_MAX 4

/* Passes through a directory into which workers may still be writing. */
#define PASSES_MAX 100

/* Places of the process, whose end removes them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int dirfd;
	const char *name;
} places[PATHS_MAX];

/* A workshop has at most two levels of directories. */
static int remove_entry(void *arg, int dirfd, const struct dirent *d)
{
	if (unlinkat(dirfd, d->d_name, 0) == 0 || errno != EISDIR)
		return 0;
	(void)!b2f_directory_each(dirfd, d->d_name, remove_entry, arg);
	unlinkat(dirfd, d->d_name, AT_REMOVEDIR);
	return 0;
}

void cli_cleanup_remove(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return;
	for (int i = 0; i < PASSES_MAX &&
			unlinkat(dirfd, name, AT_REMOVEDIR) != 0;
	     i++)
		(void)!b2f_directory_each(dirfd, name, remove_entry, NULL);
}

/* The lock stays taken: no result gets its name after the removal. */
static void remove_all(void)
{
	pthread_mutex_lock(&lock);
	cli_message_silence();
	for (int i = 0; i < PATHS_MAX; i++)
		if (places[i].name)
			cli_cleanup_remove(places[i].dirfd, places[i].name);
}

static void *remove_and_die(void *arg)
{
	const sigset_t *deadly = arg;
	int number;

	if (sigwait(deadly, &number) != 0)
		return NULL;
	remove_all();
	/* End by the signal, so that the parent sees it. */
	pthread_sigmask(SIG_UNBLOCK, deadly, NULL);
	raise(number);
	return NULL;
}

/* nohup and background jobs of a shell ignore some signals. */
static void add_unless_ignored(sigset_t *set, int number)
{
	struct sigaction action;

	if (sigaction(number, NULL, &action) == 0 &&
	    action.sa_handler != SIG_IGN)
		sigaddset(set, number);
}

/* Without the thread the signals kill at once, and leave unfinished results. */
static void start_waiting(void)
{
	static sigset_t deadly;
	static bool started;
	pthread_t thread;

	if (started)
		return;
	started = true;
	(void)atexit(remove_all);
	/* A closed pipe, or a limit on the size of files, is an error then. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&deadly);
	add_unless_ignored(&deadly, SIGINT);
	add_unless_ignored(&deadly, SIGTERM);
	add_unless_ignored(&deadly, SIGHUP);
	add_unless_ignored(&deadly, SIGQUIT);
	pthread_sigmask(SIG_BLOCK, &deadly, NULL);
	if (pthread_create(&thread, NULL, remove_and_die, &deadly) != 0)
		pthread_sigmask(SIG_UNBLOCK, &deadly, NULL);
	else
		pthread_detach(thread);
}

/* The slot of @name; of NULL, a free one. */
static int find(const char *name)
{
	int i = 0;

	while (i < PATHS_MAX && places[i].name != name)
		i++;
	return i;
}

void cli_cleanup_add(int dirfd, const char *name)
{
	int i;

	start_waiting();
	cli_cleanup_lock();
	i = find(NULL);
	if (i < PATHS_MAX) {
		places[i].dirfd = dirfd;
		places[i].name = name;
	}
	cli_cleanup_unlock();
}

void cli_cleanup_drop(const char *name)
{
	int i = name ? find(name) : PATHS_MAX;

	if (i < PATHS_MAX)
		places[i].name = NULL;
}

void cli_cleanup_lock(void)
{
	pthread_mutex_lock(&lock);
}

void cli_cleanup_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* remove_and_die() keeps the lock. */
void cli_cleanup_checkpoint(void)
{
	cli_cleanup_lock();
	cli_cleanup_unlock();
}
