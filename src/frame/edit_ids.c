/* SPDX-License-Identifier: BSD-3-Clause */
/* edit_ids.c - numbers of chunk files: used, free, left over */
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/log.h"
#include "chunk/seal.h"
#include "frame/edit_priv.h"
#include "index/tags.h"
#include "store/make.h"

/* C-Blosc2 opens no frame with a file number above compressed size - this. */
#define ID_MARGIN 32

/* Its lazy reader takes numbers for int32. */
#define ID_MAX INT32_MAX

/* What is unused and without a seal is left alone for an hour. */
#define OLD_S	 3600
#define NS_PER_S 1000000000

/* Free numbers that are looked for at a time. */
#define FREE_BATCH 1024

/* So many new files are no small change. */
#define BACKLOG_MIN 8

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_sorted(const struct b2f_ids *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (list->ids[i - 1] > list->ids[i])
			return false;
	return true;
}

static void sort(struct b2f_ids *list)
{
	/* Most frames have their chunks in the order they were made. */
	if (!is_sorted(list))
		qsort(list->ids, list->n, sizeof(*list->ids), compare_ids);
}

static int add_state(struct b2f_ids *list, const struct b2f_edit_state *state)
{
	int err = b2f_ids_reserve(list, state->n);

	if (err)
		return err;
	for (uint64_t i = 0; i < state->n; i++)
		if (b2f_edit_is_stored(state->raw[i]))
			list->ids[list->n++] = (uint32_t)state->raw[i];
	return 0;
}

static int add_list(struct b2f_ids *list, const struct b2f_ids *more)
{
	int err = b2f_ids_reserve(list, more->n);

	if (err)
		return err;
	for (size_t i = 0; i < more->n; i++)
		list->ids[list->n++] = (uint32_t)more->ids[i];
	return 0;
}

int b2f_edit_used_ids(const struct b2f_edit_state *state, struct b2f_ids *out)
{
	struct b2f_ids list = {0};
	int err = add_state(&list, state);

	if (err)
		return err;
	sort(&list);
	for (size_t i = 1; i < list.n && !err; i++)
		if (list.ids[i - 1] == list.ids[i])
			err = B2F_EUNSUPPORTED;
	if (err)
		b2f_ids_fini(&list);
	else
		*out = list;
	return err;
}

bool b2f_ids_has_sorted(const struct b2f_ids *list, uint64_t id)
{
	return list->n && bsearch(&id, list->ids, list->n, sizeof(*list->ids),
				  compare_ids) != NULL;
}

/* All numbers that must not be given to a new file, sorted. */
static int list_taken(const struct b2f_edit *edit, struct b2f_ids *out)
{
	struct b2f_new_chunk *chunk, *next;
	int err;

	err = add_state(out, &edit->committed);
	if (!err)
		err = add_state(out, &edit->working);
	if (!err)
		err = add_list(out, &edit->replaced);
	if (!err)
		err = add_list(out, &edit->previous);
	if (!err)
		err = add_list(out, &edit->dead);
	if (!err)
		err = add_list(out, &edit->dying);
	HASH_ITER(hh, edit->fresh, chunk, next)
	if (!err)
		err = b2f_ids_add(out, chunk->id);
	if (!err)
		sort(out);
	return err;
}

/* Finds the lowest free numbers; the list ends with the lowest one. */
static int find_free(struct b2f_edit *edit)
{
	struct b2f_ids taken = {0};
	uint64_t id = 0;
	size_t at = 0;
	int err;

	err = b2f_ids_reserve(&edit->free, FREE_BATCH);
	if (!err)
		err = list_taken(edit, &taken);
	while (!err && edit->free.n < FREE_BATCH && id <= ID_MAX) {
		while (at < taken.n && taken.ids[at] < id)
			at++;
		if (at == taken.n || taken.ids[at] != id)
			edit->free.ids[edit->free.n++] = id;
		id++;
	}
	b2f_ids_fini(&taken);
	if (err)
		return err;
	for (size_t i = 0; i < edit->free.n / 2; i++) {
		uint64_t *low = &edit->free.ids[i];
		uint64_t *high = &edit->free.ids[edit->free.n - 1 - i];
		uint64_t other = *low;

		*low = *high;
		*high = other;
	}
	return edit->free.n ? 0 : -ENOSPC;
}

