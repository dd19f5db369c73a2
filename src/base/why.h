/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * why.h - the cause of a failure, in words
 *
 * The layers that know formats find the cause but know neither frame nor log;
 * they leave a sentence here and return an error.  The layer that knows the
 * frame and the chunk logs it, once (frame/frame_report.c).
 *
 * Layer: base.  Threads: one struct belongs to one thread.
 */
#ifndef B2F_BASE_WHY_H
#define B2F_BASE_WHY_H

#include "base/attr.h"

struct b2f_why {
	/* A clause without capital and full stop; "": no cause is known. */
	char text[288];
};

/*
 * Writes the cause into @why (NULL: it is not wanted) and returns @err, so that
 * a check reads `return b2f_why_set(why, B2F_ECORRUPT, "...")`.
 */
B2F_COLD B2F_PRINTF(3, 4) int b2f_why_set(struct b2f_why *why, int err,
					  const char *fmt, ...);

/* The cause in words: the text of @why (NULL: none), if any, or of @err. */
const char *b2f_why_text(const struct b2f_why *why, int err);

#endif
