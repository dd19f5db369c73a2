/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_chunk.h - a chunk of a frame, in memory as it is stored
 *
 * Layer: frame.  May include: base/ chunk/ index/ store/ array/.  Threads: any.
 */
#ifndef B2F_FRAME_FRAME_CHUNK_H
#define B2F_FRAME_FRAME_CHUNK_H

#include "frame/frame.h"

/* A chunk with its head, or all its stored bytes, in memory. */
struct b2f_loaded {
	struct b2f_chunk chunk;
	uint64_t nchunk;
	/* Its entry: equal ones of one open frame mean the same bytes. */
	uint64_t raw;
	/* The first @size stored bytes; malloc'ed. */
	uint8_t *bytes;
	size_t size;
	/* Where the chunk is. */
	int64_t object;
	/* Stamp of the object when @bytes were read. */
	struct b2f_frame_stamp identity;
	/* Its checksums, in the malloc'ed @tail; none if it is unsealed. */
	struct b2f_seal seal;
	uint8_t *tail;
};

enum b2f_load { B2F_LOAD_HEAD, B2F_LOAD_ALL };

/*
 * Loads chunk @nchunk, which must have @nbytes decoded bytes.  Free *@out with
 * b2f_loaded_free().
 *
 * Returns 0, B2F_ECORRUPT, B2F_EUNSUPPORTED, -ENOMEM or an errno of the store;
 * the cause is logged.
 */
B2F_MUST_CHECK
int b2f_frame_load(struct b2f_frame *frame, uint64_t nchunk, uint64_t nbytes,
		   enum b2f_load how, struct b2f_loaded **out);

/*
 * The same for chunk @nchunk (of messages) whose entry is @raw: also one that
 * the index does not have, as no commit has named it yet.
 */
B2F_MUST_CHECK
int b2f_frame_load_entry(struct b2f_frame *frame, uint64_t nchunk, uint64_t raw,
			 uint64_t nbytes, enum b2f_load how,
			 struct b2f_loaded **out);

/* A chunk whose head is wanted. */
struct b2f_frame_want {
	/* See the arguments of b2f_frame_load_entry(). */
	uint64_t nchunk;
	uint64_t raw;
	uint64_t nbytes;
	/*
	 * The decoded bytes of it, [@start, @end), that are needed next: the
	 * system reads them from the disk meanwhile.  @end 0: nothing is known.
	 */
	uint64_t start;
	uint64_t end;
};

/* Do its chunks take so long to come that many have to be on their way? */
bool b2f_frame_is_far(const struct b2f_frame *frame);

/*
 * The bytes read from the chunk @raw are damaged: returns true if they came
 * from a cache, which has dropped them now, so that they are to be read once
 * more.
 */
bool b2f_frame_distrust(const struct b2f_frame *frame, uint64_t raw);

/*
 * All of the chunk with entry @raw, of @nbytes decoded bytes, will be loaded soon: a
 * store where that takes time may begin.
 */
void b2f_frame_prefetch(const struct b2f_frame *frame, uint64_t raw,
			uint64_t nbytes);

/*
 * Like b2f_frame_load_entry() with B2F_LOAD_HEAD; leaves the object open in
 * *@object, for b2f_object_close(), if there is more of the chunk than the head
 * and b2f_object_look() can tell whether it changes.
 */
B2F_MUST_CHECK
int b2f_frame_load_head(struct b2f_frame *frame,
			const struct b2f_frame_want *want,
			struct b2f_object *object, struct b2f_loaded **out);

/* NULL does nothing. */
void b2f_loaded_free(struct b2f_loaded *loaded);

/* Are all stored bytes of @loaded in memory, so that nothing is read any more? */
bool b2f_loaded_is_whole(const struct b2f_loaded *loaded);

/*
 * Reads how many bytes chunk @nchunk, which must be stored, decodes to.  If it
 * has a seal (*@sealed) that has been checked; else its header is believed.
 * Returns as b2f_frame_load(), but logs nothing.
 */
B2F_MUST_CHECK
int b2f_frame_chunk_nbytes(struct b2f_frame *frame, uint64_t nchunk,
			   uint32_t *out, bool *sealed, struct b2f_why *why);

/*
 * The codec of a chunk by its code: its format says all but whether it is lz4 or
 * lz4hc, and which plugin.
 */
uint8_t b2f_frame_codec_of(const struct b2f_chunk_header *h);

#endif
