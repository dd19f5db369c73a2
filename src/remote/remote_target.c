/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_target.c - the destination of a copy in an object store
 *
 * Each object has a mark (note.h) made from the version of the frame and the
 * chunk.  So a second copy recognizes the chunks that are there, and two copies
 * that run at once do each other no harm.  A chunk keeps its id if the
 * destination is empty; beside chunks of a frame that is to be replaced, or of
 * a killed writer, the chunk gets a new id.
 *
 * Chunks are put under unused names (If-None-Match); the index replaces the
 * version that was seen first (If-Match).
 *
 * Chunks that no index names may be removed by another program, with a flag
 * (sweeper.h).  Once our index names them it lets them be; so the copy looks
 * for chunks and flags then, and makes new chunks if any have gone or may go.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/sorted.h"
#include "make/sink.h"
#include "remote/conditions.h"
#include "remote/put.h"
#include "remote/sweeper.h"
#include "txn/txn_ids.h"

/* The highest id of a chunk (index/index.h). */
#define NUMBER_MAX B2F_ENTRY_ID

struct remote_target {
	struct b2f_copy_target base;
	struct b2f_remote_place *place;
	bool replace;
	/* The index is ours, but some of its chunks have gone, or may go. */
	bool again;
	/* There was a flag in the last listing. */
	bool is_swept;
	const struct b2f_copy_list *list;
	struct b2f_frame_stamp version;
	struct b2f_current there;
	/* All other chunks at the destination; in the end, the kept ones. */
	struct b2f_ids others;
	/* How many of them are no chunks of this copy. */
	size_t nforeign;
	/* Of these chunks so many were not in the last listing. */
	const struct b2f_ids *wanted;
	size_t nmissing;
	/* No chunk has had this id or a higher one. */
	uint64_t next;
};

static struct remote_target *target_of(struct b2f_copy_target *target)
{
	return (struct remote_target *)target;
}

static uint64_t mark_of(const struct remote_target *t, const char *name)
{
	return b2f_copy_key(&t->version, name);
}

static uint64_t mark_of_chunk(const struct remote_target *t, uint64_t number)
{
	char name[B2F_CHUNK_NAME_SIZE];

	b2f_chunk_name((int64_t)number, name);
	return mark_of(t, name);
}

/* Looks at the destination: a frame, or an object, or nothing. */
static int look_at_place(struct remote_target *t, bool *has_object,
			 struct b2f_why *why)
{
	struct b2f_remote_stat object;
	int err = b2f_current_read(t->place, &t->there, why);

	if (err || t->there.is_there)
		return err;
	/* A bucket is not an object. */
	if (!*t->place->remote->url.base && !*t->place->path)
		return 0;
	err = b2f_remote_head(t->place->remote, t->place->path, &object, NULL,
			      why);
	*has_object = !err;
	if (err == -ENOENT)
		*why = (struct b2f_why){""};
	return err == -ENOENT ? 0 : err;
}

static bool is_same_copy(const struct remote_target *t)
{
	return t->there.is_there && t->there.note.nmarks &&
	       t->there.note.marks[0] == mark_of(t, B2F_INDEX_NAME);
}

static int note_chunk(void *target, int64_t id)
{
	struct remote_target *t = target;
	uint64_t number = (uint64_t)id;

	t->next = b2f_max_u64(t->next, number + 1);
	/* Chunks that an earlier index named may be removed at any time. */
	if (b2f_ids_has_sorted(&t->there.named, number) ||
	    number < t->there.note.next_id)
		return 0;
	return b2f_ids_add(&t->others, number);
}

/*
 * Is the existing chunk @number, with @note, in the list?  If so, notes that it
 * need not be sent.
 */
static bool take_found(const struct remote_target *t, uint64_t number,
		       const struct b2f_note *note)
{
	struct b2f_copy_chunk *chunk = b2f_copy_find(t->list, note->next_id);

	if (!chunk || chunk->is_there || !note->nmarks ||
	    note->marks[0] != mark_of_chunk(t, chunk->from))
		return false;
	chunk->to = number;
	chunk->is_there = true;
	return true;
}

static int start_look(void *target, size_t i, struct b2f_http_request **out)
{
	const struct remote_target *t = target;
	struct b2f_http_spec ask = {.method = B2F_HTTP_HEAD};

	return b2f_remote_start(
		t->place->remote, &ask,
		b2f_remote_place_url(t->place, (int64_t)t->others.ids[i]), out);
}

