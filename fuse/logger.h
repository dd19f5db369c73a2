/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * logger.h - the daemon's messages: stderr, syslog, or a file
 *
 * Until fs_logger_start() a message is written at once.  From then on it is
 * put into a queue that a thread of its own empties: a full disk, a stuck
 * syslogd or a terminal that was stopped must not stop readers.  If the queue
 * is full, messages are dropped and counted.  A message that equals the one
 * before it is counted, not repeated.  After a burst the logger writes at most
 * two warnings and errors of the library per second, and counts the rest.
 *
 * Layer: fuse.
 *
 * Threads: writing from any; the other functions from the main one.
 */
#ifndef B2F_FUSE_LOGGER_H
#define B2F_FUSE_LOGGER_H

#include <stdbool.h>

#include "b2frame/error.h"
#include "b2frame/log.h"

struct fs_logger;

/*
 * Makes a logger that writes to stderr, up to @level.  Free *@out with
 * fs_logger_free().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int fs_logger_new(enum b2f_log_level level, struct fs_logger **out);

/* Writes the queued lines, for two seconds at most.  NULL does nothing. */
void fs_logger_free(struct fs_logger *logger);

/* Appends to the file @path from now on.  Returns 0 or the errno of open(2). */
B2F_MUST_CHECK
int fs_logger_to_file(struct fs_logger *logger, const char *path);

/* Starts the queue.  Returns 0 or -EAGAIN (no more threads). */
B2F_MUST_CHECK
int fs_logger_start(struct fs_logger *logger);

/* Writes to syslog instead of stderr from now on; a log file stays. */
void fs_logger_to_syslog(struct fs_logger *logger);

/* The library's messages go here; valid as long as @logger. */
const struct b2f_log *fs_logger_sink(struct fs_logger *logger);

/* Writes one line, without newline, if @level is wanted.  Never blocks. */
B2F_PRINTF(3, 4)
void fs_logger_write(struct fs_logger *logger, enum b2f_log_level level,
		     const char *format, ...);

/* fs_logger_write() at level info, whatever level is wanted. */
B2F_PRINTF(2, 3)
void fs_logger_answer(struct fs_logger *logger, const char *format, ...);

#endif
