/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c - messages on stderr */
#include "cli/message.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "b2frame/error.h"
#include "cli/exit_codes.h"
#include "cli/need.h"
#include "cli/show.h"
#include "cli/text.h"
#include "meta/escape.h"

#define PREFIX "bloscctl: "

/* Longer messages are cut. */
#define LINE_MAX_SIZE 4096

/* Number of the library's messages that are remembered to print each once. */
#define REMEMBERED 64

/* One per process, like stderr. */
static struct {
	pthread_mutex_t lock;
	/* Everything below: under lock. */
	bool paused;
	/* The library has logged the cause of the next error code. */
	bool explained;
	bool status_shown;
	/* The first error since cli_message_begin(). */
	char first[CLI_MESSAGE_MAX];
	uint64_t seen[REMEMBERED];
	size_t nseen;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_int most = B2F_LOG_WARNING;
static atomic_bool silent;

void cli_message_silence(void)
{
	atomic_store(&silent, true);
}

static void clear_status(void)
{
	if (state.status_shown)
		fputs("\r\033[K", stderr);
	state.status_shown = false;
}

static void keep_first(enum b2f_log_level level, const char *text)
{
	if (level == B2F_LOG_ERROR && !state.first[0] && !state.paused)
		snprintf(state.first, sizeof(state.first), "%.*s",
			 CLI_MESSAGE_MAX - 1, text);
}

static void print_line(enum b2f_log_level level, const char *prefix,
		       const char *text)
{
	if ((int)level > atomic_load(&most) || state.paused ||
	    atomic_load(&silent))
		return;
	clear_status();
	fputs(prefix, stderr);
	b2f_escape_put(stderr, text, strlen(text));
	fputc('\n', stderr);
	fflush(stderr);
}

/* Takes the query out of the URL with which @line begins, if it does. */
static void hide_query(char *line)
{
	size_t shown = cli_text_shown(line);
	char *end = strstr(line, ": ");

	if (end && line + shown < end)
		memmove(line + shown, end, strlen(end) + 1);
}

static void say(enum b2f_log_level level, const char *fmt, va_list args)
{
	char line[LINE_MAX_SIZE];

	vsnprintf(line, sizeof(line), fmt, args);
	hide_query(line);
	pthread_mutex_lock(&state.lock);
	keep_first(level, line);
	print_line(level, PREFIX, line);
	pthread_mutex_unlock(&state.lock);
}

void cli_message(enum b2f_log_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(level, fmt, args);
	va_end(args);
}

int cli_refuse(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(B2F_LOG_ERROR, fmt, args);
	va_end(args);
	return err;
}

void cli_message_result(const char *text, const json_t *object)
{
	B2F_OWN char *line = NULL;
	size_t size = 0;
	FILE *out = cli_need(open_memstream(&line, &size));

	cli_show(out, text, "", object);
	fclose(out);
	pthread_mutex_lock(&state.lock);
	/* Results have no "bloscctl:" before them; -q omits them. */
	if (isatty(STDERR_FILENO))
		print_line(B2F_LOG_WARNING, "", line);
	else
		print_line(B2F_LOG_INFO, PREFIX, line);
	pthread_mutex_unlock(&state.lock);
}

/* FNV-1a. */
static uint64_t hash_text(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

/* Was @text printed lately? */
static bool is_repeated(const char *text)
{
	uint64_t h = hash_text(text);
	size_t n = state.nseen < REMEMBERED ? state.nseen : REMEMBERED;

	for (size_t i = 0; i < n; i++)
		if (state.seen[i] == h)
			return true;
	state.seen[state.nseen++ % REMEMBERED] = h;
	return false;
}

static void write_log(void *arg, enum b2f_log_level level, const char *message)
{
	(void)arg;
	pthread_mutex_lock(&state.lock);
	keep_first(level, message);
	if (!state.paused && !is_repeated(message)) {
		print_line(level, PREFIX, message);
		state.explained = state.explained || level == B2F_LOG_ERROR;
	}
	pthread_mutex_unlock(&state.lock);
}

const struct b2f_log cli_message_log = {
	.write = write_log,
	.max_level = B2F_LOG_INFO,
};

bool cli_message_is_quiet(void)
{
	return atomic_load(&most) < B2F_LOG_WARNING;
}

void cli_message_set_level(enum b2f_log_level level)
{
	atomic_store(&most, level);
}

int cli_message_errno(const char *name, int err)
{
	return err ? cli_refuse(err, "%s: %s", name, b2f_strerror(err)) : 0;
}

/* Returns whether the next error code is explained, and resets that. */
static bool take_explanation(void)
{
	bool explained;

	pthread_mutex_lock(&state.lock);
	explained = state.explained;
	state.explained = state.paused && explained;
	pthread_mutex_unlock(&state.lock);
	return explained;
}

int cli_message_changed(const char *name)
{
	return cli_refuse(-ESTALE,
			  "%s: another program has changed it "
			  "meanwhile",
			  name);
}

int cli_message_explain(const char *name, int err)
{
	if (!err || take_explanation())
		return err;
	return err == -ESTALE ? cli_message_changed(name)
			      : cli_message_errno(name, err);
}

void cli_message_forget(void)
{
	(void)take_explanation();
}

void cli_message_pause(bool paused)
{
	pthread_mutex_lock(&state.lock);
	state.paused = paused;
	pthread_mutex_unlock(&state.lock);
}

void cli_message_begin(void)
{
	pthread_mutex_lock(&state.lock);
	state.explained = false;
	state.first[0] = '\0';
	pthread_mutex_unlock(&state.lock);
}

void cli_message_first(char out[CLI_MESSAGE_MAX])
{
	pthread_mutex_lock(&state.lock);
	memcpy(out, state.first, CLI_MESSAGE_MAX);
	pthread_mutex_unlock(&state.lock);
}

void cli_message_status(const char *text)
{
	pthread_mutex_lock(&state.lock);
	clear_status();
	if (text) {
		b2f_escape_put(stderr, text, strlen(text));
		state.status_shown = true;
	}
	fflush(stderr);
	pthread_mutex_unlock(&state.lock);
}

int cli_message_finish(int status)
{
	bool failed = ferror(stdout) != 0;
	int err = 0;

	if (fclose(stdout) != 0) {
		err = errno;
		failed = true;
	}
	if (!failed)
		return status;
	/* A closed pipe is not an error to report. */
	if (err != EPIPE)
		cli_message_error("standard output: %s",
				  err ? strerror(err) : "write error");
	return status == CLI_EXIT_OK ? CLI_EXIT_FAILURE : status;
}
