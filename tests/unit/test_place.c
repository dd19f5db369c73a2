/* SPDX-License-Identifier: BSD-3-Clause */
/* test_place.c - the name of an open file */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/place.h"
#include "tests/support/frame_dir.h"

static struct frame_dir dir;
static int top = -1, fd = -1;
static struct b2f_place place;

static int open_dir(const char *name)
{
	int opened = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(opened, 0);
	return opened;
}

/* The file a/b/f, known as f in a/b. */
static void setup(void)
{
	int below;

	dir = frame_dir_new();
	top = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(mkdirat(top, "a", 0700), 0);
	cr_assert_eq(mkdirat(top, "a/b", 0700), 0);
	cr_assert_eq(mkdirat(top, "a/bc", 0700), 0);
	fd = openat(top, "a/b/f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	below = open_dir("a/b");
	cr_assert_eq(b2f_place_init(&place, below, "f"), 0);
	close(below);
}

static void teardown(void)
{
	char command[160];

	b2f_place_fini(&place);
	close(fd);
	close(top);
	snprintf(command, sizeof(command), "rm -rf '%s'/a", dir.path);
	cr_assert_eq(system(command), 0);
	frame_dir_remove(&dir);
}

TestSuite(place, .init = setup, .fini = teardown);

/*
 * Checks that it is found as @name in @parent, and that the place is updated.
 */
static void found(const char *parent, const char *name)
{
	struct b2f_place now = {.dir = AT_FDCWD};
	struct stat is, should;

	cr_assert(!b2f_place_has(&place, fd));
	cr_assert_eq(b2f_place_find(&place, fd, &now), 0, "%s/%s", parent,
		     name);
	cr_assert_eq(strcmp(now.name, name), 0);
	cr_assert_eq(fstat(now.dir, &is), 0);
	cr_assert_eq(fstatat(top, parent, &should, 0), 0);
	cr_assert_eq(is.st_ino, should.st_ino);
	b2f_place_fini(&place);
	place = now;
}

static void not_found(void)
{
	struct b2f_place now;

	cr_assert(!b2f_place_has(&place, fd));
	cr_assert_eq(b2f_place_find(&place, fd, &now), -ENOENT);
}

Test(place, a_file_is_found_wherever_it_was_moved_to)
{
	static const char *const moves[][3] = {
		{"a/b/f", "a/b", "g"},	 {"a/b/g", "a/bc", "f"},
		{"a/bc/f", "a", "x"},	 {"a/x", ".", "x"},
		{"x", "a/b", "f"},	 {"a/b/f", "a/bc", "f (deleted)"},
	};
	char path[32];

	cr_assert(b2f_place_has(&place, fd));
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		snprintf(path, sizeof(path), "%s/%s", moves[i][1], moves[i][2]);
		cr_assert_eq(renameat(top, moves[i][0], top, path), 0);
		found(moves[i][1], moves[i][2]);
	}
}

Test(place, a_place_without_a_directory_begins_at_the_root)
{
	b2f_place_fini(&place);
	cr_assert_eq(b2f_place_init(&place, AT_FDCWD, "/nowhere"), 0);
	found("a/b", "f");
}

Test(place, what_was_deleted_is_nowhere)
{
	cr_assert_eq(unlinkat(top, "a/b/f", 0), 0);
	not_found();
	/* A new file of that name does not count. */
	close(openat(top, "a/b/f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	not_found();
}

Test(place, a_lack_of_descriptors_does_not_make_it_nowhere)
{
	struct b2f_place now;
	struct rlimit limit, before;
	int err;

	cr_assert_eq(renameat(top, "a/b/f", top, "a/bc/g"), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 1;
	do {
		setrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur++;
		err = b2f_place_find(&place, fd, &now);
	} while (err == -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
	cr_assert_eq(err, 0);
	b2f_place_fini(&now);
}

Test(place, a_directory_that_moves_takes_its_files_along)
{
	cr_assert_eq(renameat(top, "a/b", top, "a/bc/d"), 0);
	cr_assert(b2f_place_has(&place, fd));
	cr_assert_eq(renameat(top, "a/bc/d/f", top, "a/f"), 0);
	found("a", "f");
}
