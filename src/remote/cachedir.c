/* SPDX-License-Identifier: BSD-3-Clause */
/* cachedir.c - the cache directory for bytes from servers, and its limit */
#include "remote/cachedir.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "b2frame/error.h"
#include "base/checked.h"
#include "base/log_line.h"
#include "programs/directory.h"
#include "programs/io.h"
#include "remote/cache_cell.h"
#include "store/files.h"

/*
 * Directories "00" to "ff"; the number of hexadecimal digits of a cell's name.
 */
#define SHARDS	   256
#define SHARD_SIZE 3
#define NAME_LEN   30

/* "ab/0123456789abcdef0123456789abcd" */
#define CELL_PATH_SIZE (SHARD_SIZE + NAME_LEN + 1)

/* Number of locks; each is for one group of cells. */
#define NLOCKS 16

/* Prefix of the name of a file that is being written. */
#define TEMP "tmp."

struct b2f_cachedir {
	/* Constant. */
	int fd;
	uint64_t max_bytes;
	const struct b2f_log *log;
	/* For messages. */
	char *path;
	/*
	 * Held while a cell of the group is read and rewritten, so that no
	 * thread of this program loses what another one adds.
	 */
	pthread_mutex_t locks[NLOCKS];
	/* Nothing is written before this time; 0: no error since. */
	atomic_ullong rests_until_ns;
	unsigned int rest_ms;
	/* Bytes written since the last scan. */
	_Atomic uint64_t uncounted;
	/* A thread of this program scans. */
	atomic_flag counting;
	/* Makes temporary names differ. */
	atomic_uint ntemp;
};

static void shard_name(unsigned int shard, char out[SHARD_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	out[0] = digits[shard >> 4 & 15];
	out[1] = digits[shard & 15];
	out[2] = '\0';
}

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
	char name[NAME_LEN + 1];
	uint64_t nbytes;
	int64_t used_ns;
};

struct count {
	struct counted *items;
	size_t n;
	size_t room;
	uint64_t nbytes;
	/* The one that is being counted. */
	unsigned int shard;
};

