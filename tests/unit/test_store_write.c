/* SPDX-License-Identifier: BSD-3-Clause */
/* test_store_write.c - what a commit does to a real directory, step by step */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "store/write.h"
#include "tests/support/frame_dir.h"

#define NEW_NAME "/.chunks.b2frame.new"

static struct frame_dir dir;

static void setup(void)
{
	dir = frame_dir_new();
	frame_dir_write(&dir, B2F_INDEX_NAME, "old index", 9);
}

static void teardown(void)
{
	frame_dir_remove(&dir);
}

TestSuite(store_write, .init = setup, .fini = teardown);

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir.path, name);
	return path;
}

static struct stat stat_of(const char *name)
{
	struct stat st;

	cr_assert_eq(lstat(path_of(name), &st), 0, "%s", name);
	return st;
}

static struct b2f_store *open_store(void)
{
	struct b2f_store *store = NULL;

	cr_assert_eq(b2f_store_open(AT_FDCWD, dir.path, false, &store, NULL),
		     0);
	return store;
}

static struct b2f_object create(struct b2f_store *store, int64_t id)
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
	struct b2f_store *store = open_store();
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
	b2f_store_free(store);
}

Test(store_write, a_chunk_that_exists_is_not_created_again)
{
	struct b2f_store *store = open_store();
	struct b2f_object object = create(store, 1);

	cr_assert_eq(b2f_object_write(&object, 0, "live", 4, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(b2f_object_create(store, 1, &object, NULL), -EEXIST);
	expect_content(store, 1, "live");
	cr_assert_eq(symlink("/etc/passwd", path_of("00000002.chunk")), 0);
	cr_assert_eq(b2f_object_create(store, 2, &object, NULL), -EEXIST);
	b2f_store_free(store);
}

Test(store_write, a_new_index_takes_the_place_of_the_old_one)
{
	struct b2f_store *store = open_store();
	struct b2f_frame_stamp before, after;
	struct b2f_object object;

	frame_dir_write(&dir, NEW_NAME, "left by a crash", 15);
	cr_assert_eq(b2f_store_identify(store, B2F_OBJECT_INDEX, &before), 0);
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(b2f_object_write(&object, 0, "new", 3, NULL), 0);
	expect_content(store, B2F_OBJECT_INDEX, "old index");
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(b2f_store_install(store, NULL), 0);
	expect_content(store, B2F_OBJECT_INDEX, "new");
	cr_assert_eq(access(path_of(NEW_NAME), F_OK), -1);
	cr_assert_eq(b2f_store_identify(store, B2F_OBJECT_INDEX, &after), 0);
	cr_assert_not(b2f_frame_stamp_equal(&before, &after));
	cr_assert_eq(b2f_store_install(store, NULL), -ENOENT);
	expect_content(store, B2F_OBJECT_INDEX, "new");
	b2f_store_free(store);
}

Test(store_write, a_new_index_is_its_owners_alone_until_it_is_complete)
{
	struct b2f_store *store = open_store();
	struct b2f_object object;

	cr_assert_eq(chmod(path_of(B2F_INDEX_NAME), 0664), 0);
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(stat_of(NEW_NAME).st_mode & 07777, 0600);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	cr_assert_eq(stat_of(NEW_NAME).st_mode & 07777, 0664);
	b2f_object_close(&object);
	b2f_store_free(store);
}

Test(store_write, a_planted_link_is_removed_and_not_followed)
{
	struct b2f_store *store = open_store();
	struct b2f_object object;

	frame_dir_write(&dir, "victim", "precious", 8);
	cr_assert_eq(symlink("victim", path_of(NEW_NAME)), 0);
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(b2f_object_write(&object, 0, "new", 3, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(stat_of("victim").st_size, 8);
	cr_assert(S_ISREG(stat_of(NEW_NAME).st_mode));
	b2f_store_free(store);
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

/* Becomes a user who owns nothing, in this test's process. */
static void drop_root(void)
{
	if (geteuid() == 0)
		cr_assert_eq(setegid(65534) || seteuid(65534), 0);
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

/* What b2f_store_lock() says on a read-only mount; 1 if there can be none. */
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
	struct b2f_store *store = NULL;
	struct b2f_frame_stamp identity;
	struct b2f_why why = {""};

	cr_assert_eq(b2f_store_new_memory((const uint8_t *)"x", 1, &store), 0);
	cr_assert_eq(b2f_store_lock(store, &why), -EROFS);
	cr_assert_str_not_empty(why.text);
	cr_assert_eq(b2f_object_create(store, 0, &object, NULL), -EROFS);
	cr_assert_eq(b2f_store_install(store, NULL), -EROFS);
	cr_assert_eq(b2f_store_sync_names(store, NULL), -EROFS);
	cr_assert_eq(b2f_store_remove(store, 0, NULL), -EROFS);
	cr_assert_eq(b2f_store_identify(store, 0, &identity), -EROFS);
	cr_assert_eq(b2f_store_list(store, NULL, NULL), -EROFS);
	cr_assert_eq(b2f_object_open(store, B2F_OBJECT_INDEX, &object, NULL),
		     0);
	cr_assert_eq(b2f_object_write(&object, 0, "", 0, NULL), -EROFS);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), -EROFS);
	cr_assert_eq(b2f_object_sync(&object, NULL), -EROFS);
	b2f_store_free(store);
}

Test(store_write, a_write_that_gets_stuck_tells_why)
{
	const struct rlimit limit = {1000, RLIM_INFINITY};
	struct b2f_store *store = open_store();
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
	b2f_store_free(store);
}

Test(store_write, chunks_may_be_read_by_whom_the_index_may)
{
	static const mode_t modes[][2] = {{0644, 0644}, {0600, 0600},
					  {0755, 0644}, {0664, 0664},
					  {0440, 0440}, {04666, 0666}};
	struct b2f_store *store = open_store();
	char name[B2F_CHUNK_NAME_SIZE];

	umask(0077);
	for (int i = 0; i < 6; i++) {
		struct b2f_object object;

		cr_assert_eq(chmod(path_of(B2F_INDEX_NAME), modes[i][0]), 0);
		object = create(store, i);
		b2f_object_close(&object);
		b2f_chunk_name(i, name);
		cr_assert_eq(stat_of(name).st_mode & 07777, modes[i][1],
			     "row %d: %o", i, stat_of(name).st_mode);
	}
	b2f_store_free(store);
}

Test(store_write, without_an_index_only_the_owner_may_read)
{
	struct b2f_store *store = open_store();
	struct b2f_object object;

	cr_assert_eq(unlink(path_of(B2F_INDEX_NAME)), 0);
	umask(0);
	object = create(store, 0);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(stat_of("00000000.chunk").st_mode & 07777, 0600);
	b2f_store_free(store);
}

Test(store_write, root_gives_files_to_the_owner_of_the_index)
{
	struct b2f_store *store = open_store();
	struct b2f_object object;
	struct stat st;

	/* Only root can make this happen; anybody else has nothing to test. */
	if (geteuid() == 0) {
		cr_assert_eq(chown(path_of(B2F_INDEX_NAME), 1234, 5678), 0);
		cr_assert_eq(chmod(path_of(B2F_INDEX_NAME), 06640), 0);
		object = create(store, 7);
		b2f_object_close(&object);
		st = stat_of("00000007.chunk");
		cr_assert(st.st_uid == 1234 && st.st_gid == 5678);
		cr_assert_eq(st.st_mode & 07777, 0640);
		object = create(store, B2F_OBJECT_NEW_INDEX);
		cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
		b2f_object_close(&object);
		st = stat_of(NEW_NAME);
		cr_assert(st.st_uid == 1234 && st.st_gid == 5678);
		cr_assert_eq(st.st_mode & 07777, 06640);
	}
	b2f_store_free(store);
}

Test(store_write, what_cannot_be_given_away_is_not_given_to_others)
{
	struct b2f_store *store;
	struct b2f_object object;

	if (geteuid() != 0)
		return;
	cr_assert_eq(chown(path_of(B2F_INDEX_NAME), 1234, 5678), 0);
	cr_assert_eq(chmod(path_of(B2F_INDEX_NAME), 06664), 0);
	cr_assert_eq(chmod(dir.path, 0777), 0);
	drop_root();
	store = open_store();
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	b2f_object_close(&object);
	/* Group 65534 must not write to what group 5678 could. */
	cr_assert_eq(stat_of(NEW_NAME).st_mode & 07777, 0644, "%o",
		     stat_of(NEW_NAME).st_mode);
	b2f_store_free(store);
	cr_assert_eq(seteuid(0), 0);
}

Test(store_write, a_new_index_inherits_times_and_xattrs)
{
	const struct timespec times[2] = {{1000, 1}, {2000, 2}};
	const struct timespec mtime = {3000, 3};
	struct b2f_store *store = open_store();
	struct b2f_object object;
	char value[16] = "";
	bool has_xattrs;
	struct stat st;

	has_xattrs =
		!setxattr(path_of(B2F_INDEX_NAME), "user.colour", "blue", 4, 0);
	cr_assert(has_xattrs || errno == ENOTSUP);
	cr_assert_eq(utimensat(AT_FDCWD, path_of(B2F_INDEX_NAME), times, 0), 0);
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(b2f_object_write(&object, 0, "new", 3, NULL), 0);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	st = stat_of(NEW_NAME);
	cr_assert(st.st_mtim.tv_sec == 2000 && st.st_mtim.tv_nsec == 2);
	cr_assert(st.st_atim.tv_sec == 1000 && st.st_atim.tv_nsec == 1);
	cr_assert_eq(b2f_object_inherit(&object, &mtime, NULL), 0);
	st = stat_of(NEW_NAME);
	cr_assert(st.st_mtim.tv_sec == 3000 && st.st_mtim.tv_nsec == 3);
	b2f_object_close(&object);
	if (has_xattrs)
		cr_assert_eq(getxattr(path_of(NEW_NAME), "user.colour", value,
				      sizeof(value)),
			     4);
	cr_assert_str_eq(value, has_xattrs ? "blue" : "");
	b2f_store_free(store);
}

/* The xattr of user::rw- user:1234:rw- group::--- mask::rw- other::---. */
static const char acl[] = "\2\0\0\0"
			  "\x01\0\6\0\xff\xff\xff\xff"
			  "\x02\0\6\0\xd2\x04\0\0"
			  "\x04\0\0\0\xff\xff\xff\xff"
			  "\x10\0\6\0\xff\xff\xff\xff"
			  "\x20\0\0\0\xff\xff\xff\xff";
#define ACL_SIZE 44

static bool set_acl(const char *name, const char *kind)
{
	int ret = setxattr(path_of(name), kind, acl, ACL_SIZE, 0);

	cr_assert(ret == 0 || errno == ENOTSUP);
	return ret == 0;
}

Test(store_write, files_get_the_acl_of_the_index)
{
	struct b2f_store *store = open_store();
	struct b2f_object object;
	char back[64];

	if (!set_acl(B2F_INDEX_NAME, "system.posix_acl_access"))
		return;
	object = create(store, 0);
	b2f_object_close(&object);
	cr_assert_eq(getxattr(path_of("00000000.chunk"),
			      "system.posix_acl_access", back, sizeof(back)),
		     ACL_SIZE);
	cr_assert_eq(memcmp(back, acl, ACL_SIZE), 0);
	cr_assert_eq(stat_of("00000000.chunk").st_mode & 07777, 0660);
	b2f_store_free(store);
}

Test(store_write, a_default_acl_adds_nothing_to_what_the_index_allows)
{
	struct b2f_store *store = open_store();
	struct b2f_object object;
	char back[64];

	cr_assert_eq(chmod(path_of(B2F_INDEX_NAME), 0644), 0);
	if (!set_acl("", "system.posix_acl_default"))
		return;
	object = create(store, 0);
	b2f_object_close(&object);
	cr_assert_eq(getxattr(path_of("00000000.chunk"),
			      "system.posix_acl_access", back, sizeof(back)),
		     -1);
	cr_assert_eq(stat_of("00000000.chunk").st_mode & 07777, 0644);
	b2f_store_free(store);
}

Test(store_write, removing_what_is_not_there_is_no_error)
{
	struct b2f_store *store = open_store();
	struct b2f_object object = create(store, 5);

	b2f_object_close(&object);
	cr_assert_eq(b2f_store_remove(store, 5, NULL), 0);
	cr_assert_eq(b2f_store_remove(store, 5, NULL), 0);
	cr_assert_eq(b2f_store_remove(store, B2F_OBJECT_NEW_INDEX, NULL), 0);
	cr_assert_eq(b2f_object_open(store, 5, &object, NULL), B2F_ECORRUPT);
	b2f_store_free(store);
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
	struct b2f_store *store = open_store();
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
	b2f_store_free(store);
}

Test(store_write, a_rewritten_chunk_has_another_identity)
{
	struct b2f_store *store = open_store();
	struct b2f_frame_stamp before, after;
	struct b2f_object object;

	cr_assert_eq(b2f_store_identify(store, 3, &before), -ENOENT);
	frame_dir_write(&dir, "00000003.chunk", "abc", 3);
	cr_assert_eq(b2f_store_identify(store, 3, &before), 0);
	cr_assert_eq(b2f_object_open(store, 3, &object, NULL), 0);
	cr_assert(b2f_frame_stamp_equal(&before, &object.identity));
	b2f_object_close(&object);
	/* Timestamps have the grain of the kernel's tick. */
	usleep(20000);
	frame_dir_write(&dir, "00000003.chunk", "xyz", 3);
	cr_assert_eq(b2f_store_identify(store, 3, &after), 0);
	cr_assert_not(b2f_frame_stamp_equal(&before, &after));
	b2f_store_free(store);
}

Test(store_write, an_unfinished_chunk_has_no_name)
{
	struct b2f_store *store = open_store();
	struct b2f_object object = {.fd = -1}, other = {.fd = -1};

	cr_assert_eq(b2f_store_lock(store, NULL), 0);
	cr_assert_eq(b2f_object_create(store, 7, &object, NULL), 0);
	cr_assert_eq(b2f_object_write(&object, 0, "abc", 3, NULL), 0);
	cr_assert_neq(access(path_of("00000007.chunk"), F_OK), 0);
	/* Another writer may take it meanwhile. */
	other = create(store, 7);
	b2f_object_close(&other);
	cr_assert_eq(b2f_object_publish(&object, 7, NULL), -EEXIST);
	b2f_object_close(&object);
	expect_content(store, 7, "");
	b2f_store_free(store);
}
