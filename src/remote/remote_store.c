/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_store.c - a frame on a server, as a store */
#include "remote/remote_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/log_line.h"
#include "programs/io.h"
#include "remote/fetch.h"
#include "remote/remote_place.h"
#include "remote/upload.h"
#include "remote/window.h"
#include "store/store.h"

/* A contiguous frame has its index at the end. */
#define TAIL_GUESS (UINT64_C(256) << 10)

/* Limit for reading ahead in the index of a sparse frame. */
#define INDEX_MAX (UINT64_C(256) << 20)

/* The index of a sparse frame is read as a whole. */
#define INDEX_GUESS (UINT64_C(1) << 20)

/*
 * A foreign program may upload an index before its chunks; until it is done,
 * readers find chunks of the previous frame.  After so many seconds it is
 * assumed to be done.
 */
#define UPLOAD_MAX_S 3600

/*
 * Bytes fetched with the version of an object: they take no longer than a
 * request for the version alone.
 */
#define FIRST (UINT64_C(64) << 10)

/* How many chunks a store prefetches that no reader has opened yet. */
#define COMING_MAX 512

/* A prefetched chunk that no reader opens within this time is not wanted. */
#define STALE_NS UINT64_C(10000000000)

/* A chunk, or an index, that will be opened soon. */
struct wanted {
	/* Id of the object (store/store.h). */
	int64_t id;
	/* Its offset in the object; 0 except in a contiguous frame. */
	uint64_t off;
	/* Bytes to fetch from there: the first ones, or all. */
	uint64_t n;
	/*
	 * Version of the index (of a contiguous frame, of the frame itself):
	 * the chunk does not change while this version is current.  Or NULL.
	 */
	const struct b2f_remote_stat *index;
};

/* A chunk that is being prefetched. */
struct coming {
	struct coming *prev;
	struct coming *next;
	struct wanted chunk;
	uint64_t since_ns;
	struct b2f_fetch *fetch;
};

/*
 * A store pins a version of its index.
 *
 *   unseen     no request was made
 *   held       the version is known, and all reads are of this version
 *   lost       the version was replaced while in use; the next look pins anew
 */
struct remote_store {
	struct b2f_store base;
	struct b2f_remote_place *place;
	/* Everything below: under the lock of @place. */
	enum { UNSEEN, HELD, LOST } state;
	struct b2f_remote_stat version;
	/* The chunks do not change while this index is current. */
	bool is_settled;
	/* The first bytes of the index, until it is opened. */
	struct b2f_fetch *start;
	/* Prefetched chunks that no reader has opened yet, the oldest first. */
	struct coming *coming;
	unsigned int ncoming;
};

static struct remote_store *remote_of(const struct b2f_store *store)
{
	return (struct remote_store *)(uintptr_t)store;
}

static int start_fetch(const struct b2f_remote_place *place,
		       const struct wanted *chunk, struct b2f_fetch **out)
{
	B2F_OWN char *path = b2f_remote_place_path(place, chunk->id);
	const struct b2f_fetch_spec spec = {
		.path = path,
		.version = place->sparse ? NULL : chunk->index,
		.part_of = place->sparse ? chunk->index : NULL,
		.off = chunk->off,
		.n = chunk->n};

	return b2f_fetch_start(place->remote, &spec, out);
}

/* The prefetched chunk @id (below 0: any) at @off; or NULL.  Locked. */
static struct coming *find_coming(const struct remote_store *r, int64_t id,
				  uint64_t off)
{
	struct coming *c;

	DL_FOREACH(r->coming, c)
		if (c->chunk.off == off && (id < 0 || c->chunk.id == id))
			break;
	return c;
}

/* Takes @c, which may be NULL, off the list.  Locked. */
static struct b2f_fetch *take_coming(struct remote_store *r, struct coming *c)
{
	struct b2f_fetch *fetch = c ? c->fetch : NULL;

	if (!c)
		return NULL;
	DL_DELETE(r->coming, c);
	r->ncoming--;
	atomic_fetch_sub(&r->place->remote->coming_bytes, c->chunk.n);
	free(c);
	return fetch;
}

