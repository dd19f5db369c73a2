/* SPDX-License-Identifier: BSD-3-Clause */
/* test_store_write.c - the steps of a commit in a real directory */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "b2frame/names.h"
#include "tests/support/store_dir.h"

TestSuite(store_write, .init = store_dir_setup, .fini = store_dir_teardown);

static void expect_content(struct b2f_store *store, int64_t id,
			   const char *wanted)
{
	struct b2f_object object;
	char buf[64] = "";

	cr_assert_eq(b2f_object_open(store, id, &object, NULL), 0);
	cr_assert_eq(object.size, strlen(wanted));
	cr_assert_eq(b2f_object_read(&object, 0, buf, object.size, NULL), 0);
	cr_assert_str_eq(buf, wanted);
	b2f_object_close(&object);
}

Test(store_write, a_created_chunk_holds_what_was_written)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object;
	char back[4] = "";

	cr_assert_eq(b2f_store_lock(store, NULL), 0);
	object = create(store, 0x6BCDEF01);
	cr_assert_eq(b2f_object_write(&object, 3, "def", 3, NULL), 0);
	cr_assert_eq(b2f_object_write(&object, 0, "abc", 3, NULL), 0);
	cr_assert_eq(b2f_object_read(&object, 2, back, 3, NULL), 0);
	cr_assert_str_eq(back, "cde");
	cr_assert_eq(b2f_object_sync(&object, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(b2f_store_sync_names(store, NULL), 0);
	expect_content(store, 0x6BCDEF01, "abcdef");
	cr_assert_eq(stat_of("6BCDEF01.chunk").st_size, 6);
}

Test(store_write, a_chunk_that_exists_is_not_created_again)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object = create(store, 1);

	cr_assert_eq(b2f_object_write(&object, 0, "live", 4, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(b2f_object_create(store, 1, &object, NULL), -EEXIST);
	expect_content(store, 1, "live");
	cr_assert_eq(symlink("/etc/passwd", path_of("00000002.chunk")), 0);
	cr_assert_eq(b2f_object_create(store, 2, &object, NULL), -EEXIST);
}

Test(store_write, a_new_index_takes_the_place_of_the_old_one)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_frame_stamp before, after;
	struct b2f_object object;

	frame_dir_write(&dir, NEW_NAME, "left by a crash", 15);
	cr_assert_eq(b2f_store_identify(store, B2F_OBJECT_INDEX, &before), 0);
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(b2f_object_write(&object, 0, "new", 3, NULL), 0);
	expect_content(store, B2F_OBJECT_INDEX, "old index");
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(b2f_store_install(store, NULL, NULL), 0);
	expect_content(store, B2F_OBJECT_INDEX, "new");
	cr_assert_eq(access(path_of(NEW_NAME), F_OK), -1);
	cr_assert_eq(b2f_store_identify(store, B2F_OBJECT_INDEX, &after), 0);
	cr_assert_not(b2f_frame_stamp_equal(&before, &after));
	cr_assert_eq(b2f_store_install(store, NULL, NULL), -ENOENT);
	expect_content(store, B2F_OBJECT_INDEX, "new");
}

Test(store_write, a_planted_link_is_removed_and_not_followed)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object;

	frame_dir_write(&dir, "victim", "precious", 8);
	cr_assert_eq(symlink("victim", path_of(NEW_NAME)), 0);
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(b2f_object_write(&object, 0, "new", 3, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(stat_of("victim").st_size, 8);
	cr_assert(S_ISREG(stat_of(NEW_NAME).st_mode));
}

Test(store_write, a_second_writer_has_to_wait)
{
	struct b2f_store *one = open_store(), *two = open_store();
	struct b2f_why why = {""};

	cr_assert_eq(b2f_store_lock(one, NULL), 0);
	cr_assert_eq(b2f_store_lock(one, NULL), 0, "it has it already");
	cr_assert_eq(b2f_store_lock(two, &why), -EBUSY);
	cr_assert_str_not_empty(why.text);
	b2f_store_free(one);
	cr_assert_eq(b2f_store_lock(two, NULL), 0);
	b2f_store_free(two);
}

Test(store_write, a_directory_of_another_user_cannot_be_locked)
{
	struct b2f_store *store;

	cr_assert_eq(chmod(dir.path, 0555), 0);
	drop_root();
	store = open_store();
	cr_assert_eq(b2f_store_lock(store, NULL), -EACCES);
	b2f_store_free(store);
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
	cr_assert_eq(chmod(dir.path, 0755), 0);
}

/*
 * Returns the result of b2f_store_lock() on a read-only mount; 1 if there can
 * be none.
 */
static int lock_read_only(void)
{
	struct b2f_store *store = NULL;
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;

	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(dir.path, dir.path, NULL, MS_BIND, NULL) ||
	    mount(NULL, dir.path, NULL, flags, NULL))
		return 1;
	if (b2f_store_open(AT_FDCWD, dir.path, false, &store, NULL))
		return 2;
	return -b2f_store_lock(store, NULL);
}

Test(store_write, a_read_only_filesystem_says_so)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(lock_read_only());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), EROFS, "%d", WEXITSTATUS(status));
}

