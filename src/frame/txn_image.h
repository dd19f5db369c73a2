/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn_image.h - the next index of a contiguous frame, and its place
 *
 * Layer: frame.  Threads: as txn.h.
 */
#ifndef B2F_FRAME_TXN_IMAGE_H
#define B2F_FRAME_TXN_IMAGE_H

#include "frame/txn.h"
#include "frame/txn_commit.h"

/* An index on its way to the disk. */
struct b2f_txn_image {
	/* Header, and what comes behind the chunks; malloc'ed. */
	uint8_t *bytes;
	size_t size;
	uint32_t header_len;
	/* Stored size of the chunks according to it; dead bytes count. */
	uint64_t cbytes;
	/* Where that is. */
	uint64_t id;
	uint64_t off;
	bool sealed;
};

/* Where the frame ends that @image is the index of. */
static inline uint64_t b2f_txn_image_end(const struct b2f_txn_image *image)
{
	return image->off + image->size - image->header_len;
}

/*
 * Makes the index of @commit in @image, and takes room for it behind the last
 * chunk; of a frame without data that is right behind the header.  The caller
 * frees @image->bytes, also after an error.
 *
 * Returns 0, -EINVAL (a chunk has no place), -EFBIG, -ENOSPC, B2F_ETOOBIG or
 * -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_txn_image_make(struct b2f_txn *txn, const struct b2f_commit *commit,
			struct b2f_txn_image *image, struct b2f_why *why);

#endif
