/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_ids.h - ids of chunk files: used, and free
 *
 * Layer: frame.  Threads: as edit.h.
 */
#ifndef B2F_FRAME_EDIT_IDS_H
#define B2F_FRAME_EDIT_IDS_H

#include "frame/edit.h"

/*
 * A number for a new chunk file, or for a range of @size bytes, as an entry.
 * Returns 0, -ENOSPC, -ENOMEM; -EFBIG.
 */
B2F_MUST_CHECK
int b2f_edit_new_id(struct b2f_edit *edit, uint64_t size, uint64_t *raw);

/* Notes that the file of @chunk was written.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_edit_note_file(struct b2f_edit *edit,
		       const struct b2f_edit_chunk *chunk);

/* Is it much that a commit would have to make durable? */
bool b2f_edit_has_backlog(const struct b2f_edit *edit);

/* Ids of the files that @state names, sorted.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_edit_list_ids(const struct b2f_edit_state *state, struct b2f_ids *out);

/* Also B2F_EUNSUPPORTED if one is named twice. */
B2F_MUST_CHECK
int b2f_edit_used_ids(const struct b2f_edit_state *state, struct b2f_ids *out);

/* The id above all that @state names. */
uint64_t b2f_edit_above(const struct b2f_edit_state *state);

bool b2f_ids_has_sorted(const struct b2f_ids *list, uint64_t id);

#endif
