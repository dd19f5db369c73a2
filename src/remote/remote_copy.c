/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_copy.c - frames that the server copies itself */
#include "remote/remote_copy.h"

#include <stdlib.h>

#include "base/checked.h"
#include "frame/txn.h"
#include "remote/copier.h"
#include "remote/remote_store.h"
#include "remote/remote_write.h"
#include "remote/replaced.h"
#include "remote/sweeper.h"

/* Numbers from here on another writer that begins at the same time has hardly. */
#define APART 4096

static int raise_next(void *arg, int64_t id)
{
	uint64_t *next = arg;

	*next = b2f_max_u64(*next, (uint64_t)id + 1);
	return 0;
}

/*
 * Not all servers keep to conditions when they copy, so no chunk may get the id
 * of another writer's chunk, present or to come.  A seal without a tag is bound
 * to its id, and chunks that may have such a seal keep theirs.
 */
int b2f_remote_choose_numbers(struct b2f_remote_place *to, uint64_t least,
			      struct b2f_copy_list *list, struct b2f_why *why)
{
	uint64_t next = least, above;
	bool tagged = true;
	int err = b2f_remote_list_chunks(to, 0, raise_next, &next, why);

	above = next + APART + b2f_note_draw() % APART;
	for (size_t i = 0; i < list->n; i++)
		tagged = tagged && b2f_entry_tag(list->chunks[i].raw);
	tagged = tagged && above + list->n <= B2F_ENTRY_ID;
	if (err)
		return err;
	if (!tagged && next)
		return b2f_why_set(why, -EXDEV,
				   "its chunks keep their numbers, and there "
				   "are others already");
	for (size_t i = 0; i < list->n; i++)
		list->chunks[i].to = tagged ? above + i : list->chunks[i].from;
	return 0;
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

int b2f_remote_copy_chunks(struct b2f_frame *frame, struct b2f_remote_place *to,
			   struct b2f_copy_list *list, struct b2f_why *why)
{
	const struct b2f_remote_place *from =
		b2f_remote_store_place(frame->store);
	struct b2f_copier copier = {.remote = to->remote};
	int err = copy_chunks(list, from, to, &copier);
	int copied = b2f_copier_finish(&copier, why);

	return err ? err : copied;
}

static int copy_listed(struct b2f_frame *frame, struct b2f_copy_list *list,
		       struct b2f_remote_place *to, struct b2f_why *why)
{
	uint8_t *index = NULL;
	size_t size = 0;
	int err = b2f_remote_choose_numbers(to, 0, list, why);

	if (!err)
		err = b2f_remote_copy_chunks(frame, to, list, why);
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
	struct b2f_copy_list list = {.n = 0};
	struct b2f_replaced there = {.is_there = false};
	int err = b2f_replaced_find(to, &there, why);

	if (err || there.is_there)
		return err ? err : -EEXIST;
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