static bool has_room(const struct remote_store *r, uint64_t n)
{
	const struct b2f_remote *remote = r->place->remote;

	return r->ncoming < COMING_MAX &&
	       atomic_load(&remote->coming_bytes) + n <= remote->ahead_bytes;
}

/*
 * If the remote has prefetched too much, drops chunks that are not wanted any
 * more.  Returns whether there is room for @n more bytes then.  Locked.
 */
static bool make_room(struct remote_store *r, uint64_t n)
{
	uint64_t now = b2f_monotonic_ns();

	while (!has_room(r, n) && r->coming &&
	       now - r->coming->since_ns > STALE_NS)
		b2f_fetch_drop(take_coming(r, r->coming));
	return has_room(r, n);
}

/* Begins to fetch @chunk, if there is room, for its reader.  Locked. */
static void add_coming(struct remote_store *r, const struct wanted *chunk)
{
	struct coming *c;

	if (chunk->n == 0 || find_coming(r, chunk->id, chunk->off) ||
	    !make_room(r, chunk->n))
		return;
	c = calloc(1, sizeof(*c));
	if (!c || start_fetch(r->place, chunk, &c->fetch)) {
		free(c);
		return;
	}
	/* @index is the caller's. */
	c->chunk = (struct wanted){chunk->id, chunk->off, chunk->n, NULL};
	c->since_ns = b2f_monotonic_ns();
	DL_APPEND(r->coming, c);
	r->ncoming++;
	atomic_fetch_add(&r->place->remote->coming_bytes, chunk->n);
}

/* Pins the current version: one request. 0 or an error of requests. */
static int renew(struct remote_store *r, struct b2f_why *why)
{
	struct b2f_remote_place *place = r->place;
	const struct wanted begin = {.id = B2F_OBJECT_INDEX,
				     .n = place->sparse ? INDEX_GUESS : FIRST};
	struct b2f_fetched got = {.n = 0};
	struct b2f_fetch *fetch = NULL, *old;
	struct b2f_note note;
	int err = start_fetch(place, &begin, &fetch);

	if (!err)
		err = b2f_fetch_wait(fetch, &got, why);
	if (err) {
		b2f_fetch_drop(fetch);
		return err;
	}
	b2f_note_read(got.note, &note);
	b2f_remote_place_see(place, &got.version, &note, got.note);
	pthread_mutex_lock(&place->lock);
	old = r->start;
	r->start = fetch;
	r->version = got.version;
	/* bloscfs puts the index last, and uses no id twice. */
	r->is_settled = note.nmarks > 0 || got.age_s >= UPLOAD_MAX_S;
	r->state = HELD;
	pthread_mutex_unlock(&place->lock);
	b2f_fetch_drop(old);
	return 0;
}

/* The current version, perhaps not the pinned one; seldom a request. */
static int look(struct remote_store *r, struct b2f_remote_stat *now)
{
	bool is_held;
	int err;

	pthread_mutex_lock(&r->place->lock);
	/* A frame without an index has no version to pin. */
	is_held = r->state == HELD || r->place->is_new;
	pthread_mutex_unlock(&r->place->lock);
	err = is_held ? 0 : renew(r, NULL);
	if (!err)
		err = b2f_remote_place_look(r->place,
					    r->place->remote->refresh_ms, now);
	return err;
}

static struct b2f_frame_stamp stamp_of(struct remote_store *r)
{
	B2F_HOLD(&r->place->lock);

	return b2f_remote_stamp(&r->version);
}

/* Like look(), and pins that version; *@out is its stamp. */
static int look_and_pin(struct remote_store *r, struct b2f_frame_stamp *out)
{
	struct b2f_frame_stamp stamp;
	struct b2f_remote_stat now;
	int err = look(r, &now);

	if (err)
		return err;
	stamp = b2f_remote_stamp(&now);
	*out = stamp_of(r);
	if (b2f_frame_stamp_equal(out, &stamp))
		return 0;
	err = renew(r, NULL);
	*out = stamp_of(r);
	return err;
}

/*
 * Is no version pinned yet, or has another one of a sparse frame been seen?  A
 * contiguous frame is read in the version that was opened.
 */
