/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_store.c - a frame on a server, as a store */
#include "remote/remote_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "remote/ahead.h"
#include "remote/remote_write.h"
#include "remote/window.h"

/*
 * The first bytes of an object, which come with its version.  Indexes are wanted as
 * a whole; of a chunk, this much takes as long as a request without a byte.
 */
#define INDEX_GUESS (UINT64_C(1) << 20)
#define FIRST_GUESS (UINT64_C(64) << 10)

/* The index of a contiguous frame is at its end. */
#define TAIL_GUESS (UINT64_C(256) << 10)

/* No more of a sparse index is asked for at once. */
#define INDEX_MAX (UINT64_C(256) << 20)

enum state { UNSEEN, HELD, LOST };

struct remote_store {
	struct b2f_store base;
	struct b2f_remote_place *place;
	/* All below: under the lock of @place. */
	enum state state;
	/* Of the index: the version that is read. */
	struct b2f_remote_stat held;
	/* The first bytes of the index, until it is opened. */
	struct b2f_fetch *start;
	struct b2f_ahead ahead;
};

static struct remote_store *remote_of(const struct b2f_store *store)
{
	return (struct remote_store *)(uintptr_t)store;
}

static struct b2f_windows *windows_of(const struct b2f_object *object)
{
	return object->private;
}

/* Reads the begin of the index, and holds on to its version. */
static int hold(struct remote_store *r, struct b2f_why *why)
{
	const struct b2f_ahead_chunk begin = {
		.id = B2F_OBJECT_INDEX,
		.n = r->base.sparse ? INDEX_GUESS : FIRST_GUESS};
	struct b2f_fetched got = {.n = 0};
	struct b2f_fetch *fetch = NULL, *old;
	struct b2f_note note;
	int err = b2f_ahead_fetch(r->place, &begin, &fetch);

	if (!err)
		err = b2f_fetch_wait(fetch, &got, why);
	if (err) {
		b2f_fetch_drop(fetch);
		return err;
	}
	b2f_note_read(got.note, &note);
	b2f_remote_place_see(r->place, &got.version, &note);
	pthread_mutex_lock(&r->place->lock);
	old = r->start;
	r->start = fetch;
	r->held = got.version;
	r->state = HELD;
	pthread_mutex_unlock(&r->place->lock);
	b2f_fetch_drop(old);
	return 0;
}

int b2f_remote_store_begin(struct b2f_store *store, struct b2f_why *why)
{
	return hold(remote_of(store), why);
}

/* Nothing can be held of an index that is not there yet. */
static bool is_held(struct remote_store *r)
{
	bool held;

	pthread_mutex_lock(&r->place->lock);
	held = r->state == HELD || r->place->is_new;
	pthread_mutex_unlock(&r->place->lock);
	return held;
}

/* The version of the index that is there now; seldom a request. */
static int look(struct remote_store *r, struct b2f_remote_stat *now)
{
	int err = is_held(r) ? 0 : hold(r, NULL);

	if (!err)
		err = b2f_remote_place_look(r->place,
					    r->place->remote->refresh_ms, now);
	return err;
}

static int remote_stat_index(struct b2f_store *store, struct stat *out)
{
	struct b2f_remote_stat now;
	int err = look(remote_of(store), &now);

	if (!err)
		b2f_remote_attributes(&now, out);
	return err;
}

static int remote_stamp_index(struct b2f_store *store,
			      struct b2f_frame_stamp *out)
{
	struct b2f_remote_stat now;
	int err = look(remote_of(store), &now);

	if (!err)
		*out = b2f_remote_stamp(&now);
	return err;
}

/* Hands out the object @id in @version. */
static int make_object(struct remote_store *r, int64_t id,
		       const struct b2f_remote_stat *version,
		       const struct b2f_remote_stat *part_of,
		       struct b2f_object *out)
{
	char *path = b2f_remote_place_path(r->place, id);
	struct b2f_windows *w = NULL;
	int err = path ? b2f_windows_new(r->place->remote, path, version, part_of,
					 r->base.sparse ? 0 : FIRST_GUESS, &w)
		       : -ENOMEM;

