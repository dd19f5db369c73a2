/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_write.c - changing a frame in an object store
 *
 * A chunk is sent under its final name, because no index names it yet; so there
 * is nothing to publish or hide.  A commit is one PUT of the index.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "b2frame/error.h"
#include "base/checked.h"
#include "remote/conditions.h"
#include "remote/remote_store.h"
#include "remote/sweeper.h"
#include "remote/upload.h"

static struct b2f_remote_place *place_of(const struct b2f_store *store)
{
	return b2f_remote_store_place(store);
}

static int64_t number_of(int64_t id)
{
	return id & ~B2F_OBJECT_PENDING;
}

/* The lock ends with the store. */
static int remote_lock(struct b2f_store *store, bool on, struct b2f_why *why)
{
	struct b2f_remote_place *place = place_of(store);
	bool has_version;

	if (!on)
		return 0;
	pthread_mutex_lock(&place->lock);
	has_version = place->is_new || *place->seen.etag;
	pthread_mutex_unlock(&place->lock);
	/* Without ETags a PUT could undo commits of other writers. */
	if (!has_version)
		return b2f_why_set(why, -EROFS,
				   "the server sends no ETag for its index, so "
				   "it is read-only");
	return b2f_remote_probe(place->remote, place->path, why);
}

/* Keeps the new index until its PUT; drops the one of an earlier try. */
static void keep_index(struct b2f_remote_place *place, struct b2f_upload *up)
{
	struct b2f_upload *old;

	pthread_mutex_lock(&place->lock);
	old = place->new_index;
	place->new_index = up;
	if (up)
		up->refs++;
	pthread_mutex_unlock(&place->lock);
	b2f_upload_unref(old);
}

static int remote_create(struct b2f_store *store, int64_t id,
			 struct b2f_object *out, struct b2f_why *why)
{
	struct b2f_remote_place *place = place_of(store);
	struct b2f_upload *up = NULL;
	int err = b2f_upload_new(place, id < 0 ? id : number_of(id), &up);

	if (err)
		return b2f_why_set(why, err, "create: %s", b2f_strerror(err));
	if (id < 0)
		keep_index(place, up);
	*out = (struct b2f_object){.store = store,
				   .fd = -1,
				   .data = (const uint8_t *)up,
				   .unnamed = id >= 0};
	return 0;
}

static int remote_write(const struct b2f_object *object, uint64_t off,
			const void *buf, size_t n, struct b2f_why *why)
{
	int err = b2f_upload_write(b2f_upload_of(object), off, buf, n);

	return err ? b2f_why_set(why, err, "write: %s", b2f_strerror(err)) : 0;
}

static int publish(struct b2f_object *object, struct b2f_why *why)
{
	struct b2f_upload *up = b2f_upload_of(object);
	int err = b2f_upload_send(up);

	if (err) {
		(void)b2f_upload_give_up(up);
		return b2f_why_set(why, err, "send: %s", b2f_strerror(err));
	}
	object->size = up->size;
	object->unnamed = false;
	return 0;
}

/* The server has no attributes that an index could inherit. */
static int remote_inherit(const struct b2f_object *object,
			  const struct timespec *mtime, struct b2f_why *why)
{
	(void)object;
	(void)mtime;
	(void)why;
	return 0;
}

/* Objects on the server are durable. */
static int remote_settle(struct b2f_store *store,
			 const struct b2f_object *object, enum b2f_settle how,
			 struct b2f_why *why)
{
	struct b2f_upload *up =
		object && object->data ? b2f_upload_of(object) : NULL;

	(void)store;
	if (!up || up->id < 0 || how == B2F_SETTLE_SOON)
		return 0;
	return b2f_upload_settle(up, why);
}

static int remote_name(struct b2f_store *store, int64_t id,
		       struct b2f_object *object, struct b2f_why *why)
{
	struct b2f_upload *up;
	int err;

	if (object)
		return publish(object, why);
	up = b2f_upload_find(place_of(store), number_of(id));
	if (!up)
		return b2f_why_set(why, -ENOENT, "it was not sent");
	err = b2f_upload_claim(up, !(id & B2F_OBJECT_PENDING), why);
	b2f_upload_unref(up);
	return err;
}

