/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * carrier.h - frames that are no row of plain bytes
 *
 * python-blosc2 saves a lazy expression, a function to be computed, or a proxy
 * of another array as a frame of the right shape with nothing in its chunks,
 * and tells in a metalayer what it stands for.  Read as data, it would be zeros
 * that no program wrote.
 *
 * It also saves lists of Python objects: each chunk (or block) is a serialized
 * object, or a batch of them.  The chunks joined would be bytes that no reader
 * can cut into objects again, as the lengths are missing.
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.
 * Threads: pure functions of an immutable frame.
 */
#ifndef B2F_FRAME_CARRIER_H
#define B2F_FRAME_CARRIER_H

#include "frame/frame.h"

/*
 * Names in @text the object that @frame stands for; "" if its data are its
 * own.  A proxy that has fetched all of its source is data.  Returns 0 or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_carrier_find(const struct b2f_frame *frame,
		     char text[B2F_CARRIER_SIZE]);

/*
 * Returns the kind of serialized objects in @frame, such as "an ObjectArray";
 * or NULL.
 */
const char *b2f_carrier_objects(const struct b2f_frame *frame);

#endif
