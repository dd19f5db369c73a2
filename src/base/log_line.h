/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log_line.h - makes the messages that go to a struct b2f_log
 *
 * Layer: base.  Threads: any.
 */
#ifndef B2F_BASE_LOG_LINE_H
#define B2F_BASE_LOG_LINE_H

#include "b2frame/log.h"
#include "base/attr.h"
#include "base/why.h"

/* Sends one line to @log; NULL, or a level above its own, does nothing. */
B2F_PRINTF(3, 4)
void b2f_log(const struct b2f_log *log, enum b2f_log_level level,
	     const char *fmt, ...);

/* Sends "@label: cause" to @log as an error.  Returns @err. */
int b2f_log_failure(const struct b2f_log *log, const char *label, int err,
		    const struct b2f_why *why);

#endif
