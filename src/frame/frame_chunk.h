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
	/* Its entry; in one open frame equal entries mean equal bytes. */
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
 * The same for the entry @raw, which no commit need have named yet; @nchunk is
 * for messages.
 */
B2F_MUST_CHECK
int b2f_frame_load_entry(struct b2f_frame *frame, uint64_t nchunk, uint64_t raw,
			 uint64_t nbytes, enum b2f_load how,
			 struct b2f_loaded **out);

/* A chunk, and what of it is wanted. */
struct b2f_frame_want {
	/* See the arguments of b2f_frame_load_entry(). */
	uint64_t nchunk;
	uint64_t raw;
	uint64_t nbytes;
	/*
	 * [@start, @end): decoded bytes that are needed next, which the system
	 * reads ahead; none if @start is @end.  @end 0: not known.
	 */
	uint64_t start;
	uint64_t end;
};

/*
 * Does a chunk take so long to arrive that many have to be requested at once?
 */
bool b2f_frame_is_far(const struct b2f_frame *frame);

/*
 * Call it if bytes that were read of chunk @raw are damaged.  Returns true if
 * they came from a cache, which has dropped them: read them again.
 */
bool b2f_frame_distrust(const struct b2f_frame *frame, uint64_t raw);

/*
 * Lets a slow store begin to fetch the chunk with entry @raw, of @nbytes
 * decoded bytes, all of which will be loaded soon.
 */
void b2f_frame_prefetch(const struct b2f_frame *frame, uint64_t raw,
			uint64_t nbytes);

/*
 * Like b2f_frame_load_entry().  Leaves the object open in *@keep, unless that
 * is NULL, for b2f_object_close(), if there is more of the chunk than was
 * loaded, and b2f_object_look() can tell whether it changes.
 */
B2F_MUST_CHECK
int b2f_frame_load_want(struct b2f_frame *frame,
			const struct b2f_frame_want *want, enum b2f_load how,
			struct b2f_object *keep, struct b2f_loaded **out);

/* NULL does nothing. */
void b2f_loaded_free(struct b2f_loaded *loaded);

/*
 * Are all stored bytes of @loaded in memory, so that nothing is read any more?
 */
bool b2f_loaded_is_whole(const struct b2f_loaded *loaded);

/*
 * Reads the decoded size of chunk @nchunk, which must be stored.  *@sealed: it
 * has a seal, which was checked; else its header is believed.  Returns as
 * b2f_frame_load(), but logs nothing.
 */
B2F_MUST_CHECK
int b2f_frame_chunk_nbytes(struct b2f_frame *frame, uint64_t nchunk,
			   uint32_t *out, bool *sealed, struct b2f_why *why);

/*
 * The code of a chunk's codec.  The format alone tells neither lz4 from lz4hc
 * nor one plugin from another.
 */
uint8_t b2f_frame_codec_of(const struct b2f_chunk_header *h);

#endif