/*
 * Looks whether a commit of unknown outcome has happened, before another one
 * may have none: of two the state would not tell which one it was.
 */
static int settle_doubt(struct b2f_remote_place *place)
{
	struct b2f_remote_stat now;
	bool in_doubt, is_new;
	int err;

	pthread_mutex_lock(&place->lock);
	in_doubt = place->in_doubt;
	is_new = place->is_new;
	pthread_mutex_unlock(&place->lock);
	err = in_doubt ? b2f_remote_place_ask(place, &now) : 0;
	return err == -ENOENT && is_new ? 0 : err;
}

/* The version of @base and its note; -ESTALE if the current one differs. */
static int find_base(struct b2f_remote_place *place,
		     const struct b2f_frame_stamp *base, bool look,
		     struct b2f_remote_stat *out, struct b2f_note *note,
		     bool *is_new)
{
	struct b2f_frame_stamp stamp;
	int err = look ? b2f_remote_place_look(place, 0, out) : 0;

	if (err)
		return err == -ENOENT ? -ESTALE : err;
	pthread_mutex_lock(&place->lock);
	*out = place->seen;
	*note = place->note;
	*is_new = place->is_new;
	note->next_id = place->next_id;
	pthread_mutex_unlock(&place->lock);
	stamp = b2f_remote_stamp(out);
	return b2f_frame_stamp_equal(&stamp, base) ? 0 : -ESTALE;
}

/* Notes the index written by @put. */
static void note_own(struct b2f_remote_place *place, const struct b2f_put *put)
{
	struct b2f_remote_stat own = put->now;

	b2f_remote_place_see(place, &put->now, &put->now_note, NULL);
	/* Other writers have replaced it since: its ETag is not known. */
	if (put->now_note.marks[0] != put->spec.note.marks[0])
		snprintf(own.etag, sizeof(own.etag), "mark %016" PRIX64,
			 put->spec.note.marks[0]);
	B2F_HOLD(&place->lock);
	place->own = own;
	place->in_doubt = false;
	place->root = put->spec.note.marks[0];
	/* The next writer removes chunks that are not noted here. */
	(void)!b2f_gone_add(&place->gone, &place->replaced, (uint64_t)time(NULL));
	place->replaced.n = 0;
}

/* After a commit that failed with @err: the next look asks the server. */
static void forget_seen(struct b2f_remote_place *place, int err)
{
	pthread_mutex_lock(&place->lock);
	place->seen_ns = 0;
	place->is_new = place->is_new && err != -EEXIST;
	place->in_doubt |= err == B2F_EINDOUBT;
	pthread_mutex_unlock(&place->lock);
}

/* Puts @index, replacing @replaces (or NULL). */
static int put_index(struct b2f_remote_place *place,
		     const struct b2f_upload *index,
		     const struct b2f_remote_stat *replaces,
		     const struct b2f_note *before, struct b2f_why *why)
{
	B2F_OWN char *path = b2f_remote_place_path(place, B2F_OBJECT_INDEX);
	char gone[B2F_GONE_SIZE];
	struct b2f_put_spec spec = {.path = path,
				    .data = index->bytes,
				    .size = index->size,
				    .replaces = replaces,
				    .gone = gone};
	struct b2f_put put;
	int err;

	pthread_mutex_lock(&place->lock);
	err = b2f_gone_write(&place->gone, &place->replaced,
			     (uint64_t)time(NULL), gone, sizeof(gone));
	pthread_mutex_unlock(&place->lock);
	b2f_note_follow(&spec.note, before, b2f_note_draw());
	if (!err)
		err = b2f_put_start(place->remote, &spec, &put);
	if (err)
		return err;
	err = b2f_put_wait(&put, why);
	if (err)
		forget_seen(place, err);
	else
		note_own(place, &put);
	if (!err || err == B2F_EINDOUBT)
		b2f_uploads_end_claims(place, err ? &put.spec.note : NULL);
	b2f_put_fini(&put);
	return err;
}

