/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_sparse.c - a sparse frame on a disk that fails */
#include "tests/support/fault_ops.h"

#include <stdlib.h>

static int fault_look(const struct b2f_object *object,
		      struct b2f_frame_stamp *out)
{
	struct fault_disk *disk = fault_disk_of(object->store);

	pthread_mutex_lock(&disk->lock);
	*out = b2f_frame_stamp_of(&fault_file_of(object)->st);
	pthread_mutex_unlock(&disk->lock);
	return 0;
}

static int fault_create(struct b2f_store *store, int64_t id,
			struct b2f_object *out, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	size_t file, index;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = fault_begin_change(store, FAULT_CREATE, id, why);
	if (!err && fault_names_find_pending(&disk->now, id) != FAULT_NONE) {
		if (id == B2F_OBJECT_NEW_INDEX)
			fault_change(disk, FAULT_REMOVE, id, FAULT_NONE);
		else
			err = b2f_why_set(why, -EEXIST, "it exists");
	}
	if (!err) {
		index = fault_names_find(&disk->now, B2F_OBJECT_INDEX);
		file = fault_file_new(disk);
		if (index != FAULT_NONE)
			disk->files[file].st.st_mode =
				S_IFREG |
				(disk->files[index].st.st_mode & 0666);
		fault_change(disk, FAULT_CREATE, id, file);
		*out = (struct b2f_object){.store = store, .fd = (int)file};
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int fault_inherit(const struct b2f_object *object,
			 const struct timespec *mtime, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(object->store);
	struct fault_file *file;
	size_t index;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = fault_begin_change(object->store, FAULT_INHERIT,
			   fault_id_of(disk, (size_t)object->fd), why);
	file = fault_file_of(object);
	index = fault_names_find(&disk->now, B2F_OBJECT_INDEX);
	if (!err && index != FAULT_NONE) {
		file->st.st_mode = disk->files[index].st.st_mode;
		file->st.st_uid = disk->files[index].st.st_uid;
		file->st.st_gid = disk->files[index].st.st_gid;
		file->st.st_atim = disk->files[index].st.st_atim;
		file->st.st_mtim = disk->files[index].st.st_mtim;
	}
	if (!err && mtime)
		file->st.st_mtim = *mtime;
	if (!err)
		file->st.st_ctim = fault_now(disk);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/* Only the first failure is reported. */
static int settle_object(const struct b2f_object *object, enum b2f_settle how,
			 struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(object->store);
	enum fault_kind what = how == B2F_SETTLE_DURABLE ? FAULT_SYNC
							 : FAULT_WRITE_OUT;
	struct fault_file *file;
	bool dead;
	int err;

	if (how == B2F_SETTLE_SOON)
		return 0;
	pthread_mutex_lock(&disk->lock);
	dead = disk->powerless;
	file = fault_file_of(object);
	err = fault_begin(disk, what, fault_id_of(disk, (size_t)object->fd),
			  why);
	if (err && !dead && file->dirty)
		file->abandoned = true;
	else if (!err && what == FAULT_SYNC && !disk->ignore_sync &&
		 !file->abandoned)
		file->dirty = false;
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/* The file of @id gets or loses its chunk name; @id tells the new name. */
static int fault_name(struct b2f_store *store, int64_t id,
		      struct b2f_object *object, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	size_t file;
	int err;

	/* Files have names from the beginning. */
	(void)object;
	pthread_mutex_lock(&disk->lock);
	err = fault_begin_change(store, FAULT_NAME, id, why);
	file = fault_names_find(&disk->now, id ^ B2F_OBJECT_PENDING);
	if (!err && file == FAULT_NONE)
		err = b2f_why_set(why, -ENOENT, "there is no such file");
	if (!err && !(id & B2F_OBJECT_PENDING) &&
	    fault_names_find(&disk->now, id) != FAULT_NONE)
		err = b2f_why_set(why, -EEXIST, "it exists");
	if (!err) {
		fault_change(disk, FAULT_NAME, id, file);
		disk->files[file].st.st_ctim = fault_now(disk);
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int fault_install(struct b2f_store *store,
			 const struct b2f_install *what, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	size_t file;
	int err;

	(void)what;
	pthread_mutex_lock(&disk->lock);
	err = fault_begin_change(store, FAULT_INSTALL, B2F_OBJECT_NEW_INDEX, why);
	file = fault_names_find(&disk->now, B2F_OBJECT_NEW_INDEX);
	if (!err && file == FAULT_NONE)
		err = b2f_why_set(why, -ENOENT, "there is no new index");
	if (!err) {
		fault_change(disk, FAULT_INSTALL, B2F_OBJECT_INDEX, file);
		disk->files[file].st.st_ctim = fault_now(disk);
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int sync_index(struct b2f_store *store, struct b2f_why *why)
{
	struct b2f_object object = {.fd = -1};
	int err = b2f_object_open(store, B2F_OBJECT_INDEX, &object, why);

	if (!err)
		err = b2f_object_sync(&object, why);
	b2f_object_close(&object);
	return err;
}

static int fault_settle(struct b2f_store *store,
			const struct b2f_object *object, enum b2f_settle how,
			struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	int err;

	if (object)
		return settle_object(object, how, why);
	if (how != B2F_SETTLE_NAMES)
		return sync_index(store, why);
	pthread_mutex_lock(&disk->lock);
	err = fault_begin(disk, FAULT_SYNC_NAMES, B2F_OBJECT_INDEX, why);
	if (!err && !disk->ignore_sync) {
		disk->durable.n = 0;
		for (size_t i = 0; i < disk->now.n; i++)
			fault_names_set(&disk->durable, disk->now.names[i].id,
					disk->now.names[i].file);
		disk->nchanges = 0;
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int fault_remove(struct b2f_store *store, const uint64_t *ids, size_t n,
			const struct b2f_range *range, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	int err = 0;

	(void)range;
	pthread_mutex_lock(&disk->lock);
	for (size_t i = 0; i < n && !err; i++) {
		int64_t id = (int64_t)ids[i];

		err = fault_begin_change(store, FAULT_REMOVE, id, why);
		if (!err && fault_names_find(&disk->now, id) != FAULT_NONE)
			fault_change(disk, FAULT_REMOVE, id, FAULT_NONE);
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int fault_list(struct b2f_store *store,
		      int (*fn)(void *arg, int64_t id), void *arg)
{
	struct fault_disk *disk = fault_disk_of(store);
	int64_t *ids;
	size_t n = 0;
	int err;

	/* @fn may call this store, so it runs without the lock. */
	pthread_mutex_lock(&disk->lock);
	err = fault_begin(disk, FAULT_LIST, B2F_OBJECT_INDEX, NULL);
	ids = calloc(disk->now.n + 1, sizeof(*ids));
	if (!ids)
		abort();
	for (size_t i = 0; i < disk->now.n; i++)
		if (disk->now.names[i].id != B2F_OBJECT_INDEX)
			ids[n++] = disk->now.names[i].id;
	pthread_mutex_unlock(&disk->lock);
	for (size_t i = 0; !err && i < n; i++)
		err = fn(arg, ids[i]);
	free(ids);
	return err;
}

static const struct b2f_store_write_ops fault_write_ops = {
	.lock = fault_lock,
	.create = fault_create,
	.write = fault_write,
	.inherit = fault_inherit,
	.settle = fault_settle,
	.name = fault_name,
	.install = fault_install,
	.remove = fault_remove,
	.list = fault_list,
};

const struct b2f_store_ops fault_sparse_ops = {
	.open = fault_open,
	.read = fault_read,
	.was_written = fault_was_written,
	.close = fault_close,
	.look = fault_look,
	.stat = fault_stat,
	.free = fault_free,
	.clone = fault_clone,
	.write = &fault_write_ops,
};
