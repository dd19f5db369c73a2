/* SPDX-License-Identifier: BSD-3-Clause */
/* cachedir_evict.c - the cache directory for bytes from servers: its limit */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "remote/cachedir_priv.h"

/* Held by the program that scans. */
#define LOCK_NAME "lock"

/* All files are scanned after writing 1/32 of the limit; 1/16 is freed. */
#define COUNT_SHARE 32
#define FREE_SHARE  16

/*
 * Age in seconds after which a temporary file belongs to a program that was
 * killed.
 */
#define TEMP_MAX_S 3600

/* A cell that was scanned. */
struct counted {
	uint8_t shard;
	char name[B2F_CACHEDIR_NAME_LEN + 1];
	uint64_t nbytes;
	int64_t used_ns;
};

struct count {
	struct counted *items;
	size_t n;
	size_t room;
	uint64_t nbytes;
};

static int add(struct count *count, const struct counted *item)
{
	if (count->n == count->room) {
		size_t room = count->room ? 2 * count->room : 1024;
		struct counted *items =
			realloc(count->items, room * sizeof(*items));

		if (!items)
			return -ENOMEM;
		count->items = items;
		count->room = room;
	}
	count->items[count->n++] = *item;
	count->nbytes += item->nbytes;
	return 0;
}

static bool is_temp(const char *name)
{
	return strncmp(name, B2F_CACHEDIR_TEMP, strlen(B2F_CACHEDIR_TEMP)) == 0;
}

/* Counts the file @name, or deletes it if it is an old temporary file. */
static int look_at(struct count *count, int dir, unsigned int shard,
		   const char *name)
{
	struct counted item = {.shard = (uint8_t)shard};
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	if (is_temp(name)) {
		if (st.st_mtime + TEMP_MAX_S < time(NULL))
			(void)!unlinkat(dir, name, 0);
		return 0;
	}
	/* Other files are not ours to delete. */
	if (strlen(name) != B2F_CACHEDIR_NAME_LEN)
		return 0;
	memcpy(item.name, name, sizeof(item.name));
	item.nbytes = (uint64_t)st.st_blocks * 512;
	item.used_ns = st.st_mtim.tv_sec * INT64_C(1000000000) +
		       st.st_mtim.tv_nsec;
	return add(count, &item);
}

static int open_shard(const struct b2f_cachedir *cache, unsigned int shard)
{
	char name[B2F_CACHEDIR_SHARD_SIZE];

	b2f_cachedir_shard_name(shard, name);
	return openat(cache->fd, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int count_shard(const struct b2f_cachedir *cache, unsigned int shard,
		       struct count *count)
{
	int fd = open_shard(cache, shard), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!err && (entry = readdir(dir)))
		err = look_at(count, fd, shard, entry->d_name);
	closedir(dir);
	return err;
}

static int by_use(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Deletes the least recently used cells, until a part of the limit is free. */
static void delete_oldest(const struct b2f_cachedir *cache, struct count *count)
{
	uint64_t keep = cache->max_bytes - cache->max_bytes / FREE_SHARE;

	qsort(count->items, count->n, sizeof(count->items[0]), by_use);
	for (size_t i = 0; i < count->n && count->nbytes > keep; i++) {
		const struct counted *item = &count->items[i];
		int dir = open_shard(cache, item->shard);

		if (dir < 0)
			continue;
		if (unlinkat(dir, item->name, 0) == 0)
			count->nbytes -= item->nbytes;
		close(dir);
	}
}

static void count_and_delete(const struct b2f_cachedir *cache)
{
	struct count count = {.n = 0};
	int err = 0;

	for (unsigned int i = 0; !err && i < B2F_CACHEDIR_SHARDS; i++)
		err = count_shard(cache, i, &count);
	/* If memory ran out, choose among the cells counted so far. */
	if (count.n > 0)
		delete_oldest(cache, &count);
	free(count.items);
}

/* Scans, unless another program does. */
static void count_if_first(struct b2f_cachedir *cache)
{
	int lock = openat(cache->fd, LOCK_NAME,
			  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
		count_and_delete(cache);
	if (lock >= 0)
		close(lock);
}

void b2f_cachedir_note(struct b2f_cachedir *cache, uint64_t n)
{
	uint64_t enough = cache->max_bytes / COUNT_SHARE;

	atomic_fetch_add(&cache->uncounted, n);
	/* Scan again if other threads have written as much meanwhile. */
	while (atomic_load(&cache->uncounted) >= enough &&
	       !atomic_flag_test_and_set(&cache->counting)) {
		atomic_store(&cache->uncounted, 0);
		count_if_first(cache);
		atomic_flag_clear(&cache->counting);
	}
}
