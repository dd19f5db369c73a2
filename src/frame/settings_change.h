/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings_change.h - gives a frame another codec, level or filters
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/.  Threads: any.
 */
#ifndef B2F_FRAME_SETTINGS_CHANGE_H
#define B2F_FRAME_SETTINGS_CHANGE_H

#include "b2frame/write.h"
#include "frame/frame.h"

/*
 * Applies @change to @frame, whose header is @now, which may be newer than its
 * index on disk: *@out has the same data and metalayers, and another header.
 * It lacks the places of chunks, which the transaction knows. *@out is NULL if
 * nothing changes; else close it with b2f_frame_close().
 *
 * Returns 0, -EINVAL (invalid settings), or as b2f_frame_derive().
 */
B2F_MUST_CHECK
int b2f_settings_change(const struct b2f_frame *frame,
			const struct b2f_frame_header *now,
			const struct b2f_encoding *change,
			struct b2f_frame **out);

#endif
