/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c - makes the messages that go to a struct b2f_log */
#include "base/log_line.h"

#include <stdarg.h>
#include <stdio.h>

void b2f_log(const struct b2f_log *log, enum b2f_log_level level,
	     const char *fmt, ...)
{
	/* Long enough for most paths; the end of a longer line is cut off. */
	char line[2048];
	va_list args;

	if (!log || !log->write || level > log->max_level)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	log->write(log->arg, level, line);
}

int b2f_log_failure(const struct b2f_log *log, const char *label, int err,
		    const struct b2f_why *why)
{
	b2f_log(log, B2F_LOG_ERROR, "%s: %s", label, b2f_why_text(why, err));
	return err;
}