int b2f_edit_new_id(struct b2f_edit *edit, uint64_t *raw)
{
	uint64_t id;
	int err = 0;

	/* What the next index will count is not known yet: this one's. */
	if (edit->next_id <= ID_MAX &&
	    edit->next_id + ID_MARGIN <= edit->committed.cbytes) {
		id = edit->next_id++;
		/* It may be among those that were free. */
		edit->free.n = 0;
	} else {
		if (edit->free.n == 0)
			err = find_free(edit);
		if (err)
			return err;
		id = edit->free.ids[--edit->free.n];
		if (id >= edit->next_id)
			edit->next_id = id + 1;
	}
	edit->last_tag = b2f_tag_next(edit->last_tag);
	/* Whether the file is going to have a seal is not known yet. */
	*raw = (id | (uint64_t)edit->last_tag << 32) & ~B2F_ENTRY_SEALED;
	return 0;
}

int b2f_edit_note_file(struct b2f_edit *edit,
		       const struct b2f_edit_chunk *chunk,
		       const struct b2f_frame_stamp *identity)
{
	struct b2f_new_chunk *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->id = (uint32_t)b2f_edit_id(chunk->raw);
	fresh->cbytes = chunk->cbytes;
	fresh->identity = *identity;
	HASH_ADD(hh, edit->fresh, id, sizeof(fresh->id), fresh);
	return 0;
}

bool b2f_edit_has_backlog(const struct b2f_edit *edit)
{
	return HASH_COUNT(edit->fresh) >= BACKLOG_MIN;
}

/* Looks for leftovers. */
struct clean {
	struct b2f_edit *edit;
	struct b2f_ids used;
	struct b2f_ids orphans;
	bool new_index;
};

static int visit(void *arg, int64_t id)
{
	struct clean *clean = arg;

	if (id == B2F_OBJECT_NEW_INDEX) {
		clean->new_index = true;
		return 0;
	}
	if (b2f_ids_has_sorted(&clean->used, (uint64_t)id))
		return 0;
	return b2f_ids_add(&clean->orphans, (uint64_t)id);
}

/*
 * Is the unused file @id surely ours?  C-Blosc2 writes a chunk before it names
 * it, too, and may be doing just that; but it writes no seals.
 */
static bool is_sealed(struct b2f_store *store, uint64_t id)
{
	uint8_t tail[B2F_SEAL_MARK_SIZE];
	struct b2f_object object = {.fd = -1};
	bool ours;

	if (b2f_object_open(store, (int64_t)id, &object, NULL))
		return false;
	ours = object.size >= sizeof(tail) &&
	       !b2f_object_read(&object, object.size - sizeof(tail), tail,
				sizeof(tail), NULL) &&
	       b2f_seal_is_mark(tail);
	b2f_object_close(&object);
	return ours;
}

/* Nobody takes so long to write the index for a chunk. */
static bool is_old(struct b2f_store *store, uint64_t id)
{
	struct b2f_frame_stamp identity;
	struct timespec now;

	if (b2f_store_identify(store, (int64_t)id, &identity))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	return identity.mtime_ns / NS_PER_S + OLD_S < now.tv_sec;
}

bool b2f_edit_is_leftover(struct b2f_store *store, uint64_t id)
{
	return is_sealed(store, id) || is_old(store, id);
}

int b2f_edit_clean(struct b2f_edit *edit)
{
	struct clean clean = {.edit = edit};
	uint64_t ndeleted = 0;
	int err;

	/*
	 * Others may have been faster than us, and crashed; that the next
	 * writer finds.  Their numbers are avoided in any case.
	 */
	if (b2f_store_begin_new(edit->store))
		return 0;
	err = b2f_edit_used_ids(&edit->committed, &clean.used);
	if (!err)
		err = b2f_store_list(edit->store, visit, &clean);
	if (!err && clean.new_index)
		err = b2f_store_remove(edit->store, B2F_OBJECT_NEW_INDEX, NULL);
	for (size_t i = 0; i < clean.orphans.n && !err; i++) {
		if (!b2f_edit_is_leftover(edit->store, clean.orphans.ids[i]))
			continue;
		err = b2f_store_remove(edit->store,
				       (int64_t)clean.orphans.ids[i], NULL);
		ndeleted += !err;
	}
	if (ndeleted)
		b2f_log(edit->frame->log, B2F_LOG_WARNING,
			"%s: removed %llu chunk files of a writer that did not "
			"end properly",
			edit->frame->label, (unsigned long long)ndeleted);
	b2f_ids_fini(&clean.used);
	b2f_ids_fini(&clean.orphans);
	return err;
}
