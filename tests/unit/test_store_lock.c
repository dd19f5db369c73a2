/* SPDX-License-Identifier: BSD-3-Clause */
/* test_store_lock.c - the .b2lock of a sparse frame */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "store/turn.h"
#include "tests/support/frame_dir.h"
#include "tests/support/own.h"

OWNER(b2f_lock, b2f_lock_close);

static struct frame_dir dir;
static struct b2f_store *store;
static char lock_path[128];

static void setup(void)
{
	dir = frame_dir_new();
	frame_dir_write(&dir, B2F_INDEX_NAME, "index", 5);
	snprintf(lock_path, sizeof(lock_path), "%s/.b2lock", dir.path);
	cr_assert_eq(b2f_store_open(AT_FDCWD, dir.path, false, &store, NULL),
		     0);
}

static void teardown(void)
{
	b2f_store_free(store);
	frame_dir_remove(&dir);
}

TestSuite(store_lock, .init = setup, .fini = teardown);

static struct b2f_lock *open_lock(void)
{
	struct b2f_lock *lock = NULL;
	struct b2f_why why = {""};

	cr_assert_eq(b2f_lock_open(store, true, &lock, &why), 0, "%s",
		     why.text);
	return lock;
}

/* Takes @lock.  Returns the generation in its file. */
static uint64_t acquire(struct b2f_lock *lock)
{
	struct b2f_why why = {""};
	uint64_t raw[2] = {0};
	int fd;

	cr_assert_eq(b2f_lock_acquire(lock, 60000, &why), 0, "%s", why.text);
	fd = open(lock_path, O_RDONLY);
	cr_assert_eq(read(fd, raw, sizeof(raw)), 16);
	close(fd);
	return raw[1];
}

/* Another program holds the lock, shared, until the descriptor is closed. */
static int share(void)
{
	int fd = open(lock_path, O_RDONLY | O_CLOEXEC);

	cr_assert_eq(flock(fd, LOCK_SH | LOCK_NB), 0);
	return fd;
}

/* Could another program take the lock now, as @operation (LOCK_SH, LOCK_EX)? */
static bool is_free(int operation)
{
	int fd = open(lock_path, O_RDWR | O_CLOEXEC);
	bool free_now;

	cr_assert_geq(fd, 0);
	free_now = flock(fd, operation | LOCK_NB) == 0;
	close(fd);
	return free_now;
}

Test(store_lock, a_frame_without_the_file_has_no_locks)
{
	OWN(b2f_lock_close) struct b2f_lock *lock = NULL;

	cr_assert_eq(b2f_lock_open(store, false, &lock, NULL), -ENOENT);
	cr_assert_null(lock);
	b2f_lock_close(open_lock());
	cr_assert_eq(b2f_lock_open(store, false, &lock, NULL), 0);
	b2f_lock_close(NULL);
}

