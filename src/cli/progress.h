/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - a progress bar on stderr
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
	/* stderr is a terminal, and -q was not given. */
	bool shown;
	/* Names the job; must outlive the bar. */
	const char *label;
	/* Start, and time of the next drawing (cli_common_now_ms()). */
	uint64_t start_ms;
	uint64_t draw_ms;
	/* Number of passes over the data, and the current one. */
	unsigned int npasses;
	unsigned int pass;
	/*
	 * Runtime whose encoded bytes are counted; NULL: count reported bytes.
	 */
	struct b2f_runtime *encoder;
	/* From cli_progress_watch() to cli_progress_unwatch(). */
	pthread_t watcher;
	atomic_bool watching;
	uint64_t watched;
};

/* Begins a job.  Draws only if @wanted and stderr is a terminal. */
void cli_progress_init(struct cli_progress *p, const char *label, bool wanted);

/* Begins the next pass over the same data, on the same scale. */
void cli_progress_next(struct cli_progress *p);

/*
 * Keeps drawing while the main thread waits for @p->encoder to encode the rest
 * of @total bytes; does nothing without a bar.
 */
void cli_progress_watch(struct cli_progress *p, uint64_t total);
void cli_progress_unwatch(struct cli_progress *p);

/*
 * Redraws the struct cli_progress @bar from time to time; the library calls it
 * with bytes.  @total is 0 if not known: then the bar has no scale.
 */
void cli_progress_update(void *bar, uint64_t done, uint64_t total);

/* Removes the bar. */
void cli_progress_fini(struct cli_progress *p);

#endif