	free(path);
	if (err)
		return err;
	*out = (struct b2f_object){.store = &r->base,
				   .size = version->size,
				   .identity = b2f_remote_stamp(version),
				   .fd = -1,
				   .private = w};
	return 0;
}

/* What a reader of the index will want beside its begin. */
static void expect_index(const struct remote_store *r,
			 const struct b2f_object *object)
{
	uint64_t size = object->size, first = r->base.sparse ? INDEX_GUESS
							     : FIRST_GUESS;
	uint64_t rest = size - b2f_min_u64(size, first);

	if (!r->base.sparse)
		rest = b2f_min_u64(rest, TAIL_GUESS);
	if (rest <= INDEX_MAX)
		b2f_windows_expect(windows_of(object), size - rest, rest);
}

/*
 * Has a newer index been seen than the one that is held?  Chunks of a contiguous
 * frame, which are ranges of what was opened first, are read in that version.
 */
static bool is_outdated(struct remote_store *r)
{
	bool outdated;

	pthread_mutex_lock(&r->place->lock);
	outdated = r->state == UNSEEN ||
		   (r->base.sparse &&
		    strcmp(r->held.etag, r->place->seen.etag) != 0);
	pthread_mutex_unlock(&r->place->lock);
	return outdated;
}

static int open_index(struct remote_store *r, struct b2f_object *out,
		      struct b2f_why *why)
{
	struct b2f_fetched got = {.n = 0};
	struct b2f_remote_stat version;
	struct b2f_fetch *start;
	int err = 0;

	if (is_outdated(r))
		err = hold(r, why);
	if (err)
		return err;
	pthread_mutex_lock(&r->place->lock);
	version = r->held;
	start = r->start;
	r->start = NULL;
	pthread_mutex_unlock(&r->place->lock);
	err = make_object(r, B2F_OBJECT_INDEX, &version, NULL, out);
	if (err || !start || b2f_fetch_wait(start, &got, NULL)) {
		b2f_fetch_drop(start);
		return err;
	}
	b2f_windows_add(windows_of(out), 0, got.n, start);
	expect_index(r, out);
	return 0;
}

/* Another program takes the index away with the frame, mostly before it. */
static int chunk_missing(struct remote_store *r, struct b2f_why *why)
{
	struct b2f_remote_stat now;
	int err = b2f_remote_place_look(r->place, 0, &now);
	bool same = false;

	if (!err) {
		pthread_mutex_lock(&r->place->lock);
		same = strcmp(now.etag, r->held.etag) == 0 &&
		       now.mtime == r->held.mtime;
		pthread_mutex_unlock(&r->place->lock);
	}
	if (err == -ENOENT || (!err && !same))
		return b2f_why_set(why, -ESTALE,
				   "another program has deleted or replaced "
				   "the frame");
	return err ? err
		   : b2f_why_set(why, B2F_ECORRUPT, "the object is missing");
}

/* The chunk that @fetch, which is taken, brings; a part of @index. */
static int open_fetched(struct remote_store *r, int64_t id,
			struct b2f_fetch *fetch,
			const struct b2f_remote_stat *index,
			struct b2f_object *out, struct b2f_why *why)
{
	struct b2f_fetched got = {.n = 0};
	int err = b2f_fetch_wait(fetch, &got, why);

	if (err == -ENOENT)
		err = chunk_missing(r, why);
	if (!err)
		err = make_object(r, id, &got.version, index, out);
	if (err) {
		b2f_fetch_drop(fetch);
		return err;
	}
	pthread_mutex_lock(&r->place->lock);
	b2f_chunk_versions_put(r->place->versions, id, &got.version);
	pthread_mutex_unlock(&r->place->lock);
	b2f_windows_add(windows_of(out), 0, got.n, fetch);
	return 0;
}

