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
	/* Its id, a pending one's: the key. */
	uint32_t id;
	uint32_t cbytes;
	/* The commit under way names it. */
	bool frozen;
	/* The index on disk names it. */
	bool committed;
	/*
	 * Its data have to be written to another file: it could not be made
	 * durable, or another program has taken its number.
	 */
	bool bad;
	/* Replaced while the commit under way still needs the entry. */
	bool dropped;
	UT_hash_handle hh;
};

/*
 * In the lists of a commit: the file could not be made durable, or has not got
 * its name.
 */
#define B2F_EDIT_FAILED (UINT64_C(1) << 63)

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

static inline void b2f_edit_set_bad(struct b2f_edit *edit,
				    struct b2f_new_chunk *chunk)
{
	edit->nbad += !chunk->bad;
	chunk->bad = true;
}

/* Numbers of files that @state names, as a sorted list.  Returns 0 or -ENOMEM.
 */
B2F_MUST_CHECK
int b2f_edit_list_ids(const struct b2f_edit_state *state, struct b2f_ids *out);

/* Also B2F_EUNSUPPORTED if one is named twice. */
B2F_MUST_CHECK
int b2f_edit_used_ids(const struct b2f_edit_state *state, struct b2f_ids *out);

/* The number above all that @state names. */
uint64_t b2f_edit_above(const struct b2f_edit_state *state);

bool b2f_ids_has_sorted(const struct b2f_ids *list, uint64_t id);

/* edit_remove.c: files that are not needed any more */

/*
 * Notes that a commit has replaced the files @numbers, @n of them: the last ones
 * that retired.
 */
void b2f_edit_retire(struct b2f_edit *edit, const uint64_t *numbers, size_t n);

/* Those that the index on disk uses again, in the sorted list, retire no more.
 */
void b2f_edit_keep_retired(struct b2f_edit *edit, const struct b2f_ids *used);

/* Deletes all that is not committed any more, or not yet. */
void b2f_edit_delete_all(struct b2f_edit *edit);

/* Will surely nobody need the file @id, which no index names? */
bool b2f_edit_is_leftover(struct b2f_store *store, int64_t id);

/*
 * Deletes such a file, but not what another program has made of it meanwhile.
 * Returns 0 or an errno.
 */
B2F_MUST_CHECK
int b2f_edit_remove_leftover(struct b2f_store *store, int64_t id,
			     struct b2f_why *why);

/* Deletes what writers that crashed left.  Returns 0 or an errno. */
B2F_MUST_CHECK
int b2f_edit_clean(struct b2f_edit *edit);

#endif