Test(store_write, stores_without_writing_answer_that_they_are_read_only)
{
	struct b2f_object object = {.fd = -1};
	OWN(b2f_store_free) struct b2f_store *store = NULL;
	struct b2f_frame_stamp identity;
	struct b2f_why why = {""};

	cr_assert_eq(b2f_store_new_memory((const uint8_t *)"x", 1, &store), 0);
	cr_assert_eq(b2f_store_lock(store, &why), -EROFS);
	cr_assert_str_not_empty(why.text);
	cr_assert_eq(b2f_object_create(store, 0, &object, NULL), -EROFS);
	cr_assert_eq(b2f_store_install(store, NULL, NULL), -EROFS);
	cr_assert_eq(b2f_store_sync_names(store, NULL), -EROFS);
	cr_assert_eq(b2f_store_remove(store, 0, NULL), -EROFS);
	cr_assert_eq(b2f_store_list(store, NULL, NULL), -EROFS);
	cr_assert_eq(b2f_object_open(store, B2F_OBJECT_INDEX, &object, NULL),
		     0);
	cr_assert_eq(b2f_object_write(&object, 0, "", 0, NULL), -EROFS);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), -EROFS);
	cr_assert_eq(b2f_object_sync(&object, NULL), -EROFS);
	/* A question changes nothing: every chunk is in the one buffer. */
	cr_assert_eq(b2f_store_identify(store, 0, &identity), 0);
	cr_assert_eq(identity.size, 1);
}

Test(store_write, a_write_that_gets_stuck_tells_why)
{
	const struct rlimit limit = {1000, RLIM_INFINITY};
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object = create(store, 0);
	struct b2f_why why = {""};
	char data[2000] = "";

	/* The first 1000 bytes are taken, then comes the error. */
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(b2f_object_write(&object, 0, data, sizeof(data), &why),
		     -EFBIG);
	cr_assert_str_not_empty(why.text);
	b2f_object_close(&object);
	cr_assert_eq(stat_of("00000000.chunk").st_size, 1000);
}

Test(store_write, removing_what_is_not_there_is_no_error)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object = create(store, 5);

	b2f_object_close(&object);
	cr_assert_eq(b2f_store_remove(store, 5, NULL), 0);
	cr_assert_eq(b2f_store_remove(store, 5, NULL), 0);
	cr_assert_eq(b2f_store_remove(store, B2F_OBJECT_NEW_INDEX, NULL), 0);
	cr_assert_eq(b2f_object_open(store, 5, &object, NULL), B2F_ECORRUPT);
}

static int add_up(void *arg, int64_t id)
{
	int64_t *sum = arg;

	*sum += id;
	return 0;
}

static int stop(void *arg, int64_t id)
{
	(void)id;
	return ++*(int *)arg == 2 ? 77 : 0;
}