/* Takes the answer for another chunk; counts chunks of others. */
static int end_look(void *target, size_t i, const struct b2f_http_reply *reply,
		    struct b2f_why *why)
{
	struct remote_target *t = target;
	struct b2f_note note;

	(void)why;
	/* The chunk has been removed. */
	if (reply->err)
		return reply->err == -ENOENT ? 0 : reply->err;
	b2f_note_read(reply->note, &note);
	t->nforeign += !take_found(t, t->others.ids[i], &note);
	return 0;
}

/* Chunks keep their ids if the destination has, and had, no other chunks. */
static bool may_keep_numbers(const struct remote_target *t,
			     const struct b2f_copy_list *list)
{
	if (t->there.is_there || t->is_swept || t->nforeign)
		return false;
	for (size_t i = 0; i < list->n; i++)
		if (list->chunks[i].is_there &&
		    list->chunks[i].to != list->chunks[i].from)
			return false;
	return true;
}

static int give_numbers(struct remote_target *t, struct b2f_copy_list *list,
			struct b2f_why *why)
{
	const struct b2f_ids *old = &t->there.named;
	bool keep = may_keep_numbers(t, list);

	t->next = b2f_max_u64(t->next, t->there.note.next_id);
	if (old->n)
		t->next = b2f_max_u64(t->next, old->ids[old->n - 1] + 1);
	/* Another writer may begin at the same id. */
	if (!keep)
		t->next += b2f_note_draw() % 256;
	for (size_t i = 0; i < list->n; i++) {
		struct b2f_copy_chunk *chunk = &list->chunks[i];

		if (chunk->is_there)
			continue;
		chunk->to = keep ? chunk->from : t->next++;
		if (chunk->to > NUMBER_MAX)
			return b2f_why_set(why, -ENOSPC,
					   "no ids are left for new chunks");
		t->next = b2f_max_u64(t->next, chunk->to + 1);
	}
	return 0;
}

static int see_chunk(void *target, int64_t id)
{
	struct remote_target *t = target;

	t->nmissing -= b2f_ids_has_sorted(t->wanted, (uint64_t)id);
	return 0;
}

/*
 * Are the chunks @wanted, sorted, which the index names, there, and will they
 * stay?  Else the copy has to be made again.
 */
static int find_missing(struct remote_target *t, const struct b2f_ids *wanted,
			struct b2f_why *why)
{
	int err;

	t->wanted = wanted;
	t->nmissing = wanted->n;
	err = b2f_remote_list_chunks(t->place, 0, see_chunk, t, &t->is_swept,
				     why);
	t->again = t->nmissing || t->is_swept;
	return err;
}

static int tell_beaten(struct b2f_why *why)
{
	return b2f_why_set(why, -ESTALE,
			   "another program writes to it meanwhile");
}

static int begin(struct b2f_copy_target *target, struct b2f_copy_list *list,
		 struct b2f_why *why)
{
	struct remote_target *t = target_of(target);
	struct b2f_remote_place *place = t->place;
	bool has_object = false;
	int err = b2f_remote_place_fits(place);

	t->list = list;
	t->others.n = t->nforeign = 0;
	for (size_t i = 0; i < list->n; i++)
		list->chunks[i].is_there = false;
	if (!err)
		err = look_at_place(t, &has_object, why);
	t->version = list->version;
	/* Below an object, some servers accept no other object. */
	if (!err)
		err = b2f_remote_probe(place->remote,
				       has_object ? "" : place->path, why);
	if (err)
		return err;
	if (t->again && !is_same_copy(t))
		return tell_beaten(why);
	if (!t->again && is_same_copy(t)) {
		/* A copy may have ended before it began again. */
		err = find_missing(t, &t->there.named, why);
		list->is_done = !t->again;
	}
	if (err || list->is_done)
		return err;
	if (!t->again && !t->replace && (t->there.is_there || has_object))
		return -EEXIST;
	/* Not all servers allow both, and a replacement takes two steps. */
	if (has_object)
		return b2f_why_set(why, -ENOTDIR,
				   "an object has that name, and no sparse "
				   "frame can replace it");
	err = b2f_remote_list_chunks(place, 0, note_chunk, t, &t->is_swept,
				     why);
	/* An earlier run of this copy may have left some of its chunks. */
	if (!err && !t->is_swept)
		err = b2f_http_row(t->others.n, B2F_HTTP_ROW_MAX, start_look,
				   end_look, t, why);
	return err ? err : give_numbers(t, list, why);
}

