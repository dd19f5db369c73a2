/* SPDX-License-Identifier: BSD-3-Clause */
/* remains.c - chunks of frames whose index was removed or replaced */
#include "remote/sweeper.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "base/sorted.h"
#include "frame/frame.h"
#include "remote/put.h"
#include "remote/remote_store.h"
#include "txn/txn_ids.h"

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
	b2f_ids_fini(&remains->chunks);
	b2f_ids_fini(&remains->versions);
	free(remains);
}

static uint64_t version_of(int64_t id, const struct b2f_remote_stat *st)
{
	return XXH3_64bits_withSeed(st->etag, strlen(st->etag),
				    ((uint64_t)id << 32) ^ (uint64_t)st->mtime);
}

/* Selects the listed chunks that are removed. */
struct choice {
	struct b2f_remote_remains *remains;
	/* Chunks with these versions; NULL: chunks that @index named. */
	const struct b2f_ids *versions;
	const struct b2f_current *index;
	/* And those that were put before this second. */
	int64_t until_s;
};

static bool goes(const struct choice *c, uint64_t id, uint64_t version,
		 const struct b2f_remote_stat *st)
{
	if (c->versions)
		return b2f_ids_has_sorted(c->versions, version);
	return c->index->unreadable ||
	       b2f_ids_has_sorted(&c->index->named, id) ||
	       (st->mtime && st->mtime <= c->until_s);
}

static int add_chunk(void *arg, const struct b2f_remote_entry *entry)
{
	const struct choice *c = arg;
	uint64_t version;
	int64_t id;
	int err;

	if (entry->is_dir || !b2f_remote_parse_chunk(entry->name, &id))
		return 0;
	version = version_of(id, &entry->st);
	if (!goes(c, (uint64_t)id, version, &entry->st))
		return 0;
	err = b2f_ids_add(&c->remains->chunks, (uint64_t)id);
	return err ? err : b2f_ids_add(&c->remains->versions, version);
}

static int list_chunks(struct choice *c, struct b2f_why *why)
{
	const struct b2f_remote_place *place = c->remains->place;

	c->remains->chunks.n = c->remains->versions.n = 0;
	return b2f_remote_list_after(place->remote, place->path, "", add_chunk,
				     c, why);
}

/* Keeps the unchanged chunks of @remains; none if that is not known. */
static void keep_same(struct b2f_remote_remains *remains)
{
	struct b2f_ids was = remains->versions;
	struct choice same = {.remains = remains, .versions = &was};

	remains->versions = (struct b2f_ids){0};
	qsort(was.ids, was.n, sizeof(was.ids[0]), b2f_compare_u64);
	if (list_chunks(&same, NULL))
		remains->chunks.n = 0;
	b2f_ids_fini(&was);
}

void b2f_remote_remains_free(struct b2f_remote_remains *remains)
{
	if (!remains)
		return;
	if (remains->versions.n)
		keep_same(remains);
	if (!remains->due)
		(void)!b2f_sweeper_remove(remains, NULL);
	while (remains->due && b2f_sweeper_is_due(remains->place))
		if (b2f_sweeper_remove_due(remains, NULL))
			break;
	b2f_sweeper_fini(remains->place);
	b2f_remote_remains_leave(remains);
}

/* Reads the current index; -ESTALE if it is not the version @only. */
static int find_index(struct b2f_remote_place *place, struct b2f_current *index,
		      const struct b2f_frame_stamp *only, struct b2f_why *why)
{
	struct b2f_frame_stamp stamp;
	int err = b2f_current_read(place, index, why);

	if (!err && !index->is_there)
		err = b2f_why_set(why, -ENOENT, "there is no such frame");
	if (err || !only)
		return err;
	stamp = b2f_remote_stamp(&index->version);
	return b2f_frame_stamp_equal(&stamp, only)
		       ? 0
		       : b2f_why_set(why, -ESTALE,
				     "another program has changed it meanwhile");
}

int b2f_remains_list(struct b2f_remote_remains *remains,
		     struct b2f_current *index, bool orphans,
		     struct b2f_why *why)
{
	struct choice gone = {.remains = remains, .index = index};
	int err = b2f_gone_take_all(&index->gone, &index->named);

	if (err)
		return err;
	if (index->named.n)
		qsort(index->named.ids, index->named.n,
		      sizeof(index->named.ids[0]), b2f_compare_u64);
	if (orphans)
		gone.until_s = time(NULL) - B2F_REMAINS_OLD_S;
	return list_chunks(&gone, why);
}

/*
 * Lists the chunks before the index is removed: afterwards another writer may
 * make a frame there, with other ids, whose chunks must stay.
 */
static int take_version(struct b2f_remote_remains *remains,
			const struct b2f_frame_stamp *only, bool orphans,
			struct b2f_why *why)
{
	struct b2f_remote_place *place = remains->place;
	B2F_OWN char *path = b2f_remote_place_path(place, B2F_OBJECT_INDEX);
	struct b2f_current index = {.is_there = false};
	struct b2f_removal removal = {.path = path};
	int err = path ? find_index(place, &index, only, why) : -ENOMEM;

	if (!err)
		err = b2f_remains_list(remains, &index, orphans, why);
	removal.version = index.version;
	removal.note = index.note;
	if (!err)
		err = b2f_removal_run(place->remote, &removal, why);
	/* The frame still exists, and keeps its chunks. */
	if (err)
		remains->chunks.n = remains->versions.n = 0;
	b2f_current_fini(&index);
	return err;
}

/* Another writer may commit between the look and the removal. */
int b2f_remains_take(struct b2f_remote_place *place,
		     const struct b2f_frame_stamp *only, bool orphans,
		     struct b2f_remote_remains **out, struct b2f_why *why)
{
	struct b2f_remote_remains *remains = NULL;
	int err = b2f_remains_new(place, &remains) ? -ENOMEM : -EAGAIN;

	for (unsigned int try = 0; try < TRIES && err == -EAGAIN; try++) {
		if (try)
			b2f_put_pause(place->remote, try);
		err = take_version(remains, only, orphans, why);
	}
	if (err)
		b2f_remote_remains_leave(remains);
	else
		*out = remains;
	return err == -EAGAIN ? b2f_why_set(why, -EBUSY,
					    "other programs keep changing it")
			      : err;
}

struct b2f_remote_remains *b2f_remote_leftovers(struct b2f_frame *frame)
{
	struct b2f_remote_remains *remains = NULL;
	struct b2f_remote_place *place;
	bool has;

	if (frame->store->kind != B2F_STORE_SHARED)
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
			    bool orphans, struct b2f_remote_remains **out)
{
	struct b2f_remote_place *place = NULL;
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, path);

	if (err)
		return err;
	err = b2f_remote_place_new(remote, path, true, &place);
	if (!err)
		err = b2f_remains_take(place, NULL, orphans, out, &why);
	b2f_remote_place_unref(place);
	return b2f_remote_report(remote, path, err, &why);
}

int b2f_remote_remove_frame(struct b2f_remote *remote, const char *path)
{
	struct b2f_remote_remains *remains = NULL;
	int err = b2f_remote_remove_index(remote, path, true, &remains);

	b2f_remote_remains_free(remains);
	return err;
}
