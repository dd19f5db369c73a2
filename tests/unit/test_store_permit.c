/* SPDX-License-Identifier: BSD-3-Clause */
/* test_store_permit.c - owner and permissions of the files of a commit */
#include <criterion/criterion.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "tests/support/store_dir.h"

static int list_errno;

/* Instead of that of the C library. */
ssize_t listxattr(const char *path, char *list, size_t size)
{
	if (!list_errno)
		return syscall(SYS_listxattr, path, list, size);
	errno = list_errno;
	return -1;
}

TestSuite(store_permit, .init = store_dir_setup, .fini = store_dir_teardown);

Test(store_permit, a_new_index_is_its_owners_alone_until_it_is_complete)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object;

	cr_assert_eq(chmod(path_of(B2F_INDEX_NAME), 0664), 0);
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(stat_of(NEW_NAME).st_mode & 07777, 0600);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	cr_assert_eq(stat_of(NEW_NAME).st_mode & 07777, 0664);
	b2f_object_close(&object);
}

Test(store_permit, chunks_may_be_read_by_whom_the_index_may)
{
	static const mode_t modes[][2] = {{0644, 0644}, {0600, 0600},
					  {0755, 0644}, {0664, 0664},
					  {0440, 0440}, {04666, 0666}};
	OWN(b2f_store_free) struct b2f_store *store = open_store();
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
}

Test(store_permit, without_an_index_only_the_owner_may_read)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object;

	cr_assert_eq(unlink(path_of(B2F_INDEX_NAME)), 0);
	umask(0);
	object = create(store, 0);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	b2f_object_close(&object);
	cr_assert_eq(stat_of("00000000.chunk").st_mode & 07777, 0600);
}

Test(store_permit, root_gives_files_to_the_owner_of_the_index)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object;
	struct stat st;

	/* Only root can set other owners; other users test nothing here. */
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
}

/* A process without root's rights makes the new index. */
static struct b2f_store *make_index_without_root(void)
{
	struct b2f_store *store;
	struct b2f_object object;

	cr_assert_eq(chmod(dir.path, 0777), 0);
	drop_root();
	store = open_store();
	object = create(store, B2F_OBJECT_NEW_INDEX);
	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	b2f_object_close(&object);
	return store;
}

Test(store_permit, what_cannot_be_given_away_is_not_given_to_others)
{
	struct b2f_store *store;

	if (geteuid() != 0)
		return;
	cr_assert_eq(chown(path_of(B2F_INDEX_NAME), 1234, 5678), 0);
	cr_assert_eq(chmod(path_of(B2F_INDEX_NAME), 06664), 0);
	store = make_index_without_root();
	/* Group 65534 must not write to what group 5678 could. */
	cr_assert_eq(stat_of(NEW_NAME).st_mode & 07777, 0644, "%o",
		     stat_of(NEW_NAME).st_mode);
	b2f_store_free(store);
	cr_assert_eq(seteuid(0), 0);
}

Test(store_permit, a_new_index_inherits_times_and_xattrs)
{
	const struct timespec times[2] = {{1000, 1}, {2000, 2}};
	const struct timespec mtime = {3000, 3};
	OWN(b2f_store_free) struct b2f_store *store = open_store();
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
}

Test(store_permit, a_read_only_index_keeps_its_xattrs)
{
	struct b2f_store *store;
	char value[8];

	if (setxattr(path_of(B2F_INDEX_NAME), "user.colour", "blue", 4, 0))
		return;
	cr_assert_eq(chmod(path_of(B2F_INDEX_NAME), 0444), 0);
	store = make_index_without_root();
	cr_expect_eq(stat_of(NEW_NAME).st_mode & 07777, 0444);
	cr_expect_eq(getxattr(path_of(NEW_NAME), "user.colour", value,
			      sizeof(value)),
		     4);
	b2f_store_free(store);
	cr_assert_eq(geteuid() == 65534 ? seteuid(0) : 0, 0);
}

Test(store_permit, xattrs_that_cannot_be_listed_are_not_lost)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
	struct b2f_object object = create(store, B2F_OBJECT_NEW_INDEX);

	list_errno = EIO;
	cr_expect_eq(b2f_object_inherit(&object, NULL, NULL), -EIO);
	/* On NFS. */
	list_errno = ESTALE;
	cr_expect_eq(b2f_object_inherit(&object, NULL, NULL), -ESTALE);
	b2f_object_close(&object);
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

Test(store_permit, files_get_the_acl_of_the_index)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
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
}

Test(store_permit, a_default_acl_adds_nothing_to_what_the_index_allows)
{
	OWN(b2f_store_free) struct b2f_store *store = open_store();
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
}
