/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_plan.c - plans which operations of a disk fail, and records them */
#include "tests/support/fault_ops.h"

#include <stdio.h>
#include <string.h>

#include "store/files.h"

static bool is_planned(struct fault_disk *disk, uint64_t number,
		       enum fault_kind kind)
{
	struct fault_plan *plan = &disk->plan;
	unsigned int kinds = plan->kinds ? plan->kinds : FAULT_ALL;

	return plan->err && number >= plan->at && (kinds & kind);
}

int fault_begin(struct fault_disk *disk, enum fault_kind kind, int64_t id,
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

int fault_begin_change(struct b2f_store *store, enum fault_kind kind,
		       int64_t id, struct b2f_why *why)
{
	struct fault_disk *disk = fault_disk_of(store);

	if (disk->writer != store)
		return b2f_why_set(why, -EPERM, "the store is not locked");
	return fault_begin(disk, kind, id, why);
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
		"name",   "write out"};
	char name[B2F_CHUNK_NAME_SIZE];
	struct fault_op what = {.kind = 0};

	/* Another run of the same work may do more. */
	pthread_mutex_lock(&disk->lock);
	if (op < disk->nops)
		what = disk->ops[op];
	pthread_mutex_unlock(&disk->lock);
	if (!what.kind)
		snprintf(buf, size, "the end");
	else
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

void fault_disk_whole(struct fault_disk *disk)
{
	pthread_mutex_lock(&disk->lock);
	disk->whole = true;
	pthread_mutex_unlock(&disk->lock);
}
