/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alone.c - runs a test, and lets nothing that it started live on
 *
 *   alone COMMAND [ARGUMENT...]
 *
 * Processes that lose their parent become children of this one, daemons too.
 * Processes that are left GRACE_MS after the end of the command are killed, and
 * the test has failed: a hung process that goes on writing would fill the disk.
 * So is everything at once if this is told to end.
 *
 * ctest, too, kills the descendants of a test that takes too long; but it would
 * not find those that have become children of process 1.
 *
 * Exit status: that of the command; 1 if a signal ended it or something was
 * left behind; 127 if it cannot be run.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS 30000

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void fail(const char *what)
{
	fprintf(stderr, "alone: %s: %s\n", what, strerror(errno));
	exit(127);
}

static pid_t start(char **command, const sigset_t *before)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid > 0)
		return pid;
	/* Even if this process is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, before, NULL);
	execvp(command[0], command);
	fail(command[0]);
	return -1;
}

static void tell_of(long pid)
{
	char path[64], text[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	text[n] = '\0';
	fprintf(stderr, "left behind: %ld %s\n", pid, text);
}

/* Theirs become ours when they die. */
static void kill_children(void)
{
	char path[64];
	long pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (!f)
		return;
	while (fscanf(f, "%ld", &pid) == 1) {
		tell_of(pid);
		kill((pid_t)pid, SIGKILL);
	}
	fclose(f);
}

/*
 * Waits for processes left, kills them after @grace_ms.  Returns whether there
 * was nothing to kill.
 */
static bool end_the_rest(const sigset_t *watched, int64_t grace_ms)
{
	const struct timespec tick = {.tv_nsec = 100 * 1000 * 1000};
	int64_t deadline = now_ms() + grace_ms;
	bool tidy = true;
	pid_t pid;

	for (;;) {
		do
			pid = waitpid(-1, NULL, WNOHANG);
		while (pid > 0);
		if (pid < 0)
			return tidy;
		if (now_ms() >= deadline) {
			kill_children();
			tidy = false;
		}
		(void)sigtimedwait(watched, NULL, &tick);
	}
}

/* Until @pid has ended or a signal says that all has to: then 1. */
static int wait_for(pid_t pid, const sigset_t *watched)
{
	int status, number;
	pid_t ended;

	for (;;) {
		/* Daemons too: a test may wait until they are gone. */
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == pid)
				return WIFEXITED(status) ? WEXITSTATUS(status)
							 : 1;
		sigwait(watched, &number);
		if (number != SIGCHLD) {
			end_the_rest(watched, 0);
			return 1;
		}
	}
}

int main(int argc, char **argv)
{
	static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
	sigset_t watched, before;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: alone COMMAND [ARGUMENT...]\n");
		return 2;
	}
	sigemptyset(&watched);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&watched, numbers[i]);
	sigprocmask(SIG_BLOCK, &watched, &before);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		fail("prctl");
	status = wait_for(start(argv + 1, &before), &watched);
	if (!end_the_rest(&watched, GRACE_MS) && status == 0)
		status = 1;
	return status;
}
