/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_hold.h - a frame is kept from other writers (b2f_frame_hold()), and
 * given back
 *
 * Layer: frame.  Threads: a frame that is held belongs to one thread.
 */
#ifndef B2F_FRAME_FRAME_HOLD_H
#define B2F_FRAME_FRAME_HOLD_H

#include "frame/frame.h"

/*
 * Like b2f_frame_hold(), but lets programs that use the locks of C-Blosc2 go
 * on: for a look that changes nothing, on a read-only filesystem, too.
 */
B2F_MUST_CHECK
int b2f_frame_hold_to_look(struct b2f_frame *frame);

/* Gives back the locks of b2f_frame_hold(). */
void b2f_frame_let_in(struct b2f_frame *frame);

#endif
