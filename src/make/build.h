/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build.h - a new frame of the chunks that a pump brings
 *
 * A chunk gets its place in the order of the data; after that any thread may
 * write it at any time.  Header, metalayers and vlmetalayers are copied from
 * another frame, except for the fields that say how chunks are stored and
 * encoded.
 *
 * Layer: make.  May include: base/ chunk/ index/ store/ frame/.  Threads: any.
 */
#ifndef B2F_MAKE_BUILD_H
#define B2F_MAKE_BUILD_H

#include "b2frame/convert.h"
#include "frame/frame.h"
#include "make/pump.h"

struct b2f_build_plan {
	/* Where header, metalayers and vlmetalayers come from. */
	const struct b2f_frame *like;
	/* Sizes and settings; counts of bytes and chunks are worked out. */
	struct b2f_frame_header header;
	/* Where the frame is made; its owner may always read and write. */
	int dirfd;
	const char *name;
	mode_t mode;
	/* Chunks without checksums. */
	bool no_seal;
	/* A contiguous one is as a new file (index/fingerprint.h). */
	bool small;
	/* Log for all errors but those of the source; name for messages. */
	const struct b2f_log *log;
	const char *label;
	/*
	 * Where the chunks come from: the first two steps of the pump; @take
	 * may be NULL.
	 */
	int (*take)(void *context, struct b2f_piece *piece);
	int (*make)(void *context, struct b2f_piece *piece);
	void *context;
	/* Pool, number of chunks, and window of the pump. */
	struct b2f_pool *pool;
	uint64_t n;
	size_t nahead;
	/* Its progress() hears how many of @nbytes have a place; or NULL. */
	const struct b2f_convert_options *told;
	uint64_t nbytes;
};

/*
 * Makes the frame, whole and on disk.  Returns 0, -EEXIST, -ENOMEM,
 * B2F_ETOOBIG, an errno of the filesystem, or an error of the two steps.  An
 * error leaves nothing behind.
 */
B2F_MUST_CHECK
int b2f_build_run(const struct b2f_build_plan *plan);

#endif
