/* SPDX-License-Identifier: BSD-3-Clause */
/* doomed.c - what INT, TERM and HUP remove before they end the program */
#include "cli/doomed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/message.h"

#define PATHS_MAX 4

/* Passes through a directory into which workers may still be writing. */
#define PASSES_MAX 100

/* Written by main only, read by its signal handler. */
static const char *volatile doomed[PATHS_MAX];

static const int deadly[] = {SIGINT, SIGTERM, SIGHUP};

#define NDEADLY (sizeof(deadly) / sizeof(deadly[0]))

/* What getdents64(2) fills in; readdir() may not be used in a handler. */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* Removes the files in @dir.  Returns how many, or a negative number. */
static int remove_entries(int dir)
{
	_Alignas(uint64_t) char buf[2048];
	long size = syscall(SYS_getdents64, dir, buf, sizeof(buf));
	int n = 0;

	for (long at = 0; at < size;) {
		const struct entry *entry = (const void *)(buf + at);

		if (unlinkat(dir, entry->name, 0) == 0)
			n++;
		at += entry->size;
	}
	return size > 0 ? n : -1;
}

static void remove_directory(const char *path)
{
	for (int i = 0; i < PASSES_MAX && rmdir(path) != 0; i++) {
		int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

		if (dir < 0)
			return;
		while (remove_entries(dir) >= 0)
			;
		close(dir);
	}
}

static void remove_and_die(int number)
{
	cli_message_silence();
	for (int i = 0; i < PATHS_MAX; i++) {
		const char *path = doomed[i];

		if (path && unlink(path) != 0 && errno != ENOENT)
			remove_directory(path);
	}
	/* SA_RESETHAND: this time it kills, as the parent should see. */
	raise(number);
}

void cli_doomed_block(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < NDEADLY; i++)
		sigaddset(&set, deadly[i]);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

void cli_doomed_restore(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = remove_and_die,
				   .sa_flags = (int)SA_RESETHAND};
	struct sigaction old;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < NDEADLY; i++) {
		/* nohup and background jobs of a shell ignore some. */
		if (sigaction(deadly[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(deadly[i], &action, NULL);
	}
}

static void replace(const char *from, const char *to)
{
	for (int i = 0; i < PATHS_MAX; i++) {
		if (doomed[i] == from) {
			doomed[i] = to;
			return;
		}
	}
}

void cli_doomed_add(const char *path)
{
	catch_signals();
	replace(NULL, path);
}

void cli_doomed_drop(const char *path)
{
	if (path)
		replace(path, NULL);
}
