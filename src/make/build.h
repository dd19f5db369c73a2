/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build.h - the index of a new frame, and where its chunks go
 *
 * A chunk gets its place in the order of the data (b2f_build_place()); after
 * that it may be written at any time, by any thread (b2f_build_put()).
 * Header, metalayers and vlmetalayers are those of another frame, byte for
 * byte, but for what says how chunks are stored and encoded.
 *
 * Layer: make.  May include: base/ chunk/ index/ store/ frame/.
 *
 * Threads: b2f_build_put() from any number, all else from one at a time.
 */
#ifndef B2F_MAKE_BUILD_H
#define B2F_MAKE_BUILD_H

#include "chunk/encoder.h"
#include "frame/frame.h"
#include "make/pump.h"

struct b2f_build;

struct b2f_build_options {
	/* Where header, metalayers and vlmetalayers come from. */
	const struct b2f_frame *like;
	/* Sizes and settings; counts of bytes and chunks are worked out. */
	struct b2f_frame_header header;
	/* Where it is made; its owner may always read and write. */
	int dirfd;
	const char *name;
	mode_t mode;
	/* Chunks without checksums. */
	bool no_seal;
	/* A contiguous one is as a new file (index/fingerprint.h). */
	bool small;
};

/*
 * Begins the frame.  End with b2f_build_free().  Returns 0, -EEXIST, -ENOMEM or
 * an errno of the filesystem.
 */
B2F_MUST_CHECK
int b2f_build_new(const struct b2f_build_options *options,
		  struct b2f_build **out, struct b2f_why *why);

/* Gives @chunk its place behind all others.  0, B2F_ETOOBIG or -ENOMEM. */
B2F_MUST_CHECK
int b2f_build_place(struct b2f_build *build, struct b2f_piece *chunk,
		    struct b2f_why *why);

/*
 * Writes the bytes of @chunk, if it has some, with their seal, to its place.  May make
 * @chunk->bytes longer.  Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_build_put(struct b2f_build *build, struct b2f_piece *chunk,
		    struct b2f_why *why);

/* After the last chunk: the frame is whole and on disk.  0 or an errno. */
B2F_MUST_CHECK
int b2f_build_finish(struct b2f_build *build, struct b2f_why *why);

/* Removes what was not finished, and frees.  NULL does nothing. */
void b2f_build_free(struct b2f_build *build);

#endif
