/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c - a bar on stderr that tells how far a long job has come */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cleanup.h"
#include "cli/common.h"
#include "cli/message.h"
#include "cli/text.h"

/* Jobs that take less show nothing. */
#define FIRST_MS 200
/* Time between two drawings. */
#define AGAIN_MS 100
/* Characters, so that all fits 80 columns. */
#define LABEL_WIDTH 24
#define BAR_WIDTH   16

void cli_progress_init(struct cli_progress *p, const char *label, bool wanted)
{
	p->shown = wanted && isatty(STDERR_FILENO);
	p->label = label;
	p->start_ms = cli_common_now_ms();
	p->draw_ms = p->start_ms + FIRST_MS;
}

/* The end of a long label tells more than its beginning. */
static const char *cut_label(const char *label)
{
	size_t len = strlen(label);

	return len > LABEL_WIDTH ? label + len - LABEL_WIDTH : label;
}

static void draw(const struct cli_progress *p, uint64_t done, uint64_t total,
		 uint64_t elapsed_ms)
{
	char bar[BAR_WIDTH + 1], size[CLI_TEXT_SIZE], speed[CLI_TEXT_SIZE];
	char line[160];
	double part = total ? (double)done / (double)total : 0;
	int filled = (int)(part * BAR_WIDTH);

	if (filled > BAR_WIDTH)
		filled = BAR_WIDTH;
	memset(bar, '.', BAR_WIDTH);
	memset(bar, '#', (size_t)filled);
	bar[BAR_WIDTH] = '\0';
	cli_text_size(done, size);
	cli_text_size(done * 1000 / elapsed_ms, speed);
	snprintf(line, sizeof(line), "%-*s %3d%% [%s] %s, %s/s", LABEL_WIDTH,
		 cut_label(p->label), (int)(part * 100), bar, size, speed);
	cli_message_status(line);
}

void cli_progress_update(void *bar, uint64_t done, uint64_t total)
{
	struct cli_progress *p = bar;
	uint64_t now;

	/* Every long job comes by here again and again. */
	cli_cleanup_checkpoint();
	if (!p->shown)
		return;
	now = cli_common_now_ms();
	if (now < p->draw_ms)
		return;
	p->draw_ms = now + AGAIN_MS;
	draw(p, done, total, now - p->start_ms);
}

void cli_progress_fini(struct cli_progress *p)
{
	if (p->shown)
		cli_message_status(NULL);
}
