/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patch.h - makes a chunk from another one in which some bytes have changed
 *
 * Blocks stand alone, so those that have not changed keep their stored bytes.
 * Only the others are encoded, and only those that have changed in part are
 * decoded before.  The result is a chunk as b2f_chunk_encode() makes it: its
 * table and header are new.
 *
 * This needs an old chunk that was made exactly as the new one will be: with
 * regular blocks of the same size, the same filters, type size, splitting and
 * format of streams (levels may differ).  Any other chunk is left to
 * b2f_chunk_encode().  The new chunk may be longer or shorter: only the last
 * block of both is of another length then, so that to append to a chunk takes
 * as long as to change a block.
 *
 * Any number of blocks may have changed: with all of them this does what
 * b2f_chunk_encode() does, without a buffer for the whole data.
 *
 * Layer: chunk.  May include: base/ codec/ filter/.
 *
 * Threads: as encoder and decoder.
 */
#ifndef B2F_CHUNK_PATCH_H
#define B2F_CHUNK_PATCH_H

#include "chunk/encoder.h"
#include "chunk/seal.h"

/* How much of some bytes has changed. */
enum b2f_patch_part {
	B2F_PATCH_NONE,
	/* Some of them, or it is not known. */
	B2F_PATCH_SOME,
	B2F_PATCH_ALL,
};

struct b2f_patch {
	/* The old chunk, opened from all its stored bytes. */
	const struct b2f_chunk *chunk;
	const uint8_t *raw;
	/* Its checksums, or none. */
	const struct b2f_seal *seal;
	struct b2f_decoder *dec;
	/* Decoded bytes of the new chunk, > 0. */
	uint32_t nbytes;
	/*
	 * How much of the @size (> 0) decoded bytes from @off on is changed?
	 * Bytes beyond the end of the old chunk are changed.
	 */
	enum b2f_patch_part (*part)(void *arg, uint32_t off, uint32_t size);
	/*
	 * Changes the @size bytes at @data, the old bytes from @off on; they
	 * are garbage where all of them change, and behind the end of the old
	 * chunk.
	 */
	void (*apply)(void *arg, uint32_t off, uint32_t size, uint8_t *data);
	/* For part() and apply(). */
	void *arg;
};

/*
 * True if b2f_patch_encode() may be able to change @chunk, of which the head
 * suffices, into a chunk of @nbytes (> 0) with @options.
 */
bool b2f_patch_fits(const struct b2f_encode_options *options,
		    const struct b2f_chunk *chunk, uint32_t nbytes);

/*
 * Writes the chunk that @patch makes to @dst, which has room for
 * b2f_chunk_encode_bound() of its nbytes.  *@cbytes is its size; or 0 if the
 * data are to be put together and given to b2f_chunk_encode() instead: because
 * the old chunk does not fit, or the new one would not be smaller than its
 * data, or would be zeros.
 *
 * Each byte that is taken from the old chunk was checked: with its checksum, or
 * by decoding where it has none.
 *
 * Returns 0; B2F_ECORRUPT or B2F_EUNSUPPORTED (a block that is not replaced is
 * damaged, or cannot be decoded); -EINVAL (invalid options), -ENOMEM; with the
 * cause in @why and rubbish in @dst.
 */
B2F_MUST_CHECK
int b2f_patch_encode(struct b2f_encoder *enc,
		     const struct b2f_encode_options *options,
		     const struct b2f_patch *patch, uint8_t *dst,
		     uint32_t *cbytes, struct b2f_why *why);

#endif
