/* SPDX-License-Identifier: BSD-3-Clause */
/* store_way.h - tests/support/fake_s3.py as a child, for unit tests */
#ifndef B2F_TESTS_STORE_WAY_H
#define B2F_TESTS_STORE_WAY_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"

struct store_way {
	pid_t pid;
	FILE *to;
	FILE *from;
	char endpoint[64];
};

static inline void store_way_run(int in, int out)
{
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	execl(B2F_SOURCE_DIR "/.venv/bin/python", "python",
	      B2F_SOURCE_DIR "/tests/support/fake_s3.py", NULL);
	_exit(127);
}

static inline struct store_way store_way_open(void)
{
	struct store_way way = {.pid = -1};
	int to[2], from[2], port = 0;
	char line[32];

	cr_assert_eq(pipe(to), 0);
	cr_assert_eq(pipe(from), 0);
	way.pid = fork();
	if (way.pid == 0)
		store_way_run(to[0], from[1]);
	close(to[0]);
	close(from[1]);
	way.to = fdopen(to[1], "w");
	way.from = fdopen(from[0], "r");
	cr_assert_not_null(fgets(line, sizeof(line), way.from));
	cr_assert_eq(sscanf(line, "PORT %d", &port), 1);
	snprintf(way.endpoint, sizeof(way.endpoint), "http://127.0.0.1:%d",
		 port);
	return way;
}

static inline void store_way_close(struct store_way *way)
{
	fclose(way->to);
	fclose(way->from);
	cr_assert_eq(waitpid(way->pid, NULL, 0), way->pid);
}

/* Gives it a command; returns the number that it answers, if it is one. */
B2F_PRINTF(2, 3)
static inline unsigned int store_way_tell(struct store_way *way,
					  const char *fmt, ...)
{
	char line[128];
	va_list args;

	va_start(args, fmt);
	vfprintf(way->to, fmt, args);
	va_end(args);
	fputc('\n', way->to);
	fflush(way->to);
	cr_assert_not_null(fgets(line, sizeof(line), way->from));
	return (unsigned int)strtoul(line, NULL, 10);
}

#endif
