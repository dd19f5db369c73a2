/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_change.c - objects and frames that are made, and that go */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frame/copy_target.h"
#include "frame/settings.h"
#include "frame/txn.h"
#include "remote/conditions.h"
#include "remote/copier.h"
#include "remote/remote_store.h"
#include "remote/remote_write.h"
#include "remote/removal.h"
#include "remote/sweeper.h"

/* A frame that others commit to is seen in another version so often, at most. */
#define TRIES 10

int b2f_remote_allow_write(struct b2f_remote *remote, const char *path)
{
	struct b2f_why why = {""};
	int err = b2f_remote_probe(remote, path, &why);

	/* What is not there is the bucket. */
	return b2f_remote_tell(remote, path, err, &why);
}

int b2f_remote_put(struct b2f_remote *remote, const char *path,
		   const void *bytes, size_t n,
		   const struct b2f_remote_stat *replaces,
		   struct b2f_remote_stat *out)
{
	const struct b2f_note none = {.nmarks = 0};
	struct b2f_put_spec spec = {
		.path = path, .data = bytes, .size = n, .replaces = replaces};
	struct b2f_why why = {""};
	struct b2f_put put;
	int err = b2f_remote_allow_write(remote, "");

	if (err)
		return err;
	b2f_note_follow(&spec.note, &none, b2f_note_draw());
	err = b2f_put_start(remote, &spec, &put);
	if (err)
		return err;
	err = b2f_put_wait(&put, &why);
	if (!err && out)
		*out = put.now;
	b2f_put_fini(&put);
	if (err == -EEXIST || err == -ESTALE)
		return err;
	return b2f_remote_report(remote, path, err, &why);
}

int b2f_remote_remove(struct b2f_remote *remote, const char *path)
{
	struct b2f_removal removal = {.path = path};
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, "");

	if (err)
		return err;
	err = b2f_remote_head(remote, path, &removal.version, &removal.note,
			      &why);
	if (err == -ENOENT)
		return 0;
	if (!err)
		err = b2f_removal_run(remote, &removal, &why);
	return b2f_remote_report(remote, path, err == -EAGAIN ? -ESTALE : err,
				 &why);
}

int b2f_remote_create_frame(struct b2f_remote *remote, const char *path,
			    const struct b2f_settings *settings)
{
	struct b2f_remote_place *place = NULL;
	struct b2f_why why = {""};
	uint8_t *index = NULL;
	size_t size = 0;
	int err = b2f_remote_allow_write(remote, path);

	if (err)
		return err;
	err = b2f_settings_index(settings, false, &index, &size, &why);
	if (!err)
		err = b2f_remote_place_new(remote, path, true, &place);
	if (!err)
		err = b2f_remote_write_first(place, index, size, &why);
	b2f_remote_place_unref(place);
	free(index);
	return err == -EEXIST ? err
			      : b2f_remote_report(remote, path, err, &why);
}

/* Opens the frame whose index are the @size bytes at @index, and which is nowhere. */
static int open_bytes(const struct b2f_frame_options *options,
		      const char *label, const uint8_t *index, size_t size,
		      struct b2f_frame **out)
{
	struct b2f_store *store = NULL;
	int err = b2f_store_new_memory(index, size, &store);

	if (err)
		return err;
	store->sparse = true;
	return b2f_frame_open_store(options, store, label, out);
}

static int make_frame(struct b2f_remote *remote, const char *path,
		      const struct b2f_settings *settings,
		      const struct b2f_frame_options *options,
		      struct b2f_frame **out, struct b2f_why *why)
{
	char *label = b2f_remote_join(remote->url.label, path);
	struct b2f_store *store = NULL;
	struct b2f_frame *frame = NULL;
	uint8_t *index = NULL;
	size_t size = 0;
	int err = label ? b2f_settings_index(settings, false, &index, &size, why)
			: -ENOMEM;

