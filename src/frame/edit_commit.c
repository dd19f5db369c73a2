/* SPDX-License-Identifier: BSD-3-Clause */
/* edit_commit.c - a state of an edit becomes the frame on disk */
#include <string.h>

#include "base/checked.h"
#include "base/log.h"
#include "frame/edit_priv.h"
#include "index/fingerprint.h"

/* C-Blosc2 opens no frame with a file number above compressed size - this. */
#define ID_MARGIN 32

int b2f_edit_freeze(struct b2f_edit *edit, struct b2f_commit *out)
{
	struct b2f_new_chunk *chunk, *next;
	int err;

	err = b2f_edit_state_copy(&edit->working, &out->state);
	if (err)
		return err;
	HASH_ITER(hh, edit->fresh, chunk, next)
	chunk->frozen = true;
	edit->nfrozen = edit->replaced.n;
	edit->committing = true;
	return 0;
}

void b2f_edit_patch(struct b2f_edit *edit, struct b2f_commit *commit,
		    uint64_t nchunk, const struct b2f_edit_chunk *chunk,
		    uint32_t old)
{
	struct b2f_edit_state *state = &commit->state;
	uint64_t before = state->raw[nchunk];
	struct b2f_ids *replaced = &edit->replaced;
	struct b2f_new_chunk *fresh = NULL;

	/* The commit replaces it, too: sort it in with those that it does. */
	if (replaced->n > edit->nfrozen &&
	    replaced->ids[replaced->n - 1] == before) {
		replaced->ids[replaced->n - 1] = replaced->ids[edit->nfrozen];
		replaced->ids[edit->nfrozen++] = before;
	}
	state->raw[nchunk] = chunk->raw;
	state->cbytes += chunk->cbytes;
	state->cbytes -= b2f_min_u64(state->cbytes, old);
	if (b2f_edit_is_stored(chunk->raw))
		fresh = b2f_edit_find(edit, chunk->raw);
	if (fresh)
		fresh->frozen = true;
}

/* Are the first @n chunks of @state the committed ones, and then some more? */
static bool is_longer(const struct b2f_edit *edit,
		      const struct b2f_edit_state *state, uint64_t n)
{
	const struct b2f_edit_state *c = &edit->committed;
	uint64_t nwhole = c->nbytes / (uint32_t)edit->header.chunksize;

	/* A short chunk at the end may have become longer. */
	return n > c->n && n < state->n &&
	       (nwhole == 0 ||
		!memcmp(state->raw, c->raw, nwhole * sizeof(*c->raw)));
}

bool b2f_edit_cut(struct b2f_edit *edit, struct b2f_commit *commit, uint64_t n)
{
	struct b2f_edit_state *state = &commit->state;

	if (!is_longer(edit, state, n))
		return false;
	for (uint64_t i = n; i < state->n; i++) {
		struct b2f_new_chunk *fresh = NULL;

		if (b2f_edit_is_stored(state->raw[i]))
			fresh = b2f_edit_find(edit, state->raw[i]);
		/* One that was dropped meanwhile ends with this commit. */
		if (!fresh || fresh->dropped)
			continue;
		fresh->frozen = false;
		state->cbytes -= b2f_min_u64(state->cbytes, fresh->cbytes);
	}
	state->n = n;
	state->nbytes = n * (uint32_t)edit->header.chunksize;
	return true;
}

/* Adds all files of @commit that are not known as new ones. */
static int add_old_files(const struct b2f_edit *edit, struct b2f_commit *commit)
{
	const struct b2f_edit_state *state = &commit->state;
	int err = 0;

	for (uint64_t i = 0; i < state->n && !err; i++)
		if (b2f_edit_is_stored(state->raw[i]) &&
		    !b2f_edit_find(edit, state->raw[i]))
			err = b2f_ids_add(&commit->unsynced,
					  (uint32_t)state->raw[i]);
	return err;
}

int b2f_edit_prepare(struct b2f_edit *edit, struct b2f_commit *commit)
{
	struct b2f_new_chunk *chunk, *next;
	int err = 0;

	if (!commit->durable)
		return 0;
	if (commit->before != B2F_DISK_DURABLE)
		err = add_old_files(edit, commit);
	HASH_ITER(hh, edit->fresh, chunk, next)
	if (!err && chunk->frozen)
		err = b2f_ids_add(&commit->unsynced, chunk->id);
	return err;
}

/* In the list of files to make durable: it failed. */
#define BAD_BIT (UINT64_C(1) << 63)

/* What is done for many files at once. */
struct sync_all {
	struct b2f_edit *edit;
	struct b2f_commit *commit;
};

