/* SPDX-License-Identifier: BSD-3-Clause */
/* test_become.c - a directory replaces a file, or the file stays */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "store/become.h"
#include "tests/support/before_exchange.h"
#include "tests/support/frame_dir.h"

#define NAME "f.b2frame"

static struct frame_dir dir;
static int dirfd_;
static struct b2f_become become;
static struct b2f_store *made;

static void setup(void)
{
	const struct b2f_store_plan plan = {.index = "index", .size = 5};
	struct b2f_store *old = NULL;

	dir = frame_dir_new();
	dirfd_ = open(dir.path, O_RDONLY | O_DIRECTORY);
	frame_dir_write(&dir, NAME, "file", 4);
	become = (struct b2f_become){.dirfd = dirfd_, .name = NAME};
	cr_assert_eq(b2f_store_open(dirfd_, NAME, false, &old, NULL), 0);
	cr_assert_eq(b2f_become_begin(&become, old, &plan, &made, NULL), 0);
	b2f_store_free(old);
}

static void teardown(void)
{
	b2f_store_free(made);
	close(dirfd_);
	frame_dir_remove(&dir);
}

TestSuite(become, .init = setup, .fini = teardown);

/* Is @name the file @st? */
static bool is(const char *name, const struct stat *st)
{
	struct stat now;

	return fstatat(dirfd_, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

Test(become, what_is_exchanged_back_and_undone_is_as_before)
{
	cr_assert_eq(b2f_become_exchange(&become, NULL), 0);
	cr_assert(is(NAME, &become.dir) && is(become.hidden, &become.old));
	cr_assert_eq(b2f_become_exchange_back(&become, NULL), 0);
	b2f_become_undo(&become);
	cr_assert(is(NAME, &become.old));
	cr_assert_eq(faccessat(dirfd_, become.hidden, F_OK, 0), -1);
}

Test(become, a_file_whose_name_has_become_free_gets_it_back)
{
	cr_assert_eq(b2f_become_exchange(&become, NULL), 0);
	cr_assert_eq(renameat(dirfd_, NAME, dirfd_, "moved"), 0);
	cr_assert_eq(b2f_become_exchange_back(&become, NULL), 0);
	cr_assert_not(become.is_astray);
	b2f_become_undo(&become);
	cr_assert(is(NAME, &become.old) && is("moved", &become.dir));
	cr_assert_eq(b2f_frame_remove(dirfd_, "moved"), 0);
}

Test(become, the_frame_of_another_program_is_not_deleted)
{
	const struct b2f_settings settings = b2f_settings_default();

	cr_assert_eq(renameat(dirfd_, become.hidden, dirfd_, "moved"), 0);
	cr_assert_eq(b2f_frame_create(&settings, dirfd_, become.hidden, 0644,
				      false, NULL),
		     0);
	b2f_become_undo(&become);
	cr_assert_eq(b2f_frame_remove(dirfd_, become.hidden), 0);
	cr_assert_eq(b2f_frame_remove(dirfd_, "moved"), 0);
}

static void put_another_file(void)
{
	/* A file that is deleted leaves its inode number. */
	cr_assert_eq(renameat(dirfd_, NAME, dirfd_, "kept"), 0);
	frame_dir_write(&dir, NAME, "other", 5);
}

Test(become, a_file_that_another_program_puts_there_stays)
{
	struct stat st;

	meanwhile = put_another_file;
	cr_assert_eq(b2f_become_exchange(&become, NULL), -ESTALE);
	cr_assert_eq(fstatat(dirfd_, NAME, &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_assert(S_ISREG(st.st_mode) && st.st_size == 5);
	b2f_become_undo(&become);
}

static void make_lock(void)
{
	frame_dir_write(&dir, NAME ".b2lock", "", 0);
}

/* A program that takes part in locks may be about to write. */
Test(become, a_file_whose_lock_another_program_makes_stays)
{
	meanwhile = make_lock;
	cr_assert_eq(b2f_become_exchange(&become, NULL), -EBUSY);
	cr_assert(is(NAME, &become.old));
	b2f_become_undo(&become);
	cr_assert_eq(unlinkat(dirfd_, NAME ".b2lock", 0), 0);
}
