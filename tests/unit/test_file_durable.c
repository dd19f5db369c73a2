/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_durable.c - does a commit survive a loss of power, and is that
 * known?
 *
 * Syncs that fail, or are left to the filesystem, around one commit;
 * test_file_faults.c has faults at every operation.
 */
#include <criterion/criterion.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "file/writer.h"
#include "programs/durability.h"
#include "tests/support/fault_work.h"

/* A file is left to a sync of the filesystem, which fails. */
static bool is_durable_after_failure(bool tell)
{
	struct fault_disk *disk = make_disk(false);
	struct b2f_durability d = {.state = B2F_DISK_NEW};
	static struct work w;
	bool durable;

	begin_with(&w, disk, &d);
	write_some(&w, 0, 22000, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_VISIBLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_NEW);
	cr_expect_lt(count_durable(&w), 12);
	fault_disk_abandon(disk);
	if (tell)
		b2f_durability_fail(&d);
	/* A later write does not hide it. */
	write_some(&w, 100, 10, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_DURABLE);
	durable = count_durable(&w) == 12;
	check_reading(&w);
	cr_assert_eq(w.nfailed, 0);
	end(&w);
	fault_disk_free(disk);
	return durable;
}

Test(file_durable, what_a_sync_has_failed_for_is_written_anew)
{
	cr_expect(is_durable_after_failure(true));
	cr_expect(!is_durable_after_failure(false));
}

/*
 * After a durable commit the sync of the directory fails at the very end of the
 * commit @how.
 */
static void fail_last_sync(struct work *w, enum b2f_commit_how how)
{
	struct fault_plan plan = {.err = EIO, .kinds = FAULT_SYNC_NAMES};

	write_some(w, 0, 22000, true);
	cr_assert_eq(commit(w, B2F_COMMIT_DURABLE), 0);
	cut(w, 5000);
	plan.at = fault_disk_nops(w->disk);
	fault_disk_fail(w->disk, &plan);
	cr_assert_eq(commit(w, how), -EIO);
}

Test(file_durable, what_replaced_something_durable_is_synced_next_time)
{
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(false);
	struct b2f_durability d = {.state = B2F_DISK_DURABLE};
	static struct work w;

	begin_with(&w, disk, &d);
	fail_last_sync(&w, B2F_COMMIT_VISIBLE);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_UNSYNCED);
	write_some(&w, 0, 10, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_VISIBLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_DURABLE);
	cr_expect_eq(count_durable(&w), 12);
	end(&w);
}

static int succeed(int fd)
{
	(void)fd;
	return 0;
}

/* The kernel has reported the error, so the next sync proves nothing. */
Test(file_durable, a_commit_whose_last_sync_failed_needs_another_commit)
{
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(false);
	struct b2f_durability d = {.state = B2F_DISK_DURABLE};
	const struct b2f_write_options options = {.durability = &d};
	static struct work w;

	begin_with(&w, disk, &d);
	fail_last_sync(&w, B2F_COMMIT_DURABLE);
	cr_assert_eq(b2f_durability_get(&d), B2F_DISK_UNSYNCED);
	b2f_file_close(w.file);
	w.file = open_disk(w.rt, disk);
	cr_expect_eq(b2f_file_sync_stored(w.file, &d, true, succeed, -1), -EIO);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_UNSYNCED);
	cr_assert_eq(b2f_file_allow_write(w.file, &options), 0);
	cr_expect_eq(b2f_file_commit(w.file, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_DURABLE);
	cr_expect_eq(count_durable(&w), 12);
	end(&w);
}

/*
 * The number of losses of power, of 40, that leave neither of the last two
 * commits.
 */
static int count_lost(struct work *w)
{
	int n = 0;

	for (unsigned int variant = 0; variant < 40; variant++) {
		struct fault_disk *after =
			fault_disk_after_loss(w->disk, variant);

		n += find_state(w, after, w->nstates - 2) < 0;
		fault_disk_free(after);
	}
	return n;
}

/* The old index may come back, so its files stay. */
Test(file_durable, what_an_index_names_that_may_come_back_is_not_deleted)
{
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(false);
	struct b2f_durability d = {.state = B2F_DISK_DURABLE};
	const struct b2f_write_options write = {.durability = &d};
	const struct b2f_runtime_options options = {.nworkers = 1};
	static struct work w;

	fault_disk_unordered(disk);
	begin_with(&w, disk, &d);
	fail_last_sync(&w, B2F_COMMIT_DURABLE);
	cr_expect_eq(count_lost(&w), 0);
	/* Neither this writer deletes them at its end, nor the next writer. */
	b2f_file_close(w.file);
	cr_expect_eq(count_lost(&w), 0);
	/* Jobs may still hold the store, and with it the lock. */
	b2f_runtime_free(w.rt);
	cr_assert_eq(b2f_runtime_new(&options, &w.rt), 0);
	w.file = open_disk(w.rt, disk);
	cr_assert_eq(b2f_file_allow_write(w.file, &write), 0);
	cr_expect_eq(count_lost(&w), 0);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_DURABLE);
	cr_expect_eq(count_lost(&w), 0);
	end(&w);
}