static int sync_file(void *arg, size_t i)
{
	const struct sync_all *all = arg;
	const struct b2f_edit *edit = all->edit;
	int64_t id = (int64_t)all->commit->unsynced.ids[i];
	struct b2f_object object = {.fd = -1};
	char name[B2F_CHUNK_NAME_SIZE];
	struct b2f_why why = {""};
	int err;

	err = b2f_object_open(edit->store, id, &object, &why);
	if (!err)
		err = b2f_object_sync(&object, &why);
	b2f_object_close(&object);
	if (err) {
		b2f_chunk_name(id, name);
		b2f_log(edit->frame->log, B2F_LOG_ERROR, "%s: %s: %s",
			edit->frame->label, name, why.text);
		all->commit->unsynced.ids[i] |= BAD_BIT;
	}
	return err;
}

static int sync_files(struct b2f_edit *edit, struct b2f_commit *commit)
{
	struct sync_all all = {edit, commit};
	size_t n = commit->unsynced.n;
	int err = 0;

	if (commit->each)
		return commit->each(commit->each_context, n, sync_file, &all);
	for (size_t i = 0; i < n && !err; i++)
		err = sync_file(&all, i);
	return err;
}

/* The highest file number of @state. */
static uint64_t max_id(const struct b2f_edit_state *state)
{
	uint64_t max = 0;

	for (uint64_t i = 0; i < state->n; i++)
		if (b2f_edit_is_stored(state->raw[i]))
			max = b2f_max_u64(max, (uint32_t)state->raw[i]);
	return max;
}

/*
 * C-Blosc2 wants every file number to be below the stored size of all chunks.
 * Where it is not, the size is told larger, which nothing minds.
 */
static uint64_t cbytes_to_tell(const struct b2f_edit_state *state)
{
	if (state->n == 0)
		return 0;
	return b2f_max_u64(state->cbytes, max_id(state) + ID_MARGIN);
}

/*
 * A reader of a sealed index divides, unless the seal of the last chunk tells
 * that it is not the short one.  So if that has no seal, the index gets none.
 */
static bool is_found(const struct b2f_edit *edit,
		     const struct b2f_edit_state *state)
{
	bool moved = edit->header.chunksize > 0 && edit->frame->map.starts;

	return !moved || !state->n || b2f_entry_tag(state->raw[state->n - 1]);
}

static int make_index(struct b2f_edit *edit, const struct b2f_commit *commit,
		      uint8_t **out, size_t *size, struct b2f_why *why)
{
	const struct b2f_edit_state *state = &commit->state;
	struct b2f_index_parts parts = {
		.header = edit->header,
		.header_bytes = edit->frame->header_bytes,
		.entries = state->raw,
		.nentries = state->n,
		.len_before = edit->header.frame_len,
		.trailer_bytes = edit->frame->trailer_bytes,
		.trailer_len = edit->frame->trailer_len,
	};
	struct b2f_encoder *enc = NULL;
	int err;

	parts.header.nbytes = state->nbytes;
	parts.header.cbytes = cbytes_to_tell(state);
	err = b2f_encoder_new(&enc);
	if (!err)
		err = b2f_index_write(&parts, enc, out, size, why);
	b2f_encoder_free(enc);
	if (!err && is_found(edit, state))
		b2f_fingerprint_set(*out, *size, edit->header.header_len);
	return err;
}

static int write_index(struct b2f_edit *edit, const struct b2f_commit *commit,
		       const uint8_t *bytes, size_t size, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err;

	err = b2f_object_create(edit->store, B2F_OBJECT_NEW_INDEX, &object,
				why);
	if (err)
		return err;
	err = b2f_object_write(&object, 0, bytes, size, why);
	if (!err)
		err = b2f_object_inherit(
			&object, commit->has_mtime ? &commit->mtime : NULL,
			why);
	if (!err && commit->durable)
		err = b2f_object_sync(&object, why);
	b2f_object_close(&object);
	return err;
}

static int stamp_index(const struct b2f_edit *edit, struct b2f_frame_stamp *out)
{
	struct stat st;
	int err = b2f_store_stat_index(edit->store, &st);

	if (!err)
		*out = b2f_frame_stamp_of(&st);
	return err;
}

/* From the check that nobody else has written to the new index in its place. */
static int replace_index(struct b2f_edit *edit, struct b2f_commit *commit,
			 struct b2f_why *why)
{
	int err;

	err = b2f_edit_has_changed(edit);
	if (err)
		return err > 0 ? -ESTALE : err;
	err = b2f_store_install(edit->store, why);
	if (err)
		return err;
	commit->installed = true;
	err = stamp_index(edit, &commit->stamp);
	if (!err && commit->durable)
		err = b2f_store_sync_names(edit->store, why);
	commit->durable &= !err;
	return err;
}

static int write_all(struct b2f_edit *edit, struct b2f_commit *commit,
		     struct b2f_why *why)
{
	uint8_t *bytes = NULL;
	uint64_t generation;
	size_t size = 0;
	int err = 0;

