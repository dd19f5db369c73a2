/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_layout.h - which of the data each chunk of an edit has
 *
 * Where all chunks but the last have one size, division tells.  Where chunks have
 * different sizes, a state has a table: the chunks that there were keep their
 * sizes, and what the data grow by goes to new chunks.
 *
 * Layer: frame.  Threads: as edit.h; but the table of the working state changes
 * only with the number of chunks.
 */
#ifndef B2F_FRAME_EDIT_LAYOUT_H
#define B2F_FRAME_EDIT_LAYOUT_H

#include "frame/edit.h"

/* Where chunk @nchunk (<= n) of @state begins; that of chunk n is the end. */
uint64_t b2f_edit_chunk_start(const struct b2f_edit *edit,
			      const struct b2f_edit_state *state,
			      uint64_t nchunk);

/* Decoded bytes of chunk @nchunk of @state; 0 if there is none. */
uint32_t b2f_edit_chunk_nbytes(const struct b2f_edit *edit,
			       const struct b2f_edit_state *state,
			       uint64_t nchunk);

/* The chunk of the working state that has byte @off (< nbytes). */
struct b2f_frame_span b2f_edit_locate(const struct b2f_edit *edit,
				      uint64_t off);

/* As many bytes as chunk @nchunk (< n) can get when the data grow. */
uint32_t b2f_edit_chunk_room(const struct b2f_edit *edit, uint64_t nchunk);

/* How many chunks the working state has when it gets @nbytes. */
uint64_t b2f_edit_count_chunks(const struct b2f_edit *edit, uint64_t nbytes);

/*
 * Can an index entry alone stand for a chunk of @nbytes of zeros?  Readers of it
 * have to know how many items that are.
 */
static inline bool b2f_edit_may_be_hole(const struct b2f_edit *edit,
					uint32_t nbytes)
{
	return !edit->working.starts && nbytes % edit->header.typesize == 0;
}

/*
 * The same for all chunks but the last.  C-Blosc2 makes frames whose chunks are no
 * whole number of items, too.
 */
static inline bool b2f_edit_may_have_holes(const struct b2f_edit *edit)
{
	return b2f_edit_may_be_hole(edit, (uint32_t)edit->header.chunksize);
}

/*
 * Gives the working state @nbytes and @n chunks, as b2f_edit_count_chunks()
 * counts them; its table has room for them.
 */
void b2f_edit_lay_out(struct b2f_edit *edit, uint64_t n, uint64_t nbytes);

/*
 * Gives @state, which is that of @frame, a table.  May read the heads of all
 * chunks.  Returns -ENOMEM or as b2f_frame_span_get().
 */
B2F_MUST_CHECK
int b2f_edit_make_starts(struct b2f_frame *frame, struct b2f_edit_state *state);

/*
 * The state of @theirs, another version of the frame, with a table if the states
 * of @edit have one.  Free it with b2f_edit_state_fini().  Returns as
 * b2f_edit_make_starts().
 */
B2F_MUST_CHECK
int b2f_edit_state_like(const struct b2f_edit *edit, struct b2f_frame *theirs,
			struct b2f_edit_state *out);

#endif
