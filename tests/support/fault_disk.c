/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_disk.c - contents of the disk, now and after a loss of power */
#include "tests/support/fault_disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	   FAULT_PAGE
#define SECTOR	   512
#define FIRST_TIME INT64_C(1700000000000000000)
#define TICK_NS	   1000000

void *fault_grow(void *items, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return items;
	*cap = *cap ? 2 * *cap : 16;
	items = realloc(items, *cap * size);
	if (!items)
		abort();
	return items;
}

void fault_bytes_resize(struct fault_bytes *bytes, size_t size)
{
	if (size > bytes->cap) {
		bytes->cap = size + size / 2;
		bytes->data = realloc(bytes->data, bytes->cap);
		if (!bytes->data)
			abort();
	}
	if (size > bytes->size)
		memset(bytes->data + bytes->size, 0, size - bytes->size);
	bytes->size = size;
}

void fault_bytes_copy(struct fault_bytes *to, const struct fault_bytes *from)
{
	fault_bytes_resize(to, from->size);
	if (from->size)
		memcpy(to->data, from->data, from->size);
}

/* splitmix64 */
uint64_t fault_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

size_t fault_names_find(const struct fault_names *names, int64_t id)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->names[i].id == id)
			return names->names[i].file;
	return FAULT_NONE;
}

size_t fault_names_find_pending(const struct fault_names *names, int64_t id)
{
	size_t file = fault_names_find(names, id);

	if (file == FAULT_NONE && id > 0)
		file = fault_names_find(names, id & ~B2F_OBJECT_PENDING);
	return file;
}

void fault_names_remove(struct fault_names *names, int64_t id)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->names[i].id == id) {
			names->names[i] = names->names[--names->n];
			return;
		}
}

void fault_names_set(struct fault_names *names, int64_t id, size_t file)
{
	fault_names_remove(names, id);
	names->names = fault_grow(names->names, names->n, &names->cap,
				  sizeof(*names->names));
	names->names[names->n++] = (struct fault_name){id, file};
}

static void apply(struct fault_names *names, const struct fault_change *change)
{
	switch ((unsigned int)change->kind) {
	case FAULT_CREATE:
		fault_names_set(names, change->id, change->file);
		break;
	case FAULT_NAME:
		fault_names_remove(names, change->id ^ B2F_OBJECT_PENDING);
		fault_names_set(names, change->id, change->file);
		break;
	case FAULT_INSTALL:
		fault_names_remove(names, B2F_OBJECT_NEW_INDEX);
		fault_names_set(names, B2F_OBJECT_INDEX, change->file);
		break;
	case FAULT_REMOVE:
		fault_names_remove(names, change->id);
		break;
	default:
		abort();
	}
}

void fault_change(struct fault_disk *disk, enum fault_kind kind, int64_t id,
		  size_t file)
{
	disk->changes = fault_grow(disk->changes, disk->nchanges,
				   &disk->changes_cap, sizeof(*disk->changes));
	disk->changes[disk->nchanges] = (struct fault_change){kind, id, file};
	apply(&disk->now, &disk->changes[disk->nchanges++]);
}

struct timespec fault_now(struct fault_disk *disk)
{
	disk->clock += TICK_NS;
	return (struct timespec){.tv_sec = disk->clock / 1000000000,
				 .tv_nsec = disk->clock % 1000000000};
}

size_t fault_file_new(struct fault_disk *disk)
{
	struct fault_file *file;

	disk->files = fault_grow(disk->files, disk->nfiles, &disk->files_cap,
				 sizeof(*disk->files));
	file = &disk->files[disk->nfiles];
	memset(file, 0, sizeof(*file));
	file->st.st_dev = 1;
	file->st.st_ino = disk->next_ino++;
	file->st.st_nlink = 1;
	file->st.st_mode = S_IFREG | 0600;
	file->st.st_mtim = file->st.st_ctim = file->st.st_atim =
		fault_now(disk);
	return disk->nfiles++;
}

void fault_make_dirty(struct fault_file *file)
{
	if (file->dirty)
		return;
	file->dirty = true;
	fault_bytes_copy(&file->durable, &file->now);
}

void fault_put(struct fault_disk *disk, struct fault_file *file, uint64_t off,
	       const void *buf, size_t n)
{
	if (n == 0)
		return;
	fault_make_dirty(file);
	file->unwritten = false;
	if (off + n > file->now.size)
		fault_bytes_resize(&file->now, (size_t)off + n);
	memcpy(file->now.data + off, buf, n);
	/*
	 * The write makes these pages dirty again, so they are no longer lost.
	 */
	for (size_t page = off / PAGE;
	     page <= (off + n - 1) / PAGE && page < file->lost.size;
	     page++)
		file->lost.data[page] = 0;
	fault_file_resized(file);
	file->st.st_mtim = file->st.st_ctim = fault_now(disk);
}

struct fault_disk *fault_disk_new(void)
{
	struct fault_disk *disk = calloc(1, sizeof(*disk));

	if (!disk)
		abort();
	pthread_mutex_init(&disk->lock, NULL);
	disk->clock = FIRST_TIME;
	disk->next_ino = 100;
	disk->power_until = UINT64_MAX;
	disk->counted = FAULT_CHANGES;
	return disk;
}

