/* SPDX-License-Identifier: BSD-3-Clause */
/* write.c - changing a store, where that is possible */
#include "store/write.h"

static int read_only(struct b2f_why *why)
{
	return b2f_why_set(why, -EROFS,
			   "it is stored where nothing can be written");
}

int b2f_store_lock(struct b2f_store *store, struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops ? ops->lock(store, true, why) : read_only(why);
}

void b2f_store_unlock(struct b2f_store *store)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	if (ops)
		(void)!ops->lock(store, false, NULL);
}

int b2f_object_create(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = store->ops->write;
	struct b2f_range range = {0};
	int err;

	if (!ops)
		return read_only(why);
	if (!b2f_store_is_sparse(store) &&
	    !b2f_ranges_get(store->ranges, (uint64_t)id & ~B2F_OBJECT_PENDING,
			    &range))
		return b2f_why_set(why, -EINVAL, "no such range");
	err = ops->create(store, id, out, why);
	if (!err && !b2f_store_is_sparse(store)) {
		out->base = range.off;
		out->size = range.size;
	}
	return err;
}

int b2f_object_publish(struct b2f_object *object, int64_t id,
		       struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = object->store->ops->write;

	return object->unnamed ? ops->name(object->store, id, object, why) : 0;
}

int b2f_object_write(const struct b2f_object *object, uint64_t off,
		     const void *buf, size_t n, struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = object->store->ops->write;

	return ops ? ops->write(object, object->base + off, buf, n, why)
		   : read_only(why);
}

int b2f_object_inherit(const struct b2f_object *object,
		       const struct timespec *mtime, struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = object->store->ops->write;

	return ops && ops->inherit ? ops->inherit(object, mtime, why)
				   : read_only(why);
}

int b2f_object_settle(const struct b2f_object *object, enum b2f_settle how,
		      struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = object->store->ops->write;

	return ops ? ops->settle(object->store, object, how, why)
		   : read_only(why);
}

int b2f_store_write_chunk(struct b2f_store *store, int64_t id,
			  const void *bytes, size_t size, bool durable,
			  struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	bool unnamed;
	int err;

	/* Without unnamed files it has the name of a leftover until then. */
	err = b2f_object_create(store, id | B2F_OBJECT_PENDING, &object, why);
	if (err)
		return err;
	unnamed = object.unnamed;
	err = b2f_object_write(&object, 0, bytes, size, why);
	if (!err)
		err = b2f_object_settle(&object, b2f_settle_of(durable), why);
	if (!err)
		err = unnamed ? b2f_object_publish(&object, id, why)
			      : b2f_store_name(store, id, why);
	b2f_object_close(&object);
	if (err && !unnamed)
		(void)!b2f_store_remove(store, id | B2F_OBJECT_PENDING, NULL);
	return err;
}

int b2f_store_name(struct b2f_store *store, int64_t id, struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops && ops->name ? ops->name(store, id, NULL, why)
				: read_only(why);
}

int b2f_store_write_index(struct b2f_store *store, const void *index,
			  size_t size, const struct timespec *mtime,
			  struct b2f_object *out, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err = b2f_object_create(store, B2F_OBJECT_NEW_INDEX, &object, why);

	if (err)
		return err;
	err = b2f_object_write(&object, 0, index, size, why);
	if (!err)
		err = b2f_object_inherit(&object, mtime, why);
	if (!err)
		err = b2f_object_settle(&object, B2F_SETTLE_ORDER, why);
	if (err)
		b2f_object_close(&object);
	else
		*out = object;
	return err;
}

int b2f_store_install(struct b2f_store *store, const struct b2f_install *what,
		      struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops && ops->install ? ops->install(store, what, why)
				   : read_only(why);
}

int b2f_store_first_id(struct b2f_store *store, uint64_t *id,
		       struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops && ops->first_id ? ops->first_id(store, id, why) : 0;
}

