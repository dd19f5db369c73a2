/* SPDX-License-Identifier: BSD-3-Clause */
/* decoding.c - options that all commands which write decoded bytes have */
#include "cli/decoding.h"

#include <errno.h>

#include "cli/message.h"
#include "cli/options.h"

int cli_decoding_option(struct cli_decoding *decoding, int opt, const char *arg)
{
	switch (opt) {
	case 'f':
		decoding->force = true;
		return 0;
	case 'T':
		return cli_options_threads("--threads", arg,
					   &decoding->nthreads);
	case 'q':
		cli_message_set_level(B2F_LOG_ERROR);
		decoding->progress = false;
		return 0;
	case 'v':
		cli_message_set_level(B2F_LOG_INFO);
		return 0;
	case CLI_DECODING_RAW:
		decoding->raw = true;
		return 0;
	case CLI_DECODING_FRAME_OFFSET:
		return cli_options_size("--frame-offset", arg,
					&decoding->frame_offset);
	case CLI_DECODING_NO_PROGRESS:
		decoding->progress = false;
		return 0;
	default:
		return -EINVAL;
	}
}
