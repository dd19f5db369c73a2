/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cachedir.c - the local cache of bytes from servers */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote/cache_cell.h"
#include "remote/cachedir.h"
#include "tests/support/own.h"

#define OBJECT_SIZE ((uint64_t)3 * B2F_CELL_SIZE + 12345)
/* How long the cache rests after an error. */
#define REST_MS 50

#define MEBI	    ((uint64_t)1 << 20)

static const struct b2f_remote_stat version = {
	.size = OBJECT_SIZE, .mtime = 1700000000, .etag = "\"abc\""};

static unsigned int nmessages;

static void note(void *arg, enum b2f_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
	nmessages++;
}

static const struct b2f_log watching = {.write = note,
					.max_level = B2F_LOG_WARNING};

struct scene {
	char path[64];
	struct b2f_cachedir *cache;
};

static struct scene scene_open(uint64_t max_bytes)
{
	struct scene s = {.path = "/tmp/b2f-cache-XXXXXX"};

	nmessages = 0;
	cr_assert_not_null(mkdtemp(s.path));
	cr_assert_eq(b2f_cachedir_open(s.path, max_bytes, REST_MS, &watching, &s.cache),
		     0);
	return s;
}

static int remove_one(const char *path, const struct stat *st, int flag,
		      struct FTW *where)
{
	(void)st;
	(void)flag;
	(void)where;
	return remove(path);
}

static void scene_close(struct scene *s)
{
	b2f_cachedir_close(s->cache);
	cr_assert_eq(nftw(s->path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#define OWN_SCENE __attribute__((cleanup(scene_close)))

static uint8_t byte_at(const char *name, uint64_t off)
{
	return (uint8_t)(off * 31 + (off >> 9) + (uint8_t)name[0]);
}

static void put(struct scene *s, const char *name, uint64_t off, size_t n)
{
	const struct b2f_cachedir_range range = {
		.name = name, .off = off, .n = n};
	OWN(free) uint8_t *buf = malloc(n);

	for (size_t i = 0; i < n; i++)
		buf[i] = byte_at(name, off + i);
	b2f_cachedir_put(s->cache, &range, &version, buf);
}

/* Is the whole range cached?  Checks the cached bytes. */
static bool has(struct scene *s, const char *name, uint64_t off, size_t n)
{
	const struct b2f_cachedir_range range = {
		.name = name, .off = off, .n = n};
	struct b2f_remote_stat st = {.size = 0};
	uint8_t *buf = malloc(n);
	ssize_t got = b2f_cachedir_get(s->cache, &range, buf, &st);

	for (ssize_t i = 0; i < got; i++)
		cr_assert_eq(buf[i], byte_at(name, off + (uint64_t)i));
	free(buf);
	if (got < 0)
		return false;
	cr_assert(b2f_cachedir_may_have(s->cache, &range));
	cr_assert_eq(got, (ssize_t)(off + n > OBJECT_SIZE ? OBJECT_SIZE - off
							  : n));
	cr_assert_eq(st.size, version.size);
	cr_assert_eq(st.mtime, version.mtime);
	cr_assert_str_eq(st.etag, version.etag);
	return true;
}

/* If set, called for each cell with its path. */
static void (*visit)(const char *path);
static unsigned int ncells;

static int visit_one(const char *path, const struct stat *st, int flag,
		     struct FTW *where)
{
	const char *name = path + where->base;

	if (flag != FTW_F || strlen(name) != 30)
		return 0;
	cr_assert_eq(st->st_mode & 0777, 0600);
	ncells++;
	if (visit)
		visit(path);
	return 0;
}

static unsigned int each_cell(struct scene *s, void (*fn)(const char *path))
{
	visit = fn;
	ncells = 0;
	cr_assert_eq(nftw(s->path, visit_one, 16, FTW_PHYS), 0);
	return ncells;
}

Test(cachedir, what_was_put_is_there)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);

	cr_assert_not(has(&s, "a", 0, 1));
	put(&s, "a", 0, 65536);
	cr_assert(has(&s, "a", 0, 65536));
	cr_assert(has(&s, "a", 1, 1));
	cr_assert_not(has(&s, "a", 0, 65537));
	cr_assert_not(has(&s, "b", 0, 1));
	put(&s, "b", 1, 1);
	cr_assert(has(&s, "b", 1, 1));
	cr_assert_not(has(&s, "b", 0, 2));
}

Test(cachedir, pieces_join)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);

	for (uint64_t off = 0; off < OBJECT_SIZE; off += 2 * 50000)
		put(&s, "a", off, 50000);
	cr_assert_not(has(&s, "a", 0, OBJECT_SIZE));
	for (uint64_t off = 50000; off < OBJECT_SIZE; off += 2 * 50000)
		put(&s, "a", off,
		    off + 50000 > OBJECT_SIZE ? OBJECT_SIZE - off : 50000);
	cr_assert(has(&s, "a", 0, OBJECT_SIZE));
	cr_assert_eq(each_cell(&s, NULL), 4);
}