/* Notes the chunks that the next index will no longer name. */
static int note_replaced(struct b2f_remote_place *place, const uint64_t *ids,
			 size_t n)
{
	int err;
	B2F_HOLD(&place->lock);

	place->replaced.n = 0;
	err = b2f_ids_reserve(&place->replaced, n);
	for (size_t i = 0; i < n && !err; i++)
		place->replaced.ids[place->replaced.n++] = ids[i];
	return err;
}

static int remote_install(struct b2f_store *store,
			  const struct b2f_install *what, struct b2f_why *why)
{
	struct b2f_remote_place *place = place_of(store);
	struct b2f_remote_stat version;
	struct b2f_upload *index;
	struct b2f_note note;
	bool is_new;
	int err = note_replaced(place, what->replaced, what->nreplaced);

	if (!err)
		err = settle_doubt(place);
	if (err)
		return err == -ENOENT ? -ESTALE : err;
	err = find_base(place, what->base, false, &version, &note, &is_new);
	if (err == -ESTALE)
		err = find_base(place, what->base, true, &version, &note,
				&is_new);
	if (err)
		return b2f_why_set(why, err, "it is another version now");
	pthread_mutex_lock(&place->lock);
	index = place->new_index;
	place->new_index = NULL;
	pthread_mutex_unlock(&place->lock);
	if (!index)
		return b2f_why_set(why, -ENOENT, "there is no new index");
	err = put_index(place, index, is_new ? NULL : &version, &note, why);
	b2f_upload_unref(index);
	/* For chunks -EEXIST has another meaning. */
	return err == -EEXIST ? -ESTALE : err;
}

/* Orphans and uncommitted chunks are found by listing. */
static int remote_first_id(struct b2f_store *store, uint64_t *id,
			   struct b2f_why *why)
{
	struct b2f_remote_place *place = place_of(store);

	pthread_mutex_lock(&place->lock);
	*id = b2f_max_u64(*id, place->next_id);
	pthread_mutex_unlock(&place->lock);
	return b2f_remote_raise_id(place, id, why);
}

static bool remote_is_due(struct b2f_store *store)
{
	return b2f_sweeper_is_due(place_of(store));
}

/* Adds the object @id to @what if it is on the server, and forgets it. */
static void add_sent(struct b2f_remote_remains *what, int64_t id)
{
	struct b2f_upload *up = b2f_upload_find(what->place, number_of(id));

	if (up && b2f_upload_give_up(up))
		what->sent[what->nsent++] = up;
	else
		b2f_upload_unref(up);
}

static int remote_remove(struct b2f_store *store, const uint64_t *ids, size_t n,
			 const struct b2f_range *range, struct b2f_why *why)
{
	struct b2f_remote_place *place = place_of(store);
	struct b2f_remote_remains what = {.place = place};
	int err;

	(void)range;
	if (n == 1 && (int64_t)ids[0] == B2F_OBJECT_NEW_INDEX) {
		keep_index(place, NULL);
		return 0;
	}
	what.sent = calloc(n + 1, sizeof(*what.sent));
	if (!what.sent)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		add_sent(&what, (int64_t)ids[i]);
	err = b2f_sweeper_remove_due(&what, why);
	for (size_t i = 0; i < what.nsent; i++)
		b2f_upload_unref(what.sent[i]);
	free(what.sent);
	return err;
}

static int remote_list(struct b2f_store *store, int (*fn)(void *arg, int64_t id),
		       void *arg)
{
	return b2f_remote_list_chunks(place_of(store), 0, fn, arg, NULL, NULL);
}

const struct b2f_store_write_ops b2f_remote_write = {
	.lock = remote_lock,
	.create = remote_create,
	.write = remote_write,
	.inherit = remote_inherit,
	.settle = remote_settle,
	.name = remote_name,
	.install = remote_install,
	.first_id = remote_first_id,
	.remove = remote_remove,
	.is_due = remote_is_due,
	.list = remote_list,
};
