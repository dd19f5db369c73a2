/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_read.h - the parts of an index, read and checked
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.
 *
 * Threads: as frame.h; until it is handed out, a frame belongs to one thread.
 */
#ifndef B2F_FRAME_FRAME_READ_H
#define B2F_FRAME_FRAME_READ_H

#include "frame/frame.h"

/* The open object from which the parts of the index are read. */
struct b2f_frame_source {
	struct b2f_object object;
	/* Where the frame begins. */
	uint64_t offset;
	/* Bytes from there to the end of the object. */
	uint64_t available;
};

/*
 * Reads the index of @f, which has none yet, once; another program may be
 * writing it meanwhile.  After an error, the parts that were read stay until
 * b2f_frame_forget().
 *
 * Returns 0, B2F_ENOTFRAME, B2F_ECORRUPT, B2F_EUNSUPPORTED, B2F_ETOOBIG,
 * -ENOMEM or an errno of the store.
 */
B2F_MUST_CHECK
int b2f_frame_read(struct b2f_frame *f, const struct b2f_frame_source *src,
		   struct b2f_why *why);

/* Reads the whole index of @f from a buffer.  Returns as b2f_frame_open(). */
B2F_MUST_CHECK
int b2f_frame_parse(struct b2f_frame *f, const uint8_t *index, size_t size,
		    struct b2f_why *why);

/* Frees the parts that were read, if any. */
void b2f_frame_forget(struct b2f_frame *f);

/* Do the metalayers alone differ from the checksums of the index? */
bool b2f_frame_meta_has_changed(const struct b2f_frame *f);

#endif