Test(cachedir, more_pieces_than_a_cell_takes_displace_older_ones)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);

	for (uint64_t i = 0; i < 2 * B2F_CELL_EXTENTS_MAX; i++) {
		put(&s, "a", 1000 * i, 10);
		cr_assert(has(&s, "a", 1000 * i, 10));
	}
}

Test(cachedir, end_of_an_object_is_known)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);

	put(&s, "a", 0, OBJECT_SIZE);
	cr_assert(has(&s, "a", OBJECT_SIZE - 10, 1000000));
	cr_assert(has(&s, "a", 0, OBJECT_SIZE + 4 * B2F_CELL_SIZE));
}

Test(cachedir, another_version_under_one_name_takes_its_place)
{
	struct b2f_remote_stat newer = version, st;
	const struct b2f_cachedir_range range = {.name = "a", .off = 7, .n = 3};
	const struct b2f_cachedir_range both = {.name = "a", .off = 0, .n = 10};
	const struct b2f_cachedir_range behind = {
		.name = "b", .off = B2F_CELL_SIZE, .n = 3};
	const struct b2f_cachedir_range across = {
		.name = "b", .off = B2F_CELL_SIZE - 3, .n = 6};
	OWN_SCENE struct scene s = scene_open(100 * MEBI);
	uint8_t buf[16];

	put(&s, "a", 0, 7);
	snprintf(newer.etag, sizeof(newer.etag), "\"other\"");
	b2f_cachedir_put(s.cache, &range, &newer, (const uint8_t *)"new");
	cr_assert_eq(b2f_cachedir_get(s.cache, &range, buf, &st), 3);
	cr_assert_str_eq(st.etag, newer.etag);
	cr_assert_arr_eq(buf, "new", 3);
	cr_assert_eq(b2f_cachedir_get(s.cache, &both, buf, &st), -ENOENT);
	/* Two cells of different versions make no answer. */
	put(&s, "b", B2F_CELL_SIZE - 3, 3);
	b2f_cachedir_put(s.cache, &behind, &newer, (const uint8_t *)"new");
	cr_assert_eq(b2f_cachedir_get(s.cache, &across, buf, &st), -ENOENT);
}

static char cell[128];

static void note_cell(const char *path)
{
	snprintf(cell, sizeof(cell), "%s", path);
}

Test(cachedir, no_flipped_bit_and_no_truncation_gives_wrong_bytes)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);
	uint8_t raw[1024];
	size_t n;
	FILE *f;

	put(&s, "a", 100, 60);
	cr_assert_eq(each_cell(&s, note_cell), 1);
	f = fopen(cell, "rb");
	n = fread(raw, 1, sizeof(raw), f);
	fclose(f);
	cr_assert_lt(n, 256);
	for (size_t bit = 0; bit < 8 * n; bit++) {
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		f = fopen(cell, "wb");
		fwrite(raw, 1, n, f);
		fclose(f);
		cr_assert_not(has(&s, "a", 100, 60), "bit %zu", bit);
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t i = 0; i < n; i++) {
		f = fopen(cell, "wb");
		fwrite(raw, 1, i, f);
		fclose(f);
		cr_assert_not(has(&s, "a", 100, 60), "%zu bytes", i);
	}
	put(&s, "a", 100, 60);
	cr_assert(has(&s, "a", 100, 60));
}

Test(cachedir, cell_of_another_object_is_no_answer)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);
	char other[128];

	put(&s, "a", 0, 60);
	each_cell(&s, note_cell);
	memcpy(other, cell, sizeof(cell));
	cr_assert_eq(unlink(cell), 0);
	put(&s, "b", 0, 60);
	each_cell(&s, note_cell);
	cr_assert_eq(rename(cell, other), 0);
	cr_assert_not(has(&s, "a", 0, 60));
}

Test(cachedir, no_other_user_may_look)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);
	struct b2f_cachedir *again = NULL;
	struct stat st;
	char own[96];

	snprintf(own, sizeof(own), "%s/b2fcache-1", s.path);
	cr_assert_eq(stat(own, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0700);
	cr_assert_eq(chmod(own, 0750), 0);
	cr_assert_eq(b2f_cachedir_open(s.path, MEBI, REST_MS, &watching, &again),
		     -EACCES);
	cr_assert_eq(nmessages, 1);
}

