/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - is every byte of a frame readable?
 *
 * Layer: public (made by file/).  Threads: as file.h.
 */
#ifndef B2FRAME_CHECK_H
#define B2FRAME_CHECK_H

#include "b2frame/api.h"
#include "b2frame/file.h"

B2F_BEGIN_API

/* The result of checking one chunk. */
enum b2f_check_state {
	/* Sound by its checksums. */
	B2F_CHECK_SEALED,
	/* The chunk can be decoded, and has no checksum. */
	B2F_CHECK_UNSEALED,
	/* An index entry alone. */
	B2F_CHECK_SPECIAL,
	B2F_CHECK_DAMAGED,
	B2F_CHECK_UNSUPPORTED,
	/* The chunk could not be read. */
	B2F_CHECK_FAILED,
};

struct b2f_check_options {
	/*
	 * Called now and then, from any worker but never from two at once, with
	 * the decoded bytes checked so far.  May be NULL.
	 */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	/* Called with each chunk, in any order.  May be NULL. */
	void (*chunk)(void *arg, uint64_t nchunk, enum b2f_check_state state);
	void *arg;
};

struct b2f_check_result {
	uint64_t nchunks;
	/* Chunks whose bytes are wrong or missing. */
	uint64_t ndamaged;
	/* Chunks that need a codec or filter that is not built in. */
	uint64_t nunsupported;
	/* Chunks that could not be read (memory, permissions, I/O). */
	uint64_t nfailed;
	/* Chunks that are index entries alone. */
	uint64_t nspecial;
	/* Sound chunks that have checksums. */
	uint64_t nsealed;
	/*
	 * The index has a checksum; or it had one, and C-Blosc2 has changed the
	 * metalayers since, so that damage of these is not found.
	 */
	bool index_sealed;
	bool meta_changed;
	/* The frame is an array, but cannot be shown as one. */
	bool bad_array;
	/* Vlmetalayers that do not decode. */
	uint64_t nbad_metas;
	/* Decoded and stored bytes of the sound chunks. */
	uint64_t nbytes;
	uint64_t cbytes;
	/*
	 * The index of a sparse frame counts too few stored bytes,
	 * @told_cbytes: b2f_editor_count() corrects it.
	 */
	bool tells_less;
	uint64_t told_cbytes;
};

/*
 * Decodes every chunk of @frame on all workers of @runtime.  Each fault is
 * logged, with chunk, file and cause, and counted in @out; the return value
 * says only whether the check was complete.
 *
 * Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_check_frame(struct b2f_runtime *runtime, struct b2f_frame *frame,
		    const struct b2f_check_options *options,
		    struct b2f_check_result *out);

B2F_END_API

#endif
