/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_single.c - a contiguous frame on a disk that fails */
#include "tests/support/fault_ops.h"

#include <string.h>

/* The one file of a contiguous frame. */
static struct fault_file *single_of(struct fault_disk *disk)
{
	return &disk->files[fault_names_find(&disk->now, B2F_OBJECT_INDEX)];
}

void fault_single_note(struct b2f_store *store, bool keep_mtime)
{
	struct fault_store *fault = (struct fault_store *)store;
	const struct fault_file *file = single_of(fault->disk);

	fault->own = b2f_frame_stamp_of(&file->st);
	if (keep_mtime)
		fault->mtime = file->st.st_mtim;
}

/* A chunk of a contiguous frame is a range of its file. */
static int single_create(struct b2f_store *store, int64_t id,
			 struct b2f_object *out, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = fault_begin_change(store, FAULT_CREATE, id, why);
	if (!err)
		*out = (struct b2f_object){
			.store = store,
			.fd = (int)fault_names_find(&disk->now,
						    B2F_OBJECT_INDEX)};
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static bool page_differs(const struct fault_file *file, size_t page)
{
	size_t at = page * FAULT_PAGE, end = at + FAULT_PAGE;

	for (; at < end && at < file->now.size; at++)
		if (at >= file->durable.size ||
		    file->now.data[at] != file->durable.data[at])
			return true;
	return false;
}

/* All pages become durable except lost ones, or, if the sync failed, none. */
static void sync_pages(struct fault_file *file, bool failed)
{
	size_t npages = (file->now.size + FAULT_PAGE - 1) / FAULT_PAGE;
	bool all = true;

	fault_bytes_resize(&file->lost, npages);
	if (!failed)
		fault_bytes_resize(&file->durable, file->now.size);
	for (size_t page = 0; page < npages; page++) {
		size_t at = page * FAULT_PAGE, n = file->now.size - at;

		if (failed && page_differs(file, page))
			file->lost.data[page] = 1;
		all &= !file->lost.data[page];
		if (!failed && !file->lost.data[page])
			memcpy(file->durable.data + at, file->now.data + at,
			       n < FAULT_PAGE ? n : FAULT_PAGE);
	}
	file->dirty = failed || !all;
	file->ordered = false;
}

static int single_sync(const struct b2f_object *object, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(object->store);
	struct fault_file *file = single_of(disk);
	bool dead;
	int err;

	pthread_mutex_lock(&disk->lock);
	dead = disk->powerless;
	err = fault_begin(disk, FAULT_SYNC, B2F_OBJECT_INDEX, why);
	if (!dead && !disk->powerless && file->dirty &&
	    (err || !disk->ignore_sync))
		sync_pages(file, err != 0);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/* Later bytes reach the disk only after all bytes written so far. */
static int single_write_out(const struct b2f_object *object,
			    struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(object->store);
	struct fault_file *file = single_of(disk);
	bool dead;
	int err;

	pthread_mutex_lock(&disk->lock);
	dead = disk->powerless;
	err = fault_begin(disk, FAULT_WRITE_OUT, B2F_OBJECT_INDEX, why);
	if (err && !dead && file->dirty) {
		sync_pages(file, true);
	} else if (!err && file->dirty) {
		if (file->ordered)
			fault_bytes_copy(&file->durable, &file->out);
		fault_bytes_copy(&file->out, &file->now);
		file->ordered = true;
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int single_settle(struct b2f_store *store,
			 const struct b2f_object *object, enum b2f_settle how,
			 struct b2f_why *why)
{
	const struct b2f_object file = {.store = store};

	if (how == B2F_SETTLE_SOON)
		return 0;
	return object && how == B2F_SETTLE_ORDER ? single_write_out(object, why)
						 : single_sync(&file, why);
}

static int single_inherit(const struct b2f_object *object,
			  const struct timespec *mtime, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(object->store);

	(void)why;
	pthread_mutex_lock(&disk->lock);
	if (mtime)
		single_of(disk)->st.st_mtim = *mtime;
	fault_single_note(object->store, true);
	pthread_mutex_unlock(&disk->lock);
	return 0;
}

static int single_install(struct b2f_store *store,
			  const struct b2f_install *what, struct b2f_why *why)
{
	struct fault_store *fault = (struct fault_store *)store;
	struct fault_disk *disk = fault->disk;
	struct fault_file *file = single_of(disk);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = fault_begin_change(store, FAULT_INSTALL, B2F_OBJECT_INDEX, why);
	if (!err) {
		fault_put(disk, file, 0, what->head, what->nhead);
		file->st.st_mtim = what->mtime ? *what->mtime : fault->mtime;
		fault_single_note(store, true);
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/* A hole becomes durable at once, or at any later time. */
static void single_punch(struct b2f_store *store, uint64_t off, uint64_t size)
{
	struct fault_disk *disk = fault_disk_of(store);
	struct fault_file *file = single_of(disk);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = fault_begin_change(store, FAULT_REMOVE, B2F_OBJECT_INDEX, NULL);
	if (!err && off < file->now.size) {
		fault_make_dirty(file);
		if (size > file->now.size - off)
			size = file->now.size - off;
		memset(file->now.data + off, 0, size);
		file->st.st_ctim = fault_now(disk);
		fault_single_note(store, false);
	}
	pthread_mutex_unlock(&disk->lock);
}

static int single_remove(struct b2f_store *store, const uint64_t *ids, size_t n,
			 const struct b2f_range *range, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);
	struct fault_file *file = single_of(disk);
	int err;

	(void)ids;
	(void)n;
	if (range->size != UINT64_MAX) {
		single_punch(store, range->off, range->size);
		return 0;
	}
	pthread_mutex_lock(&disk->lock);
	err = fault_begin_change(store, FAULT_REMOVE, B2F_OBJECT_INDEX, why);
	if (!err) {
		fault_make_dirty(file);
		fault_bytes_resize(&file->now, (size_t)range->off);
		fault_file_resized(file);
		file->st.st_ctim = fault_now(disk);
		fault_single_note(store, false);
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int single_stamp(struct b2f_store *store, enum b2f_stamp what,
			struct b2f_frame_stamp *out)
{
	struct fault_store *fault = (struct fault_store *)store;

	if (what != B2F_STAMP_OWN)
		return b2f_store_identify(store, B2F_OBJECT_INDEX, out);
	pthread_mutex_lock(&fault->disk->lock);
	*out = fault->own;
	pthread_mutex_unlock(&fault->disk->lock);
	return 0;
}

static int single_has_changed(struct b2f_store *store)
{
	struct fault_store *fault = (struct fault_store *)store;
	struct b2f_frame_stamp now;
	int ret;

	pthread_mutex_lock(&fault->disk->lock);
	now = b2f_frame_stamp_of(&single_of(fault->disk)->st);
	ret = !b2f_frame_stamp_same_data(&now, &fault->own, false);
	pthread_mutex_unlock(&fault->disk->lock);
	return ret;
}

static const struct b2f_store_write_ops single_write_ops = {
	.lock = fault_lock,
	.create = single_create,
	.write = fault_write,
	.settle = single_settle,
	.inherit = single_inherit,
	.install = single_install,
	.remove = single_remove,
	.has_changed = single_has_changed,
};

const struct b2f_store_ops fault_single_ops = {
	.open = fault_open,
	.read = fault_read,
	.was_written = fault_was_written,
	.close = fault_close,
	.stat = fault_stat,
	.stamp = single_stamp,
	.free = fault_free,
	.clone = fault_clone,
	.write = &single_write_ops,
};