Test(cachedir, link_of_another_user_is_not_followed)
{
	OWN_SCENE struct scene s = scene_open(MEBI);
	struct b2f_cachedir *again = NULL;
	char name[96];

	snprintf(name, sizeof(name), "%s/link", s.path);
	cr_assert_eq(symlink(s.path, name), 0);
	cr_assert_eq(b2f_cachedir_open(name, MEBI, REST_MS, &watching, &again), 0);
	b2f_cachedir_close(again);
	/* Only root can change the owner. */
	if (lchown(name, 1001, 1001) == 0)
		cr_assert_eq(b2f_cachedir_open(name, MEBI, REST_MS, &watching, &again),
			     -EACCES);
}

Test(cachedir, disk_that_takes_nothing_is_told_once)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);
	char path[112];

	put(&s, "a", 0, 60);
	for (int i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), "%s/b2fcache-1/%02x", s.path, i);
		if (access(path, F_OK) != 0)
			close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	for (char name[2] = "b"; name[0] < 'z'; name[0]++) {
		put(&s, name, 0, 60);
		(void)has(&s, name, 0, 60);
	}
	cr_assert_eq(nmessages, 1);
	/* Cached bytes can still be read. */
	cr_assert(has(&s, "a", 0, 60));
	/* After the rest it takes new bytes again. */
	for (int i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), "%s/b2fcache-1/%02x", s.path, i);
		(void)!unlink(path);
	}
	do
		put(&s, "zz", 0, 60);
	while (!has(&s, "zz", 0, 60));
}

static uint64_t nbytes;

static void add_bytes(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	nbytes += (uint64_t)st.st_blocks * 512;
}

/* Makes the last use of @path long ago. */
static void age(const char *path)
{
	const struct timespec old[2] = {{.tv_sec = 1600000000},
					{.tv_sec = 1600000000}};

	cr_assert_eq(utimensat(AT_FDCWD, path, old, 0), 0);
}

Test(cachedir, what_was_not_used_for_longest_goes_first)
{
	OWN_SCENE struct scene s = scene_open(4 * MEBI);

	for (char name[2] = "a"; name[0] <= 'z'; name[0]++) {
		each_cell(&s, age);
		/* "a" is used all the time, so it stays. */
		cr_assert(name[0] == 'a' || has(&s, "a", 0, 60));
		put(&s, name, 0, B2F_CELL_SIZE);
		nbytes = 0;
		each_cell(&s, add_bytes);
		cr_assert_leq(nbytes, 4 * MEBI);
	}
	cr_assert(has(&s, "a", 0, B2F_CELL_SIZE));
	cr_assert(has(&s, "z", 0, B2F_CELL_SIZE));
	cr_assert_not(has(&s, "b", 0, B2F_CELL_SIZE));
}

/* Writes cells until the process is killed. */
static void write_until_killed(struct scene *s)
{
	for (unsigned int i = 0;; i++)
		put(s, i % 2 ? "a" : "b", i * 7919 % (OBJECT_SIZE - 9000),
		    1 + i * 31 % 9000);
}

Test(cachedir, programs_that_are_killed_leave_nothing_wrong)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);
	pid_t pids[3];

	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 3; i++) {
			pids[i] = fork();
			if (pids[i] == 0)
				write_until_killed(&s);
		}
		for (unsigned int i = 0; i < 300; i++)
			(void)has(&s, i % 2 ? "a" : "b",
				  i * 7919 % (OBJECT_SIZE - 9000),
				  1 + i * 31 % 9000);
		for (int i = 0; i < 3; i++) {
			kill(pids[i], SIGKILL);
			cr_assert_eq(waitpid(pids[i], NULL, 0), pids[i]);
		}
	}
	put(&s, "a", 0, OBJECT_SIZE);
	cr_assert(has(&s, "a", 0, OBJECT_SIZE));
}

Test(cachedir, what_was_left_half_written_goes_after_an_hour)
{
	OWN_SCENE struct scene s = scene_open(100 * MEBI);
	const struct timespec old[2] = {{.tv_sec = 1600000000},
					{.tv_sec = 1600000000}};
	char before[112], now[112];
	int fd;

	snprintf(before, sizeof(before), "%s/b2fcache-1/00", s.path);
	cr_assert_eq(mkdir(before, 0700), 0);
	snprintf(before, sizeof(before), "%s/b2fcache-1/00/tmp.1", s.path);
	snprintf(now, sizeof(now), "%s/b2fcache-1/00/tmp.2", s.path);
	fd = open(before, O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(futimens(fd, old), 0);
	close(fd);
	close(open(now, O_WRONLY | O_CREAT, 0600));
	/* The first write counts all cells. */
	put(&s, "a", 0, 60);
	cr_assert_neq(access(before, F_OK), 0);
	cr_assert_eq(access(now, F_OK), 0);
}
