/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remains.c - chunks of removed or replaced frames; frames that are to be
 * replaced
 */
#include "remote/remains.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "b2frame/error.h"
#include "base/sorted.h"
#include "frame/frame.h"
#include "frame/txn_ids.h"
#include "remote/put.h"
#include "remote/remote_store.h"
#include "remote/sweeper.h"

int b2f_replaced_find(struct b2f_remote_place *place, struct b2f_replaced *out,
		      struct b2f_why *why)
{
	char *path = b2f_remote_place_path(place, B2F_OBJECT_INDEX);
	char text[B2F_HTTP_NOTE_SIZE] = "";
	int err = path ? b2f_remote_head_text(place->remote, path, &out->index,
					      text, why)
		       : -ENOMEM;

	free(path);
	out->is_there = !err;
	if (err && err != -ENOENT)
		return err;
	if (err)
		*why = (struct b2f_why){""};
	b2f_note_read(text, &out->note);
	b2f_gone_fini(&out->gone);
	return b2f_gone_read(&out->gone, text);
}

int b2f_replaced_list(struct b2f_remote_place *place,
		      struct b2f_replaced *replaced, struct b2f_why *why)
{
	const struct b2f_frame_options options = {.log = NULL};
	struct b2f_frame_stamp stamp = b2f_remote_stamp(&replaced->index);
	struct b2f_frame *frame = NULL;
	int err = b2f_remote_open_frame(place->remote, place->path, &options,
					&frame);

	b2f_ids_fini(&replaced->ids);
	if (err == B2F_ECORRUPT || err == B2F_ENOTFRAME ||
	    err == B2F_EUNSUPPORTED)
		return 0;
	if (err == -ENOENT)
		err = -ESTALE;
	else if (err)
		return b2f_why_set(why, err, "it cannot be opened: %s",
				   b2f_strerror(err));
	else if (!b2f_frame_stamp_equal(&stamp, &frame->stamp))
		err = -ESTALE;
	else
		err = b2f_txn_frame_ids(frame, &replaced->ids);
	b2f_frame_close(frame);
	return err == -ESTALE ? b2f_why_set(why, err,
					    "another program changes it")
			      : err;
}

void b2f_replaced_fini(struct b2f_replaced *replaced)
{
	b2f_ids_fini(&replaced->ids);
	b2f_gone_fini(&replaced->gone);
}

/* Limit of attempts if other writers keep committing to the frame. */
#define TRIES 10

int b2f_remains_new(struct b2f_remote_place *place,
		    struct b2f_remote_remains **out)
{
	struct b2f_remote_remains *remains = calloc(1, sizeof(*remains));

	if (!remains)
		return -ENOMEM;
	remains->place = b2f_remote_place_ref(place);
	*out = remains;
	return 0;
}

void b2f_remote_remains_leave(struct b2f_remote_remains *remains)
{
	if (!remains)
		return;
	b2f_remote_place_unref(remains->place);
	b2f_ids_fini(&remains->ids);
	b2f_ids_fini(&remains->versions);
	free(remains);
}

static uint64_t version_of(int64_t id, const struct b2f_remote_stat *st)
{
	return XXH3_64bits_withSeed(st->etag, strlen(st->etag),
				    ((uint64_t)id << 32) ^ (uint64_t)st->mtime);
}

static int add_chunk(void *arg, const struct b2f_remote_entry *entry)
{
	struct b2f_remote_remains *remains = arg;
	int64_t id;
	int err;

	if (entry->is_dir || !b2f_remote_parse_chunk(entry->name, &id))
		return 0;
	err = b2f_ids_add(&remains->ids, (uint64_t)id);
	return err ? err
		   : b2f_ids_add(&remains->versions, version_of(id, &entry->st));
}

static int list_chunks(struct b2f_remote_remains *remains, struct b2f_why *why)
{
	remains->ids.n = remains->versions.n = 0;
	return b2f_remote_list_after(remains->place->remote,
				     remains->place->path, "", add_chunk,
				     remains, why);
}

/* Keeps the unchanged chunks of @remains; none if that is not known. */
static void keep_same(struct b2f_remote_remains *remains)
{
	struct b2f_ids was = remains->versions, *ids = &remains->ids;
	struct b2f_why why;
	size_t n = 0;
	int err;

	remains->versions = (struct b2f_ids){0};
	qsort(was.ids, was.n, sizeof(was.ids[0]), b2f_compare_u64);
	err = list_chunks(remains, &why);
	for (size_t i = 0; !err && i < ids->n; i++)
		if (b2f_ids_has_sorted(&was, remains->versions.ids[i]))
			ids->ids[n++] = ids->ids[i];
	ids->n = n;
	b2f_ids_fini(&was);
}

