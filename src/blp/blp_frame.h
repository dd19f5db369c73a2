/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blp_frame.h - the parts of a frame that a Bloscpack file does not have
 *
 * Layer: blp.  May include: base/ chunk/ index/.  Threads: pure functions.
 */
#ifndef B2F_BLP_BLP_FRAME_H
#define B2F_BLP_BLP_FRAME_H

#include "blp/blp.h"

/*
 * Makes *@size bytes in *@out, malloc'ed: the header of a frame (*@lead bytes),
 * and right behind it the parts that belong behind the @blp->size bytes of the
 * Bloscpack file.  @first is the header of its first chunk, or NULL if unknown.
 *
 * Returns 0, B2F_ETOOBIG or -ENOMEM, with the cause in @why.
 */
B2F_MUST_CHECK
int b2f_blp_frame_make(const struct b2f_blp *blp,
		       const struct b2f_chunk_header *first, uint8_t **out,
		       size_t *lead, size_t *size, struct b2f_why *why);

#endif
