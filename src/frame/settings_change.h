/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings_change.h - a frame goes on with another codec, level or filters
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/.  Threads: any.
 */
#ifndef B2F_FRAME_SETTINGS_CHANGE_H
#define B2F_FRAME_SETTINGS_CHANGE_H

#include "b2frame/write.h"
#include "frame/frame.h"

/*
 * The settings of a frame at one moment, which may be newer than its index on
 * disk.
 */
struct b2f_settings_now {
	struct b2f_frame_header header;
	/* Decoded bytes, and chunks. */
	uint64_t nbytes;
	uint64_t nchunks;
};

/*
 * Makes the frame that @frame, which is as @now says, becomes by @change: the
 * same data and metalayers, and another header.  Where its chunks are is not in
 * it: that is for a transaction to know.  *@out is NULL if it has just these
 * settings; else close it with b2f_frame_close().
 *
 * Returns 0, -EINVAL (settings that cannot be), or as b2f_frame_derive().
 */
B2F_MUST_CHECK
int b2f_settings_change(const struct b2f_frame *frame,
			const struct b2f_settings_now *now,
			const struct b2f_encoding *change,
			struct b2f_frame **out);

#endif
