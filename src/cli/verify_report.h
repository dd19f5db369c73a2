/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_report.h - what bloscctl verify says of a frame
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_VERIFY_REPORT_H
#define B2F_CLI_VERIFY_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "b2frame/b2frame.h"

struct cli_verify_report {
	const char *path;
	/* An exit code, CLI_EXIT_OK or so. */
	int status;
	/* NULL: it did not even open. */
	const struct b2f_check_result *result;
	/* It lies in a ZIP file whose checksum of it differs, or is not known. */
	bool bad_sum;
	/* The kind of a frame whose data are elsewhere; otherwise NULL. */
	const char *stands_for;
	bool sparse;
	/* enum b2f_check_state of each chunk; NULL: not wanted. */
	const uint8_t *states;
	/* Leftovers in its directory; NULL: not looked for. */
	const struct b2f_leftovers *leftovers;
	/* C-Blosc2 opens no frame with such ids and such sizes. */
	bool shuts_out_stock;
};

/*
 * Says it: a line, and with @verbose a line for each kind of chunks; or an object,
 * with the first error since cli_message_begin().  Flushes nothing.
 */
void cli_verify_report_say(const struct cli_verify_report *report, bool verbose);

#endif
