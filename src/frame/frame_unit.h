/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_unit.h - one unit of a chunk, decoded
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/.
 *
 * Threads: any, with a decoder for each.
 */
#ifndef B2F_FRAME_FRAME_UNIT_H
#define B2F_FRAME_FRAME_UNIT_H

#include "frame/frame.h"
#include "frame/frame_chunk.h"

/*
 * Opens the object that @loaded is in, for the reads to come; close it with
 * b2f_object_close().  Returns 0, -EOPNOTSUPP (objects of this store are not to
 * stay open) or as b2f_object_open(); logs nothing.
 */
B2F_MUST_CHECK
int b2f_frame_open_object(const struct b2f_frame *frame,
			  const struct b2f_loaded *loaded,
			  struct b2f_object *out);

/* A unit to read, and the state for decoding it. */
struct b2f_unit_read {
	struct b2f_frame *frame;
	const struct b2f_loaded *loaded;
	/* The open object of its stored bytes; NULL: opened for each read. */
	const struct b2f_object *object;
	/* Bytes from b2f_frame_read_rest(); NULL: they are read as needed. */
	const uint8_t *rest;
	struct b2f_decoder *dec;
	/* The decoded unit 0, or NULL: it is decoded here if it is needed. */
	const uint8_t *ref;
	uint32_t unit;
};

/*
 * Reads all stored bytes behind those in memory, at once, from @read->object
 * into @read->dec->stored: for a thread that decodes many units.  Returns as
 * b2f_frame_decode_unit(), but logs nothing.
 */
B2F_MUST_CHECK
int b2f_frame_read_rest(const struct b2f_unit_read *read);

/*
 * Decodes the unit of @read into @dst, reading its stored bytes if they are not
 * in memory.  Returns 0, -ESTALE (another program has rewritten the chunk since
 * its head was loaded) or as b2f_frame_load().
 */
B2F_MUST_CHECK
int b2f_frame_decode_unit(const struct b2f_unit_read *read, uint8_t *dst);

/*
 * Plans @e as b2f_excerpt_plan(), of a chunk that no checksum covers.  Returns
 * false if reading and decoding the whole unit takes hardly longer, or is the
 * only way.
 */
bool b2f_frame_plan_excerpt(const struct b2f_frame *frame,
			    const struct b2f_loaded *loaded,
			    struct b2f_excerpt *e);

/*
 * Decodes the planned @e into @dst from the open @read->object.  Returns 0,
 * -EDOM (too few streams are stored as they are), or another error.  After one
 * b2f_frame_decode_unit() either succeeds or tells why not; this logs nothing.
 */
B2F_MUST_CHECK
int b2f_frame_decode_excerpt(const struct b2f_unit_read *read,
			     struct b2f_excerpt *e, uint8_t *dst);

/*
 * Decodes all of @loaded into @buf, which has room for its nbytes; NULL: only
 * to see whether that works.  Returns as b2f_frame_decode_unit(), or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_frame_decode_whole(struct b2f_frame *frame,
			   const struct b2f_loaded *loaded,
			   struct b2f_decoder *dec, uint8_t *buf);

/*
 * Loads all stored bytes of a chunk; @dec, if not NULL, decodes them to see
 * whether they are sound.  Returns as b2f_frame_load_entry() and
 * b2f_frame_decode_whole().
 */
B2F_MUST_CHECK
int b2f_frame_load_sound(struct b2f_frame *frame, uint64_t nchunk, uint64_t raw,
			 uint64_t nbytes, struct b2f_decoder *dec,
			 struct b2f_loaded **out);

#endif