static bool is_outdated(struct remote_store *r)
{
	const struct b2f_remote_place *place = r->place;
	B2F_HOLD(&r->place->lock);

	return r->state == UNSEEN ||
	       (place->sparse &&
		strcmp(r->version.etag, place->seen.etag) != 0);
}

/*
 * Returns the version to open (of a sparse frame the last one seen by any store
 * of @place) and its first bytes, which the caller owns, or NULL.
 */
static int take_version(struct remote_store *r, struct b2f_remote_stat *version,
			struct b2f_fetch **start, struct b2f_why *why)
{
	int err = is_outdated(r) ? renew(r, why) : 0;

	if (err)
		return err;
	B2F_HOLD(&r->place->lock);
	*version = r->version;
	*start = r->start;
	r->start = NULL;
	return 0;
}

/* The version with @stamp cannot be read any more: unpins it. */
static void lose(struct remote_store *r, const struct b2f_frame_stamp *stamp)
{
	struct b2f_remote_place *place = r->place;
	B2F_HOLD(&place->lock);
	struct b2f_frame_stamp mine = b2f_remote_stamp(&r->version);

	if (r->state == HELD && b2f_frame_stamp_equal(&mine, stamp))
		r->state = LOST;
	/* The same index may have come with new chunks. */
	b2f_chunk_versions_forget(place);
}

static struct b2f_windows *windows_of(const struct b2f_object *object)
{
	return object->private;
}

int b2f_remote_store_begin(struct b2f_store *store, struct b2f_why *why)
{
	return renew(remote_of(store), why);
}

static int remote_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	struct remote_store *r = remote_of(store);
	struct b2f_remote_stat now;
	int err;

	if (id == B2F_OBJECT_INDEX || !b2f_store_is_sparse(store))
		err = look(r, &now);
	else
		err = b2f_remote_place_head(r->place, id & ~B2F_OBJECT_PENDING,
					    &now, NULL);
	if (!err)
		b2f_remote_attributes(&now, out);
	return err;
}

/* To begin pins the stamped version; reads from now on are of that. */
static int remote_stamp(struct b2f_store *store, enum b2f_stamp what,
			struct b2f_frame_stamp *out)
{
	struct remote_store *r = remote_of(store);
	struct b2f_remote_stat now;
	int err = 0;

	switch (what) {
	case B2F_STAMP_NOW:
		err = look(r, &now);
		if (!err)
			*out = b2f_remote_stamp(&now);
		break;
	case B2F_STAMP_BEGIN:
		return look_and_pin(r, out);
	case B2F_STAMP_OWN:
		pthread_mutex_lock(&r->place->lock);
		*out = b2f_remote_stamp(&r->place->own);
		pthread_mutex_unlock(&r->place->lock);
		break;
	}
	return err;
}

/* Opens the object @id in @version. */
static int make_object(struct remote_store *r, int64_t id,
		       const struct b2f_remote_stat *version,
		       const struct b2f_remote_stat *part_of,
		       struct b2f_object *out)
{
	B2F_OWN char *path = b2f_remote_place_path(r->place, id);
	struct b2f_windows *w = NULL;
	size_t first = b2f_store_is_sparse(&r->base) ? 0 : FIRST;
	int err = path ? b2f_windows_new(r->place->remote, path, version, part_of,
					 first, &w)
		       : -ENOMEM;

	if (err)
		return err;
	*out = (struct b2f_object){.store = &r->base,
				   .size = version->size,
				   .identity = b2f_remote_stamp(version),
				   .fd = -1,
				   .private = w};
	return 0;
}

/* Prefetches what a reader of the index needs besides its first @n bytes. */
static void expect_index(const struct remote_store *r,
			 const struct b2f_object *object, uint64_t n)
{
	uint64_t rest = object->size - b2f_min_u64(object->size, n);

	if (!b2f_store_is_sparse(&r->base))
		rest = b2f_min_u64(rest, TAIL_GUESS);
	if (rest <= INDEX_MAX)
		b2f_windows_expect(windows_of(object), object->size - rest, rest);
}

static int open_index(struct remote_store *r, struct b2f_object *out,
		      struct b2f_why *why)
{
	struct b2f_fetched got = {.n = 0};
	struct b2f_remote_stat version;
	struct b2f_fetch *start = NULL;
	int err = take_version(r, &version, &start, why);

