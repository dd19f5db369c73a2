/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.h - what bloscctl says on stderr
 *
 * Messages are lines "bloscctl: ...", with control characters made visible: a
 * file name must not be able to write to a terminal.  Below them there may be
 * one status line, which is drawn again and again.
 *
 * Layer: cli.  Threads: every function may be called from any thread.
 */
#ifndef B2F_CLI_MESSAGE_H
#define B2F_CLI_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

/* Room for the part of a message that is kept, with its 0. */
#define CLI_MESSAGE_MAX 512

#include "b2frame/log.h"

/*
 * Hands the library's messages on.  The same message is printed once: several
 * threads may meet the same damage.
 */
extern const struct b2f_log cli_message_log;

/* Messages above @level are not printed; B2F_LOG_WARNING at the start. */
void cli_message_set_level(enum b2f_log_level level);

B2F_PRINTF(2, 3)
void cli_message(enum b2f_log_level level, const char *fmt, ...);

#define cli_message_error(...) cli_message(B2F_LOG_ERROR, __VA_ARGS__)

/* Printed unless -q is given: what does not make the command fail. */
#define cli_message_warning(...) cli_message(B2F_LOG_WARNING, __VA_ARGS__)

/* Printed at levels from B2F_LOG_INFO on (-v). */
#define cli_message_info(...) cli_message(B2F_LOG_INFO, __VA_ARGS__)

/*
 * Says what was done with @object, a line by the template @text (show.h): on a
 * terminal unless -q is given, elsewhere as cli_message_info().
 */
void cli_message_result(const char *text, const json_t *object);

/* Says "@name: <what -@err means>", if @err is not 0.  Returns @err. */
int cli_message_errno(const char *name, int err);

/*
 * The same for an error code of the library, unless the library has logged an
 * error of its own since the last cli_message_explain() or
 * cli_message_forget(): that tells more.
 */
int cli_message_explain(const char *name, int err);

/* Forgets the logged messages, which explain no later error. */
void cli_message_forget(void);

/* Begins another operand: cli_message_forget(), and there was no error yet. */
void cli_message_begin(void);

/* The first error since then, in @out. */
void cli_message_first(char out[CLI_MESSAGE_MAX]);

/*
 * Nothing is printed any more: what goes wrong now does so because the program
 * ends.  May be called by a signal handler.
 */
void cli_message_silence(void);

/* Draws @text as status line; NULL takes it away. */
void cli_message_status(const char *text);

/*
 * Flushes stdout.  Returns @status, or CLI_EXIT_FAILURE with a message if
 * something could not be written and @status is CLI_EXIT_OK.
 */
int cli_message_finish(int status);

#endif
