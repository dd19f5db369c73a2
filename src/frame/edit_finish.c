/* SPDX-License-Identifier: BSD-3-Clause */
/* edit_finish.c - what has become of a commit, and of the files it named */
#include <string.h>

#include "frame/edit_commit.h"
#include "frame/edit_ids.h"
#include "frame/edit_priv.h"
#include "frame/edit_remove.h"

/* After a commit: the index on disk names all files that were frozen. */
static void finish_files(struct b2f_edit *edit, bool done, bool durable)
{
	struct b2f_new_chunk *chunk, *next;

	HASH_ITER(hh, edit->fresh, chunk, next)
	{
		if (!chunk->frozen)
			continue;
		chunk->frozen = false;
		chunk->committed |= done;
		/* One that is durable is like any other file. */
		if (chunk->dropped || (done && durable))
			b2f_edit_forget(edit, chunk);
	}
}

/* After a commit that was not installed: what it was to name first is pending.
 */
static void drop_pending(struct b2f_edit *edit)
{
	struct b2f_ids *replaced = &edit->replaced;
	size_t n = 0;

	for (size_t i = 0; i < replaced->n; i++) {
		uint64_t raw = replaced->ids[i];

		if (!(raw & B2F_OBJECT_PENDING))
			replaced->ids[n++] = raw;
		else if (b2f_ids_add(&edit->dead, raw))
			continue; /* The next writer will find it. */
	}
	replaced->n = n;
}

/* The index before is replaced, as the chunks that only it named. */
static void replace_index(struct b2f_edit *edit, uint64_t id)
{
	struct b2f_ids *replaced = &edit->replaced;

	/* Without memory its room is lost until the frame is made anew. */
	if (b2f_ids_add(replaced, id))
		return;
	replaced->ids[replaced->n - 1] = replaced->ids[edit->nfrozen];
	replaced->ids[edit->nfrozen++] = id;
}

static void finish_replaced(struct b2f_edit *edit)
{
	struct b2f_ids *replaced = &edit->replaced;
	size_t nfrozen = edit->nfrozen;

	for (size_t i = 0; i < replaced->n; i++)
		replaced->ids[i] = b2f_edit_number(replaced->ids[i]);
	b2f_edit_retire(edit, replaced->ids, nfrozen);
	replaced->n -= nfrozen;
	if (replaced->n)
		memmove(replaced->ids, replaced->ids + nfrozen,
			replaced->n * sizeof(*replaced->ids));
}

/*
 * A file that could not be made durable may be anything on disk, and asking
 * again would not tell: the kernel says it once.  One that could not get its
 * name never will.
 */
static void note_bad(struct b2f_edit *edit, const struct b2f_ids *files)
{
	for (size_t i = 0; i < files->n; i++) {
		struct b2f_new_chunk *chunk;

		if (!(files->ids[i] & B2F_EDIT_FAILED))
			continue;
		chunk = b2f_edit_find(edit, files->ids[i]);
		if (chunk)
			b2f_edit_set_bad(edit, chunk);
		else
			b2f_durability_fail(edit->durability);
	}
}

/*
 * The kernel does not tell which bytes of a file it could not write.  What was
 * durable before is not among them.
 */
static void note_sync_failed(struct b2f_edit *edit,
			     const struct b2f_commit *commit)
{
	struct b2f_new_chunk *chunk, *next;

	if (commit->before != B2F_DISK_DURABLE)
		b2f_durability_fail(edit->durability);

	HASH_ITER(hh, edit->fresh, chunk, next)
	if (!chunk->committed)
		b2f_edit_set_bad(edit, chunk);
}

/* Unless a sync has failed that it was left to meanwhile. */
static void finish_durability(struct b2f_edit *edit,
			      const struct b2f_commit *commit)
{
	enum b2f_durable_state now = B2F_DISK_DURABLE;

	if (!commit->durable)
		now = commit->before == B2F_DISK_NEW ? B2F_DISK_NEW
						     : B2F_DISK_UNSYNCED;
	(void)b2f_durability_move(edit->durability, commit->before, now);
}

void b2f_edit_finish(struct b2f_edit *edit, struct b2f_commit *commit)
{
	bool done = commit->installed;

	note_bad(edit, &commit->unsynced);
	note_bad(edit, &commit->pending);
	edit->committing = false;
	finish_files(edit, done, commit->durable);
	if (commit->sync_failed)
		note_sync_failed(edit, commit);
	if (done) {
		b2f_edit_state_fini(&edit->committed);
		edit->committed = commit->state;
		commit->state = (struct b2f_edit_state){0};
		edit->stamp = commit->stamp;
		edit->header.frame_len = commit->frame_len;
		edit->header.cbytes = commit->told_cbytes;
		edit->above = b2f_edit_above(&edit->committed);
		finish_durability(edit, commit);
		if (edit->disk)
			replace_index(edit, commit->old_index_id);
		finish_replaced(edit);
	} else {
		drop_pending(edit);
	}
	edit->nfrozen = 0;
	b2f_edit_state_fini(&commit->state);
	b2f_ids_fini(&commit->unsynced);
	b2f_ids_fini(&commit->pending);
}