Test(file_durable, a_file_that_cannot_be_opened_now_is_not_lost)
{
	struct fault_plan plan = {
		.err = EMFILE, .kinds = FAULT_OPEN, .onwards = true};
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(false);
	struct b2f_durability d = {.state = B2F_DISK_NEW};
	static struct work w;

	begin_with(&w, disk, &d);
	write_some(&w, 0, 22000, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_VISIBLE), 0);
	end(&w);
	begin_with(&w, disk, &d);
	fault_disk_count(disk, FAULT_ALL);
	plan.at = fault_disk_nops(disk);
	fault_disk_fail(disk, &plan);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), -EMFILE);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_NEW);
	fault_disk_fail(disk, NULL);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_DURABLE);
	end(&w);
}

/*
 * Fails operation @n of @kinds in the commit @how; false if there are fewer.
 * The next durable commit writes all that the disk does not have, and this ends
 * @w.
 */
static bool fails_once(struct work *w, struct b2f_durability *d,
		       enum b2f_commit_how how, unsigned int kinds, uint64_t n)
{
	struct fault_plan plan = {.err = EIO, .kinds = kinds};
	struct fault_disk *disk = w->disk;
	bool failed;

	fault_disk_count(disk, kinds);
	plan.at = fault_disk_nops(disk) + n;
	fault_disk_fail(disk, &plan);
	failed = commit(w, how) == -EIO;
	fault_disk_fail(disk, NULL);
	/* The kernel reported the error then, and does not report it again. */
	cr_expect_eq(commit(w, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(b2f_durability_get(d), B2F_DISK_DURABLE);
	cr_expect_eq(count_durable(w), 12, "operation %d", (int)n);
	check_reading(w);
	cr_expect_eq(w->nfailed, failed);
	end(w);
	fault_disk_free(disk);
	return failed;
}

/* The same for the writes that a visible commit of a new frame waits for. */
static bool fails_to_write_out(bool contiguous, uint64_t n)
{
	struct b2f_durability d = {.state = B2F_DISK_NEW};
	static struct work w;

	begin_with(&w, make_disk(contiguous), &d);
	write_some(&w, 0, 22000, true);
	return fails_once(&w, &d, B2F_COMMIT_VISIBLE, FAULT_WRITE_OUT, n);
}

Test(file_durable, what_a_visible_commit_could_not_write_is_written_anew)
{
	uint64_t n = 0;

	while (fails_to_write_out(false, n))
		n++;
	cr_expect_gt(n, 2);
	cr_expect(fails_to_write_out(true, 0));
}

/*
 * The same for the syncs of the first durable commit of a frame that an earlier
 * writer has left unsynced.
 */
static bool fails_to_sync_what_was_left(uint64_t n)
{
	struct fault_disk *disk = make_disk(false);
	struct b2f_durability d = {.state = B2F_DISK_NEW};
	static struct work w;

	begin_with(&w, disk, &d);
	write_some(&w, 0, 22000, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_VISIBLE), 0);
	end(&w);
	begin_with(&w, disk, &d);
	write_some(&w, 0, 10, true);
	return fails_once(&w, &d, B2F_COMMIT_DURABLE, FAULT_SYNC, n);
}

Test(file_durable,
     chunks_left_by_a_writer_that_cannot_be_synced_are_written_anew)
{
	uint64_t n = 0;

	while (fails_to_sync_what_was_left(n))
		n++;
	cr_expect_gt(n, 4);
}

/* One error tells of all files of a disk that has failed. */
Test(file_durable, one_commit_finds_all_files_that_could_not_be_synced)
{
	struct fault_plan plan = {
		.err = EIO, .kinds = FAULT_SYNC, .onwards = true};
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(false);
	struct b2f_durability d = {.state = B2F_DISK_DURABLE};
	static struct work w;
	uint64_t before;

	begin_with(&w, disk, &d);
	write_some(&w, 0, 22000, true);
	fault_disk_count(disk, FAULT_SYNC);
	before = plan.at = fault_disk_nops(disk);
	fault_disk_fail(disk, &plan);
	cr_expect_eq(commit(&w, B2F_COMMIT_DURABLE), -EIO);
	cr_expect_eq(fault_disk_nops(disk) - before, 5, "chunk files");
	fault_disk_fail(disk, NULL);
	cr_expect_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_DURABLE);
	cr_expect_eq(count_durable(&w), 12);
	check_reading(&w);
	end(&w);
}