void b2f_remote_remains_free(struct b2f_remote_remains *remains)
{
	struct b2f_sweep what = {.ids = NULL};

	if (!remains)
		return;
	what.ids = &remains->ids;
	what.mark = remains->mark;
	if (remains->versions.n)
		keep_same(remains);
	if (!remains->due)
		(void)!b2f_sweeper_remove(remains->place, &what, NULL);
	else if (b2f_sweeper_is_due(remains->place))
		(void)!b2f_sweeper_remove_due(remains->place, &what, NULL);
	b2f_sweeper_fini(remains->place);
	b2f_remote_remains_leave(remains);
}

/* Finds the current index; -ESTALE if it is not the version @only. */
static int find_index(struct b2f_remote *remote, struct b2f_removal *index,
		      const struct b2f_frame_stamp *only, struct b2f_why *why)
{
	struct b2f_frame_stamp stamp;
	int err = b2f_remote_head(remote, index->path, &index->version,
				  &index->note, why);

	if (err || !only)
		return err;
	stamp = b2f_remote_stamp(&index->version);
	return b2f_frame_stamp_equal(&stamp, only)
		       ? 0
		       : b2f_why_set(why, -ESTALE,
				     "another program has changed it meanwhile");
}

/*
 * Lists the chunks before the index is removed: afterwards another writer may
 * make a frame there, with other ids, whose chunks must stay.
 */
static int take_version(struct b2f_remote_remains *remains,
			const struct b2f_frame_stamp *only, struct b2f_why *why)
{
	struct b2f_remote_place *place = remains->place;
	char *path = b2f_remote_place_path(place, B2F_OBJECT_INDEX);
	struct b2f_removal index = {.path = path};
	int err = path ? find_index(place->remote, &index, only, why) : -ENOMEM;

	if (!err)
		err = list_chunks(remains, why);
	if (!err)
		err = b2f_removal_run(place->remote, &index, why);
	/* The frame still exists, and keeps its chunks. */
	if (err)
		remains->ids.n = remains->versions.n = 0;
	free(path);
	return err;
}

/* Another writer may commit between the look and the removal. */
int b2f_remains_take(struct b2f_remote_remains *remains,
		     const struct b2f_frame_stamp *only, struct b2f_why *why)
{
	int err = -EAGAIN;

	for (unsigned int try = 0; try < TRIES && err == -EAGAIN; try++) {
		if (try)
			b2f_put_pause(remains->place->remote, try);
		err = take_version(remains, only, why);
	}
	return err == -EAGAIN ? b2f_why_set(why, -EBUSY,
					    "other programs keep changing it")
			      : err;
}

struct b2f_remote_remains *b2f_remote_leftovers(struct b2f_frame *frame)
{
	struct b2f_remote_remains *remains = NULL;
	struct b2f_remote_place *place;
	bool has;

	if (!frame->store->shared)
		return NULL;
	place = b2f_remote_store_place(frame->store);
	pthread_mutex_lock(&place->lock);
	has = place->gone.n > 0;
	pthread_mutex_unlock(&place->lock);
	if (has && !b2f_remains_new(place, &remains))
		remains->due = true;
	return remains;
}

int b2f_remote_remove_index(struct b2f_remote *remote, const char *path,
			    struct b2f_remote_remains **out)
{
	struct b2f_remote_remains *remains = NULL;
	struct b2f_remote_place *place = NULL;
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, path);

	if (err)
		return err;
	err = b2f_remote_place_new(remote, path, true, &place);
	if (!err)
		err = b2f_remains_new(place, &remains);
	if (!err)
		err = b2f_remains_take(remains, NULL, &why);
	if (err)
		b2f_remote_remains_leave(remains);
	else
		*out = remains;
	b2f_remote_place_unref(place);
	return b2f_remote_report(remote, path, err, &why);
}

int b2f_remote_remove_frame(struct b2f_remote *remote, const char *path)
{
	struct b2f_remote_remains *remains = NULL;
	int err = b2f_remote_remove_index(remote, path, &remains);

	b2f_remote_remains_free(remains);
	return err;
}