	if (!err)
		err = b2f_remote_store_new_frame(remote, path, &store);
	if (!err)
		err = open_bytes(options, label, index, size, &frame);
	if (!err) {
		b2f_store_free(frame->store);
		frame->store = store;
		store = NULL;
		err = b2f_store_stamp_index(frame->store, &frame->stamp);
	}
	if (err)
		b2f_frame_close(frame);
	else
		*out = frame;
	b2f_store_free(store);
	free(index);
	free(label);
	return err;
}

int b2f_remote_make_frame(struct b2f_remote *remote, const char *path,
			  const struct b2f_settings *settings,
			  const struct b2f_frame_options *options,
			  struct b2f_frame **out)
{
	char *index = b2f_remote_join(path, B2F_INDEX_NAME);
	struct b2f_remote_stat now;
	struct b2f_why why = {""};
	int err = index ? b2f_remote_allow_write(remote, path) : -ENOMEM;

	if (err) {
		free(index);
		return err;
	}
	err = b2f_remote_head(remote, index, &now, NULL, &why);
	free(index);
	if (err != -ENOENT)
		return err ? b2f_remote_report(remote, path, err, &why)
			   : -EEXIST;
	why = (struct b2f_why){""};
	err = make_frame(remote, path, settings, options, out, &why);
	return b2f_remote_report(remote, path, err, &why);
}

static int add_chunk(void *arg, int64_t id)
{
	return b2f_ids_add(arg, (uint64_t)id);
}

struct b2f_remote_remains {
	struct b2f_remote_place *place;
	struct b2f_ids ids;
};

void b2f_remote_remains_free(struct b2f_remote_remains *remains)
{
	if (!remains)
		return;
	for (size_t i = 0; i < remains->ids.n; i++)
		b2f_sweeper_remove(remains->place,
				   (int64_t)remains->ids.ids[i]);
	b2f_remote_place_unref(remains->place);
	b2f_ids_fini(&remains->ids);
	free(remains);
}

/*
 * Without the index another writer may make a frame there: its chunks, which get
 * other ids than those that are there, are not to go.
 */
static int remove_version(struct b2f_remote_remains *remains,
			  struct b2f_why *why)
{
	struct b2f_remote_place *place = remains->place;
	char *path = b2f_remote_place_path(place, B2F_OBJECT_INDEX);
	struct b2f_removal index = {.path = path};
	int err = path ? b2f_remote_head(place->remote, path, &index.version,
					 &index.note, why)
		       : -ENOMEM;

	if (!err)
		err = b2f_remote_list_chunks(place, 0, add_chunk, &remains->ids,
					     why);
	if (!err)
		err = b2f_removal_run(place->remote, &index, why);
	/* A frame that is still there keeps them. */
	if (err)
		remains->ids.n = 0;
	free(path);
	return err;
}

/* Another writer may commit between the look and the removal. */
static int remove_index(struct b2f_remote_remains *remains, struct b2f_why *why)
{
	int err = -EAGAIN;

	for (unsigned int try = 0; try < TRIES && err == -EAGAIN; try++) {
		if (try)
			b2f_put_pause(remains->place->remote, try);
		err = remove_version(remains, why);
	}
	return err == -EAGAIN ? b2f_why_set(why, -EBUSY,
					    "other programs keep changing it")
			      : err;
}

int b2f_remote_remove_index(struct b2f_remote *remote, const char *path,
			    struct b2f_remote_remains **out)
{
	struct b2f_remote_remains *remains = NULL;
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, path);

	if (err)
		return err;
	remains = calloc(1, sizeof(*remains));
	err = remains ? b2f_remote_place_new(remote, path, true,
					     &remains->place)
		      : -ENOMEM;
	if (!err)
		err = remove_index(remains, &why);
	if (err)
		b2f_remote_remains_free(remains);
	else
		*out = remains;
	return b2f_remote_report(remote, path, err, &why);
}

int b2f_remote_remove_frame(struct b2f_remote *remote, const char *path)
{
	struct b2f_remote_remains *remains = NULL;
	int err = b2f_remote_remove_index(remote, path, &remains);

	b2f_remote_remains_free(remains);
	return err;
}

/* Numbers from here on another writer that begins at the same time has hardly. */
#define APART 4096