typedef void unsynced_fn(struct work *w, struct b2f_durability *d, uint64_t at);

/* Has operation @at fail, if it is a sync, and commits what was done. */
static void commit_unsynced(struct work *w, uint64_t at)
{
	const struct fault_plan plan = {
		.at = at, .err = EIO, .kinds = FAULT_SYNC};

	fault_disk_fail(w->disk, &plan);
	(void)commit(w, B2F_COMMIT_DURABLE);
}

/* A new contiguous frame that is durable, with @size bytes. */
static void be_durable(struct work *w, struct b2f_durability *d, uint64_t size)
{
	*d = (struct b2f_durability){.state = B2F_DISK_DURABLE};
	begin_with(w, make_disk(true), d);
	write_some(w, 0, size, true);
	cr_assert_eq(commit(w, B2F_COMMIT_DURABLE), 0);
}

/*
 * Writes a contiguous frame most of which is dead then; the last sync of the
 * last commit, that of the header, fails at operation @at.
 */
static void be_unsynced(struct work *w, struct b2f_durability *d, uint64_t at)
{
	be_durable(w, d, 150000);
	cr_assert_eq(b2f_file_zero(w->file, 0, 140000), 0);
	memset(w->model, 0, 140000);
	commit_unsynced(w, at);
}

/* The same for a frame with few dead bytes that ends before the old one. */
static void be_shorter(struct work *w, struct b2f_durability *d, uint64_t at)
{
	const struct b2f_write_options options = {.chunksize = CHUNKSIZE,
						  .durability = d};

	be_durable(w, d, 60000);
	cut(w, 20000);
	cr_assert_eq(commit(w, B2F_COMMIT_DURABLE), 0);
	/* The next writer finds the room before the index. */
	b2f_file_close(w->file);
	w->file = open_disk(w->rt, w->disk);
	cr_assert_eq(b2f_file_allow_write(w->file, &options), 0);
	write_some(w, 20000, 100, true);
	commit_unsynced(w, at);
}

/* The operation that is the last sync of the work. */
static uint64_t find_last_sync(unsynced_fn *fn)
{
	struct b2f_durability d;
	static struct work w;
	uint64_t at = UINT64_MAX;
	char text[64];

	fn(&w, &d, UINT64_MAX);
	for (uint64_t i = 0; i < fault_disk_nops(w.disk); i++) {
		fault_disk_describe(w.disk, i, text, sizeof(text));
		if (strncmp(text, "sync ", 5) == 0)
			at = i;
	}
	end(&w);
	fault_disk_free(w.disk);
	return at;
}

/* Does the disk of @w have a commit whenever power is lost now? */
static void expect_a_commit(struct work *w, uint64_t at)
{
	for (unsigned int variant = 0; variant < 24; variant++) {
		struct fault_disk *after =
			fault_disk_after_loss(w->disk, variant);

		cr_expect_geq(find_state(w, after, w->oldest), 0,
			      "operation %llu, variant %u",
			      (unsigned long long)at, variant);
		fault_disk_free(after);
	}
}

/* Loses power at each operation by which the frame may get shorter. */
static void tidy_unsynced(unsynced_fn *fn)
{
	uint64_t sync = find_last_sync(fn);
	struct b2f_durability d;
	static struct work w;

	for (uint64_t more = 0; more < 40; more++) {
		fn(&w, &d, sync);
		cr_assert_eq(b2f_durability_get(&d), B2F_DISK_UNSYNCED);
		fault_disk_lose_power(w.disk, fault_disk_nops(w.disk) + more);
		b2f_file_tidy(w.file, true, false);
		expect_a_commit(&w, more);
		end(&w);
		fault_disk_free(w.disk);
	}
}

/*
 * A sync that succeeds after a failed one does not write the header, so the
 * room of the old frame must not be used.
 */
Test(file_durable, a_frame_whose_header_may_be_old_gets_no_shorter)
{
	tidy_unsynced(be_unsynced);
	tidy_unsynced(be_shorter);
}

/* The next writer looks for free room, while power is lost. */
static void write_again(struct work *w, struct b2f_durability *d, uint64_t more)
{
	const struct b2f_write_options options = {.chunksize = CHUNKSIZE,
						  .durability = d};

	w->file = open_disk(w->rt, w->disk);
	fault_disk_lose_power(w->disk, fault_disk_nops(w->disk) + more);
	if (b2f_file_allow_write(w->file, &options) == 0) {
		write_some(w, 0, 30000, true);
		(void)commit(w, B2F_COMMIT_DURABLE);
	}
	expect_a_commit(w, more);
	end(w);
	fault_disk_free(w->disk);
}