Test(store_write, only_chunk_files_and_new_indexes_are_listed)
{
	static const char *const others[] = {
		"00000000.chunk2", "0000000.chunk",  "000000000.chunk",
		"0000000a.chunk",  "00000000.CHUNK", "x0000000.chunk",
		".b2lock",	   "00000000",	     "chunk",
		"80000000.chunk",  ".00000001.chunk", "00000001.new"};
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	int64_t sum = 0;
	int n = 0;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		frame_dir_write(&dir, others[i], "", 0);
	frame_dir_write(&dir, "000000FF.chunk", "", 0);
	frame_dir_write(&dir, "00010000.chunk", "", 0);
	frame_dir_write(&dir, "7FFFFFFF.chunk", "", 0);
	cr_assert_eq(b2f_store_list(store, add_up, &sum), 0);
	cr_assert_eq(sum, 0xFF + 0x10000 + INT64_C(0x7FFFFFFF));
	frame_dir_write(&dir, NEW_NAME, "", 0);
	cr_assert_eq(b2f_store_list(store, add_up, &sum), 0);
	cr_assert_eq(sum, 2 * (0xFF + 0x10000 + INT64_C(0x7FFFFFFF)) +
				  B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(b2f_store_list(store, stop, &n), 77);
	cr_assert_eq(n, 2);
}

Test(store_write, a_name_tells_which_part_of_a_frame_it_is)
{
	static const struct {
		const char *name;
		enum b2f_part part;
	} rows[] = {
		{"chunks.b2frame", B2F_PART_INDEX},
		{".chunks.b2frame.new", B2F_PART_PENDING},
		{"7FFFFFFF.chunk", B2F_PART_CHUNK},
		{"80000000.chunk", B2F_PART_NONE},
		{"0000002a.chunk", B2F_PART_NONE},
		{"0000002A.chunk2", B2F_PART_NONE},
		{".0000002A.new", B2F_PART_PENDING},
		{".0000002A.chunk", B2F_PART_NONE},
		{"0000002A.new", B2F_PART_NONE},
		{".b2lock", B2F_PART_LOCK},
		{".link.0", B2F_PART_SLOT},
		{".", B2F_PART_NONE},
		{"", B2F_PART_NONE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(b2f_part_of(rows[i].name), rows[i].part, "%s",
			     rows[i].name);
}

Test(store_write, a_rewritten_chunk_has_another_identity)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_frame_stamp before, after;
	struct b2f_object object;

	cr_assert_eq(b2f_store_identify(store, 3, &before), -ENOENT);
	frame_dir_write(&dir, "00000003.chunk", "abc", 3);
	cr_assert_eq(b2f_store_identify(store, 3, &before), 0);
	cr_assert_eq(b2f_object_open(store, 3, &object, NULL), 0);
	cr_assert(b2f_frame_stamp_equal(&before, &object.identity));
	b2f_object_close(&object);
	/* Timestamps are as coarse as the kernel's tick. */
	usleep(20000);
	frame_dir_write(&dir, "00000003.chunk", "xyz", 3);
	cr_assert_eq(b2f_store_identify(store, 3, &after), 0);
	cr_assert_not(b2f_frame_stamp_equal(&before, &after));
}

Test(store_write, an_unfinished_chunk_has_no_name)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object = {.fd = -1}, other = {.fd = -1};

	cr_assert_eq(b2f_store_lock(store, NULL), 0);
	cr_assert_eq(b2f_object_create(store, 7, &object, NULL), 0);
	cr_assert_eq(b2f_object_write(&object, 0, "abc", 3, NULL), 0);
	cr_assert_neq(access(path_of("00000007.chunk"), F_OK), 0);
	/* Another writer may take the name meanwhile. */
	other = create(store, 7);
	b2f_object_close(&other);
	cr_assert_eq(b2f_object_publish(&object, 7, NULL), -EEXIST);
	b2f_object_close(&object);
	expect_content(store, 7, "");
}
