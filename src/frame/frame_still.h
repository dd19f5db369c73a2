/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_still.h - is a frame still the one on disk?
 *
 * Bytes that a checksum of our index covers need no other proof.  All other
 * bytes are of the opened version if one of these holds, tried in this order:
 *
 *   1. the files have the same stamps, and these prove the version
 *   2. there is a lock file of C-Blosc2, and no other program has had the lock
 *   3. there is no lock file, but the files have not changed for a tick of
 *      their clock
 *   4. there is no lock file, but the header and the end of the trailer are the
 *      same, and a writer of bloscfs has the frame: it overwrites no bytes that
 *      these lead to
 *
 * C-Blosc2 moves chunks before it changes the header, so 4 alone is no proof.
 * Without locks a reader cannot distinguish a program that is stopped in the
 * middle of a change from one that has ended.
 *
 * Layer: frame.  May include: base/ index/ store/.  Threads: any.
 */
#ifndef B2F_FRAME_FRAME_STILL_H
#define B2F_FRAME_FRAME_STILL_H

#include "frame/frame.h"
#include "frame/frame_chunk.h"

/*
 * Call it after bytes of @loaded were read, of which .raw, .object and
 * .identity are set: with @err if they are damaged, or 0.  May sleep for a
 * tick.
 *
 * Returns 0, -ESTALE (the frame may be another one) or an errno, with @why set.
 */
B2F_MUST_CHECK
int b2f_frame_check_still(const struct b2f_frame *frame,
			  const struct b2f_loaded *loaded, int err,
			  struct b2f_why *why);

/*
 * Is the version on disk, whose stamp was @known at the last look, another one
 * than @frame? While the stamp is no proof, the bytes of the index are
 * compared.  Returns 1, 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_frame_has_changed(struct b2f_frame *frame,
			  const struct b2f_frame_stamp *known);

/* Are there chunks of @frame that no tag covers? */
bool b2f_frame_has_bare(const struct b2f_frame *frame);

/* Lets one tick of the clock of files pass. */
void b2f_frame_wait_tick(void);

#endif
