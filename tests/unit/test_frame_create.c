/* SPDX-License-Identifier: BSD-3-Clause */
/* test_frame_create.c - new sparse frames, and their end */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include "frame/frame.h"
#include "index/fingerprint.h"
#include "store/make.h"
#include "store/write.h"
#include "tests/support/frame_dir.h"

/* Frames are made in this directory, under the name "f". */
static struct frame_dir dir;
static int dirfd_;

static void setup(void)
{
	dir = frame_dir_new();
	dirfd_ = open(dir.path, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(dirfd_, 0);
}

static void teardown(void)
{
	close(dirfd_);
	frame_dir_remove(&dir);
}

TestSuite(frame_create, .init = setup, .fini = teardown);

static int create(const struct b2f_settings *settings, mode_t mode)
{
	return b2f_frame_create(settings, dirfd_, "f", mode, true, NULL);
}

static void create_default(void)
{
	const struct b2f_settings settings = b2f_settings_default();

	cr_assert_eq(create(&settings, 0644), 0);
}

static struct stat stat_of(const char *name)
{
	struct stat st;

	cr_assert_eq(fstatat(dirfd_, name, &st, AT_SYMLINK_NOFOLLOW), 0, "%s",
		     name);
	return st;
}

static bool exists(const char *name)
{
	return faccessat(dirfd_, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put_file(const char *name)
{
	int fd = openat(dirfd_, name, O_CREAT | O_WRONLY, 0600);

	cr_assert_geq(fd, 0, "%s", name);
	close(fd);
}

Test(frame_create, a_new_frame_is_empty_and_has_its_settings)
{
	const struct b2f_settings rows[] = {
		b2f_settings_default(),
		{.typesize = 300,
		 .blocksize = 4096,
		 .chunksize = 1 << 20,
		 .codec = B2F_CODEC_LZ4HC,
		 .clevel = 9,
		 .splitmode = 1,
		 .filters = {B2F_FILTER_TRUNC_PREC, 0, 0, 0,
			     B2F_FILTER_BITSHUFFLE, B2F_FILTER_BYTEDELTA},
		 .filters_meta = {10, 0, 0, 0, 0, 8}},
		{.typesize = 1, .chunksize = INT32_MAX - 32, .splitmode = 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct b2f_settings back;
		struct b2f_frame *frame;

		cr_assert_eq(create(&rows[i], 0600), 0, "row %zu", i);
		frame = frame_at(dirfd_, "f");
		back = b2f_settings_of(frame);
		cr_assert_eq(memcmp(&back, &rows[i], sizeof(back)), 0,
			     "row %zu", i);
		cr_assert_eq(b2f_frame_info_get(frame)->nchunks, 0);
		cr_assert_eq(b2f_frame_info_get(frame)->nbytes, 0);
		cr_assert_eq(b2f_frame_info_get(frame)->general_flags, 0x12);
		b2f_frame_close(frame);
		cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
		cr_assert_not(exists("f"));
	}
}

Test(frame_create, the_index_carries_its_fingerprint)
{
	uint8_t raw[256];
	const struct b2f_fingerprint_parts parts = {
		.header = raw,
		.header_len = 97,
		.trailer = raw + 97,
		.trailer_len = 35,
	};
	ssize_t size;
	int fd;

	create_default();
	fd = openat(dirfd_, "f/" B2F_INDEX_NAME, O_RDONLY);
	size = read(fd, raw, sizeof(raw));
	close(fd);
	cr_assert_eq(size, 132);
	cr_assert_eq(b2f_fingerprint_check(&parts), B2F_FINGERPRINT_GOOD);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
}

Test(frame_create, who_may_use_the_index_may_enter_the_directory)
{
	static const mode_t modes[][2] = {
		{0640, 0750}, {0600, 0700}, {0444, 0755}, {0606, 0707},
		{0755, 0755}, {0200, 0700}, {0000, 0700}};
	const struct b2f_settings settings = b2f_settings_default();

	umask(0077);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		cr_assert_eq(create(&settings, S_IFREG | modes[i][0]), 0);
		cr_assert_eq(stat_of("f").st_mode & 07777, modes[i][1],
			     "row %zu: %o", i, stat_of("f").st_mode);
		cr_assert_eq(fchmodat(dirfd_, "f", 0700, 0), 0);
		cr_assert_eq(stat_of("f/" B2F_INDEX_NAME).st_mode & 07777,
			     modes[i][0], "row %zu", i);
		cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
	}
}

Test(frame_create, files_of_a_shared_folder_keep_its_group)
{
	cr_assert_eq(fchmod(dirfd_, 02770), 0);
	create_default();
	cr_assert_eq(stat_of("f").st_mode & 07777, 02755);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
}

Test(frame_create, a_default_acl_is_obeyed)
{
	/* user::rwx user:1234:rw- group::r-x mask::rwx other::--- */
	static const char acl[] = "\2\0\0\0"
				  "\x01\0\7\0\xff\xff\xff\xff"
				  "\x02\0\6\0\xd2\x04\0\0"
				  "\x04\0\5\0\xff\xff\xff\xff"
				  "\x10\0\7\0\xff\xff\xff\xff"
				  "\x20\0\0\0\xff\xff\xff\xff";

	if (fsetxattr(dirfd_, "system.posix_acl_default", acl, 44, 0)) {
		cr_assert_eq(errno, ENOTSUP);
		return;
	}
	create_default();
	cr_assert_eq(stat_of("f/" B2F_INDEX_NAME).st_mode & 07777, 0640);
	cr_assert_eq(stat_of("f").st_mode & 07777, 0750);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
}

Test(frame_create, what_exists_stays_as_it_is)
{
	const struct b2f_settings settings = b2f_settings_default();
	struct stat before, after;

	create_default();
	before = stat_of("f/" B2F_INDEX_NAME);
	cr_assert_eq(create(&settings, 0600), -EEXIST);
	after = stat_of("f/" B2F_INDEX_NAME);
	cr_assert_eq(before.st_ino, after.st_ino);
	cr_assert_eq(before.st_mode, after.st_mode);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
	put_file("f");
	cr_assert_eq(create(&settings, 0600), -EEXIST);
}

static void count(void *arg, enum b2f_log_level level, const char *message)
{
	cr_assert_eq(level, B2F_LOG_ERROR);
	cr_assert_not_null(strstr(message, "f: "));
	++*(int *)arg;
}

Test(frame_create, settings_that_cannot_be_are_refused)
{
	struct b2f_settings bad[13];
	int n = 0, told = 0;
	const struct b2f_log log = {.write = count, .arg = &told};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		bad[i] = b2f_settings_default();
	bad[n++].typesize = 0;
	bad[n++].typesize = B2F_BLOCKSIZE_MAX + 1;
	bad[n++].blocksize = B2F_BLOCKSIZE_MAX + 1;
	bad[n++].chunksize = 0;
	bad[n++].chunksize = -2;
	bad[n++].chunksize = INT32_MAX - 31;
	bad[n++].codec = 3;
	bad[n++].codec = 35;
	bad[n++].clevel = 10;
	bad[n++].splitmode = 0;
	bad[n++].splitmode = 5;
	bad[n++].filters[0] = 99;
	bad[n++].filters[5] = 37;
	for (int i = 0; i < n; i++) {
		cr_assert_eq(b2f_frame_create(&bad[i], dirfd_, "f", 0600, false,
					      &log),
			     -EINVAL, "row %d", i);
		cr_assert_eq(told, i + 1);
		cr_assert_not(exists("f"));
	}
}

static int make_open(mode_t mode, struct b2f_frame_made *out)
{
	const struct b2f_settings settings = b2f_settings_default();
	const struct b2f_frame_options options = {.label = "made"};

	return b2f_frame_make(&settings, dirfd_, "f", mode, &options, out);
}

Test(frame_create, what_is_open_after_making_is_what_is_on_disk)
{
	struct b2f_frame_made made;
	struct b2f_frame_stamp ours, theirs;
	struct b2f_frame *frame;
	struct stat st;

	cr_assert_eq(make_open(0640, &made), 0);
	frame = frame_at(dirfd_, "f");
	ours = b2f_frame_stamp_get(made.frame);
	theirs = b2f_frame_stamp_get(frame);
	cr_assert(b2f_frame_stamp_equal(&ours, &theirs));
	cr_assert_eq(memcmp(b2f_frame_info_get(made.frame),
			    b2f_frame_info_get(frame),
			    sizeof(struct b2f_frame_info)),
		     0);
	cr_assert_eq(made.frame->sealed, frame->sealed);
	cr_assert_str_eq(b2f_frame_label(made.frame), "made");
	st = stat_of("f");
	cr_assert(made.dir.st_ino == st.st_ino && made.dir.st_dev == st.st_dev);
	cr_assert_eq(made.dir.st_mode, st.st_mode);
	st = stat_of("f/" B2F_INDEX_NAME);
	cr_assert(made.index.st_ino == st.st_ino &&
		  made.index.st_mode == st.st_mode &&
		  made.index.st_uid == st.st_uid);
	cr_assert_eq(st.st_mode & 07777, 0640);
	b2f_frame_close(frame);
	b2f_frame_close(made.frame);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
}

Test(frame_create, who_has_made_a_frame_does_not_keep_it_from_writers)
{
	struct b2f_frame_made made;
	struct b2f_frame *frame;

	cr_assert_eq(make_open(0644, &made), 0);
	frame = frame_at(dirfd_, "f");
	cr_assert_eq(b2f_store_lock(frame->store, NULL), 0);
	cr_assert_eq(b2f_store_lock(made.frame->store, NULL), -EBUSY);
	b2f_store_unlock(frame->store);
	cr_assert_eq(b2f_store_lock(made.frame->store, NULL), 0);
	b2f_frame_close(frame);
	b2f_frame_close(made.frame);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
}

Test(frame_create, only_the_first_writer_of_a_new_frame_trusts_in_it)
{
	struct b2f_frame_made made;
	struct b2f_frame *again;

	cr_assert_eq(make_open(0644, &made), 0);
	cr_assert_eq(b2f_frame_reopen(made.frame, 0, &again), 0);
	cr_assert_not(b2f_store_begin_new(again->store));
	cr_assert(b2f_store_begin_new(made.frame->store));
	cr_assert_not(b2f_store_begin_new(made.frame->store));
	b2f_frame_close(again);
	b2f_frame_close(made.frame);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
}

Test(frame_create, a_frame_that_cannot_be_made_is_not_open_either)
{
	struct b2f_frame_made made;

	put_file("f");
	cr_assert_eq(make_open(0644, &made), -EEXIST);
	cr_assert_eq(unlinkat(dirfd_, "f", 0), 0);
	/* Subdirectories would add links: nothing hidden is left. */
	cr_assert_leq(stat_of(".").st_nlink, 2);
}

Test(frame_create, a_failure_leaves_nothing)
{
	const struct rlimit limit = {100, RLIM_INFINITY};
	const struct b2f_settings settings = b2f_settings_default();
	char name[300];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	cr_assert_eq(
		b2f_frame_create(&settings, dirfd_, name, 0600, true, NULL),
		-ENAMETOOLONG);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(create(&settings, 0644), -EFBIG);
	cr_assert_not(exists("f"));
}

Test(frame_create, a_removed_frame_is_gone_with_all_that_belongs_to_it)
{
	char name[32];

	create_default();
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "f/%08X.chunk", i * 7);
		put_file(name);
	}
	put_file("f/.b2lock");
	put_file("f/.chunks.b2frame.new");
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
	cr_assert_not(exists("f"));
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), -ENOENT);
}