	if (!err)
		err = make_object(r, B2F_OBJECT_INDEX, &version, NULL, out);
	if (err || !start || b2f_fetch_wait(start, &got, NULL)) {
		b2f_fetch_drop(start);
		return err;
	}
	b2f_windows_add(windows_of(out), 0, got.n, start);
	expect_index(r, out, got.n);
	return 0;
}

/* If the whole frame is being removed, its index is usually gone first. */
static int chunk_missing(struct remote_store *r, struct b2f_why *why)
{
	struct b2f_remote_stat now;
	int err = b2f_remote_place_look(r->place, 0, &now);
	bool same = false;

	if (!err) {
		pthread_mutex_lock(&r->place->lock);
		same = strcmp(now.etag, r->version.etag) == 0 &&
		       now.mtime == r->version.mtime;
		pthread_mutex_unlock(&r->place->lock);
	}
	if (err == -ENOENT || (!err && !same))
		return b2f_why_set(why, -ESTALE,
				   "another program has deleted or replaced "
				   "the frame");
	return err ? err
		   : b2f_why_set(why, B2F_ECORRUPT, "the object is missing");
}

/* Opens the chunk from @fetch, which this function owns. */
static int open_fetched(struct remote_store *r, int64_t id,
			struct b2f_fetch *fetch,
			const struct b2f_remote_stat *part_of,
			struct b2f_object *out, struct b2f_why *why)
{
	struct b2f_fetched got = {.n = 0};
	int err = b2f_fetch_wait(fetch, &got, why);

	if (err == -ENOENT)
		err = chunk_missing(r, why);
	if (!err)
		err = make_object(r, id, &got.version, part_of, out);
	if (err) {
		b2f_fetch_drop(fetch);
		return err;
	}
	pthread_mutex_lock(&r->place->lock);
	b2f_chunk_versions_put(r->place, id, &got.version);
	pthread_mutex_unlock(&r->place->lock);
	b2f_windows_add(windows_of(out), 0, got.n, fetch);
	return 0;
}

/* Opens a chunk that was written here, perhaps still in memory. */
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
	struct wanted begin = {.id = id, .n = FIRST};
	struct b2f_remote_stat version, index;
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
	fetch = take_coming(r, find_coming(r, id, 0));
	known = !fetch &&
		b2f_chunk_versions_get(r->place, id, &version);
	index = r->version;
	if (r->is_settled)
		begin.index = &index;
	pthread_mutex_unlock(&r->place->lock);
	if (known)
		return make_object(r, id, &version, begin.index, out);
	err = fetch ? 0 : start_fetch(r->place, &begin, &fetch);
	return err ? err : open_fetched(r, id, fetch, begin.index, out, why);
}

static int remote_open(struct b2f_store *store, int64_t id,
		       struct b2f_object *out, struct b2f_why *why)
{
	struct remote_store *r = remote_of(store);

	if (id == B2F_OBJECT_INDEX)
		return open_index(r, out, why);
	if (!b2f_store_is_sparse(store) || id < 0)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a chunk file of a contiguous frame");
	return open_chunk(r, id & ~B2F_OBJECT_PENDING, out, why);
}

