/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * obstacle.h - why a frame cannot be written to
 *
 * Layer: frame.  May include: base/ index/ store/.  Threads: any.
 */
#ifndef B2F_FRAME_OBSTACLE_H
#define B2F_FRAME_OBSTACLE_H

#include "frame/frame.h"

/* Kinds of changes to a frame. */
enum b2f_frame_use {
	/* Change the row of chunks, but not of an array. */
	B2F_USE_CHUNKS,
	/* Write to it as to a file. */
	B2F_USE_FILE,
	/*
	 * Replace chunks by others of the same length, in any frame, one of
	 * variable chunks too.
	 */
	B2F_USE_ANY,
};

/*
 * The reason why @frame cannot be written to, or NULL. May read the head of a
 * chunk, or of all chunks if some tell no length.
 */
const char *b2f_obstacle_find(struct b2f_frame *frame, enum b2f_frame_use use);

/* The same from just the header of a frame with chunks. */
const char *b2f_obstacle_in_header(const struct b2f_frame_header *h);

/* Returns 0, or -EROFS if there is an obstacle, which is logged. */
B2F_MUST_CHECK
int b2f_obstacle_check(struct b2f_frame *frame, enum b2f_frame_use use);

#endif
