/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoded.h - the decoded data of a frame as a store
 *
 * An EmbedStore of python-blosc2 is a frame whose data are frames, one after
 * the other.  A read decodes block by block; nothing is kept.
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.
 * Threads: as store.h.
 */
#ifndef B2F_FRAME_DECODED_H
#define B2F_FRAME_DECODED_H

#include "frame/frame.h"

/*
 * Makes a read-only store of the data of @frame as they are stored, and keeps
 * @frame open.  Free *@out with b2f_store_free().  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_decoded_new(struct b2f_frame *frame, struct b2f_store **out);

#endif
