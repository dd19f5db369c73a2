/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - a bar on stderr that tells how far a long job has come
 *
 * Layer: cli.  Threads: one call at a time per bar.
 */
#ifndef B2F_CLI_PROGRESS_H
#define B2F_CLI_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "b2frame/runtime.h"

struct cli_progress {
	/* stderr is a terminal, and the user has nothing against it. */
	bool shown;
	/* Names the job; must outlive the bar. */
	const char *label;
	/* When it began, and when to draw next, as cli_common_now_ms() counts. */
	uint64_t start_ms;
	uint64_t draw_ms;
	/* How often the data are gone through, and which time this is. */
	unsigned int npasses;
	unsigned int pass;
	/*
	 * Counts the bytes that this runtime has encoded; NULL: counts the
	 * bytes reported.
	 */
	struct b2f_runtime *encoder;
	/* Between cli_progress_watch() and cli_progress_unwatch(). */
	pthread_t watcher;
	atomic_bool watching;
	uint64_t watched;
};

/* Begins a job.  Nothing is drawn unless @wanted and stderr is a terminal. */
void cli_progress_init(struct cli_progress *p, const char *label, bool wanted);

/* Begins with the next of the passes through the same data, on one scale. */
void cli_progress_next(struct cli_progress *p);

/*
 * Goes on drawing while the main thread waits for @p->encoder to encode the rest
 * of @total bytes; does nothing if no bar is shown.
 */
void cli_progress_watch(struct cli_progress *p, uint64_t total);
void cli_progress_unwatch(struct cli_progress *p);

/*
 * Draws the struct cli_progress @bar if that was not done lately; what the
 * library calls to tell how far it is.  Bytes; @total is 0 if it is not known:
 * then only what was done is drawn.
 */
void cli_progress_update(void *bar, uint64_t done, uint64_t total);

/* Takes the bar away. */
void cli_progress_fini(struct cli_progress *p);

#endif
