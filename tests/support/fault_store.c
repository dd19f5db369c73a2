/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_store.c - operations of both kinds of store of a disk that fails */
#include "tests/support/fault_ops.h"

#include <stdlib.h>
#include <string.h>

int64_t fault_id_of(const struct fault_disk *disk, size_t file)
{
	for (size_t i = 0; i < disk->now.n; i++)
		if (disk->now.names[i].file == file)
			return disk->now.names[i].id;
	return INT64_MIN;
}

int fault_open(struct b2f_store *store, int64_t id,
	       struct b2f_object *out, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	size_t file;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = fault_begin(disk, FAULT_OPEN, id, why);
	file = fault_names_find_pending(&disk->now, id);
	if (!err && file == FAULT_NONE)
		err = b2f_why_set(
			why, id == B2F_OBJECT_INDEX ? -ENOENT : B2F_ECORRUPT,
			"the file is missing");
	if (!err)
		*out = (struct b2f_object){
			.store = store,
			.size = disk->files[file].now.size,
			.identity = b2f_frame_stamp_of(&disk->files[file].st),
			.fd = (int)file,
		};
	pthread_mutex_unlock(&disk->lock);
	return err;
}

int fault_read(const struct b2f_object *object, uint64_t off, void *buf,
	       size_t n, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(object->store);
	const struct fault_bytes *bytes;
	int err;

	pthread_mutex_lock(&disk->lock);
	bytes = &fault_file_of(object)->now;
	err = fault_begin(disk, FAULT_READ,
			  fault_id_of(disk, (size_t)object->fd), why);
	if (!err && (off > bytes->size || n > bytes->size - off))
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the file ends at byte %zu", bytes->size);
	if (!err && n)
		memcpy(buf, bytes->data + off, n);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

void fault_close(struct b2f_object *object)
{
	(void)object;
}

int fault_stat(struct b2f_store *store, int64_t id, struct stat *out)
{
	struct fault_disk *disk = fault_disk_of(store);
	size_t file;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = fault_begin(disk, FAULT_STAT, id, NULL);
	file = fault_names_find_pending(&disk->now, id);
	if (!err && file == FAULT_NONE)
		err = -ENOENT;
	if (!err)
		*out = disk->files[file].st;
	pthread_mutex_unlock(&disk->lock);
	return err;
}

bool fault_was_written(const struct b2f_object *object)
{
	struct fault_disk *disk = fault_disk_of(object->store);
	bool written;

	pthread_mutex_lock(&disk->lock);
	written = object->size && !disk->files[object->fd].unwritten;
	pthread_mutex_unlock(&disk->lock);
	return written;
}

static void unlock(struct b2f_store *store)
{
	struct fault_disk *disk = fault_disk_of(store);

	pthread_mutex_lock(&disk->lock);
	if (disk->writer == store)
		disk->writer = NULL;
	pthread_mutex_unlock(&disk->lock);
}

void fault_free(struct b2f_store *store)
{
	unlock(store);
	free(store);
}

int fault_clone(struct b2f_store *store, struct b2f_store **out,
		struct b2f_why *why)
{
	(void)why;
	*out = fault_disk_mount(fault_disk_of(store));
	return 0;
}

int fault_lock(struct b2f_store *store, bool on, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	int err;

	if (!on) {
		unlock(store);
		return 0;
	}
	pthread_mutex_lock(&disk->lock);
	err = fault_begin(disk, FAULT_LOCK, B2F_OBJECT_INDEX, why);
	if (!err && disk->writer && disk->writer != store)
		err = b2f_why_set(why, -EBUSY, "another one is writing to it");
	if (!err)
		disk->writer = store;
	if (!err && disk->single)
		fault_single_note(store, true);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

int fault_write(const struct b2f_object *object, uint64_t off,
		const void *buf, size_t n, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(object->store);
	uint64_t state;
	bool dead;
	int err;

	pthread_mutex_lock(&disk->lock);
	dead = disk->powerless;
	state = disk->nops;
	err = fault_begin_change(object->store, FAULT_WRITE,
			   fault_id_of(disk, (size_t)object->fd), why);
	if (!err)
		fault_put(disk, fault_file_of(object), off, buf, n);
	else if (!dead && err != -EPERM && n)
		fault_put(disk, fault_file_of(object), off, buf,
		    (size_t)(fault_random(&state) % n));
	if (disk->single)
		fault_single_note(object->store, false);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

struct b2f_store *fault_disk_mount(struct fault_disk *disk)
{
	struct fault_store *store = calloc(1, sizeof(*store));

	if (!store)
		abort();
	store->base = (struct b2f_store){.ops = &fault_sparse_ops,
					 .kind = B2F_STORE_SPARSE};
	if (disk->single)
		store->base = (struct b2f_store){.ops = &fault_single_ops};
	store->disk = disk;
	return &store->base;
}
