/* SPDX-License-Identifier: BSD-3-Clause */
/* extent.c - a part of a file as the store of a contiguous frame */
#include "store/extent.h"

#include <stdlib.h>

#include "base/checked.h"

struct extent {
	struct b2f_store base;
	struct b2f_store *whole;
	uint64_t off;
	uint64_t size;
};

static struct extent *extent_of(struct b2f_store *store)
{
	return (struct extent *)store;
}

static int extent_open(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why)
{
	struct extent *extent = extent_of(store);
	struct b2f_object object = {.fd = -1};
	int err;

	extent->whole->quiet = store->quiet;
	err = extent->whole->ops->open(extent->whole, id, &object, why);
	if (err)
		return err;
	if (!b2f_range_fits(extent->off, extent->size, object.size)) {
		b2f_object_close(&object);
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the file ends before byte %llu",
				   (unsigned long long)(extent->off +
							extent->size));
	}
	object.store = store;
	object.size = extent->size;
	*out = object;
	return 0;
}

/* The object in the whole store, cut at the end of the part. */
static struct b2f_object in_whole(const struct b2f_object *object)
{
	const struct extent *extent = extent_of(object->store);
	struct b2f_object inner = *object;

	inner.store = extent->whole;
	inner.size = extent->off + extent->size;
	return inner;
}

static int extent_read(const struct b2f_object *object, uint64_t off, void *buf,
		      size_t n, struct b2f_why *why)
{
	const struct extent *extent = extent_of(object->store);
	const struct b2f_object inner = in_whole(object);

	if (!b2f_range_fits(off, n, extent->size))
		return b2f_why_set(why, B2F_ECORRUPT,
				   "its part of the file ends at byte %llu",
				   (unsigned long long)extent->size);
	return inner.store->ops->read(&inner, extent->off + off, buf, n, why);
}

static void extent_expect(const struct b2f_object *object, uint64_t off,
			  uint64_t n)
{
	const struct extent *extent = extent_of(object->store);
	const struct b2f_object inner = in_whole(object);

	if (inner.store->ops->expect)
		inner.store->ops->expect(&inner, extent->off + off, n);
}

static void extent_close(struct b2f_object *object)
{
	struct b2f_object inner = in_whole(object);

	b2f_object_close(&inner);
}

static int extent_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	(void)id;
	return b2f_store_stat_index(extent_of(store)->whole, out);
}

static void extent_free(struct b2f_store *store)
{
	b2f_store_free(extent_of(store)->whole);
	free(store);
}

static int extent_clone(struct b2f_store *store, struct b2f_store **out,
		       struct b2f_why *why)
{
	const struct extent *extent = extent_of(store);

	return b2f_extent_new(extent->whole, extent->off, extent->size, out, why);
}

static const struct b2f_store_ops extent_ops = {
	.open = extent_open,
	.read = extent_read,
	.close = extent_close,
	.expect = extent_expect,
	.stat = extent_stat,
	.free = extent_free,
	.clone = extent_clone,
};

int b2f_extent_new(struct b2f_store *whole, uint64_t off, uint64_t size,
		  struct b2f_store **out, struct b2f_why *why)
{
	struct extent *extent;
	int err;

	if (size > UINT64_MAX - off)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a part of a file that has no end");
	extent = calloc(1, sizeof(*extent));
	if (!extent)
		return -ENOMEM;
	err = b2f_store_clone(whole, &extent->whole, why);
	if (err) {
		free(extent);
		return err;
	}
	extent->base.ops = &extent_ops;
	extent->off = off;
	extent->size = size;
	*out = &extent->base;
	return 0;
}
