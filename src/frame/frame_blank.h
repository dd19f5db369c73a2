/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_blank.h - a frame whose index has lost its content with the power
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.  Threads: any.
 */
#ifndef B2F_FRAME_FRAME_BLANK_H
#define B2F_FRAME_FRAME_BLANK_H

#include "frame/frame.h"

enum b2f_blank {
	/* It has content, or is longer than such an index can be. */
	B2F_BLANK_NOT,
	/* It is empty, or zeros that were never written. */
	B2F_BLANK_NEW,
	/* Zeros that were written, or that replaced written bytes. */
	B2F_BLANK_LOST,
};

/*
 * Is the index of @store blank?  A loss of power leaves a new frame like that:
 * with its names, and without the data.  Such a frame is NEW, and empty, unless
 * a chunk file is beside the index.  Zeros in a frame that was durable are
 * damage.  A contiguous frame is blank only if b2f_frame_is_new_name() is true.
 *
 * Returns an enum b2f_blank, or an errno: the store does not tell.
 */
B2F_MUST_CHECK
int b2f_frame_blank(struct b2f_store *store);

/* Does @path end like a new frame of a mount: NAME.b2frame, NAME.b2nd? */
bool b2f_frame_is_new_name(const char *path);

/*
 * Gives @f the index of an empty frame if its own is NEW. Returns 0;
 * B2F_ECORRUPT if it is LOST; @broken, the error of reading it, if it is not
 * blank; -ENOMEM or an errno of the store.
 */
B2F_MUST_CHECK
int b2f_frame_read_blank(struct b2f_frame *f, int broken, struct b2f_why *why);

#endif
