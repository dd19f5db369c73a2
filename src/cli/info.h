/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.h - the parts of what bloscctl info prints as text
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_INFO_H
#define B2F_CLI_INFO_H

#include "b2frame/frame.h"
#include "cli/at.h"

/* Prints the description of @frame, which is at @at. */
void cli_info_summary(const struct cli_at *at, struct b2f_frame *frame);

/*
 * Prints one line per chunk, each as soon as its head is read.  Returns 0, or
 * the first error after all were tried; the causes are logged.
 */
B2F_MUST_CHECK
int cli_info_chunks(struct b2f_frame *frame);

/*
 * All of it as JSON, with @chunks too, malloc'ed; the metalayers that are
 * MessagePack have a "value".  Returns as b2f_frame_describe(), which may have
 * made *@out even so; the causes are logged.
 */
B2F_MUST_CHECK
int cli_info_json(const struct cli_at *at, struct b2f_frame *frame,
		  bool chunks, char **out);

/* Metalayers and vlmetalayers.  Returns as cli_info_chunks(). */
B2F_MUST_CHECK
int cli_info_metas(const struct b2f_frame *frame);

#endif
