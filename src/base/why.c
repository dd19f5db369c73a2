/* SPDX-License-Identifier: BSD-3-Clause */
/* why.c - the cause of a failure, in words, and messages with it */
#include "base/why.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "b2frame/error.h"
#include "base/log_line.h"

int b2f_why_set(struct b2f_why *why, int err, const char *fmt, ...)
{
	va_list args;

	if (!why)
		return err;
	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return err;
}

const char *b2f_why_text(const struct b2f_why *why, int err)
{
	return why && why->text[0] ? why->text : b2f_strerror(err);
}

const char *b2f_strerror(int err)
{
	switch (err) {
	case B2F_ECORRUPT:
		return "The stored bytes are damaged";
	case B2F_EINDOUBT:
		return "The server may have done it, or not";
	default:
		/* INT_MIN has no opposite. */
		return strerror(err < 0 && err > INT_MIN ? -err : err);
	}
}

bool b2f_is_format_error(int err)
{
	return err == B2F_ECORRUPT || err == B2F_ENOTFRAME ||
	       err == B2F_EUNSUPPORTED || err == B2F_ETOOBIG;
}

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