Test(file_durable, the_room_of_a_frame_whose_header_may_be_old_is_not_used)
{
	uint64_t sync = find_last_sync(be_unsynced);
	struct b2f_durability d;
	static struct work w;

	for (uint64_t more = 0; more < 40; more++) {
		be_unsynced(&w, &d, sync);
		b2f_file_close(w.file);
		write_again(&w, &d, more);
	}
}

/*
 * Writes a contiguous frame most of which is dead then, and kills the writer
 * before its last commit is synced.
 */
static void be_killed(struct work *w, struct b2f_durability *d)
{
	const struct fault_plan all = {
		.err = EIO, .kinds = FAULT_ALL, .onwards = true};
	const struct b2f_runtime_options options = {
		.cache_bytes = 1 << 20, .nworkers = 1, .dirty_bytes = 30000};

	be_durable(w, d, 150000);
	cr_assert_eq(b2f_file_zero(w->file, 0, 140000), 0);
	memset(w->model, 0, 140000);
	d->state = B2F_DISK_NEW;
	cr_assert_eq(commit(w, B2F_COMMIT_VISIBLE), 0);
	fault_disk_fail(w->disk, &all);
	b2f_file_close(w->file);
	b2f_runtime_free(w->rt);
	fault_disk_fail(w->disk, NULL);
	cr_assert_eq(b2f_runtime_new(&options, &w->rt), 0);
	*d = (struct b2f_durability){.state = B2F_DISK_DURABLE};
}

/* The frame that the next writer finds counts as durable, and is not. */
Test(file_durable, the_room_of_a_frame_is_used_when_its_header_is_synced)
{
	struct fault_plan plan = {.err = EIO, .kinds = FAULT_SYNC};
	struct b2f_durability d;
	static struct work w;

	for (uint64_t more = 0; more < 40; more++) {
		be_killed(&w, &d);
		write_again(&w, &d, more);
		be_killed(&w, &d);
		plan.at = fault_disk_nops(w.disk);
		fault_disk_fail(w.disk, &plan);
		write_again(&w, &d, more);
	}
}

/* A store that fails to sync while another thread writes a chunk. */
static struct {
	const struct b2f_store_ops *real;
	struct b2f_store_ops ops;
	struct b2f_store_write_ops write;
	struct work *work;
	/* 1: the sync; 2: the chunk with its seal. */
	atomic_int step;
	sem_t written;
	sem_t synced;
} race;

static int write_in_race(const struct b2f_object *object, uint64_t off,
			 const void *buf, size_t n, struct b2f_why *why)
{
	int err = race.real->write->write(object, off, buf, n, why);

	/* Not the claim, which is a byte. */
	if (n == 1 || race.step == 0 || ++race.step != 2)
		return err;
	sem_post(&race.written);
	sem_wait(&race.synced);
	return err;
}

static int settle_in_race(struct b2f_store *store,
			  const struct b2f_object *object, enum b2f_settle how,
			  struct b2f_why *why)
{
	struct fault_plan plan = {.err = EIO, .kinds = FAULT_SYNC};

	if (how == B2F_SETTLE_DURABLE && race.step == 0) {
		race.step = 1;
		/* A worker encodes the whole chunk at once. */
		write_some(race.work, 20000, CHUNKSIZE, true);
		sem_wait(&race.written);
		plan.at = fault_disk_nops(race.work->disk);
		fault_disk_fail(race.work->disk, &plan);
	}
	return race.real->write->settle(store, object, how, why);
}

Test(file_durable, a_chunk_written_during_a_failed_sync_is_written_anew)
{
	struct b2f_durability d = {.state = B2F_DISK_DURABLE};
	struct b2f_store *store;
	static struct work w;

	sem_init(&race.written, 0, 0);
	sem_init(&race.synced, 0, 0);
	race.work = &w;
	begin_with(&w, make_disk(true), &d);
	store = w.file->writer->txn->store;
	race.real = store->ops;
	race.write = *race.real->write;
	race.write.write = write_in_race;
	race.write.settle = settle_in_race;
	race.ops = *race.real;
	race.ops.write = &race.write;
	store->ops = &race.ops;
	write_some(&w, 0, 20000, true);
	cr_expect_eq(commit(&w, B2F_COMMIT_DURABLE), -EIO);
	sem_post(&race.synced);
	cr_expect_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(count_durable(&w), 12);
	check_reading(&w);
	store->ops = race.real;
	end(&w);
	fault_disk_free(w.disk);
}