static int raise_next(void *arg, int64_t id)
{
	uint64_t *next = arg;

	*next = b2f_max_u64(*next, (uint64_t)id + 1);
	return 0;
}

/*
 * Not all servers keep to conditions when they copy, so no chunk may get the number of
 * another writer's: of one that is there, or that comes meanwhile.  A seal without a
 * tag is for its number, and chunks that may have one keep theirs.
 */
static int choose_numbers(struct b2f_remote_place *to,
			  struct b2f_copy_list *list, struct b2f_why *why)
{
	uint64_t next = 0;
	bool tagged = true;
	int err = b2f_remote_list_chunks(to, 0, raise_next, &next, why);

	next += APART + b2f_note_draw() % APART;
	for (size_t i = 0; i < list->n; i++)
		tagged = tagged && b2f_entry_tag(list->chunks[i].raw);
	tagged = tagged && next + list->n <= B2F_ENTRY_ID;
	for (size_t i = 0; i < list->n; i++)
		list->chunks[i].to = tagged ? next + i : list->chunks[i].from;
	return err;
}

/* Begins to copy the chunks of @list from @from to @to. */
static int copy_chunks(const struct b2f_copy_list *list,
		       const struct b2f_remote_place *from,
		       const struct b2f_remote_place *to,
		       struct b2f_copier *copier)
{
	for (size_t i = 0; i < list->n && !copier->err; i++) {
		const struct b2f_copy_chunk *chunk = &list->chunks[i];
		char *old = b2f_remote_place_path(from, (int64_t)chunk->from);
		char *new = b2f_remote_place_path(to, (int64_t)chunk->to);

		if (old && new)
			b2f_copier_add(copier, old, new);
		else
			copier->err = -ENOMEM;
		free(old);
		free(new);
	}
	return copier->err;
}

static int copy_listed(struct b2f_frame *frame, struct b2f_copy_list *list,
		       struct b2f_remote_place *to, struct b2f_why *why)
{
	const struct b2f_remote_place *from =
		b2f_remote_store_place(frame->store);
	struct b2f_copier copier = {.remote = to->remote};
	uint8_t *index = NULL;
	size_t size = 0;
	int err = choose_numbers(to, list, why), copied;

	if (!err)
		err = copy_chunks(list, from, to, &copier);
	copied = b2f_copier_finish(&copier, why);
	if (!err)
		err = copied;
	if (!err)
		err = b2f_copy_index(frame, list, &index, &size);
	if (!err)
		err = b2f_remote_write_first(to, index, size, why);
	free(index);
	return err;
}

static int copy_frame(struct b2f_frame *frame, struct b2f_remote_place *to,
		      struct b2f_why *why)
{
	char *index = b2f_remote_place_path(to, B2F_OBJECT_INDEX);
	struct b2f_copy_list list = {.n = 0};
	struct b2f_remote_stat there;
	int err = index ? b2f_remote_head(to->remote, index, &there, NULL, why)
			: -ENOMEM;

	free(index);
	if (err != -ENOENT)
		return err ? err : -EEXIST;
	*why = (struct b2f_why){""};
	err = b2f_copy_list_make(frame, &list);
	if (!err)
		err = copy_listed(frame, &list, to, why);
	b2f_copy_list_fini(&list);
	return err;
}

int b2f_remote_copy_frame(struct b2f_remote *remote, const char *from,
			  const char *to)
{
	const struct b2f_frame_options options = {.log = remote->log};
	struct b2f_remote_place *place = NULL;
	struct b2f_frame *frame = NULL;
	struct b2f_why why = {""};
	int err = b2f_remote_allow_write(remote, to);

	if (!err)
		err = b2f_remote_open_frame(remote, from, &options, &frame);
	if (err)
		return err;
	if (!frame->store->sparse)
		err = b2f_why_set(&why, -EROFS, "it is one object on a server");
	if (!err)
		err = b2f_remote_place_new(remote, to, true, &place);
	if (!err)
		err = copy_frame(frame, place, &why);
	b2f_remote_place_unref(place);
	b2f_frame_close(frame);
	return err == -EEXIST ? err : b2f_remote_report(remote, to, err, &why);
}