Test(store_lock, the_file_may_be_used_by_whom_the_index_may)
{
	char index[128];
	struct stat st;

	snprintf(index, sizeof(index), "%s/%s", dir.path, B2F_INDEX_NAME);
	cr_assert_eq(chmod(index, 0664), 0);
	umask(0077);
	b2f_lock_close(open_lock());
	cr_assert_eq(stat(lock_path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0664);
}

Test(store_lock, no_file_is_left_that_others_may_not_use)
{
	struct b2f_lock *lock = NULL;
	char index[128];

	/* Only root gives files away. */
	if (geteuid() != 0)
		return;
	snprintf(index, sizeof(index), "%s/%s", dir.path, B2F_INDEX_NAME);
	cr_assert_eq(chown(index, 1234, 5678), 0);
	cr_assert_eq(chmod(dir.path, 0777), 0);
	cr_assert_eq(b2f_lock_open(store, true, &lock, NULL), -ESTALE);
	cr_assert_eq(access(lock_path, F_OK), -1);
}

Test(store_lock, three_locks_leave_what_the_format_notes_show)
{
	/* 16 bytes, the generation in the order of the machine. */
	const uint64_t wanted[2] = {0, 3};
	OWN(b2f_lock_close) struct b2f_lock *lock = open_lock();
	uint64_t raw[3];
	int fd;

	for (uint64_t i = 1; i <= 3; i++) {
		cr_assert_eq(acquire(lock), i);
		b2f_lock_release(lock);
	}
	fd = open(lock_path, O_RDONLY);
	cr_assert_eq(read(fd, raw, sizeof(raw)), 16);
	cr_assert_eq(memcmp(raw, wanted, 16), 0);
	close(fd);
}

Test(store_lock, the_generation_that_others_left_goes_on)
{
	const uint64_t raw[2] = {0, UINT32_MAX};
	struct b2f_lock *lock;

	frame_dir_write(&dir, ".b2lock", raw, 15);
	lock = open_lock();
	cr_assert_eq(acquire(lock), 1, "a short file is 0");
	b2f_lock_release(lock);
	frame_dir_write(&dir, ".b2lock", raw, 16);
	cr_assert_eq(acquire(lock), UINT64_C(1) << 32);
	b2f_lock_close(lock);
}

Test(store_lock, a_writer_has_it_alone)
{
	struct b2f_lock *lock = open_lock();

	cr_assert(is_free(LOCK_EX));
	acquire(lock);
	cr_assert_not(is_free(LOCK_SH));
	b2f_lock_release(lock);
	b2f_lock_release(lock);
	cr_assert(is_free(LOCK_EX));
	acquire(lock);
	b2f_lock_close(lock);
	cr_assert(is_free(LOCK_EX), "closing releases");
}

static void ignore(int number)
{
	(void)number;
}

Test(store_lock, a_signal_does_not_end_the_waiting)
{
	const struct itimerval often = {{0, 10000}, {0, 10000}};
	const struct sigaction action = {.sa_handler = ignore};
	OWN(b2f_lock_close) struct b2f_lock *lock = open_lock();
	int fd = open(lock_path, O_RDWR);
	pid_t pid;

	/* The child has the lock for 200 ms; here a signal comes each 10 ms. */
	cr_assert_eq(flock(fd, LOCK_EX), 0);
	pid = fork();
	if (pid == 0) {
		usleep(200000);
		_exit(0);
	}
	close(fd);
	cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
	cr_assert_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	cr_assert_eq(acquire(lock), 1);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(store_lock, waiting_for_others_has_an_end)
{
	OWN(b2f_lock_close) struct b2f_lock *lock = open_lock();
	int other = share();
	struct timespec begin, end;

	cr_assert_eq(b2f_lock_acquire(lock, 0, NULL), -EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	cr_assert_eq(b2f_lock_acquire(lock, 100, NULL), -EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &end);
	cr_assert_geq((end.tv_sec - begin.tv_sec) * 1000 +
			      (end.tv_nsec - begin.tv_nsec) / 1000000,
		      99);
	close(other);
	cr_assert_eq(acquire(lock), 1, "nothing was raised");
}

Test(store_lock, a_deleted_file_is_made_anew)
{
	OWN(b2f_lock_close) struct b2f_lock *lock = open_lock();

	acquire(lock);
	b2f_lock_release(lock);
	cr_assert_eq(unlink(lock_path), 0);
	cr_assert_eq(acquire(lock), 1);
	cr_assert_not(is_free(LOCK_SH));
}

Test(store_lock, a_user_who_may_only_read_it_cannot_take_it)
{
	struct b2f_lock *lock = NULL;

	b2f_lock_close(open_lock());
	cr_assert_eq(chmod(lock_path, 0444), 0);
	cr_assert_eq(chmod(dir.path, 0555), 0);
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
	cr_assert_eq(b2f_lock_open(store, true, &lock, NULL), 0);
	cr_assert_eq(b2f_lock_acquire(lock, 0, NULL), -EACCES);
	b2f_lock_close(lock);
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
	cr_assert_eq(chmod(dir.path, 0755), 0);
}

Test(store_lock, what_is_no_plain_file_is_refused)
{
	struct b2f_lock *lock = NULL;

	cr_assert_eq(symlink("chunks.b2frame", lock_path), 0);
	cr_assert_eq(b2f_lock_open(store, true, &lock, NULL), B2F_ECORRUPT);
	cr_assert_eq(unlink(lock_path), 0);
	cr_assert_eq(mkfifo(lock_path, 0600), 0);
	cr_assert_eq(b2f_lock_open(store, true, &lock, NULL), B2F_ECORRUPT);
	cr_assert_eq(unlink(lock_path), 0);
	cr_assert_eq(mkdir(lock_path, 0700), 0);
	cr_assert_eq(b2f_lock_open(store, true, &lock, NULL), B2F_ECORRUPT);
	cr_assert_eq(rmdir(lock_path), 0);
}

Test(store_lock, a_file_of_something_else_is_refused)
{
	static const char *const files[] = {"password", "0123456789abcdef0"};
	struct b2f_lock *lock;
	char got[32] = "";
	FILE *f;

	for (int i = 0; i < 2; i++) {
		frame_dir_write(&dir, ".b2lock", files[i], strlen(files[i]));
		cr_assert_eq(b2f_lock_open(store, true, &lock, NULL),
			     B2F_ECORRUPT);
		f = fopen(lock_path, "r");
		cr_assert_not_null(fgets(got, sizeof(got), f));
		cr_assert_str_eq(got, files[i]);
		fclose(f);
		cr_assert_eq(unlink(lock_path), 0);
	}
}

Test(store_lock, a_store_without_directory_has_none)
{
	struct b2f_store *memory = NULL;
	struct b2f_lock *lock = NULL;

	cr_assert_eq(b2f_store_new_memory((const uint8_t *)"x", 1, &memory), 0);
	cr_assert_eq(b2f_lock_open(memory, false, &lock, NULL), -ENOENT);
	cr_assert_eq(b2f_lock_open(memory, true, &lock, NULL),
		     B2F_EUNSUPPORTED);
	b2f_store_free(memory);
}

/*
 * Another program holds the lock as a writer, until the descriptor is closed.
 */
static int change(void)
{
	uint64_t generation = 0;
	int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	cr_assert_geq(pread(fd, &generation, 8, 8), 0);
	generation++;
	cr_assert_eq(pwrite(fd, &generation, 8, 8), 8);
	return fd;
}

/* Begins and ends a turn; returns whether there was a lock. */
static bool take_turn(void)
{
	struct b2f_lock *lock = NULL;
	bool had;

	cr_assert_eq(b2f_turn_begin(store, 0, &lock, NULL), 0);
	had = lock != NULL;
	b2f_lock_close(lock);
	return had;
}

Test(store_lock, a_reader_finds_that_another_program_has_had_it)
{
	close(change());
	cr_assert(take_turn());
	cr_assert_eq(b2f_turn_check(store), 0);
	close(share());
	cr_assert_eq(b2f_turn_check(store), 0, "readers change nothing");
	close(change());
	cr_assert_eq(b2f_turn_check(store), -ESTALE);
	cr_assert(take_turn());
	cr_assert_eq(b2f_turn_check(store), 0);
}

Test(store_lock, readers_share_it_and_wait_for_a_writer_not_for_ever)
{
	struct b2f_lock *lock = NULL;
	int other;

	close(change());
	other = share();
	cr_assert_eq(b2f_turn_begin(store, 0, &lock, NULL), 0);
	cr_assert_not(is_free(LOCK_EX));
	b2f_lock_close(lock);
	close(other);
	lock = NULL;
	other = change();
	cr_assert_eq(b2f_turn_begin(store, 10, &lock, NULL), -EAGAIN);
	cr_assert_null(lock);
	cr_assert_eq(b2f_turn_begin(store, B2F_TURN_OURS, &lock, NULL), 0);
	b2f_lock_close(lock);
	close(other);
}

Test(store_lock, a_file_that_comes_later_tells_of_its_first_writer)
{
	cr_assert_not(take_turn());
	cr_assert_eq(b2f_turn_check(store), -ENOENT);
	b2f_lock_close(open_lock());
	cr_assert_eq(b2f_turn_check(store), 0, "no writer has had it");
	close(change());
	cr_assert_eq(b2f_turn_check(store), -ESTALE);
	cr_assert(take_turn());
	cr_assert_eq(unlink(lock_path), 0);
	cr_assert_eq(b2f_turn_check(store), -ESTALE);
}

Test(store_lock, our_own_changes_are_no_news)
{
	struct b2f_lock *lock;

	close(change());
	cr_assert(take_turn());
	lock = open_lock();
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(b2f_lock_acquire(lock, 0, NULL), 0);
		cr_assert_eq(b2f_turn_check(store), 0, "though it is held");
		b2f_lock_release(lock);
		cr_assert_eq(b2f_turn_check(store), 0);
	}
	close(change());
	cr_assert_eq(b2f_lock_acquire(lock, 0, NULL), 0);
	cr_assert_eq(b2f_turn_check(store), -ESTALE, "theirs came before");
	b2f_lock_adopt(lock);
	cr_assert_eq(b2f_turn_check(store), 0);
	b2f_lock_close(lock);
}

static void *check_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++)
		if (b2f_turn_check(store))
			return store;
	return NULL;
}

Test(store_lock, readers_beside_our_changes_never_take_them_for_others)
{
	struct b2f_lock *lock;
	pthread_t readers[2];
	void *bad;

	close(change());
	cr_assert(take_turn());
	lock = open_lock();
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&readers[i], NULL, check_often,
					    NULL),
			     0);
	for (int i = 0; i < 500; i++) {
		cr_assert_eq(b2f_lock_acquire(lock, 0, NULL), 0);
		b2f_lock_release(lock);
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pthread_join(readers[i], &bad), 0);
		cr_assert_null(bad);
	}
	b2f_lock_close(lock);
}

Test(store_lock, a_reader_needs_no_right_to_write)
{
	close(change());
	cr_assert_eq(chmod(lock_path, 0444), 0);
	cr_assert_eq(chmod(dir.path, 0755), 0);
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
	cr_assert(take_turn());
	cr_assert_eq(b2f_turn_check(store), 0);
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
}

Test(store_lock, what_is_no_lock_file_keeps_no_reader_away)
{
	cr_assert_eq(mkfifo(lock_path, 0600), 0);
	cr_assert_not(take_turn());
	cr_assert_eq(b2f_turn_check(store), -ENOENT);
}
