/* SPDX-License-Identifier: BSD-3-Clause */
/* logger.c - a queue of lines, and the thread that writes them */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "logger.h"
#include "programs/io.h"
#include "wakeup.h"

#define QUEUE_LINES 256
#define LINE_SIZE   600

/* Repeats of a message are reported after so many seconds at the latest. */
#define REPEAT_SECONDS 10
#define FREE_SECONDS   2

/* Lines that users can cause: so many at once, and then per second. */
#define BURST_LINES  300
#define SECOND_LINES 2

struct line {
	enum b2f_log_level level;
	/* It may be left out if there are too many. */
	bool limited;
	time_t when;
	char text[LINE_SIZE];
};

struct fs_logger {
	struct b2f_log sink;
	/* -1: none. */
	int file;
	atomic_bool syslog;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	/* All below: under the lock. */
	bool started;
	bool stopping;
	size_t first;
	size_t count;
	uint64_t ndropped;
	struct line queue[QUEUE_LINES];

	/* Only for the thread: its last line, and how often repeated. */
	struct line last;
	uint64_t nrepeats;
	/* Room for limited lines, at the time @counted. */
	time_t counted;
	time_t room;
	uint64_t nleft_out;
};

/* Indexed by enum b2f_log_level. */
static const struct {
	const char *name;
	int syslog;
} levels[] = {
	[B2F_LOG_ERROR] = {"error", LOG_ERR},
	[B2F_LOG_WARNING] = {"warning", LOG_WARNING},
	[B2F_LOG_INFO] = {"info", LOG_INFO},
	[B2F_LOG_DEBUG] = {"debug", LOG_DEBUG},
};

/* One write(2) per line, so that lines of several daemons do not mix. */
static void write_line(int fd, const char *text, int size)
{
	ssize_t n;

	if (size < 0)
		return;
	do
		n = write(fd, text, (size_t)size);
	while (n < 0 && errno == EINTR);
	/* There is no other place to report an error. */
}

static void emit(struct fs_logger *logger, const struct line *line)
{
	char buf[LINE_SIZE + 80], when[40];
	struct tm tm;
	int n;

	if (logger->file >= 0) {
		localtime_r(&line->when, &tm);
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &tm);
		n = snprintf(buf, sizeof(buf), "%s bloscfs[%d] %s: %s\n", when,
			     (int)getpid(), levels[line->level].name,
			     line->text);
		write_line(logger->file, buf, n);
	} else if (atomic_load(&logger->syslog)) {
		syslog(levels[line->level].syslog, "%s", line->text);
	} else {
		n = snprintf(buf, sizeof(buf), "bloscfs: %s\n", line->text);
		write_line(STDERR_FILENO, buf, n);
	}
}

/* Reports how often the last line was repeated. */
static void flush_repeats(struct fs_logger *logger)
{
	struct line line = {.level = logger->last.level, .when = time(NULL)};

	if (logger->nrepeats == 0)
		return;
	if (logger->nrepeats == 1)
		snprintf(line.text, sizeof(line.text),
			 "last message repeated once");
	else
		snprintf(line.text, sizeof(line.text),
			 "last message repeated %llu times",
			 (unsigned long long)logger->nrepeats);
	logger->nrepeats = 0;
	emit(logger, &line);
}

/* Reports that @n messages are missing, and why.  0 does nothing. */
static void report_missing(struct fs_logger *logger, uint64_t n,
			   const char *why)
{
	struct line line = {.level = B2F_LOG_WARNING, .when = time(NULL)};

	if (n == 0)
		return;
	snprintf(line.text, sizeof(line.text), "%llu messages were %s",
		 (unsigned long long)n, why);
	emit(logger, &line);
}

static void flush_counts(struct fs_logger *logger)
{
	flush_repeats(logger);
	report_missing(logger, logger->nleft_out,
		       "left out: there were too many");
	logger->nleft_out = 0;
}

/* Users who read damaged frames again and again must not fill the disk. */
static bool take_room(struct fs_logger *logger, const struct line *line)
{
	time_t passed = line->when - logger->counted;

	if (!line->limited)
		return true;
	logger->counted = line->when;
	if (passed > BURST_LINES)
		logger->room = BURST_LINES;
	else if (passed > 0)
		logger->room += passed * SECOND_LINES;
	if (logger->room > BURST_LINES)
		logger->room = BURST_LINES;
	return logger->room > 0 && logger->room-- > 0;
}

static void write_or_count(struct fs_logger *logger, const struct line *line)
{
	if (strcmp(line->text, logger->last.text) == 0 &&
	    line->when - logger->last.when < REPEAT_SECONDS) {
		logger->nrepeats++;
	} else if (!take_room(logger, line)) {
		logger->nleft_out++;
	} else {
		flush_counts(logger);
		emit(logger, line);
		logger->last = *line;
	}
}

