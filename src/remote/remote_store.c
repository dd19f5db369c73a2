/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_store.c - a frame on a server, as a store */
#include "remote/remote_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "b2frame/create.h"
#include "base/checked.h"
#include "base/monotonic.h"
#include "remote/chunk_versions.h"
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

/* Chunks on their way that no reader has opened: so many, and so many bytes. */
#define COMING_MAX	  64
#define COMING_BYTES_MAX (UINT64_C(128) << 20)

enum state { UNSEEN, HELD, LOST };

/* The begin of a chunk that is on its way. */
struct coming {
	struct coming *prev;
	struct coming *next;
	int64_t id;
	uint64_t n;
	struct b2f_fetch *fetch;
};

struct remote_store {
	struct b2f_store base;
	struct b2f_remote *remote;
	char *path;
	pthread_mutex_t lock;
	/* All below: under lock. */
	enum state state;
	/* Of the index: the version that is read, and the one last seen. */
	struct b2f_remote_stat held;
	struct b2f_remote_stat seen;
	uint64_t seen_ns;
	/* The first bytes of the index, until it is opened. */
	struct b2f_fetch *start;
	struct b2f_chunk_versions *versions;
	struct coming *coming;
	unsigned int ncoming;
	uint64_t coming_bytes;
};

static struct remote_store *remote_of(const struct b2f_store *store)
{
	return (struct remote_store *)(uintptr_t)store;
}

static struct b2f_windows *windows_of(const struct b2f_object *object)
{
	return object->private;
}

/* The path of object @id; malloc'ed, or NULL. */
static char *path_of(const struct remote_store *r, int64_t id)
{
	char name[B2F_CHUNK_NAME_SIZE];

	if (!r->base.sparse)
		return strdup(r->path);
	if (id == B2F_OBJECT_INDEX)
		return b2f_remote_join(r->path, B2F_INDEX_NAME);
	b2f_chunk_name(id, name);
	return b2f_remote_join(r->path, name);
}

/* @part_of: the version of the index by which object @id is known, or NULL. */
static int start_fetch(struct remote_store *r, int64_t id,
		       const struct b2f_remote_stat *part_of, uint64_t n,
		       struct b2f_fetch **out)
{
	char *path = path_of(r, id);
	const struct b2f_fetch_spec spec = {
		.path = path, .part_of = part_of, .n = n};
	int err = path ? b2f_fetch_start(r->remote, &spec, out) : -ENOMEM;

	free(path);
	return err;
}

static void see(struct remote_store *r, const struct b2f_remote_stat *version)
{
	r->seen = *version;
	r->seen_ns = b2f_monotonic_ns();
}

