/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - a bar on stderr that tells how far a long job has come
 *
 * Layer: cli.  Threads: one call at a time per bar.
 */
#ifndef B2F_CLI_PROGRESS_H
#define B2F_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
	/* stderr is a terminal, and the user has nothing against it. */
	bool shown;
	/* Names the job; must outlive the bar. */
	const char *label;
	/* When it began, and when to draw next, as cli_common_now_ms() counts. */
	uint64_t start_ms;
	uint64_t draw_ms;
};

/* Begins a job.  Nothing is drawn unless @wanted and stderr is a terminal. */
void cli_progress_init(struct cli_progress *p, const char *label, bool wanted);

/*
 * Draws the struct cli_progress @bar if that was not done lately; what the
 * library calls to tell how far it is.  Bytes; @total may be 0.
 */
void cli_progress_update(void *bar, uint64_t done, uint64_t total);

/* Takes the bar away. */
void cli_progress_fini(struct cli_progress *p);

#endif
