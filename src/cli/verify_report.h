/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_report.h - the report of bloscctl verify
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
	/* An exit code. */
	int status;
	/* NULL: the frame could not be opened. */
	const struct b2f_check_result *result;
	/* Its ZIP file has another checksum for it, or none. */
	bool bad_sum;
	/* The kind of a frame whose data are elsewhere; else NULL. */
	const char *stands_for;
	bool sparse;
	/* enum b2f_check_state of each chunk; NULL: not wanted. */
	const uint8_t *states;
	/* Leftovers in its directory; NULL: not looked for. */
	const struct b2f_leftovers *leftovers;
	/* C-Blosc2 refuses a frame with these ids and sizes. */
	bool shuts_out_stock;
};

/*
 * Prints the report: a line, and with @verbose one for each kind of chunk; or
 * an object, with the first error since cli_message_begin().  Does not flush.
 */
void cli_verify_report_say(const struct cli_verify_report *report, bool verbose);

#endif
