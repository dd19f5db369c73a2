/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c - a progress bar on stderr */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cleanup.h"
#include "cli/common.h"
#include "cli/message.h"
#include "cli/text.h"

/* Shorter jobs show no bar. */
#define FIRST_MS 200
/* Time between two drawings. */
#define AGAIN_MS 100
/* Characters; the whole line fits 80 columns. */
#define LABEL_WIDTH 24
#define BAR_WIDTH   16
#define BAR_SIZE    64

void cli_progress_init(struct cli_progress *p, const char *label, bool wanted)
{
	*p = (struct cli_progress){
		.shown = wanted && isatty(STDERR_FILENO),
		.label = label,
		.start_ms = cli_common_now_ms(),
		.npasses = 1,
	};
	p->draw_ms = p->start_ms + FIRST_MS;
}

void cli_progress_next(struct cli_progress *p)
{
	if (p->pass + 1 < p->npasses)
		p->pass++;
	p->encoder = NULL;
}

/* Keep the end of a long label, which matters more. */
static const char *cut_label(const char *label)
{
	size_t len = strlen(label);

	return len > LABEL_WIDTH ? label + len - LABEL_WIDTH : label;
}

/* " 40% [####....] ", with the time that is left; one bar for all passes. */
static void put_part(double part, uint64_t elapsed_ms, char bar[BAR_SIZE],
		     char left[BAR_SIZE])
{
	static const char full[] = "################",
			  none[] = "................";
	int filled = (int)(part * BAR_WIDTH);
	uint64_t left_s = 0;

	snprintf(bar, BAR_SIZE, "%3d%% [%.*s%.*s] ", (int)(part * 100), filled,
		 full, BAR_WIDTH - filled, none);
	if (part > 0) {
		left_s = (uint64_t)((double)elapsed_ms * (1 / part - 1)) / 1000;
		snprintf(left, BAR_SIZE, ", %u:%02u left",
			 (unsigned int)(left_s / 60) % 100000,
			 (unsigned int)(left_s % 60));
	}
}

/* "40% [####....] 1.2 GiB, 200.0 MiB/s, 0:07 left"; no scale for a pipe. */
static void draw(const struct cli_progress *p, uint64_t done, uint64_t total,
		 uint64_t elapsed_ms)
{
	char size[CLI_TEXT_SIZE], speed[CLI_TEXT_SIZE], line[160];
	char bar[BAR_SIZE] = "", left[BAR_SIZE] = "";
	double part;

	if (total) {
		part = (p->pass + (double)done / (double)total) / p->npasses;
		put_part(part < 1 ? part : 1, elapsed_ms, bar, left);
		done += p->pass * total;
	}
	snprintf(line, sizeof(line), "%-*s %s%s, %s/s%s", LABEL_WIDTH,
		 cut_label(p->label), bar, cli_text_size(done, size),
		 cli_text_size(done * 1000 / elapsed_ms, speed), left);
	cli_message_status(line);
}

static uint64_t encoded(const struct cli_progress *p, uint64_t done)
{
	struct b2f_runtime_stats stats;

	if (!p->encoder)
		return done;
	b2f_runtime_stats_get(p->encoder, &stats);
	return done > stats.dirty_bytes ? done - stats.dirty_bytes : 0;
}

void cli_progress_update(void *bar, uint64_t done, uint64_t total)
{
	struct cli_progress *p = bar;
	uint64_t now;

	/* Every long job calls this often. */
	cli_cleanup_checkpoint();
	if (!p->shown)
		return;
	now = cli_common_now_ms();
	if (now < p->draw_ms)
		return;
	p->draw_ms = now + AGAIN_MS;
	draw(p, encoded(p, done), total, now - p->start_ms);
}

static void *watch(void *bar)
{
	const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000};
	struct cli_progress *p = bar;

	while (atomic_load(&p->watching)) {
		cli_progress_update(p, p->watched, p->watched);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

void cli_progress_watch(struct cli_progress *p, uint64_t total)
{
	p->watched = total;
	atomic_store(&p->watching, p->shown);
	if (p->shown && pthread_create(&p->watcher, NULL, watch, p) != 0)
		atomic_store(&p->watching, false);
}

void cli_progress_unwatch(struct cli_progress *p)
{
	if (atomic_exchange(&p->watching, false))
		pthread_join(p->watcher, NULL);
}

void cli_progress_fini(struct cli_progress *p)
{
	if (p->shown)
		cli_message_status(NULL);
}
