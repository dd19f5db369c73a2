/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_store.c - the store of a disk that fails */
#include "tests/support/fault_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/files.h"
#include "tests/support/fault_disk.h"

struct fault_store {
	struct b2f_store base;
	struct fault_disk *disk;
	/* Of a contiguous frame: the file after the last change by the store. */
	struct b2f_frame_stamp own;
	struct timespec mtime;
};

static struct fault_disk *disk_of(const struct b2f_store *store)
{
	return ((const struct fault_store *)store)->disk;
}

static struct fault_file *file_of(const struct b2f_object *object)
{
	return &disk_of(object->store)->files[object->fd];
}

/* The name of an open file, for the record. */
static int64_t id_of(const struct fault_disk *disk, size_t file)
{
	for (size_t i = 0; i < disk->now.n; i++)
		if (disk->now.names[i].file == file)
			return disk->now.names[i].id;
	return INT64_MIN;
}

static bool is_planned(struct fault_disk *disk, uint64_t number,
		       enum fault_kind kind)
{
	struct fault_plan *plan = &disk->plan;
	unsigned int kinds = plan->kinds ? plan->kinds : FAULT_ALL;

	return plan->err && number >= plan->at && (kinds & kind);
}

/* Begins an operation, with the lock held.  Returns 0, or how it fails. */
static int begin(struct fault_disk *disk, enum fault_kind kind, int64_t id,
		 struct b2f_why *why)
{
	uint64_t number = disk->nops;
	int err;

	if (disk->powerless)
		return b2f_why_set(why, -EIO, "the disk has no power");
	if (!(disk->counted & kind))
		return 0;
	disk->ops = fault_grow(disk->ops, disk->nops, &disk->ops_cap,
			       sizeof(*disk->ops));
	disk->ops[disk->nops++] = (struct fault_op){kind, id};
	if (number >= disk->power_until) {
		disk->powerless = true;
		return b2f_why_set(why, -EIO, "the disk loses power");
	}
	if (!is_planned(disk, number, kind))
		return 0;
	err = disk->plan.err;
	if (!disk->plan.onwards)
		disk->plan.err = 0;
	return b2f_why_set(why, -err, "planned: %s", strerror(err));
}

/* The same for what only the writer may do. */
static int begin_change(struct b2f_store *store, enum fault_kind kind,
			int64_t id, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);

	if (disk->writer != store)
		return b2f_why_set(why, -EPERM, "the store is not locked");
	return begin(disk, kind, id, why);
}

