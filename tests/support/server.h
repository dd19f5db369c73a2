/* SPDX-License-Identifier: BSD-3-Clause */
/* server.h - a server of tests/support as a child, for unit tests */
#ifndef B2F_TESTS_SERVER_H
#define B2F_TESTS_SERVER_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"

struct server {
	pid_t pid;
	FILE *to;
	FILE *from;
	char url[64];
};

static inline void server_run(const char *script, const char *arg, int in,
			      int out)
{
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	execl(B2F_SOURCE_DIR "/.venv/bin/python", "python", script, arg, NULL);
	_exit(127);
}

/* Runs @script, a path, with @arg, which may be NULL. */
static inline struct server server_open(const char *script, const char *arg)
{
	struct server server = {.pid = -1};
	int to[2], from[2], port = 0;
	char line[32];

	cr_assert_eq(pipe(to), 0);
	cr_assert_eq(pipe(from), 0);
	server.pid = fork();
	if (server.pid == 0)
		server_run(script, arg, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	server.to = fdopen(to[1], "w");
	server.from = fdopen(from[0], "r");
	cr_assert_not_null(fgets(line, sizeof(line), server.from));
	cr_assert_eq(sscanf(line, "PORT %d", &port), 1);
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%d", port);
	return server;
}

static inline void server_close(struct server *server)
{
	fclose(server->to);
	fclose(server->from);
	cr_assert_eq(waitpid(server->pid, NULL, 0), server->pid);
}

/* Sends a command; returns the answer in a static buffer. */
B2F_PRINTF(2, 3)
static inline const char *server_ask(struct server *server, const char *fmt,
				     ...)
{
	static char line[128];
	va_list args;

	va_start(args, fmt);
	vfprintf(server->to, fmt, args);
	va_end(args);
	fputc('\n', server->to);
	fflush(server->to);
	cr_assert_not_null(fgets(line, sizeof(line), server->from));
	return line;
}

/* The same for an answer that is a number, or does not matter. */
#define server_tell(...)                                                       \
	((unsigned int)strtoul(server_ask(__VA_ARGS__), NULL, 10))

#endif
