/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.h - the facts about a frame, as an object and as text
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
 * Describes @frame, which is at @at, with @chunks too; metalayers in
 * MessagePack get a "value".  Free *@out.  Returns as b2f_frame_describe(),
 * which may set *@out in spite of an error; the causes are logged.
 */
B2F_MUST_CHECK
int cli_info_object(const struct cli_at *at, struct b2f_frame *frame,
		    bool chunks, json_t **out);

/*
 * Prints one line per chunk, as soon as its head is read.  Returns 0, or the
 * first error after trying all; the causes are logged.
 */
B2F_MUST_CHECK
int cli_info_chunks(struct b2f_frame *frame);

/* Prints metalayers and vlmetalayers.  Returns as cli_info_chunks(). */
B2F_MUST_CHECK
int cli_info_metas(const struct b2f_frame *frame);

#endif