/* Reads the begin of the index, and holds on to its version. */
static int hold(struct remote_store *r, struct b2f_why *why)
{
	struct b2f_fetched got = {.n = 0};
	struct b2f_fetch *fetch = NULL;
	int err;

	err = start_fetch(r, B2F_OBJECT_INDEX, NULL,
			  r->base.sparse ? INDEX_GUESS : FIRST_GUESS, &fetch);
	if (!err)
		err = b2f_fetch_wait(fetch, &got, why);
	if (err) {
		b2f_fetch_drop(fetch);
		return err;
	}
	pthread_mutex_lock(&r->lock);
	if (r->state != HELD) {
		b2f_fetch_drop(r->start);
		r->start = fetch;
		r->held = got.version;
		r->state = HELD;
		see(r, &got.version);
		fetch = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	b2f_fetch_drop(fetch);
	return 0;
}

int b2f_remote_store_begin(struct b2f_store *store, struct b2f_why *why)
{
	return hold(remote_of(store), why);
}

/* What is there now; seldom a request. */
static int look_again(struct remote_store *r, struct b2f_remote_stat *out)
{
	uint64_t fresh_ns = (uint64_t)r->remote->refresh_ms * 1000000;
	bool fresh;
	char *path;
	int err;

	pthread_mutex_lock(&r->lock);
	*out = r->seen;
	fresh = b2f_monotonic_ns() - r->seen_ns < fresh_ns;
	pthread_mutex_unlock(&r->lock);
	if (fresh)
		return 0;
	path = path_of(r, B2F_OBJECT_INDEX);
	err = path ? b2f_remote_head(r->remote, path, out, NULL) : -ENOMEM;
	free(path);
	if (err)
		return err;
	pthread_mutex_lock(&r->lock);
	see(r, out);
	pthread_mutex_unlock(&r->lock);
	return 0;
}

static enum state state_of(struct remote_store *r)
{
	enum state state;

	pthread_mutex_lock(&r->lock);
	state = r->state;
	pthread_mutex_unlock(&r->lock);
	return state;
}

static int remote_stat_index(struct b2f_store *store, struct stat *out)
{
	struct remote_store *r = remote_of(store);
	struct b2f_remote_stat now;
	int err = state_of(r) == HELD ? 0 : hold(r, NULL);

	if (!err)
		err = look_again(r, &now);
	if (!err)
		b2f_remote_attributes(&now, out);
	return err;
}

/* Hands out the object @id in @version. */
static int make_object(struct remote_store *r, int64_t id,
		       const struct b2f_remote_stat *version,
		       const struct b2f_remote_stat *part_of,
		       struct b2f_object *out)
{
	char *path = path_of(r, id);
	struct b2f_windows *w = NULL;
	int err = path ? b2f_windows_new(r->remote, path, version, part_of,
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

static int open_index(struct remote_store *r, struct b2f_object *out,
		      struct b2f_why *why)
{
	struct b2f_fetched got = {.n = 0};
	struct b2f_remote_stat version;
	struct b2f_fetch *start;
	int err = 0;

	if (state_of(r) == UNSEEN)
		err = hold(r, why);
	if (err)
		return err;
	pthread_mutex_lock(&r->lock);
	version = r->held;
	start = r->start;
	r->start = NULL;
	pthread_mutex_unlock(&r->lock);
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
	char *path = path_of(r, B2F_OBJECT_INDEX);
	struct b2f_remote_stat now;
	int err = path ? b2f_remote_head(r->remote, path, &now, NULL) : -ENOMEM;
	bool same = false;

	free(path);
	if (!err) {
		pthread_mutex_lock(&r->lock);
		same = strcmp(now.etag, r->held.etag) == 0 &&
		       now.mtime == r->held.mtime;
		see(r, &now);
		pthread_mutex_unlock(&r->lock);
	}
	if (err == -ENOENT || (!err && !same))
		return b2f_why_set(why, -ESTALE,
				   "another program has deleted or replaced "
				   "the frame");
	return err ? err
		   : b2f_why_set(why, B2F_ECORRUPT, "the object is missing");
}

/* Takes chunk @id off the list of those on their way; the lock is held. */
static struct b2f_fetch *take_coming(struct remote_store *r, int64_t id)
{
	struct b2f_fetch *fetch = NULL;
	struct coming *c;

	DL_FOREACH(r->coming, c)
		if (c->id == id)
			break;
	if (!c)
		return NULL;
	DL_DELETE(r->coming, c);
	r->ncoming--;
	r->coming_bytes -= c->n;
	fetch = c->fetch;
	free(c);
	return fetch;
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
	pthread_mutex_lock(&r->lock);
	b2f_chunk_versions_put(r->versions, id, &got.version);
	pthread_mutex_unlock(&r->lock);
	b2f_windows_add(windows_of(out), 0, got.n, fetch);
	return 0;
}

static int open_chunk(struct remote_store *r, int64_t id,
		      struct b2f_object *out, struct b2f_why *why)
{
	struct b2f_remote_stat version, index;
	struct b2f_fetch *fetch;
	bool known;
	int err;

	pthread_mutex_lock(&r->lock);
	fetch = take_coming(r, id);
	known = !fetch && b2f_chunk_versions_get(r->versions, id, &version);
	index = r->held;
	pthread_mutex_unlock(&r->lock);
	if (known)
		return make_object(r, id, &version, &index, out);
	err = fetch ? 0 : start_fetch(r, id, &index, FIRST_GUESS, &fetch);
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

/* The version that was held cannot be read any more. */
static void lose(struct remote_store *r, const struct b2f_object *object)
{
	struct b2f_frame_stamp held;

	pthread_mutex_lock(&r->lock);
	held = b2f_remote_stamp(&r->held);
	if (r->state == HELD &&
	    b2f_frame_stamp_equal(&held, &object->identity))
		r->state = LOST;
	pthread_mutex_unlock(&r->lock);
}

static int remote_read(const struct b2f_object *object, uint64_t off, void *buf,
		       size_t n, struct b2f_why *why)
{
	int err = b2f_windows_read(windows_of(object), off, buf, n,
				   object->base + object->size, why);

	if (err == -ESTALE)
		lose(remote_of(object->store), object);
	return err;
}

static void remote_expect(const struct b2f_object *object, uint64_t off,
			  uint64_t n)
{
	b2f_windows_expect(windows_of(object), off, n);
}

static void remote_close(struct b2f_object *object)
{
	b2f_windows_free(windows_of(object));
}

/* Each request is for the version that was opened, so it cannot be another. */
static int remote_look(const struct b2f_object *object,
		       struct b2f_frame_stamp *out)
{
	*out = object->identity;
	return 0;
}

/* Makes room for @n more bytes; what goes was not opened for longest. */
static void make_room(struct remote_store *r, uint64_t n)
{
	while (r->coming && (r->ncoming == COMING_MAX ||
			     r->coming_bytes + n > COMING_BYTES_MAX))
		b2f_fetch_drop(take_coming(r, r->coming->id));
}

static bool is_coming(const struct remote_store *r, int64_t id)
{
	const struct coming *c;

	DL_FOREACH(r->coming, c)
		if (c->id == id)
			return true;
	return false;
}

/* Puts @c, which was started, on the list; false: another thread was faster. */
static bool add_coming(struct remote_store *r, struct coming *c)
{
	bool added;

	pthread_mutex_lock(&r->lock);
	added = !is_coming(r, c->id);
	if (added) {
		make_room(r, c->n);
		DL_APPEND(r->coming, c);
		r->ncoming++;
		r->coming_bytes += c->n;
	}
	pthread_mutex_unlock(&r->lock);
	return added;
}

static void remote_prefetch(struct b2f_store *store, int64_t id, uint64_t n)
{
	struct remote_store *r = remote_of(store);
	struct b2f_remote_stat index;
	struct coming *c;
	bool wanted;

	id &= ~B2F_OBJECT_PENDING;
	n = b2f_max_u64(n, FIRST_GUESS);
	if (!store->sparse || n > COMING_BYTES_MAX)
		return;
	pthread_mutex_lock(&r->lock);
	wanted = !is_coming(r, id);
	index = r->held;
	pthread_mutex_unlock(&r->lock);
	c = wanted ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return;
	*c = (struct coming){.id = id, .n = n};
	if (start_fetch(r, id, &index, n, &c->fetch) || !add_coming(r, c)) {
		b2f_fetch_drop(c->fetch);
		free(c);
	}
}

static void remote_free(struct b2f_store *store)
{
	struct remote_store *r = remote_of(store);

	while (r->coming)
		b2f_fetch_drop(take_coming(r, r->coming->id));
	b2f_fetch_drop(r->start);
	b2f_chunk_versions_free(r->versions);
	pthread_mutex_destroy(&r->lock);
	b2f_remote_free(r->remote);
	free(r->path);
	free(r);
}

static int remote_clone(struct b2f_store *store, struct b2f_store **out,
			struct b2f_why *why)
{
	const struct remote_store *r = remote_of(store);

	(void)why;
	return b2f_remote_store_new(r->remote, r->path, store->sparse, out);
}

static const struct b2f_store_ops remote_ops = {
	.open = remote_open,
	.read = remote_read,
	.close = remote_close,
	.expect = remote_expect,
	.prefetch = remote_prefetch,
	.look = remote_look,
	.stat_index = remote_stat_index,
	.free = remote_free,
	.clone = remote_clone,
	.obstacle = "it is on a server",
};

int b2f_remote_store_new(struct b2f_remote *remote, const char *path,
			 bool sparse, struct b2f_store **out)
{
	struct remote_store *r = calloc(1, sizeof(*r));

	if (r)
		r->path = strdup(path);
	if (!r || !r->path || b2f_chunk_versions_new(&r->versions)) {
		free(r ? r->path : NULL);
		free(r);
		return -ENOMEM;
	}
	r->base.ops = &remote_ops;
	r->base.sparse = sparse;
	r->remote = b2f_remote_ref(remote);
	pthread_mutex_init(&r->lock, NULL);
	*out = &r->base;
	return 0;
}