static int fault_open(struct b2f_store *store, int64_t id,
		      struct b2f_object *out, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	size_t file;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin(disk, FAULT_OPEN, id, why);
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

static int fault_read(const struct b2f_object *object, uint64_t off, void *buf,
		      size_t n, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(object->store);
	const struct fault_bytes *bytes;
	int err;

	pthread_mutex_lock(&disk->lock);
	bytes = &file_of(object)->now;
	err = begin(disk, FAULT_READ, id_of(disk, (size_t)object->fd), why);
	if (!err && (off > bytes->size || n > bytes->size - off))
		err = b2f_why_set(why, B2F_ECORRUPT,
				  "the file ends at byte %zu", bytes->size);
	if (!err && n)
		memcpy(buf, bytes->data + off, n);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int fault_look(const struct b2f_object *object,
		      struct b2f_frame_stamp *out)
{
	struct fault_disk *disk = disk_of(object->store);

	pthread_mutex_lock(&disk->lock);
	*out = b2f_frame_stamp_of(&file_of(object)->st);
	pthread_mutex_unlock(&disk->lock);
	return 0;
}

static void fault_close(struct b2f_object *object)
{
	(void)object;
}

static int stat_locked(struct fault_disk *disk, int64_t id, struct stat *out)
{
	size_t file = fault_names_find_pending(&disk->now, id);
	int err = begin(disk, FAULT_STAT, id, NULL);

	if (!err && file == FAULT_NONE)
		err = -ENOENT;
	if (!err)
		*out = disk->files[file].st;
	return err;
}

static int fault_stat_index(struct b2f_store *store, struct stat *out)
{
	struct fault_disk *disk = disk_of(store);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = stat_locked(disk, B2F_OBJECT_INDEX, out);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static void fault_free(struct b2f_store *store)
{
	struct fault_disk *disk = disk_of(store);

	pthread_mutex_lock(&disk->lock);
	if (disk->writer == store)
		disk->writer = NULL;
	pthread_mutex_unlock(&disk->lock);
	free(store);
}

static int fault_clone(struct b2f_store *store, struct b2f_store **out,
		       struct b2f_why *why)
{
	(void)why;
	*out = fault_disk_mount(disk_of(store));
	return 0;
}

/* The one file of a contiguous frame. */
static struct fault_file *single_of(struct fault_disk *disk)
{
	return &disk->files[fault_names_find(&disk->now, B2F_OBJECT_INDEX)];
}

/* Notes what the file is now; its mtime too, if that is the one to keep. */
static void note_own(struct b2f_store *store, bool keep_mtime)
{
	struct fault_store *fault = (struct fault_store *)store;
	const struct fault_file *file = single_of(fault->disk);

	fault->own = b2f_frame_stamp_of(&file->st);
	if (keep_mtime)
		fault->mtime = file->st.st_mtim;
}

static int fault_lock(struct b2f_store *store, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin(disk, FAULT_LOCK, B2F_OBJECT_INDEX, why);
	if (!err && disk->writer && disk->writer != store)
		err = b2f_why_set(why, -EBUSY, "another one is writing to it");
	if (!err)
		disk->writer = store;
	if (!err && disk->single)
		note_own(store, true);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int fault_create(struct b2f_store *store, int64_t id,
			struct b2f_object *out, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	size_t file, index;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(store, FAULT_CREATE, id, why);
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

/* A chunk of a contiguous frame is a range of its file. */
static int single_create(struct b2f_store *store, int64_t id,
			 struct b2f_object *out, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(store, FAULT_CREATE, id, why);
	if (!err)
		*out = (struct b2f_object){
			.store = store,
			.fd = (int)fault_names_find(&disk->now,
						    B2F_OBJECT_INDEX)};
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/* Before the first change since a sync, keeps what is durable. */
static void make_dirty(struct fault_file *file)
{
	if (file->dirty)
		return;
	file->dirty = true;
	fault_bytes_resize(&file->durable, file->now.size);
	if (file->now.size)
		memcpy(file->durable.data, file->now.data, file->now.size);
}

static void put(struct fault_disk *disk, struct fault_file *file, uint64_t off,
		const void *buf, size_t n)
{
	if (n == 0)
		return;
	make_dirty(file);
	if (off + n > file->now.size)
		fault_bytes_resize(&file->now, (size_t)off + n);
	memcpy(file->now.data + off, buf, n);
	/* The kernel writes these pages again. */
	for (size_t page = off / FAULT_PAGE;
	     page <= (off + n - 1) / FAULT_PAGE && page < file->lost.size;
	     page++)
		file->lost.data[page] = 0;
	fault_file_resized(file);
	file->st.st_mtim = file->st.st_ctim = fault_now(disk);
}

static int fault_write(const struct b2f_object *object, uint64_t off,
		       const void *buf, size_t n, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(object->store);
	uint64_t state;
	bool dead;
	int err;

	pthread_mutex_lock(&disk->lock);
	dead = disk->powerless;
	state = disk->nops;
	err = begin_change(object->store, FAULT_WRITE,
			   id_of(disk, (size_t)object->fd), why);
	if (!err)
		put(disk, file_of(object), off, buf, n);
	else if (!dead && err != -EPERM && n)
		put(disk, file_of(object), off, buf,
		    (size_t)(fault_random(&state) % n));
	if (disk->single)
		note_own(object->store, false);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int fault_inherit(const struct b2f_object *object,
			 const struct timespec *mtime, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(object->store);
	struct fault_file *file;
	size_t index;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(object->store, FAULT_INHERIT,
			   id_of(disk, (size_t)object->fd), why);
	file = file_of(object);
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

static bool page_differs(const struct fault_file *file, size_t page)
{
	size_t at = page * FAULT_PAGE, end = at + FAULT_PAGE;

	for (; at < end && at < file->now.size; at++)
		if (at >= file->durable.size ||
		    file->now.data[at] != file->durable.data[at])
			return true;
	return false;
}

/* All pages get durable but those that are lost, or not one of them. */
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
	struct fault_disk *disk = disk_of(object->store);
	struct fault_file *file = single_of(disk);
	bool dead;
	int err;

	pthread_mutex_lock(&disk->lock);
	dead = disk->powerless;
	err = begin(disk, FAULT_SYNC, B2F_OBJECT_INDEX, why);
	if (!dead && !disk->powerless && file->dirty &&
	    (err || !disk->ignore_sync))
		sync_pages(file, err != 0);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static void copy(struct fault_bytes *to, const struct fault_bytes *from)
{
	fault_bytes_resize(to, from->size);
	memcpy(to->data, from->data, from->size);
}

/* What was written out before is on disk by now, or nothing later is. */
static void single_write_out(const struct b2f_object *object)
{
	struct fault_disk *disk = disk_of(object->store);
	struct fault_file *file = single_of(disk);

	pthread_mutex_lock(&disk->lock);
	if (!disk->powerless && file->dirty) {
		if (file->ordered)
			copy(&file->durable, &file->out);
		copy(&file->out, &file->now);
		file->ordered = true;
	}
	pthread_mutex_unlock(&disk->lock);
}

static int single_sync_index(struct b2f_store *store, struct b2f_why *why)
{
	const struct b2f_object object = {.store = store};

	return single_sync(&object, why);
}

static int single_sync_names(struct b2f_store *store, struct b2f_why *why)
{
	(void)store;
	(void)why;
	return 0;
}

static int single_put_head(struct b2f_store *store, const void *head, size_t n,
			   const struct timespec *mtime, struct b2f_why *why)
{
	struct fault_store *fault = (struct fault_store *)store;
	struct fault_disk *disk = fault->disk;
	struct fault_file *file = single_of(disk);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(store, FAULT_INSTALL, B2F_OBJECT_INDEX, why);
	if (!err) {
		put(disk, file, 0, head, n);
		file->st.st_mtim = mtime ? *mtime : fault->mtime;
		note_own(store, true);
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/* A hole appears at once, or when it likes to. */
static void single_punch(struct b2f_store *store, uint64_t off, uint64_t size)
{
	struct fault_disk *disk = disk_of(store);
	struct fault_file *file = single_of(disk);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(store, FAULT_REMOVE, B2F_OBJECT_INDEX, NULL);
	if (!err && off < file->now.size) {
		make_dirty(file);
		if (size > file->now.size - off)
			size = file->now.size - off;
		memset(file->now.data + off, 0, size);
		file->st.st_ctim = fault_now(disk);
		note_own(store, false);
	}
	pthread_mutex_unlock(&disk->lock);
}

static int single_cut(struct b2f_store *store, uint64_t size,
		      struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	struct fault_file *file = single_of(disk);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(store, FAULT_REMOVE, B2F_OBJECT_INDEX, why);
	if (!err) {
		make_dirty(file);
		fault_bytes_resize(&file->now, (size_t)size);
		fault_file_resized(file);
		file->st.st_ctim = fault_now(disk);
		note_own(store, false);
	}
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int single_own_stamp(struct b2f_store *store,
			    struct b2f_frame_stamp *out)
{
	struct fault_store *fault = (struct fault_store *)store;

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

static int fault_sync(const struct b2f_object *object, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(object->store);
	struct fault_file *file;
	bool dead;
	int err;

	pthread_mutex_lock(&disk->lock);
	dead = disk->powerless;
	file = file_of(object);
	err = begin(disk, FAULT_SYNC, id_of(disk, (size_t)object->fd), why);
	if (err && !dead && file->dirty)
		file->abandoned = true;
	else if (!err && !disk->ignore_sync && !file->abandoned)
		file->dirty = false;
	pthread_mutex_unlock(&disk->lock);
	return err;
}

/* The file of @id gets, or loses, its name: @id says which it is to have. */
static int fault_rename(struct b2f_store *store, int64_t id,
			struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	size_t file;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(store, FAULT_NAME, id, why);
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

static int fault_show(struct b2f_store *store, int64_t id, struct b2f_why *why)
{
	return fault_rename(store, id & ~B2F_OBJECT_PENDING, why);
}

static int fault_hide(struct b2f_store *store, int64_t id, struct b2f_why *why)
{
	return fault_rename(store, id | B2F_OBJECT_PENDING, why);
}

static int fault_install(struct b2f_store *store, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	size_t file;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(store, FAULT_INSTALL, B2F_OBJECT_NEW_INDEX, why);
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

static int fault_sync_names(struct b2f_store *store, struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin(disk, FAULT_SYNC_NAMES, B2F_OBJECT_INDEX, why);
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

static int fault_remove(struct b2f_store *store, int64_t id,
			struct b2f_why *why)
{
	struct fault_disk *disk = disk_of(store);
	int err;

	pthread_mutex_lock(&disk->lock);
	err = begin_change(store, FAULT_REMOVE, id, why);
	if (!err && fault_names_find(&disk->now, id) != FAULT_NONE)
		fault_change(disk, FAULT_REMOVE, id, FAULT_NONE);
	pthread_mutex_unlock(&disk->lock);
	return err;
}

static int fault_identify(struct b2f_store *store, int64_t id,
			  struct b2f_frame_stamp *out)
{
	struct fault_disk *disk = disk_of(store);
	struct stat st;
	int err;

	pthread_mutex_lock(&disk->lock);
	err = stat_locked(disk, id, &st);
	pthread_mutex_unlock(&disk->lock);
	if (!err)
		*out = b2f_frame_stamp_of(&st);
	return err;
}

static int fault_list(struct b2f_store *store, int (*fn)(void *arg, int64_t id),
		      void *arg)
{
	struct fault_disk *disk = disk_of(store);
	int64_t *ids;
	size_t n = 0;
	int err;

	/* @fn may call us. */
	pthread_mutex_lock(&disk->lock);
	err = begin(disk, FAULT_LIST, B2F_OBJECT_INDEX, NULL);
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
	.sync = fault_sync,
	.show = fault_show,
	.hide = fault_hide,
	.install = fault_install,
	.sync_names = fault_sync_names,
	.remove = fault_remove,
	.identify = fault_identify,
	.list = fault_list,
};

static const struct b2f_store_write_ops single_write_ops = {
	.lock = fault_lock,
	.create = single_create,
	.write = fault_write,
	.write_out = single_write_out,
	.sync = single_sync,
	.sync_index = single_sync_index,
	.sync_names = single_sync_names,
	.identify = fault_identify,
	.list = fault_list,
	.punch = single_punch,
	.put_head = single_put_head,
	.cut = single_cut,
	.own_stamp = single_own_stamp,
	.has_changed = single_has_changed,
};

static const struct b2f_store_ops single_ops = {
	.open = fault_open,
	.read = fault_read,
	.close = fault_close,
	.stat_index = fault_stat_index,
	.free = fault_free,
	.clone = fault_clone,
	.write = &single_write_ops,
};

static const struct b2f_store_ops fault_ops = {
	.open = fault_open,
	.read = fault_read,
	.close = fault_close,
	.look = fault_look,
	.stat_index = fault_stat_index,
	.free = fault_free,
	.clone = fault_clone,
	.write = &fault_write_ops,
};

struct b2f_store *fault_disk_mount(struct fault_disk *disk)
{
	struct fault_store *store = calloc(1, sizeof(*store));

	if (!store)
		abort();
	store->base = (struct b2f_store){.ops = &fault_ops, .sparse = true};
	if (disk->single)
		store->base = (struct b2f_store){.ops = &single_ops};
	store->disk = disk;
	return &store->base;
}

void fault_disk_count(struct fault_disk *disk, unsigned int kinds)
{
	pthread_mutex_lock(&disk->lock);
	disk->counted = kinds;
	pthread_mutex_unlock(&disk->lock);
}

uint64_t fault_disk_nops(struct fault_disk *disk)
{
	uint64_t n;

	pthread_mutex_lock(&disk->lock);
	n = disk->nops;
	pthread_mutex_unlock(&disk->lock);
	return n;
}

void fault_disk_describe(struct fault_disk *disk, uint64_t op, char *buf,
			 size_t size)
{
	static const char *const verbs[] = {
		"create", "write", "inherit", "sync", "install", "sync names",
		"remove", "open",  "read",    "stat", "list",	 "lock",
		"name"};
	char name[B2F_CHUNK_NAME_SIZE];
	struct fault_op what;

	pthread_mutex_lock(&disk->lock);
	what = disk->ops[op];
	pthread_mutex_unlock(&disk->lock);
	snprintf(buf, size, "%s %s", verbs[__builtin_ctz(what.kind)],
		 what.id == INT64_MIN ? "a nameless file"
				      : b2f_files_name(what.id, name));
}

void fault_disk_fail(struct fault_disk *disk, const struct fault_plan *plan)
{
	pthread_mutex_lock(&disk->lock);
	disk->plan = plan ? *plan : (struct fault_plan){.err = 0};
	pthread_mutex_unlock(&disk->lock);
}

void fault_disk_lose_power(struct fault_disk *disk, uint64_t at)
{
	pthread_mutex_lock(&disk->lock);
	disk->power_until = at;
	pthread_mutex_unlock(&disk->lock);
}

void fault_disk_ignore_sync(struct fault_disk *disk)
{
	pthread_mutex_lock(&disk->lock);
	disk->ignore_sync = true;
	pthread_mutex_unlock(&disk->lock);
}

void fault_disk_just_made(struct fault_disk *disk)
{
	struct fault_file *index;

	pthread_mutex_lock(&disk->lock);
	index = &disk->files[fault_names_find(&disk->now, B2F_OBJECT_INDEX)];
	fault_bytes_resize(&index->durable, 0);
	index->dirty = true;
	pthread_mutex_unlock(&disk->lock);
}

void fault_disk_abandon(struct fault_disk *disk)
{
	pthread_mutex_lock(&disk->lock);
	for (size_t i = 0; i < disk->nfiles; i++)
		disk->files[i].abandoned |= disk->files[i].dirty;
	pthread_mutex_unlock(&disk->lock);
}

void fault_disk_unordered(struct fault_disk *disk)
{
	pthread_mutex_lock(&disk->lock);
	disk->unordered = true;
	pthread_mutex_unlock(&disk->lock);
}
