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

#include <stddef.h>

#include "b2frame/log.h"

/*
 * Hands the library's messages on.  The same message is printed once: several
 * threads may meet the same damage.
 */
extern const struct b2f_log cli_message_log;

/* Messages above @level are not printed; B2F_LOG_WARNING at the start. */
void cli_message_set_level(enum b2f_log_level level);

B2F_PRINTF(1, 2)
void cli_message_error(const char *fmt, ...);

/* Printed at levels from B2F_LOG_INFO on (-v). */
B2F_PRINTF(1, 2)
void cli_message_info(const char *fmt, ...);

/*
 * Errors printed so far, by anyone.  Who gets an error code from the library
 * compares it with an earlier value: the same means that nobody said why.
 */
unsigned long cli_message_errors(void);

/* Says "@name: <what -@err means>" unless errors went up from @errors. */
void cli_message_unless_said(unsigned long errors, const char *name, int err);

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