static int add(struct count *count, const struct counted *item)
{
	struct counted *items = b2f_grown(count->items, &count->room,
					  count->n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	count->items = items;
	count->items[count->n++] = *item;
	count->nbytes += item->nbytes;
	return 0;
}

static bool is_temp(const char *name)
{
	return strncmp(name, TEMP, strlen(TEMP)) == 0;
}

/* Counts the file @name, or deletes it if it is an old temporary file. */
static int look_at(void *arg, int dir, const struct dirent *d)
{
	struct count *count = arg;
	struct counted item = {.shard = (uint8_t)count->shard};
	const char *name = d->d_name;
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
	if (strlen(name) != NAME_LEN)
		return 0;
	memcpy(item.name, name, sizeof(item.name));
	item.nbytes = (uint64_t)st.st_blocks * 512;
	item.used_ns = st.st_mtim.tv_sec * INT64_C(1000000000) +
		       st.st_mtim.tv_nsec;
	return add(count, &item);
}

static int by_use(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

static void delete_oldest(const struct b2f_cachedir *cache, struct count *count)
{
	uint64_t keep = cache->max_bytes - cache->max_bytes / FREE_SHARE;

	char path[CELL_PATH_SIZE];

	qsort(count->items, count->n, sizeof(count->items[0]), by_use);
	for (size_t i = 0; i < count->n && count->nbytes > keep; i++) {
		const struct counted *item = &count->items[i];

		shard_name(item->shard, path);
		path[SHARD_SIZE - 1] = '/';
		memcpy(path + SHARD_SIZE, item->name, sizeof(item->name));
		if (unlinkat(cache->fd, path, 0) == 0)
			count->nbytes -= item->nbytes;
	}
}

static void count_and_delete(const struct b2f_cachedir *cache)
{
	struct count count = {.n = 0};
	char name[SHARD_SIZE];
	int err = 0;

	/* A shard that is missing has no cells. */
	for (; err != -ENOMEM && count.shard < SHARDS; count.shard++) {
		shard_name(count.shard, name);
		err = b2f_directory_each(cache->fd, name, look_at, &count);
	}
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

/* Counts @n written bytes, and scans the cache when it is time. */
static void note(struct b2f_cachedir *cache, uint64_t n)
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

#define SUBDIR "b2fcache-1"

/* The time of last use is written at most once in so many seconds. */
#define USE_STEP_S 60

/* The part of @range from its byte @done on that lies in one cell. */
static struct b2f_cell_piece piece_at(const struct b2f_cachedir_range *range,
				      size_t done)
{
	uint64_t off = range->off + done;
	uint32_t begin = (uint32_t)(off % B2F_CELL_SIZE);

	return (struct b2f_cell_piece){
		.name = range->name,
		.number = off / B2F_CELL_SIZE,
		.begin = begin,
		.n = (uint32_t)b2f_min_u64(range->n - done,
					   B2F_CELL_SIZE - begin),
	};
}

static void cell_path(const char *name, uint64_t number,
		      char out[CELL_PATH_SIZE])
{
	XXH128_hash_t hash =
		XXH3_128bits_withSeed(name, strlen(name), number);
	XXH128_canonical_t raw;
	char *at = out;

	XXH128_canonicalFromHash(&raw, hash);
	for (size_t i = 0; i < sizeof(raw.digest); i++) {
		shard_name(raw.digest[i], at);
		at += 2;
		if (i == 0)
			*at++ = '/';
	}
}

/* Sets the time of last use of the file @fd to now. */
static void note_use(int fd)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	if (fstat(fd, &st) == 0 && (st.st_mtim.tv_sec + USE_STEP_S <= now.tv_sec ||
				    st.st_mtim.tv_sec > now.tv_sec))
		(void)!futimens(fd, NULL);
}

/*
 * Reads the cell of @piece; @out points into *@raw, which the caller frees.
 * Returns 0 or an error.
 */
static int read_cell(const struct b2f_cachedir *cache,
		     const struct b2f_cell_piece *piece, uint8_t **raw,
		     struct b2f_cell *out)
{
	char path[CELL_PATH_SIZE];
	uint8_t *bytes;
	ssize_t n;
	int fd, err;

	cell_path(piece->name, piece->number, path);
	fd = openat(cache->fd, path,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	bytes = malloc(B2F_CELL_FILE_MAX);
	n = bytes ? b2f_io_read(fd, bytes, B2F_CELL_FILE_MAX, 0) : 0;
	err = n > 0 && n < B2F_CELL_FILE_MAX
		      ? b2f_cell_parse(bytes, (size_t)n, piece->name,
				       piece->number, out)
		      : B2F_ECORRUPT;
	if (err)
		free(bytes);
	else
		*raw = bytes;
	note_use(fd);
	close(fd);
	return err;
}

bool b2f_cachedir_may_have(struct b2f_cachedir *cache,
			   const struct b2f_cachedir_range *range)
{
	char path[CELL_PATH_SIZE];

	cell_path(range->name, range->off / B2F_CELL_SIZE, path);
	return faccessat(cache->fd, path, F_OK, 0) == 0;
}

static bool same_version(const struct b2f_remote_stat *a,
			 const struct b2f_remote_stat *b)
{
	return a->size == b->size && a->mtime == b->mtime &&
	       strcmp(a->etag, b->etag) == 0;
}

/* Copies @piece, cut at the end of the object; adds to *@done. */
static int get_piece(const struct b2f_cachedir *cache,
		     const struct b2f_cell_piece *piece, uint8_t *buf,
		     size_t *done, struct b2f_remote_stat *version)
{
	uint64_t off = piece->number * B2F_CELL_SIZE + piece->begin;
	const uint8_t *bytes = NULL;
	struct b2f_cell cell;
	B2F_OWN uint8_t *raw = NULL;
	uint64_t n;
	int err = read_cell(cache, piece, &raw, &cell);

	if (err)
		return err;
	/* The cells are of different versions of the object. */
	if (*done > 0 && !same_version(&cell.version, version))
		err = -ENOENT;
	*version = cell.version;
	n = b2f_min_u64(piece->n,
			version->size - b2f_min_u64(off, version->size));
	if (!err && n > 0)
		bytes = b2f_cell_find(&cell, piece->begin,
				      piece->begin + (uint32_t)n);
	if (bytes) {
		memcpy(buf + *done, bytes, n);
		*done += n;
	}
	return bytes ? 0 : -ENOENT;
}

ssize_t b2f_cachedir_get(struct b2f_cachedir *cache,
			 const struct b2f_cachedir_range *range, uint8_t *buf,
			 struct b2f_remote_stat *version)
{
	struct b2f_remote_stat st = {.size = UINT64_MAX};
	size_t done = 0;

	while (done < range->n && range->off + done < st.size) {
		const struct b2f_cell_piece piece = piece_at(range, done);

		if (get_piece(cache, &piece, buf, &done, &st))
			return -ENOENT;
	}
	*version = st;
	return (ssize_t)done;
}

bool b2f_cachedir_drop(struct b2f_cachedir *cache,
		       const struct b2f_cachedir_range *range)
{
	uint64_t last = (range->off + range->n - 1) / B2F_CELL_SIZE;
	char path[CELL_PATH_SIZE];
	bool any = false;

	for (uint64_t i = range->off / B2F_CELL_SIZE; i <= last; i++) {
		cell_path(range->name, i, path);
		any |= unlinkat(cache->fd, path, 0) == 0;
	}
	return any;
}

const char *b2f_cachedir_path(const struct b2f_cachedir *cache)
{
	return cache->path;
}

/* Stops writing for a while after the disk error @err. */
static void give_up(struct b2f_cachedir *cache, int err)
{
	uint64_t now = b2f_monotonic_ns();

	/* Log once, however often the error comes again. */
	if (!atomic_exchange(&cache->rests_until_ns,
			     now + (uint64_t)cache->rest_ms * 1000000))
		b2f_log(cache->log, B2F_LOG_WARNING,
			"%s: %s; caching nothing more for now",
			cache->path, b2f_strerror(err));
}

static bool is_resting(struct b2f_cachedir *cache)
{
	return b2f_monotonic_ns() < atomic_load(&cache->rests_until_ns);
}

/* Opens a new file beside @path, in its directory, which is made if needed. */
static int open_temp(struct b2f_cachedir *cache, const char *path, char *temp,
		     size_t room)
{
	char shard[SHARD_SIZE] = {path[0], path[1], '\0'};
	int fd;

	snprintf(temp, room, "%s/" TEMP "%lld.%llx.%x", shard,
		 (long long)getpid(), (unsigned long long)b2f_monotonic_ns(),
		 atomic_fetch_add(&cache->ntemp, 1));
	for (int try = 0;; try++) {
		fd = openat(cache->fd, temp,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT || try > 0)
			return -errno;
		if (mkdirat(cache->fd, shard, 0700) != 0 && errno != EEXIST)
			return -errno;
	}
}

static int write_file(struct b2f_cachedir *cache, const char *path,
		      const uint8_t *raw, size_t n)
{
	char temp[96];
	int fd = open_temp(cache, path, temp, sizeof(temp));
	int err = fd < 0 ? fd : b2f_files_write_fully(fd, 0, raw, n, NULL);

	if (fd < 0)
		return err;
	/* Some filesystems report a full disk only at close. */
	if (close(fd) != 0 && !err)
		err = -errno;
	if (!err && renameat(cache->fd, temp, cache->fd, path) != 0)
		err = -errno;
	if (err)
		(void)!unlinkat(cache->fd, temp, 0);
	return err;
}

/* Adds @piece to the cell at @path; the lock of its group is held. */
static int add_piece(struct b2f_cachedir *cache, const char *path,
		     const struct b2f_cell_piece *piece, size_t *written)
{
	B2F_OWN uint8_t *old_raw = NULL, *raw = NULL;
	struct b2f_cell old;
	bool found = read_cell(cache, piece, &old_raw, &old) == 0 &&
		     same_version(&old.version, piece->version);
	size_t n = 0;
	int err;

	if (found && b2f_cell_find(&old, piece->begin, piece->begin + piece->n))
		return 0;
	err = b2f_cell_make(found ? &old : NULL, piece, &raw, &n);
	if (!err)
		err = write_file(cache, path, raw, n);
	if (!err)
		*written = n;
	return err;
}

static int put_piece(struct b2f_cachedir *cache,
		     const struct b2f_cell_piece *piece)
{
	char path[CELL_PATH_SIZE];
	size_t i, written = 0;
	int err;

	cell_path(piece->name, piece->number, path);
	i = (unsigned char)path[0] % NLOCKS;
	pthread_mutex_lock(&cache->locks[i]);
	err = add_piece(cache, path, piece, &written);
	pthread_mutex_unlock(&cache->locks[i]);
	if (written > 0)
		note(cache, written);
	return err;
}

void b2f_cachedir_put(struct b2f_cachedir *cache,
		      const struct b2f_cachedir_range *range,
		      const struct b2f_remote_stat *version, const uint8_t *buf)
{
	size_t done = 0;
	int err = 0;

	while (!err && done < range->n && !is_resting(cache)) {
		struct b2f_cell_piece piece = piece_at(range, done);

		piece.version = version;
		piece.bytes = buf + done;
		err = put_piece(cache, &piece);
		done += piece.n;
	}
	if (err && err != -ENOMEM)
		give_up(cache, err);
	else if (!err && done == range->n)
		atomic_store(&cache->rests_until_ns, 0);
}

/* Another user's symbolic link could lead into a directory of this user. */
static bool is_others_link(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISLNK(st.st_mode) &&
	       st.st_uid != geteuid();
}

/* Opens @dir/SUBDIR, which must belong to this user and be closed to others. */
static int open_own(const char *dir, int *out)
{
	struct stat st;
	int top, fd;

	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return -errno;
	if (is_others_link(dir))
		return -EACCES;
	top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	fd = mkdirat(top, SUBDIR, 0700) != 0 && errno != EEXIST
		     ? -1
		     : openat(top, SUBDIR, O_RDONLY | O_DIRECTORY |
						   O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		int err = -errno;

		close(top);
		return err;
	}
	close(top);
	if (fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
	    (st.st_mode & 077) != 0) {
		close(fd);
		return -EACCES;
	}
	*out = fd;
	return 0;
}

int b2f_cachedir_open(const char *dir, uint64_t max_bytes,
		      unsigned int rest_ms, const struct b2f_log *log,
		      struct b2f_cachedir **out)
{
	struct b2f_cachedir *cache = calloc(1, sizeof(*cache));
	int err = -ENOMEM;

	if (cache)
		cache->path = strdup(dir);
	if (cache && cache->path)
		err = open_own(dir, &cache->fd);
	if (err) {
		b2f_log(log, B2F_LOG_WARNING,
			"%s: %s; continuing without this cache", dir,
			err == -EACCES ? "other users may enter it, or own it"
				       : b2f_strerror(err));
		free(cache ? cache->path : NULL);
		free(cache);
		return err;
	}
	for (int i = 0; i < NLOCKS; i++)
		pthread_mutex_init(&cache->locks[i], NULL);
	cache->max_bytes = max_bytes;
	cache->rest_ms = rest_ms;
	cache->log = log;
	/* The first write counts the files of other processes. */
	atomic_init(&cache->uncounted, max_bytes);
	atomic_flag_clear(&cache->counting);
	*out = cache;
	return 0;
}

void b2f_cachedir_close(struct b2f_cachedir *cache)
{
	if (!cache)
		return;
	for (int i = 0; i < NLOCKS; i++)
		pthread_mutex_destroy(&cache->locks[i]);
	close(cache->fd);
	free(cache->path);
	free(cache);
}
