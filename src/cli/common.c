/* SPDX-License-Identifier: BSD-3-Clause */
/* common.c - options that all commands which make or change frames have */
#include "cli/common.h"

#include <errno.h>
#include <jansson.h>
#include <time.h>

#include "cli/json.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/text.h"

int cli_common_option(struct cli_common *common, int opt, const char *arg)
{
	switch (opt) {
	case 'T':
		return cli_options_threads("--threads", arg, &common->nthreads);
	case 'q':
		cli_message_set_level(B2F_LOG_ERROR);
		common->progress = false;
		return 0;
	case 'v':
		cli_message_set_level(B2F_LOG_INFO);
		return 0;
	case CLI_COMMON_NO_PROGRESS:
		common->progress = false;
		return 0;
	case CLI_COMMON_JSON:
		common->json = true;
		return 0;
	case CLI_COMMON_NO_SEAL:
		common->no_seal = true;
		return 0;
	default:
		return -EINVAL;
	}
}

uint64_t cli_common_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void print_json(const struct cli_report *r)
{
	const char *output = r->output ? r->output : r->source;
	json_t *object = json_object();
	double ratio = 0;

	if (r->cbytes)
		ratio = (double)r->nbytes / (double)r->cbytes;
	json_object_set_new(object, "command", json_string(r->command));
	json_object_set_new(object, "source", cli_json_name(r->source));
	json_object_set_new(object, "output", cli_json_name(output));
	json_object_set_new(object, "nbytes",
			    json_integer((json_int_t)r->nbytes));
	json_object_set_new(object, "cbytes",
			    json_integer((json_int_t)r->cbytes));
	json_object_set_new(object, "ratio", json_real(ratio));
	json_object_set_new(object, "seconds",
			    json_real((double)r->elapsed_ms / 1000));
	cli_json_print(object);
}

static void print_text(const struct cli_report *r)
{
	char size[CLI_TEXT_SIZE], stored[CLI_TEXT_SIZE], ratio[CLI_TEXT_SIZE];
	char speed[CLI_TEXT_SIZE];
	uint64_t ms = r->elapsed_ms ? r->elapsed_ms : 1;

	cli_message_info("%s: %s => %s, ratio %s, %s/s%s%s", r->source,
			 cli_text_size(r->nbytes, size),
			 cli_text_size(r->cbytes, stored),
			 cli_text_ratio(r->nbytes, r->cbytes, ratio),
			 cli_text_size(r->nbytes * 1000 / ms, speed),
			 r->output ? ", " : "", r->output ? r->output : "");
}

void cli_common_report(const struct cli_common *common,
		       const struct cli_report *report)
{
	if (common->json)
		print_json(report);
	print_text(report);
}