struct fault_disk *fault_disk_of_index(const uint8_t *index, size_t size,
				       bool single)
{
	struct fault_disk *disk = fault_disk_new();
	size_t number = fault_file_new(disk);
	struct fault_file *file = &disk->files[number];

	fault_bytes_resize(&file->now, size);
	if (size)
		memcpy(file->now.data, index, size);
	fault_file_resized(file);
	fault_names_set(&disk->now, B2F_OBJECT_INDEX, number);
	fault_names_set(&disk->durable, B2F_OBJECT_INDEX, number);
	disk->single = single;
	return disk;
}

void fault_disk_free(struct fault_disk *disk)
{
	if (!disk)
		return;
	for (size_t i = 0; i < disk->nfiles; i++) {
		free(disk->files[i].now.data);
		free(disk->files[i].durable.data);
		free(disk->files[i].lost.data);
		free(disk->files[i].out.data);
	}
	free(disk->files);
	free(disk->now.names);
	free(disk->durable.names);
	free(disk->changes);
	free(disk->ops);
	pthread_mutex_destroy(&disk->lock);
	free(disk);
}

/* The new content with zeros in some of its pages. */
static void lose_pages(struct fault_bytes *out, uint64_t *state)
{
	for (size_t at = 0; at < out->size; at += PAGE)
		if (fault_random(state) & 1)
			memset(out->data + at, 0,
			       out->size - at < PAGE ? out->size - at : PAGE);
}

/* The first bytes of the new content, and the old bytes behind them. */
static void lose_end(const struct fault_file *file, struct fault_bytes *out,
		     uint64_t *state)
{
	size_t n = (size_t)(fault_random(state) % (file->now.size + 1));

	fault_bytes_copy(out, &file->durable);
	if (n > out->size)
		fault_bytes_resize(out, n);
	if (n)
		memcpy(out->data, file->now.data, n);
}

/*
 * Each sector of @out stays or becomes that sector of @later; so does the
 * length.
 */
static void mix(struct fault_bytes *out, const struct fault_bytes *later,
		uint64_t *state)
{
	size_t now = later->size, before = out->size;

	fault_bytes_resize(out, now > before ? now : before);
	for (size_t at = 0; at < now; at += SECTOR) {
		size_t n = now - at < SECTOR ? now - at : SECTOR;

		if (fault_random(state) & 1)
			memcpy(out->data + at, later->data + at, n);
	}
	fault_bytes_resize(out, fault_random(state) & 1 ? now : before);
}

/*
 * Each sector of a file that is written in place is old or new, and the file
 * may have either length.
 */
static void mix_sectors(const struct fault_file *file, uint64_t *state,
			struct fault_bytes *out)
{
	bool early = file->ordered && fault_random(state) & 1;

	fault_bytes_copy(out, file->ordered && !early ? &file->out : &file->durable);
	mix(out, early ? &file->out : &file->now, state);
}

static void content_after(const struct fault_disk *disk,
			  const struct fault_file *file, unsigned int variant,
			  uint64_t *state, struct fault_bytes *out)
{
	static const unsigned int whole[] = {0, 1, 3};
	unsigned int choice = variant;

	if (!file->dirty) {
		fault_bytes_copy(out, &file->now);
		return;
	}
	if (variant > 1 && disk->single) {
		mix_sectors(file, state, out);
		return;
	}
	if (variant > 1)
		choice = (unsigned int)(fault_random(state) % 5);
	if (variant > 1 && disk->whole)
		choice = whole[choice % 3];
	fault_bytes_copy(out, choice == 0 ? &file->durable : &file->now);
	if (choice == 2)
		lose_end(file, out, state);
	else if (choice == 3 && out->size)
		memset(out->data, 0, out->size);
	else if (choice == 4)
		lose_pages(out, state);
}

/* Chooses the changes of the directory that reached the disk. */
static void names_after(const struct fault_disk *disk, unsigned int variant,
			uint64_t *state, struct fault_names *out)
{
	size_t surely = variant == 1 ? disk->nchanges : 0;

	for (size_t i = 0; i < disk->durable.n; i++)
		fault_names_set(out, disk->durable.names[i].id,
				disk->durable.names[i].file);
	if (variant > 1)
		surely = (size_t)(fault_random(state) % (disk->nchanges + 1));
	for (size_t i = 0; i < disk->nchanges; i++)
		if (i < surely ||
		    (variant > 1 && disk->unordered && fault_random(state) & 1))
			apply(out, &disk->changes[i]);
}

/* Does @content, left by a loss of power, have nothing of @old? */
static bool is_unwritten(const struct fault_file *old,
			 const struct fault_bytes *content)
{
	if (!old->dirty || old->durable.size)
		return false;
	for (size_t i = 0; i < content->size; i++)
		if (content->data[i])
			return false;
	return true;
}

struct fault_disk *fault_disk_after_loss(struct fault_disk *disk,
					 unsigned int variant)
{
	struct fault_disk *after = fault_disk_new();
	struct fault_names names = {0};
	uint64_t state = variant;

	pthread_mutex_lock(&disk->lock);
	names_after(disk, variant, &state, &names);
	for (size_t i = 0; i < names.n; i++) {
		const struct fault_file *old =
			&disk->files[names.names[i].file];
		size_t new = fault_file_new(after);
		struct fault_file *file = &after->files[new];

		content_after(disk, old, variant, &state, &file->now);
		file->st = old->st;
		file->unwritten = is_unwritten(old, &file->now);
		fault_file_resized(file);
		fault_names_set(&after->now, names.names[i].id, new);
		fault_names_set(&after->durable, names.names[i].id, new);
	}
	after->single = disk->single;
	after->clock = disk->clock;
	after->next_ino = disk->next_ino;
	pthread_mutex_unlock(&disk->lock);
	free(names.names);
	return after;
}
