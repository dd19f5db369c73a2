/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store_dir.h - a directory with an index, as a store, for one test at a time
 *
 * For a suite with store_dir_setup() and store_dir_teardown().
 */
#ifndef B2F_TESTS_STORE_DIR_H
#define B2F_TESTS_STORE_DIR_H

#include <string.h>
#include <sys/stat.h>

#include "store/write.h"
#include "tests/support/frame_dir.h"
#include "tests/support/own.h"

OWNER(b2f_store, b2f_store_free);

#define NEW_NAME "/.chunks.b2frame.new"

static struct frame_dir dir;

static inline void store_dir_setup(void)
{
	dir = frame_dir_new();
	frame_dir_write(&dir, B2F_INDEX_NAME, "old index", 9);
}

static inline void store_dir_teardown(void)
{
	frame_dir_remove(&dir);
}

static inline const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir.path, name);
	return path;
}

static inline struct stat stat_of(const char *name)
{
	struct stat st;

	cr_assert_eq(lstat(path_of(name), &st), 0, "%s", name);
	return st;
}

static inline struct b2f_store *open_store(void)
{
	struct b2f_store *store = NULL;

	cr_assert_eq(b2f_store_open(AT_FDCWD, dir.path, false, &store, NULL),
		     0);
	return store;
}

static inline struct b2f_object create(struct b2f_store *store, int64_t id)
{
	struct b2f_object object = {.fd = -1};
	struct b2f_why why = {""};

	cr_assert_eq(b2f_object_create(store, id, &object, &why), 0, "%s",
		     why.text);
	if (id >= 0)
		cr_assert_eq(b2f_object_publish(&object, id, &why), 0, "%s",
			     why.text);
	return object;
}

/* Becomes a user who owns nothing, in this test's process. */
static inline void drop_root(void)
{
	if (geteuid() == 0)
		cr_assert_eq(setegid(65534) || seteuid(65534), 0);
}

#endif
