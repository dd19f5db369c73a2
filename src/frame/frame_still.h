/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_still.h - is a frame still the one on disk?
 *
 * Layer: frame.  May include: base/ index/ store/.  Threads: any.
 */
#ifndef B2F_FRAME_FRAME_STILL_H
#define B2F_FRAME_FRAME_STILL_H

#include "frame/frame.h"
#include "frame/frame_chunk.h"

/*
 * Call it after bytes were read of the chunk whose entry is @raw: with @err if they
 * are damaged, or 0.  Only a seal tells that they are its own: once a commit has
 * replaced the frame, a writer of another process may have put another chunk
 * there, or nothing.
 *
 * Returns 0, -ESTALE (the frame is another one) or an errno, with @why set.
 */
B2F_MUST_CHECK
int b2f_frame_check_still(const struct b2f_frame *frame, uint64_t raw, int err,
			  struct b2f_why *why);

/*
 * The same for the chunk file that @loaded was read from: does the index that
 * names it without a tag also come before it?  If so, the id may be that of
 * another chunk by now.  Does nothing for contiguous frames.
 */
B2F_MUST_CHECK
int b2f_frame_check_file(const struct b2f_frame *frame,
			 const struct b2f_loaded *loaded, struct b2f_why *why);

#endif