Test(frame_create, removing_leaves_files_of_other_programs)
{
	create_default();
	put_file("f/00000000.chunk");
	put_file("f/notes.txt");
	cr_assert_eq(mkdirat(dirfd_, "f/00000001.chunk", 0700), 0);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), -ENOTEMPTY);
	cr_assert(exists("f/notes.txt"));
	cr_assert(exists("f/00000001.chunk"));
	cr_assert_not(exists("f/00000000.chunk"));
	cr_assert_not(exists("f/" B2F_INDEX_NAME));
	cr_assert_eq(unlinkat(dirfd_, "f/notes.txt", 0), 0);
	cr_assert_eq(unlinkat(dirfd_, "f/00000001.chunk", AT_REMOVEDIR), 0);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), -ENOENT, "no frame now");
	cr_assert_eq(unlinkat(dirfd_, "f", AT_REMOVEDIR), 0);
}

Test(frame_create, a_frame_that_may_not_be_removed_stays_whole)
{
	struct b2f_frame *frame;

	create_default();
	put_file("f/00000000.chunk");
	/* Its owner may empty it, but not remove it from this directory. */
	if (geteuid() == 0) {
		cr_assert_eq(fchownat(dirfd_, "f", 65534, 65534, 0), 0);
		cr_assert_eq(fchmod(dirfd_, 0755), 0);
		cr_assert_eq(seteuid(65534), 0);
	} else {
		cr_assert_eq(fchmod(dirfd_, 0555), 0);
	}
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), -EACCES);
	cr_assert(exists("f/00000000.chunk"));
	frame = frame_at(dirfd_, "f");
	b2f_frame_close(frame);
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
	cr_assert_eq(fchmod(dirfd_, 0700), 0);
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
}

Test(frame_create, only_the_directory_itself_is_removed)
{
	create_default();
	cr_assert_eq(symlinkat("f", dirfd_, "link"), 0);
	cr_assert_eq(b2f_frame_remove(dirfd_, "link"), -ELOOP);
	put_file("plain");
	cr_assert_eq(b2f_frame_remove(dirfd_, "plain"), -ENOTDIR);
	cr_assert(exists("f/" B2F_INDEX_NAME));
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
}