/* A chunk that was made here, and may be in memory still. */
static int open_upload(struct remote_store *r, struct b2f_upload *up,
		       struct b2f_object *out)
{
	struct b2f_remote_stat version;
	bool is_there;

	pthread_mutex_lock(&r->place->lock);
	is_there = !up->bytes;
	version = up->put.now;
	pthread_mutex_unlock(&r->place->lock);
	if (is_there)
		return make_object(r, up->id, &version, NULL, out);
	*out = (struct b2f_object){.store = &r->base,
				   .size = up->size,
				   .fd = -1,
				   .data = (const uint8_t *)up};
	return 0;
}

static int open_chunk(struct remote_store *r, int64_t id,
		      struct b2f_object *out, struct b2f_why *why)
{
	struct b2f_upload *up = b2f_upload_find(r->place, id);
	struct b2f_remote_stat version, index;
	const struct b2f_ahead_chunk begin = {
		.id = id, .n = FIRST_GUESS, .index = &index};
	struct b2f_fetch *fetch;
	bool known;
	int err;

	if (up) {
		err = open_upload(r, up, out);
		if (err || !out->data)
			b2f_upload_unref(up);
		return err;
	}
	pthread_mutex_lock(&r->place->lock);
	fetch = b2f_ahead_take(&r->ahead, r->place, id);
	known = !fetch &&
		b2f_chunk_versions_get(r->place->versions, id, &version);
	index = r->held;
	pthread_mutex_unlock(&r->place->lock);
	if (known)
		return make_object(r, id, &version, &index, out);
	err = fetch ? 0 : b2f_ahead_fetch(r->place, &begin, &fetch);
	return err ? err : open_fetched(r, id, fetch, &index, out, why);
}

static int remote_open(struct b2f_store *store, int64_t id,
		       struct b2f_object *out, struct b2f_why *why)
{
	struct remote_store *r = remote_of(store);

	if (id == B2F_OBJECT_INDEX)
		return open_index(r, out, why);
	if (!store->sparse || id < 0)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a chunk file of a contiguous frame");
	return open_chunk(r, id & ~B2F_OBJECT_PENDING, out, why);
}

/* The version of @object, or of the index, cannot be read any more. */
static void lose(struct remote_store *r, const struct b2f_object *object)
{
	struct b2f_frame_stamp held;

	pthread_mutex_lock(&r->place->lock);
	held = b2f_remote_stamp(&r->held);
	if (r->state == HELD &&
	    b2f_frame_stamp_equal(&held, &object->identity))
		r->state = LOST;
	/* The index may be the same, and its chunks written anew. */
	b2f_chunk_versions_forget(r->place->versions);
	pthread_mutex_unlock(&r->place->lock);
}

/* Gives @object, a chunk of a contiguous frame, what is on its way for it. */
static void add_ahead(struct remote_store *r, const struct b2f_object *object)
{
	struct b2f_fetch *fetch;
	uint64_t n = 0;

	pthread_mutex_lock(&r->place->lock);
	fetch = b2f_ahead_take_at(&r->ahead, r->place, object->base, &n);
	pthread_mutex_unlock(&r->place->lock);
	if (fetch)
		b2f_windows_add(windows_of(object), object->base, n, fetch);
}

static int remote_read(const struct b2f_object *object, uint64_t off, void *buf,
		       size_t n, struct b2f_why *why)
{
	int err;

	if (object->data)
		return b2f_upload_read(b2f_upload_of(object), off, buf, n, why);
	if (object->base > 0)
		add_ahead(remote_of(object->store), object);
	err = b2f_windows_read(windows_of(object), off, buf, n,
			       object->base + object->size, why);
	if (err == -ESTALE)
		lose(remote_of(object->store), object);
	return err;
}

static void remote_expect(const struct b2f_object *object, uint64_t off,
			  uint64_t n)
{
	if (!object->data)
		b2f_windows_expect(windows_of(object), off, n);
}

