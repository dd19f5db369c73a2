/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_index.h - the bytes of the index that a commit writes
 *
 * Layer: frame.  Threads: as edit.h.
 */
#ifndef B2F_FRAME_EDIT_INDEX_H
#define B2F_FRAME_EDIT_INDEX_H

#include "frame/edit.h"
#include "frame/edit_commit.h"

/*
 * Makes the bytes of the index of @commit; of a contiguous frame
 * with the chunks at @places behind the header, else NULL.  Returns as
 * b2f_index_write().
 */
B2F_MUST_CHECK
int b2f_edit_make_index(struct b2f_edit *edit, const struct b2f_commit *commit,
			const uint64_t *places, uint8_t **out, size_t *size,
			struct b2f_why *why);

#endif
