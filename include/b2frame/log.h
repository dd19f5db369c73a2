/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h - receives the library's messages
 *
 * The library never prints.  The caller that opens something passes a struct
 * b2f_log; each failure is reported to it once, where the cause is known, with
 * the frame, the chunk and the cause.
 *
 * Layer: public.  Threads: the callback must be safe to call from any thread.
 */
#ifndef B2FRAME_LOG_H
#define B2FRAME_LOG_H

/* Before each function that takes a printf(3) format and its arguments. */
#define B2F_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

enum b2f_log_level {
	B2F_LOG_ERROR,
	B2F_LOG_WARNING,
	B2F_LOG_INFO,
	B2F_LOG_DEBUG,
};

struct b2f_log {
	/*
	 * Gets one @message of @level: one line, no newline at its end, valid
	 * during the call only.  Must not call the library.
	 */
	void (*write)(void *arg, enum b2f_log_level level, const char *message);
	void *arg;
	/* Messages above this level are not made at all. */
	enum b2f_log_level max_level;
};

#endif