	if (commit->durable)
		err = sync_files(edit, commit);
	if (!err && commit->durable && commit->unsynced.n)
		err = b2f_store_sync_names(edit->store, why);
	if (!err)
		err = make_index(edit, commit, &bytes, &size, why);
	if (!err)
		err = write_index(edit, commit, bytes, size, why);
	free(bytes);
	if (err)
		return err;
	commit->frame_len = size;
	if (edit->lock)
		err = b2f_lock_acquire(edit->lock, B2F_LOCK_EXCLUSIVE,
				       commit->lock_wait_ms, &generation, why);
	if (err)
		return err;
	err = replace_index(edit, commit, why);
	if (edit->lock)
		b2f_lock_release(edit->lock);
	return err;
}

int b2f_edit_write(struct b2f_edit *edit, struct b2f_commit *commit)
{
	struct b2f_why why = {""};
	int err = write_all(edit, commit, &why);

	if (err && err != -ESTALE && err != -EAGAIN)
		b2f_log(edit->frame->log, B2F_LOG_ERROR,
			"%s: not committed: %s", edit->frame->label,
			why.text[0] ? why.text : strerror(-err));
	return err;
}

/* After a commit: the index on disk names all files that were frozen. */
static void settle_files(struct b2f_edit *edit, bool done, bool durable)
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

static void settle_replaced(struct b2f_edit *edit)
{
	struct b2f_ids old = edit->previous;
	size_t left = edit->replaced.n - edit->nfrozen;

	/* Those that were replaced by the commit before this one. */
	for (size_t i = 0; i < old.n; i++)
		if (b2f_ids_add(&edit->dead, old.ids[i]))
			break; /* The next writer will find them. */
	edit->previous = edit->replaced;
	edit->previous.n = edit->nfrozen;
	edit->replaced = (struct b2f_ids){0};
	for (size_t i = 0; i < left; i++)
		if (b2f_ids_add(&edit->replaced,
				edit->previous.ids[edit->nfrozen + i]))
			break;
	b2f_ids_fini(&old);
}

/*
 * A file that could not be made durable may be anything on disk, and asking
 * again would not tell: the kernel says it once.
 */
static void note_bad(struct b2f_edit *edit, const struct b2f_ids *unsynced)
{
	for (size_t i = 0; i < unsynced->n; i++) {
		struct b2f_new_chunk *chunk;

		if (!(unsynced->ids[i] & BAD_BIT))
			continue;
		chunk = b2f_edit_find(edit, unsynced->ids[i]);
		if (!chunk) {
			b2f_durability_fail(edit->durability);
		} else if (!chunk->bad) {
			chunk->bad = true;
			edit->nbad++;
		}
	}
}

/* Unless a sync has failed that it was left to meanwhile. */
static void settle_durability(struct b2f_edit *edit,
			      const struct b2f_commit *commit)
{
	enum b2f_durable_state now = B2F_DISK_DURABLE;

	if (!commit->durable)
		now = commit->before == B2F_DISK_NEW ? B2F_DISK_NEW
						     : B2F_DISK_UNSYNCED;
	(void)b2f_durability_move(edit->durability, commit->before, now);
}

void b2f_edit_settle(struct b2f_edit *edit, struct b2f_commit *commit)
{
	bool done = commit->installed;

	note_bad(edit, &commit->unsynced);
	edit->committing = false;
	settle_files(edit, done, commit->durable);
	if (done) {
		b2f_edit_state_fini(&edit->committed);
		edit->committed = commit->state;
		commit->state = (struct b2f_edit_state){0};
		edit->stamp = commit->stamp;
		edit->header.frame_len = commit->frame_len;
		settle_durability(edit, commit);
		settle_replaced(edit);
	}
	edit->nfrozen = 0;
	b2f_edit_state_fini(&commit->state);
	b2f_ids_fini(&commit->unsynced);
}

bool b2f_edit_begin_delete(struct b2f_edit *edit)
{
	/* A commit ends with another try. */
	if (edit->dead.n == 0 || edit->dying.n > 0 || edit->committing)
		return false;
	b2f_ids_fini(&edit->dying);
	edit->dying = edit->dead;
	edit->dead = (struct b2f_ids){0};
	edit->dying_stamp = edit->stamp;
	return true;
}

bool b2f_edit_delete(const struct b2f_edit *edit)
{
	struct b2f_frame_stamp now;

	/* Somebody else may have taken a number. */
	if (stamp_index(edit, &now) ||
	    !b2f_frame_stamp_equal(&now, &edit->dying_stamp))
		return false;
	for (size_t i = 0; i < edit->dying.n; i++)
		b2f_edit_remove_file(edit, edit->dying.ids[i]);
	return true;
}

void b2f_edit_end_delete(struct b2f_edit *edit, bool deleted)
{
	for (size_t i = 0; i < edit->dying.n && !deleted; i++)
		if (b2f_ids_add(&edit->dead, edit->dying.ids[i]))
			break; /* The next writer will find them. */
	edit->dying.n = 0;
}

int b2f_edit_has_changed(const struct b2f_edit *edit)
{
	struct b2f_frame_stamp now;
	int err = stamp_index(edit, &now);

	if (err)
		return err == -ENOENT ? 1 : err;
	return !b2f_frame_stamp_equal(&now, &edit->stamp);
}
