/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.h - messages on stderr
 *
 * Messages are lines "bloscctl: ...", with control characters escaped: a file
 * name must not control the terminal.  Below them there may be one status line,
 * which is redrawn again and again.
 *
 * Layer: cli.  Threads: every function may be called from any thread.
 */
#ifndef B2F_CLI_MESSAGE_H
#define B2F_CLI_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

/* Room for the stored part of a message, with its 0. */
#define CLI_MESSAGE_MAX 512

#include "b2frame/log.h"

/*
 * Prints the library's messages, each once: several threads may meet the same
 * damage.
 */
extern const struct b2f_log cli_message_log;

/* Messages above @level are not printed; B2F_LOG_WARNING at the start. */
void cli_message_set_level(enum b2f_log_level level);

/* Was -q given? */
bool cli_message_is_quiet(void);

B2F_PRINTF(2, 3)
void cli_message(enum b2f_log_level level, const char *fmt, ...);

#define cli_message_error(...) cli_message(B2F_LOG_ERROR, __VA_ARGS__)

/* Does not make the command fail; -q omits it. */
#define cli_message_warning(...) cli_message(B2F_LOG_WARNING, __VA_ARGS__)

/* A message for -v (B2F_LOG_INFO). */
#define cli_message_info(...) cli_message(B2F_LOG_INFO, __VA_ARGS__)

/* Like cli_message_error().  Returns @err. */
B2F_PRINTF(2, 3)
int cli_refuse(int err, const char *fmt, ...);

/*
 * Prints the result @object, as a line by the template @text (show.h): on a
 * terminal unless -q is given, elsewhere as cli_message_info().
 */
void cli_message_result(const char *text, const json_t *object);

/* Prints "@name: <strerror of -@err>", if @err is not 0.  Returns @err. */
int cli_message_errno(const char *name, int err);

/* Prints that another program has changed @name.  Returns -ESTALE. */
int cli_message_changed(const char *name);

/*
 * Like cli_message_errno(), unless the library has logged an error since the
 * last cli_message_explain() or cli_message_forget(): that message is better.
 */
int cli_message_explain(const char *name, int err);

/* Messages logged so far explain no later error. */
void cli_message_forget(void);

/* Forgets them; then calls the library by @call, and explains its error. */
#define cli_message_try(name, call)                                            \
	(cli_message_forget(), cli_message_explain(name, call))

/*
 * While @paused nothing is printed, or remembered: a look at a file that need
 * not be there.  Threads: main only.
 */
void cli_message_pause(bool paused);

/* Begins another operand: also forgets the first error. */
void cli_message_begin(void);

/* Copies the first error since cli_message_begin() to @out. */
void cli_message_first(char out[CLI_MESSAGE_MAX]);

/*
 * Prints nothing from now on: later errors come from the end of the program.  A
 * signal handler may call it.
 */
void cli_message_silence(void);

/* Draws @text as status line; NULL removes it. */
void cli_message_status(const char *text);

/*
 * Flushes stdout.  Returns @status, or CLI_EXIT_FAILURE with a message if
 * something could not be written and @status is CLI_EXIT_OK.
 */
int cli_message_finish(int status);

#endif
