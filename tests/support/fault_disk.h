/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_disk.h - shared by the files of the fault store
 *
 * Private to tests/support/fault_*.c.
 */
#ifndef B2F_TESTS_FAULT_DISK_H
#define B2F_TESTS_FAULT_DISK_H

#include <pthread.h>

#include "tests/support/fault_store.h"

#define FAULT_PAGE 4096

/* No file. */
#define FAULT_NONE SIZE_MAX

struct fault_bytes {
	uint8_t *data;
	size_t size;
	size_t cap;
};

struct fault_file {
	/* The bytes that programs read. */
	struct fault_bytes now;
	/*
	 * The bytes that are left after a loss of power; meaningless unless
	 * @dirty.
	 */
	struct fault_bytes durable;
	/* @now was changed since it was durable. */
	bool dirty;
	/*
	 * A loss of power left the length of the file, and none of its bytes.
	 */
	bool unwritten;
	/* A sync failed; the file stays dirty for ever. */
	bool abandoned;
	/*
	 * In a contiguous frame: pages that a failed sync has left out, which
	 * become durable only after another write.  One byte per page.
	 */
	struct fault_bytes lost;
	/*
	 * In a contiguous frame, if @ordered: bytes that are on disk as soon as
	 * any later bytes are.
	 */
	struct fault_bytes out;
	bool ordered;
	struct stat st;
};

struct fault_name {
	int64_t id;
	size_t file;
};

struct fault_names {
	struct fault_name *names;
	size_t n;
	size_t cap;
};

/* A change of the directory: @file gets the name @id, or loses it. */
struct fault_change {
	/* CREATE, REMOVE, NAME (to @id) or INSTALL. */
	enum fault_kind kind;
	int64_t id;
	size_t file;
};

struct fault_op {
	enum fault_kind kind;
	int64_t id;
};

struct fault_disk {
	/* For all that follows. */
	pthread_mutex_t lock;
	/*
	 * All files that ever existed; the number of a file is its index here.
	 */
	struct fault_file *files;
	size_t nfiles;
	size_t files_cap;
	struct fault_names now;
	struct fault_names durable;
	/* The changes from @durable to @now. */
	struct fault_change *changes;
	size_t nchanges;
	size_t changes_cap;
	/* Nanoseconds; goes on with each change. */
	int64_t clock;
	uint64_t next_ino;
	/* The store that has the lock. */
	struct b2f_store *writer;
	struct fault_plan plan;
	uint64_t power_until;
	bool powerless;
	bool ignore_sync;
	bool unordered;
	bool whole;
	/* The disk holds a contiguous frame: one file. */
	bool single;
	unsigned int counted;
	struct fault_op *ops;
	size_t nops;
	size_t ops_cap;
};

/* Memory for one more item of @size bytes in an array; aborts without. */
void *fault_grow(void *items, size_t n, size_t *cap, size_t size);

/* The same for a content of @size bytes; new ones are zeros. */
void fault_bytes_resize(struct fault_bytes *bytes, size_t size);

void fault_bytes_copy(struct fault_bytes *to, const struct fault_bytes *from);

/* A number that looks random; moves *@state on. */
uint64_t fault_random(uint64_t *state);

/* The caller of these functions holds the lock. */

/* The file named @id, or FAULT_NONE. */
size_t fault_names_find(const struct fault_names *names, int64_t id);
/* The same for a pending file under either name. */
size_t fault_names_find_pending(const struct fault_names *names, int64_t id);
void fault_names_set(struct fault_names *names, int64_t id, size_t file);
void fault_names_remove(struct fault_names *names, int64_t id);

/* A new empty file without a name. */
size_t fault_file_new(struct fault_disk *disk);

/* Copies the size of the content to the attributes. */
static inline void fault_file_resized(struct fault_file *file)
{
	file->st.st_size = (off_t)file->now.size;
	file->st.st_blocks = (blkcnt_t)((file->now.size + 511) / 512);
}

/* Before the first change since a sync, saves the durable content. */
void fault_make_dirty(struct fault_file *file);

/* Writes the @n bytes at @buf to @off of @file, but not durably. */
void fault_put(struct fault_disk *disk, struct fault_file *file, uint64_t off,
	       const void *buf, size_t n);

/* Changes the directory, but not durably. */
void fault_change(struct fault_disk *disk, enum fault_kind kind, int64_t id,
		  size_t file);

/* The present time, which is later with each call. */
struct timespec fault_now(struct fault_disk *disk);

#endif
