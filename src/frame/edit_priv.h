/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit_priv.h - between the source files of an edit
 *
 * Layer: frame.  Threads: as edit.h.
 */
#ifndef B2F_FRAME_EDIT_PRIV_H
#define B2F_FRAME_EDIT_PRIV_H

#include <stdlib.h>

#include <uthash.h>

#include "frame/edit.h"

/* A file that was written here. */
struct b2f_new_chunk {
	/* Its number: the key. */
	uint32_t id;
	uint32_t cbytes;
	/* The file when it had been written. */
	struct b2f_frame_stamp identity;
	/* The commit under way names it. */
	bool frozen;
	/* The index on disk names it. */
	bool committed;
	/* It could not be made durable: what is on disk is not known. */
	bool bad;
	/* Replaced while the commit under way still needs the entry. */
	bool dropped;
	UT_hash_handle hh;
};

/* The file of @raw if it was written here, or NULL. */
static inline struct b2f_new_chunk *b2f_edit_find(const struct b2f_edit *edit,
						  uint64_t raw)
{
	uint32_t id = (uint32_t)b2f_edit_id(raw);
	struct b2f_new_chunk *chunk;

	HASH_FIND(hh, edit->fresh, &id, sizeof(id), chunk);
	return chunk;
}

static inline void b2f_edit_forget(struct b2f_edit *edit,
				   struct b2f_new_chunk *chunk)
{
	edit->nbad -= chunk->bad;
	HASH_DEL(edit->fresh, chunk);
	free(chunk);
}

/* Deletes the file of @raw; if that fails, the next writer will find it. */
static inline void b2f_edit_remove_file(const struct b2f_edit *edit,
					uint64_t raw)
{
	int err = b2f_store_remove(edit->store, b2f_edit_id(raw), NULL);

	(void)err;
}

/* Copies @from to @to, which is empty.  Returns 0 or -ENOMEM. */
B2F_MUST_CHECK
int b2f_edit_state_copy(const struct b2f_edit_state *from,
			struct b2f_edit_state *to);

/*
 * Numbers of files that @state names, as a sorted list.  Returns 0, -ENOMEM, or
 * B2F_EUNSUPPORTED if one is named twice.
 */
B2F_MUST_CHECK
int b2f_edit_used_ids(const struct b2f_edit_state *state, struct b2f_ids *out);

bool b2f_ids_has_sorted(const struct b2f_ids *list, uint64_t id);

/* Will surely nobody need the file @id, which no index names? */
bool b2f_edit_is_leftover(struct b2f_store *store, uint64_t id);

/* Deletes what writers that crashed left.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_edit_clean(struct b2f_edit *edit);

#endif
