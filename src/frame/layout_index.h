/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout_index.h - gives a frame another layout: plain data, or an array
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.  Threads: any.
 */
#ifndef B2F_FRAME_LAYOUT_INDEX_H
#define B2F_FRAME_LAYOUT_INDEX_H

#include "array/npy.h"
#include "frame/frame.h"

/* Most chunks of an array made of a .npy file, and of a file that grows. */
#define B2F_LAYOUT_NCHUNKS_MAX (UINT64_C(1) << 24)

/*
 * Makes a frame with the settings, the chunk files and the metadata of @frame
 * that is empty and no array; items have @typesize, chunks about @chunksize
 * bytes.  Close *@out with b2f_frame_close().  Returns as b2f_frame_derive().
 */
B2F_MUST_CHECK
int b2f_layout_plain(const struct b2f_frame *frame, uint32_t typesize,
		   uint32_t chunksize, struct b2f_frame **out);

/*
 * The same with the array that the .npy header @head, parsed in @npy,
 * describes; all its chunks are zeros.  @head NULL: without the header, as
 * C-Blosc2 makes arrays.  Returns also B2F_EUNSUPPORTED (there cannot be such
 * an array, or not in a contiguous frame) or B2F_ETOOBIG (it has more than
 * B2F_LAYOUT_NCHUNKS_MAX chunks, or would have if its items were plain data in
 * chunks of @chunksize).
 */
B2F_MUST_CHECK
int b2f_layout_npy(const struct b2f_frame *frame, const struct b2f_npy *npy,
		   const uint8_t *head, uint32_t chunksize,
		   struct b2f_frame **out);

/*
 * Can @frame replace @before, from which it was derived? A contiguous frame has
 * its header in one place, where a commit is one write within a sector; and an
 * index right behind it if it is empty.
 */
bool b2f_layout_has_room(const struct b2f_frame *frame,
		       const struct b2f_frame *before);

/*
 * Has the @array of @npy more than @max chunks, or would it as plain data in
 * chunks of @chunksize? Wide items make few chunks of an array but many of
 * plain data, which it has to become again if it is cut or grows.
 */
bool b2f_layout_exceeds(const struct b2f_npy *npy, const struct b2f_array *array,
		      uint32_t chunksize, uint64_t max);

#endif