/* Until the cut the file is sound, but longer than its frame. */
static int replace_file(struct b2f_store *store, const void *frame, size_t size,
			const struct timespec *mtime, struct b2f_why *why)
{
	int err = b2f_store_put_head(store, frame, size, mtime, why);

	if (!err)
		err = b2f_store_cut(store, size, why);
	return err ? err : b2f_store_sync_index(store, why);
}

int b2f_store_replace_index(struct b2f_store *store, const void *index,
			    size_t size, const struct timespec *mtime,
			    struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err;

	if (!b2f_store_is_sparse(store))
		return replace_file(store, index, size, mtime, why);
	err = b2f_store_write_index(store, index, size, mtime, &object, why);
	if (!err)
		err = b2f_object_sync(&object, why);
	b2f_object_close(&object);
	if (!err)
		err = b2f_store_install(store, NULL, why);
	return err ? err : b2f_store_sync_names(store, why);
}

/* Settles the index or the names, for which no object is open. */
static int settle(struct b2f_store *store, enum b2f_settle how,
		  struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops ? ops->settle(store, NULL, how, why) : read_only(why);
}

int b2f_store_sync_index(struct b2f_store *store, struct b2f_why *why)
{
	return settle(store, B2F_SETTLE_DURABLE, why);
}

int b2f_store_sync_names(struct b2f_store *store, struct b2f_why *why)
{
	return settle(store, B2F_SETTLE_NAMES, why);
}

static void give_back(struct b2f_store *store, uint64_t id)
{
	struct b2f_range range;

	/* First of all: the range may be taken again at once. */
	if (b2f_ranges_get_own(store->ranges, id, &range) &&
	    !b2f_ranges_is_last(store->ranges, id))
		(void)!store->ops->write->remove(store, NULL, 0, &range, NULL);
	b2f_ranges_give_back(store->ranges, id);
}

int b2f_store_give_back(struct b2f_store *store, const uint64_t *ids, size_t n,
			struct b2f_why *why)
{
	int err;

	if (!store->ops->write)
		return read_only(why);
	err = b2f_ranges_check(store->ranges, ids, n);
	if (err == -EINVAL)
		return b2f_why_set(why, err,
				   "bytes that are in use would be given back");
	for (size_t i = 0; i < n && !err; i++)
		give_back(store, ids[i]);
	return err;
}

int b2f_store_remove(struct b2f_store *store, int64_t id, struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = store->ops->write;
	const uint64_t object = (uint64_t)id, range = object & ~B2F_OBJECT_PENDING;

	if (!b2f_store_is_sparse(store))
		return b2f_store_give_back(store, &range, 1, why);
	return ops ? ops->remove(store, &object, 1, NULL, why) : read_only(why);
}

bool b2f_store_is_due(struct b2f_store *store)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops && ops->is_due && ops->is_due(store);
}

int b2f_store_sweep(struct b2f_store *store, const uint64_t *ids, size_t n)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops ? ops->remove(store, ids, n, NULL, NULL) : -EROFS;
}

int b2f_store_list(struct b2f_store *store, int (*fn)(void *arg, int64_t id),
		   void *arg)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops && ops->list ? ops->list(store, fn, arg) : -EROFS;
}

int b2f_store_put_head(struct b2f_store *store, const void *head, size_t n,
		       const struct timespec *mtime, struct b2f_why *why)
{
	const struct b2f_install what = {
		.head = head, .nhead = n, .mtime = mtime};

	return b2f_store_install(store, &what, why);
}

int b2f_store_cut(struct b2f_store *store, uint64_t off, struct b2f_why *why)
{
	const struct b2f_store_write_ops *ops = store->ops->write;
	const struct b2f_range rest = {.off = off, .size = UINT64_MAX};

	return ops ? ops->remove(store, NULL, 0, &rest, why) : read_only(why);
}

int b2f_store_has_changed(struct b2f_store *store)
{
	const struct b2f_store_write_ops *ops = store->ops->write;

	return ops && ops->has_changed ? ops->has_changed(store) : -EROFS;
}
