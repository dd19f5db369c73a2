/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * editor.h - a sparse frame as a row of chunks that can be changed
 *
 * Changes are collected and become visible to others at once, with
 * b2f_editor_commit().  Chunks are numbered from 0.  All chunks have the
 * frame's chunk size but the last one, which may be shorter.
 *
 * Layer: public (made by frame/).
 *
 * Threads: one editor belongs to one thread at a time.
 */
#ifndef B2FRAME_EDITOR_H
#define B2FRAME_EDITOR_H

#include "b2frame/api.h"
#include "b2frame/create.h"

B2F_BEGIN_API

struct b2f_editor;

struct b2f_editor_options {
	/* Must outlive the editor.  NULL: no messages. */
	const struct b2f_log *log;
	/* Name for messages; NULL: the frame's path. */
	const char *label;
	/* Write chunks without checksums. */
	bool no_seal;
	/*
	 * Open any frame, contiguous ones, arrays and variable chunks too.  In
	 * such a frame chunks can only be sealed or replaced by zeros; other
	 * changes are -EROFS.
	 */
	bool any_kind;
};

/*
 * Opens the sparse frame @path below @dirfd for changes.  Close *@out with
 * b2f_editor_close().  Returns as b2f_frame_open() and b2f_file_allow_write().
 */
B2F_MUST_CHECK
int b2f_editor_open(const struct b2f_editor_options *options, int dirfd,
		    const char *path, struct b2f_editor **out);

/*
 * Like b2f_editor_open() for @frame, which is open and stays the caller's; its
 * log and label count, and not those of @options.  Also returns -ESTALE (the
 * frame on disk was changed or replaced since it was opened).
 */
B2F_MUST_CHECK
int b2f_editor_open_frame(const struct b2f_editor_options *options,
			  struct b2f_frame *frame, struct b2f_editor **out);

/* Closes @editor and drops uncommitted changes.  NULL does nothing. */
void b2f_editor_close(struct b2f_editor *editor);

uint64_t b2f_editor_nchunks(const struct b2f_editor *editor);
uint64_t b2f_editor_nbytes(const struct b2f_editor *editor);

/* Decoded bytes of a chunk; -1 until the first chunk sets them. */
int32_t b2f_editor_chunksize(const struct b2f_editor *editor);

/*
 * Adds, inserts before chunk @nchunk (<= nchunks), or replaces chunk @nchunk
 * (< nchunks) by the @nbytes (> 0) at @data.
 *
 * Returns 0; -EINVAL (no such chunk, or a length that only the last chunk may
 * have; logged), B2F_ETOOBIG, -ENOMEM or an errno of the store.
 */
B2F_MUST_CHECK
int b2f_editor_append(struct b2f_editor *editor, const void *data,
		      uint32_t nbytes);
B2F_MUST_CHECK
int b2f_editor_insert(struct b2f_editor *editor, uint64_t nchunk,
		      const void *data, uint32_t nbytes);
B2F_MUST_CHECK
int b2f_editor_update(struct b2f_editor *editor, uint64_t nchunk,
		      const void *data, uint32_t nbytes);

/* Removes chunk @nchunk.  Returns 0 or -EINVAL (no such chunk). */
B2F_MUST_CHECK
int b2f_editor_delete(struct b2f_editor *editor, uint64_t nchunk);

/*
 * Reorders the chunks: the old chunk @order[i] becomes chunk i.  Returns 0, or
 * -EINVAL (not each of the nchunks numbers once, or a short chunk would not be
 * the last one).
 */
B2F_MUST_CHECK
int b2f_editor_reorder(struct b2f_editor *editor, const uint64_t *order);

/*
 * Cuts the data, or extends them with zeros, to @nbytes.  Returns as
 * b2f_editor_append().
 */
B2F_MUST_CHECK
int b2f_editor_resize(struct b2f_editor *editor, uint64_t nbytes);

/*
 * Adds the encoded chunk of @size bytes at @chunk unchanged; one of zeros,
 * NaNs, or not initialised as b2f_editor_append_special() does.  Its header
 * must have 32 bytes, its items the size of those of the frame, its blocks one
 * length, and b2f_editor_append() must take its decoded length: else -EINVAL.
 * Returns as b2f_editor_append(), or B2F_ECORRUPT.
 */
B2F_MUST_CHECK
int b2f_editor_append_encoded(struct b2f_editor *editor, const void *chunk,
			      size_t size);

/*
 * Adds a chunk of @nbytes that is an index entry alone: zeros, NaNs, or not
 * initialised.  Returns as b2f_editor_append(); also -EINVAL (not a whole
 * number of items, or NaNs of another size than 4 or 8 bytes).
 */
B2F_MUST_CHECK
int b2f_editor_append_special(struct b2f_editor *editor,
			      enum b2f_chunk_kind kind, uint32_t nbytes);

/*
 * If chunk @nchunk has no checksums, decodes it, and copies it to a new file
 * with checksums. *@done tells whether it had none.
 *
 * Returns 0; -EINVAL (no such chunk), B2F_ECORRUPT, B2F_EUNSUPPORTED, -ENOMEM
 * or an errno of the store.
 */
B2F_MUST_CHECK
int b2f_editor_seal(struct b2f_editor *editor, uint64_t nchunk, bool *done);

/*
 * Reads the headers of all chunks: if they take more bytes than the index of
 * the sparse frame says, sets *@done, and the next commit corrects the index.
 */
void b2f_editor_count(struct b2f_editor *editor, bool *done);

/*
 * Does the index on disk have a checksum that covers the metalayers?  Every
 * commit gives it one.
 */
bool b2f_editor_index_is_sealed(const struct b2f_editor *editor);

/*
 * Replaces chunk @nchunk, damaged or not, by zeros of the same length.  Returns
 * as b2f_editor_update(), or B2F_EUNSUPPORTED (blocks of different lengths).
 */
B2F_MUST_CHECK
int b2f_editor_zero(struct b2f_editor *editor, uint64_t nchunk);

/* Makes all changes visible and durable.  Returns as b2f_file_commit(). */
B2F_MUST_CHECK
int b2f_editor_commit(struct b2f_editor *editor);

B2F_END_API

#endif