/*
 * Puts @spec with its mark.  Succeeds, too, if another run of the same copy was
 * faster; -ESTALE if another writer was.
 */
static int put_marked(const struct remote_target *t,
		      const struct b2f_put_spec *spec, struct b2f_why *why)
{
	struct b2f_remote_stat there;
	struct b2f_note note;
	int err = b2f_put_run(t->place->remote, spec, NULL, why);

	if (err != -EEXIST && err != -ESTALE)
		return err;
	err = b2f_remote_head(t->place->remote, spec->path, &there, &note, why);
	if (!err && note.nmarks && note.marks[0] == spec->note.marks[0])
		return 0;
	if (err && err != -ENOENT)
		return err;
	return tell_beaten(why);
}

static int put(struct b2f_copy_target *target,
	       const struct b2f_copy_chunk *chunk, const void *bytes,
	       size_t size, struct b2f_why *why)
{
	const struct remote_target *t = target_of(target);
	B2F_OWN char *path =
		b2f_remote_place_path(t->place, (int64_t)chunk->to);
	struct b2f_put_spec spec = {
		.path = path,
		.data = bytes,
		.size = size,
		.note = {.next_id = chunk->from,
			 .marks = {mark_of_chunk(t, chunk->from)},
			 .nmarks = 1},
	};

	return put_marked(t, &spec, why);
}

static int put_index(struct remote_target *t, const void *index, size_t size,
		     struct b2f_why *why)
{
	B2F_OWN char *path = b2f_remote_place_path(t->place, B2F_OBJECT_INDEX);
	struct b2f_put_spec spec = {
		.path = path,
		.data = index,
		.size = size,
		.replaces = t->there.is_there ? &t->there.version : NULL,
	};

	b2f_note_follow(&spec.note, &t->there.note, mark_of(t, B2F_INDEX_NAME));
	spec.note.next_id = t->next;
	return put_marked(t, &spec, why);
}

/*
 * Removes the chunks that the new index no longer names; they do no harm if
 * they stay.
 */
static void remove_old(struct remote_target *t)
{
	struct b2f_remote_remains old = {.place = t->place,
					 .mark = mark_of(t, B2F_INDEX_NAME)};

	/* And the chunks that the old frame had replaced. */
	(void)!b2f_gone_take_all(&t->there.gone, &t->there.named);
	old.chunks = t->there.named;
	(void)!b2f_sweeper_remove(&old, NULL);
	b2f_sweeper_fini(t->place);
}

/*
 * Are the chunks that were found still there, and will they stay?  Returns 0, 1
 * or an error.
 */
static int check_kept(struct remote_target *t, struct b2f_why *why)
{
	struct b2f_ids *kept = &t->others;
	size_t n = t->list ? t->list->n : 0;
	int err = 0;

	kept->n = 0;
	for (size_t i = 0; i < n && !err; i++)
		if (t->list->chunks[i].is_there)
			err = b2f_ids_add(kept, t->list->chunks[i].to);
	if (err || !kept->n)
		return err;
	qsort(kept->ids, kept->n, sizeof(kept->ids[0]), b2f_compare_u64);
	err = find_missing(t, kept, why);
	return err ? err : t->again;
}

static int finish(struct b2f_copy_target *target, const void *index,
		  size_t size, struct b2f_why *why)
{
	struct remote_target *t = target_of(target);
	int err = put_index(t, index, size, why);

	if (!err)
		err = check_kept(t, why);
	if (!err)
		remove_old(t);
	return err;
}

static void free_target(struct b2f_copy_target *target)
{
	struct remote_target *t = target_of(target);

	b2f_remote_place_unref(t->place);
	b2f_current_fini(&t->there);
	b2f_ids_fini(&t->others);
	free(t);
}

static const struct b2f_copy_ops ops = {
	.begin = begin,
	.put = put,
	.finish = finish,
	.free = free_target,
};

int b2f_copy_to_remote(struct b2f_remote *remote, const char *path,
		       bool replace, struct b2f_copy_target **out)
{
	struct remote_target *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	if (!t)
		return -ENOMEM;
	t->base.ops = &ops;
	t->base.log = remote->log;
	t->base.label = b2f_remote_join(remote->url.label, path);
	t->replace = replace;
	if (t->base.label)
		err = b2f_remote_place_new(remote, path, true, &t->place);
	if (err)
		b2f_copy_target_free(&t->base);
	else
		*out = &t->base;
	return err;
}