static void remote_close(struct b2f_object *object)
{
	if (object->data)
		b2f_upload_unref(b2f_upload_of(object));
	else
		b2f_windows_free(windows_of(object));
}

/* Each request is for the version that was opened, so it cannot be another. */
static int remote_look(const struct b2f_object *object,
		       struct b2f_frame_stamp *out)
{
	*out = object->identity;
	return 0;
}

/* Where @chunk of a contiguous frame is. */
static bool find_range(const struct b2f_store *store,
		       struct b2f_ahead_chunk *chunk)
{
	struct b2f_range range;

	if (!b2f_ranges_get(store->ranges, (uint64_t)chunk->id, &range))
		return false;
	chunk->off = range.off;
	chunk->n = b2f_min_u64(chunk->n, range.size);
	return true;
}

static void remote_prefetch(struct b2f_store *store, int64_t id, uint64_t n)
{
	struct remote_store *r = remote_of(store);
	struct b2f_ahead_chunk chunk = {.id = id & ~B2F_OBJECT_PENDING,
					.n = b2f_max_u64(n, FIRST_GUESS),
					.index = &r->held};

	if (!store->sparse && !find_range(store, &chunk))
		return;
	pthread_mutex_lock(&r->place->lock);
	b2f_ahead_add(&r->ahead, r->place, &chunk);
	pthread_mutex_unlock(&r->place->lock);
}

static void remote_free(struct b2f_store *store)
{
	struct remote_store *r = remote_of(store);

	b2f_ahead_fini(&r->ahead, r->place);
	b2f_fetch_drop(r->start);
	b2f_remote_place_unref(r->place);
	free(r);
}

static int new_store(struct b2f_remote_place *place, struct b2f_store **out);

static int remote_clone(struct b2f_store *store, struct b2f_store **out,
			struct b2f_why *why)
{
	(void)why;
	return new_store(remote_of(store)->place, out);
}

#define READ_OPS                                                               \
	.open = remote_open, .read = remote_read, .close = remote_close,       \
	.expect = remote_expect, .prefetch = remote_prefetch,                  \
	.look = remote_look, .stat_index = remote_stat_index,                  \
	.stamp_index = remote_stamp_index, .free = remote_free,                \
	.clone = remote_clone

static const struct b2f_store_ops web_ops = {
	READ_OPS,
	.obstacle = "it is on a web server",
};

static const struct b2f_store_ops single_ops = {
	READ_OPS,
	.obstacle = "it is one object on a server",
};

static const struct b2f_store_ops sparse_ops = {
	READ_OPS,
	.write = &b2f_remote_write,
};

static const struct b2f_store_ops *ops_of(const struct b2f_remote_place *place)
{
	if (!place->remote->url.s3)
		return &web_ops;
	return place->sparse ? &sparse_ops : &single_ops;
}

/* A store of @place. */
static int new_store(struct b2f_remote_place *place, struct b2f_store **out)
{
	struct remote_store *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->base.ops = ops_of(place);
	r->base.sparse = place->sparse;
	r->base.shared = r->base.ops->write != NULL;
	r->base.keep_s = place->remote->keep_s;
	r->place = b2f_remote_place_ref(place);
	*out = &r->base;
	return 0;
}

int b2f_remote_store_new_frame(struct b2f_remote *remote, const char *path,
			       struct b2f_store **out)
{
	int err = b2f_remote_store_new(remote, path, true, out);

	if (!err)
		b2f_remote_store_place(*out)->is_new = true;
	return err;
}

struct b2f_remote_place *b2f_remote_store_place(const struct b2f_store *store)
{
	return remote_of(store)->place;
}

int b2f_remote_store_new(struct b2f_remote *remote, const char *path,
			 bool sparse, struct b2f_store **out)
{
	struct b2f_remote_place *place = NULL;
	int err = b2f_remote_place_new(remote, path, sparse, &place);

	if (!err)
		err = new_store(place, out);
	b2f_remote_place_unref(place);
	return err;
}