/* Waits for a line; with counts to report, only for a while. */
static void wait_for_line(struct fs_logger *logger)
{
	struct timespec until;

	if (logger->nrepeats == 0 && logger->nleft_out == 0) {
		pthread_cond_wait(&logger->changed, &logger->lock);
		return;
	}
	until = b2f_monotonic_in_ms(REPEAT_SECONDS * 1000);
	if (pthread_cond_clockwait(&logger->changed, &logger->lock,
				   CLOCK_MONOTONIC, &until) == ETIMEDOUT)
		flush_counts(logger);
}

static void *run(void *arg)
{
	struct fs_logger *logger = arg;
	struct line line;
	uint64_t ndropped;

	pthread_mutex_lock(&logger->lock);
	while (logger->count > 0 || !logger->stopping) {
		if (logger->count == 0) {
			wait_for_line(logger);
			continue;
		}
		line = logger->queue[logger->first];
		logger->first = (logger->first + 1) % QUEUE_LINES;
		logger->count--;
		ndropped = logger->ndropped;
		logger->ndropped = 0;
		pthread_mutex_unlock(&logger->lock);
		write_or_count(logger, &line);
		report_missing(logger, ndropped,
			       "lost, because the log is too slow");
		pthread_mutex_lock(&logger->lock);
	}
	pthread_mutex_unlock(&logger->lock);
	flush_counts(logger);
	return NULL;
}

/* Control characters of file names must not forge lines or move cursors. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static void enqueue(struct fs_logger *logger, const struct line *line)
{
	bool direct;

	pthread_mutex_lock(&logger->lock);
	direct = !logger->started;
	if (!direct && logger->count == QUEUE_LINES) {
		logger->ndropped++;
	} else if (!direct) {
		logger->queue[(logger->first + logger->count) % QUEUE_LINES] =
			*line;
		logger->count++;
		pthread_cond_signal(&logger->changed);
	}
	pthread_mutex_unlock(&logger->lock);
	if (direct)
		emit(logger, line);
}

static void put(struct fs_logger *logger, enum b2f_log_level level,
		bool limited, const char *message)
{
	struct line line = {
		.level = level, .limited = limited, .when = time(NULL)};

	snprintf(line.text, sizeof(line.text), "%s", message);
	clean(line.text);
	enqueue(logger, &line);
}

/* More than warnings come only if they are wanted. */
static void sink_write(void *arg, enum b2f_log_level level, const char *message)
{
	put(arg, level, level <= B2F_LOG_WARNING, message);
}

int fs_logger_new(enum b2f_log_level level, struct fs_logger **out)
{
	struct fs_logger *logger = calloc(1, sizeof(*logger));

	if (!logger)
		return -ENOMEM;
	logger->sink = (struct b2f_log){
		.write = sink_write, .arg = logger, .max_level = level};
	logger->file = -1;
	logger->room = BURST_LINES;
	atomic_init(&logger->syslog, false);
	pthread_mutex_init(&logger->lock, NULL);
	pthread_cond_init(&logger->changed, NULL);
	*out = logger;
	return 0;
}

/* Returns false if the thread is stuck: then its memory must stay. */
static bool stop_thread(struct fs_logger *logger)
{
	pthread_mutex_lock(&logger->lock);
	logger->stopping = true;
	pthread_cond_signal(&logger->changed);
	pthread_mutex_unlock(&logger->lock);
	return fs_clock_join(logger->thread, FREE_SECONDS);
}

void fs_logger_free(struct fs_logger *logger)
{
	if (!logger || (logger->started && !stop_thread(logger)))
		return;
	if (logger->file >= 0)
		close(logger->file);
	pthread_cond_destroy(&logger->changed);
	pthread_mutex_destroy(&logger->lock);
	free(logger);
}

int fs_logger_to_file(struct fs_logger *logger, const char *path)
{
	/* The log contains names of all users' files. */
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);

	if (fd < 0)
		return -errno;
	logger->file = fd;
	return 0;
}

int fs_logger_start(struct fs_logger *logger)
{
	int err = pthread_create(&logger->thread, NULL, run, logger);

	if (err)
		return -err;
	B2F_HOLD(&logger->lock);
	logger->started = true;
	return 0;
}

void fs_logger_to_syslog(struct fs_logger *logger)
{
	openlog("bloscfs", LOG_PID, LOG_DAEMON);
	atomic_store(&logger->syslog, true);
}

const struct b2f_log *fs_logger_sink(struct fs_logger *logger)
{
	return &logger->sink;
}

void fs_logger_write(struct fs_logger *logger, enum b2f_log_level level,
		     const char *format, ...)
{
	char text[LINE_SIZE];
	va_list args;

	if (level > logger->sink.max_level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Errors of the daemon itself tell of lost changes. */
	put(logger, level, level == B2F_LOG_WARNING, text);
}

void fs_logger_answer(struct fs_logger *logger, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(logger, B2F_LOG_INFO, false, text);
}
