/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.h - what a frame says of itself, as an object and as text
 *
 * Layer: cli.  Threads: main only.
 */
#ifndef B2F_CLI_INFO_H
#define B2F_CLI_INFO_H

#include <jansson.h>

#include "b2frame/frame.h"
#include "cli/at.h"

/* All but the chunks, as text (show.h). */
extern const char cli_info_text[];

/*
 * What @frame, which is at @at, says, with @chunks too; the metalayers that are
 * MessagePack have a "value".  Free *@out.  Returns as b2f_frame_describe(), which
 * may have made *@out even so; the causes are logged.
 */
B2F_MUST_CHECK
int cli_info_object(const struct cli_at *at, struct b2f_frame *frame,
		    bool chunks, json_t **out);

/*
 * As text, one line per chunk, each printed as soon as its head is read.  Returns 0,
 * or the first error after all were tried; the causes are logged.
 */
B2F_MUST_CHECK
int cli_info_chunks(struct b2f_frame *frame);

/* As text, metalayers and vlmetalayers.  Returns as cli_info_chunks(). */
B2F_MUST_CHECK
int cli_info_metas(const struct b2f_frame *frame);

#endif