/* Gives @object, a chunk of a contiguous frame, its prefetched bytes. */
static void add_ahead(struct remote_store *r, const struct b2f_object *object)
{
	struct b2f_fetch *fetch;
	struct coming *c;
	uint64_t n;

	pthread_mutex_lock(&r->place->lock);
	c = find_coming(r, -1, object->base);
	n = c ? c->chunk.n : 0;
	fetch = take_coming(r, c);
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
		lose(remote_of(object->store), &object->identity);
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

/* Requests name the version that was opened: no other one can come. */
static int remote_look(const struct b2f_object *object,
		       struct b2f_frame_stamp *out)
{
	*out = object->identity;
	return 0;
}

/* Finds the range of @chunk in a contiguous frame. */
static bool find_range(const struct b2f_store *store, struct wanted *chunk)
{
	struct b2f_range range;

	if (!b2f_ranges_get(store->ranges, (uint64_t)chunk->id, &range))
		return false;
	chunk->off = range.off;
	chunk->n = b2f_min_u64(chunk->n, range.size);
	return true;
}

/* Is chunk @id read from memory, because it may not be on the server yet? */
static bool is_upload(const struct remote_store *r, int64_t id)
{
	struct b2f_upload *up =
		b2f_store_is_sparse(&r->base) ? b2f_upload_find(r->place, id)
					      : NULL;

	b2f_upload_unref(up);
	return up != NULL;
}

static void remote_prefetch(struct b2f_store *store, int64_t id, uint64_t n)
{
	struct remote_store *r = remote_of(store);
	struct wanted chunk = {.id = id & ~B2F_OBJECT_PENDING,
			       .n = b2f_max_u64(n, FIRST)};

	if ((!b2f_store_is_sparse(store) && !find_range(store, &chunk)) ||
	    is_upload(r, chunk.id))
		return;
	B2F_HOLD(&r->place->lock);
	if (!b2f_store_is_sparse(store) || r->is_settled)
		chunk.index = &r->version;
	add_coming(r, &chunk);
}

/* The cache may have it under its own version, or as part of the frame. */
static bool distrust(struct remote_store *r, struct b2f_fetch_spec *spec)
{
	struct b2f_remote_stat index;
	bool was_there = b2f_fetch_distrust(r->place->remote, spec);

	pthread_mutex_lock(&r->place->lock);
	index = r->version;
	pthread_mutex_unlock(&r->place->lock);
	spec->part_of = &index;
	was_there |= b2f_store_is_sparse(&r->base) &&
		     b2f_fetch_distrust(r->place->remote, spec);
	spec->part_of = NULL;
	return was_there;
}

/* Finds the path of chunk @id, and its version if known. */
static bool find_kept(struct remote_store *r, int64_t id,
		      struct b2f_fetch_spec *spec, struct b2f_remote_stat *version)
{
	struct wanted chunk = {.id = id, .n = UINT64_MAX};
	bool known = true;

	pthread_mutex_lock(&r->place->lock);
	if (b2f_store_is_sparse(&r->base))
		known = b2f_chunk_versions_get(r->place, id, version);
	else
		*version = r->version;
	pthread_mutex_unlock(&r->place->lock);
	spec->version = version;
	spec->n = (size_t)version->size;
	if (!known || b2f_store_is_sparse(&r->base))
		return known;
	known = find_range(&r->base, &chunk);
	spec->off = chunk.off;
	spec->n = (size_t)chunk.n;
	return known;
}

static bool remote_distrust(struct b2f_store *store, int64_t id)
{
	struct remote_store *r = remote_of(store);
	struct b2f_remote *remote = r->place->remote;
	struct b2f_fetch_spec spec = {.off = 0};
	struct b2f_remote_stat version;
	B2F_OWN char *path = NULL;
	bool was_there;

	id &= ~B2F_OBJECT_PENDING;
	if (!remote->cache || !find_kept(r, id, &spec, &version))
		return false;
	path = b2f_remote_place_path(r->place, id);
	spec.path = path;
	was_there = path && distrust(r, &spec);
	if (was_there)
		b2f_log(remote->log, B2F_LOG_WARNING,
			"%s/%s: damaged in the cache; removed from %s, and "
			"requested again",
			remote->url.label, path,
			b2f_cachedir_path(remote->cache));
	return was_there;
}

static void remote_free(struct b2f_store *store)
{
	struct remote_store *r = remote_of(store);

	while (r->coming)
		b2f_fetch_drop(take_coming(r, r->coming));
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
	.distrust = remote_distrust,                                           \
	.look = remote_look, .stat = remote_stat, .stamp = remote_stamp,       \
	.free = remote_free, .clone = remote_clone

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

/* Makes a store of @place. */
static int new_store(struct b2f_remote_place *place, struct b2f_store **out)
{
	struct remote_store *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->base.ops = ops_of(place);
	r->base.kind = r->base.ops->write ? B2F_STORE_SHARED
		       : place->sparse	  ? B2F_STORE_SPARSE
					  : B2F_STORE_SINGLE;
	r->place = b2f_remote_place_ref(place);
	*out = &r->base;
	return 0;
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
