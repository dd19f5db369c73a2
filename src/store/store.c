/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c - common to all stores */
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/checked.h"
#include "store/generation.h"

#define SECOND_NS INT64_C(1000000000)

/* The tick of the kernel's clock, and of filesystems that keep full seconds. */
#define TICK_NS	       INT64_C(20000000)
#define COARSE_TICK_NS (2 * SECOND_NS)

void b2f_store_free(struct b2f_store *store)
{
	struct b2f_ranges *ranges = store ? store->ranges : NULL;
	struct b2f_generation *generation = store ? store->generation : NULL;

	if (store && store->ops->free)
		store->ops->free(store);
	else
		free(store);
	b2f_ranges_unref(ranges);
	b2f_generation_unref(generation);
}

int b2f_store_clone(struct b2f_store *store, struct b2f_store **out,
		    struct b2f_why *why)
{
	int err = store->ops->clone(store, out, why);

	if (!err)
		(*out)->quiet = store->quiet;
	return err;
}

void b2f_store_be_quiet(struct b2f_store *store)
{
	store->quiet = true;
}

/* Opens a chunk of a contiguous frame: a range of its file. */
static int open_range(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why)
{
	struct b2f_range range;
	int err;

	if (!b2f_ranges_get(store->ranges, (uint64_t)id & ~B2F_OBJECT_PENDING,
			    &range))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a chunk that is nowhere in the file");
	err = store->ops->open(store, B2F_OBJECT_INDEX, out, why);
	if (err)
		return err;
	if (range.off > out->size) {
		b2f_object_close(out);
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the file ends before byte %llu",
				   (unsigned long long)range.off);
	}
	out->base = range.off;
	out->size = b2f_min_u64(range.size, out->size - range.off);
	return 0;
}

int b2f_object_open(struct b2f_store *store, int64_t id, struct b2f_object *out,
		    struct b2f_why *why)
{
	if (!b2f_store_is_sparse(store) && id != B2F_OBJECT_INDEX)
		return open_range(store, id, out, why);
	return store->ops->open(store, id, out, why);
}

void b2f_object_close(struct b2f_object *object)
{
	if (object->store && object->store->ops->close)
		object->store->ops->close(object);
	*object = (struct b2f_object){.fd = -1};
}

bool b2f_object_was_written(const struct b2f_object *object)
{
	const struct b2f_store_ops *ops = object->store->ops;

	return !ops->was_written || ops->was_written(object);
}

int b2f_object_look(const struct b2f_object *object,
		    struct b2f_frame_stamp *out)
{
	if (!object->store->ops->look)
		return -EOPNOTSUPP;
	return object->store->ops->look(object, out);
}

int b2f_object_read(const struct b2f_object *object, uint64_t off, void *buf,
		    size_t n, struct b2f_why *why)
{
	return object->store->ops->read(object, object->base + off, buf, n,
					why);
}

void b2f_object_expect(const struct b2f_object *object, uint64_t off,
		       uint64_t n)
{
	if (object->store->ops->expect)
		object->store->ops->expect(object, object->base + off, n);
}

bool b2f_store_distrust(struct b2f_store *store, int64_t id)
{
	return store->ops->distrust && store->ops->distrust(store, id);
}

void b2f_store_prefetch(struct b2f_store *store, int64_t id, uint64_t n)
{
	if (store->ops->prefetch)
		store->ops->prefetch(store, id, n);
}

int b2f_store_stat_index(struct b2f_store *store, struct stat *out)
{
	return store->ops->stat(store, B2F_OBJECT_INDEX, out);
}

static int64_t in_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

struct b2f_frame_stamp b2f_frame_stamp_of(const struct stat *st)
{
	struct b2f_frame_stamp stamp = {
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.mtime_ns = in_ns(st->st_mtim),
		.ctime_ns = in_ns(st->st_ctim),
	};

	/* Some filesystems tell no ctime; 0 would mean an ETag. */
	if (stamp.ctime_ns == 0)
		stamp.ctime_ns = stamp.mtime_ns ? stamp.mtime_ns : 1;
	return stamp;
}

int b2f_store_identify(struct b2f_store *store, int64_t id,
		       struct b2f_frame_stamp *out)
{
	struct stat st;
	int err = store->ops->stat(store, id, &st);

	if (!err)
		*out = b2f_frame_stamp_of(&st);
	return err;
}

static int stamp(struct b2f_store *store, enum b2f_stamp what,
		 struct b2f_frame_stamp *out)
{
	return store->ops->stamp
		       ? store->ops->stamp(store, what, out)
		       : b2f_store_identify(store, B2F_OBJECT_INDEX, out);
}

int b2f_store_stamp_index(struct b2f_store *store, struct b2f_frame_stamp *out)
{
	return stamp(store, B2F_STAMP_NOW, out);
}

int b2f_store_begin_index(struct b2f_store *store, struct b2f_frame_stamp *out)
{
	return stamp(store, B2F_STAMP_BEGIN, out);
}

int b2f_store_own_stamp(struct b2f_store *store, struct b2f_frame_stamp *out)
{
	return stamp(store, B2F_STAMP_OWN, out);
}

bool b2f_frame_stamp_is_coarse(const struct b2f_frame_stamp *stamp)
{
	return stamp->ctime_ns % SECOND_NS == 0;
}

bool b2f_frame_stamp_is_settled(const struct b2f_frame_stamp *stamp)
{
	struct timespec now;

	if (stamp->ctime_ns == 0)
		return true;
	clock_gettime(CLOCK_REALTIME, &now);
	/* Unlike an mtime, no program can set a ctime. */
	return in_ns(now) - stamp->ctime_ns >
	       (b2f_frame_stamp_is_coarse(stamp) ? COARSE_TICK_NS : TICK_NS);
}

bool b2f_frame_stamp_equal(const struct b2f_frame_stamp *a,
			   const struct b2f_frame_stamp *b)
{
	return b2f_frame_stamp_same_data(a, b, false) &&
	       a->ctime_ns == b->ctime_ns;
}

bool b2f_frame_stamp_same_data(const struct b2f_frame_stamp *a,
			       const struct b2f_frame_stamp *b, bool set_mtime)
{
	bool no_times = set_mtime || (a->ctime_ns == 0 && b->ctime_ns == 0);

	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       (no_times || a->mtime_ns == b->mtime_ns);
}

void b2f_chunk_name(int64_t id, char name[B2F_CHUNK_NAME_SIZE])
{
	snprintf(name, B2F_CHUNK_NAME_SIZE, "%08" PRIX32 ".chunk",
		 (uint32_t)(id & ~B2F_OBJECT_PENDING));
}
