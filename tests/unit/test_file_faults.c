/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_faults.c - writing to a disk that fails or loses its power
 *
 * One mixed workload is run again and again, each time with another operation
 * of the disk failing, or the power lost at it.  The disk must then hold the
 * state of one commit: the last one that was acknowledged, or one that was
 * begun after that.
 */
#include <criterion/criterion.h>

#include "array/npy.h"
#include "b2frame/convert.h"
#include "base/checked.h"
#include "file/file_state.h"
#include "programs/durability.h"
#include "tests/support/fault_work.h"

typedef void work_fn(struct work *w);

/*
 * Is the frame contiguous; was it made small; are its metalayers longer than a
 * sector, with a fingerprint?
 */
static bool is_single;
static bool is_small;
static bool is_long;
static bool is_sealed;

/* Do changes of names reach the disk in any order, until they are synced? */
static bool is_unordered;

/* Is nothing left of a content that is not durable, or all of it? */
static bool is_whole;

static void work(struct work *w)
{
	write_some(w, 0, 22000, true);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 3000, 4000, false);
	write_some(w, 21000, 9000, true);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 100, 1, true);
	commit(w, B2F_COMMIT_VISIBLE);
	cut(w, 12345);
	write_some(w, 14000, 100, true);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 0, 50000, true);
	check_reading(w);
	commit(w, B2F_COMMIT_DURABLE);
	if (b2f_file_zero(w->file, 4000, 12000) == 0)
		memset(w->model + 4000, 0,
		       w->size > 16000	? 12000
		       : w->size > 4000 ? w->size - 4000
					: 0);
	else
		w->nfailed++;
	commit(w, B2F_COMMIT_DURABLE);
	cut(w, 0);
	write_some(w, 0, 7000, true);
	commit(w, B2F_COMMIT_DURABLE);
	check_reading(w);
}

/* A .npy file of 20000 bytes of items; returns its length. */
static uint64_t make_npy(uint8_t *buf, struct work *w)
{
	char dtype[] = "<i4";
	const struct b2f_array array = {.ndim = 2,
					.shape = {100, 50},
					.itemsize = 4,
					.dtype = dtype};
	uint8_t *head = NULL;
	size_t len = 0;

	cr_assert_eq(b2f_npy_write(&array, &head, &len), 0);
	memcpy(buf, head, len);
	free(head);
	for (size_t i = 0; i < 20000; i++)
		buf[len + i] = (uint8_t)(next(w) >> (i % 3));
	return len + 20000;
}

static void put(struct work *w, const uint8_t *buf, uint64_t off, uint64_t n)
{
	ssize_t got = b2f_file_pwrite(w->file, buf + off, n, off);

	if (got < (ssize_t)n)
		w->nfailed++;
	if (got <= 0)
		return;
	if (off > w->size)
		memset(w->model + w->size, 0, off - w->size);
	memcpy(w->model + off, buf + off, (size_t)got);
	if (off + (uint64_t)got > w->size)
		w->size = off + (uint64_t)got;
}

/* A .npy file that is an array, then plain data, then an array again. */
static void work_on_array(struct work *w)
{
	static uint8_t npy[MODEL_MAX];
	uint64_t n = make_npy(npy, w);

	put(w, npy, 0, 128);
	put(w, npy, 128, 9000);
	put(w, npy, 9128, n - 9128);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 7000, 3000, true);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, n, 1, true);
	check_reading(w);
	commit(w, B2F_COMMIT_DURABLE);
	cut(w, n);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 20, 3, true);
	commit(w, B2F_COMMIT_VISIBLE);
	cut(w, 0);
	put(w, npy, 0, 12000);
	commit(w, B2F_COMMIT_DURABLE);
	put(w, npy, 12000, n - 12000);
	check_reading(w);
	commit(w, B2F_COMMIT_DURABLE);
}

/* Saves @nitems items as a .npy file whose header has @ndim dimensions. */
static void save(struct work *w, int ndim, uint64_t nitems, const char *dtype)
{
	static uint8_t npy[MODEL_MAX];
	char copy[200];
	struct b2f_array array = {.ndim = ndim, .itemsize = 4, .dtype = copy};
	uint8_t *head = NULL;
	size_t len = 0;

	snprintf(copy, sizeof(copy), "%s", dtype);
	for (int i = 0; i < ndim; i++)
		array.shape[i] = i ? 1 : nitems;
	cr_assert_eq(b2f_npy_write(&array, &head, &len), 0);
	memcpy(npy, head, len);
	free(head);
	for (size_t i = 0; i < nitems * 4; i++)
		npy[len + i] = (uint8_t)(next(w) >> (i % 3));
	cut(w, 0);
	put(w, npy, 0, len);
	for (size_t at = len; at < len + nitems * 4; at += 4000)
		put(w, npy, at, b2f_min_u64(4000, len + nitems * 4 - at));
	check_reading(w);
	commit(w, B2F_COMMIT_DURABLE);
}

#define LONG_DTYPE                                                             \
	"[('a name that takes room','|u1'),('another long name','|u1'),"       \
	"('a third one, longer still','|u1'),('the last one','|u1')]"

/* Arrays with and without items, by longer and shorter headers. */
static void work_on_empty_arrays(struct work *w)
{
	save(w, 1, 0, "<i4");
	save(w, 8, 0, "<i4");
	save(w, 1, 0, "<i4");
	save(w, 2, 900, "<i4");
	save(w, 8, 0, LONG_DTYPE);
	save(w, 8, 0, "<i4");
	save(w, 8, 300, LONG_DTYPE);
	save(w, 1, 0, "<i4");
	save(w, 1, 5, "<i4");
	save(w, 8, 0, LONG_DTYPE);
	write_some(w, 0, 3, true);
	commit(w, B2F_COMMIT_DURABLE);
}

/* A new file that is fsync'ed before anything is written. */
static void work_on_new(struct work *w)
{
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 0, 9000, true);
	commit(w, B2F_COMMIT_VISIBLE);
	write_some(w, 8000, 4000, false);
	commit(w, B2F_COMMIT_VISIBLE);
	cut(w, 0);
	commit(w, B2F_COMMIT_DURABLE);
	/* With two chunks, the first one could be committed alone. */
	write_some(w, 0, 4000, true);
	commit(w, B2F_COMMIT_VISIBLE);
	check_reading(w);
}

/* A new file whose first commit is durable. */
static void work_on_first(struct work *w)
{
	write_some(w, 0, 9000, true);
	commit(w, B2F_COMMIT_DURABLE);
}

/* Writes to a frame in which another writer left gaps between chunks. */
static void work_again(struct work *w)
{
	write_some(w, 1000, 9000, true);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 4000, 3000, true);
	check_reading(w);
	commit(w, B2F_COMMIT_DURABLE);
	cut(w, 3000);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 0, 20000, true);
	commit(w, B2F_COMMIT_DURABLE);
	check_reading(w);
}

/* What is encoded anew is noted in a frame without data, too. */
static void encode_by(struct work *w, int codec)
{
	const struct b2f_encoding encoding = {.codec = codec, .clevel = 1};

	if (b2f_file_set_encoding(w->file, &encoding) < 0)
		w->nfailed++;
	commit(w, B2F_COMMIT_DURABLE);
}

/* Settings of a frame without data change, and it is emptied again. */
static void work_on_empty(struct work *w)
{
	encode_by(w, B2F_CODEC_ZSTD);
	encode_by(w, B2F_CODEC_LZ4);
	write_some(w, 0, 9000, true);
	commit(w, B2F_COMMIT_DURABLE);
	cut(w, 0);
	commit(w, B2F_COMMIT_VISIBLE);
	encode_by(w, B2F_CODEC_ZSTD);
	write_some(w, 0, 100, true);
	cut(w, 0);
	commit(w, B2F_COMMIT_VISIBLE);
	write_some(w, 0, 100, true);
	commit(w, B2F_COMMIT_DURABLE);
}

/* Chunks of different sizes: within them, across them, at the end. */
static void work_on_varied(struct work *w)
{
	write_some(w, 50, 300, true);
	write_some(w, 9110, 6000, true);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 24000, 13000, true);
	check_reading(w);
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 37000, 1, true);
	commit(w, B2F_COMMIT_VISIBLE);
	cut(w, 16000);
	commit(w, B2F_COMMIT_DURABLE);
	cut(w, 18000);
	write_some(w, 17900, 9000, true);
	check_reading(w);
	commit(w, B2F_COMMIT_DURABLE);
	if (b2f_file_zero(w->file, 9000, 6000) == 0)
		memset(w->model + 9000, 0, w->size > 15000 ? 6000 : 0);
	else
		w->nfailed++;
	commit(w, B2F_COMMIT_DURABLE);
	cut(w, 0);
	write_some(w, 0, 7000, true);
	commit(w, B2F_COMMIT_DURABLE);
}

static work_fn *const works[] = {work, work_on_array, work_on_varied,
				 work_on_empty, work_on_new};
/* A small frame has no chunks of different sizes; it may be an array. */
static work_fn *const small_works[] = {work, work_on_array,
				       work_on_empty_arrays, work_on_empty};
#define NSMALL (sizeof(small_works) / sizeof(*small_works))
#define NWORKS (sizeof(works) / sizeof(*works))

static struct fault_disk *make_used_disk(void);

/* The disk that @run begins with. */
static struct fault_disk *make_disk_for(work_fn *run)
{
	struct fault_disk *disk;

	if (run == work_on_varied)
		return fault_frame_varied(is_single);
	if (is_small)
		return make_small_disk();
	if (is_long)
		return make_long_disk(is_sealed);
	disk = run == work_again ? make_used_disk() : make_disk(is_single);
	if (run == work_on_new || run == work_on_first)
		fault_disk_just_made(disk);
	if (is_unordered)
		fault_disk_unordered(disk);
	if (is_whole)
		fault_disk_whole(disk);
	return disk;
}

/* A disk with a frame that has been written to before. */
static struct fault_disk *make_used_disk(void)
{
	struct fault_disk *disk = make_disk(is_single), *after;
	static struct work w;

	begin(&w, disk);
	write_some(&w, 0, 40000, true);
	commit(&w, B2F_COMMIT_DURABLE);
	write_some(&w, 2000, 20000, true);
	commit(&w, B2F_COMMIT_DURABLE);
	cr_assert_eq(w.nfailed, 0);
	end(&w);
	after = fault_disk_after_loss(disk, 1);
	fault_disk_free(disk);
	return after;
}

/* Opens the frame on @disk, which is new for work_on_first(). */
static void begin_for(work_fn *run, struct work *w, struct fault_disk *disk)
{
	static struct b2f_durability d;

	d = (struct b2f_durability){.state = B2F_DISK_NEW};
	begin_with(w, disk, run == work_on_first ? &d : NULL);
}

static uint64_t count_ops(work_fn *run)
{
	struct fault_disk *disk = make_disk_for(run);
	static struct work w;
	uint64_t nops;

	begin_for(run, &w, disk);
	run(&w);
	cr_assert_eq(w.nfailed, 0);
	nops = fault_disk_nops(disk);
	end(&w);
	fault_disk_free(disk);
	return nops;
}

/*
 * Errors while unused files are deleted are ignored, and a worker that is
 * slower than in the first run may save an operation.
 */
static bool was_unnoticed(struct fault_disk *disk, uint64_t op)
{
	char what[64];

	if (op >= fault_disk_nops(disk))
		return true;
	fault_disk_describe(disk, op, what, sizeof(what));
	return strncmp(what, "remove", 6) == 0 ||
	       strncmp(what, "name .", 6) == 0;
}

/*
 * While nothing of a new frame is durable, its index may be cut anywhere; real
 * filesystems leave nothing of it, zeros, or all.
 */
static bool may_be_cut(const struct work *w, work_fn *run, unsigned int variant)
{
	return run == work_on_new && w->oldest == 0 && variant > 1 && !is_whole;
}

/*
 * Returns the number of losses of power that left something else than a commit.
 */
static unsigned int lose_power_everywhere(work_fn *run, bool ignore_sync)
{
	uint64_t nops = count_ops(run);
	unsigned int nbad = 0;
	static struct work w;

	for (uint64_t at = 0; at < nops; at++) {
		struct fault_disk *disk = make_disk_for(run);

		if (ignore_sync)
			fault_disk_ignore_sync(disk);
		fault_disk_lose_power(disk, at);
		begin_for(run, &w, disk);
		run(&w);
		cr_expect(w.nfailed > 0 || was_unnoticed(disk, at), "at %llu",
			  (unsigned long long)at);
		for (unsigned int variant = 0; variant < 12; variant++) {
			struct fault_disk *after =
				fault_disk_after_loss(disk, variant);
			char what[64];

			if (!may_be_cut(&w, run, variant) &&
			    find_state(&w, after, w.oldest) < 0) {
				nbad++;
				fault_disk_describe(disk, at, what,
						    sizeof(what));
				if (!ignore_sync)
					cr_expect(0,
						  "power lost at %llu (%s), "
						  "variant %u",
						  (unsigned long long)at, what,
						  variant);
			}
			fault_disk_free(after);
		}
		end(&w);
		fault_disk_free(disk);
	}
	return nbad;
}

Test(file_faults, a_loss_of_power_leaves_one_commit)
{
	for (size_t i = 0; i < NWORKS; i++)
		cr_assert_eq(lose_power_everywhere(works[i], false), 0);
}

/* Not for a new frame: its commits are only visible. */
Test(file_faults, a_loss_of_power_leaves_one_commit_with_names_in_any_order)
{
	is_unordered = true;
	for (size_t i = 0; i < NWORKS - 1; i++)
		cr_assert_eq(lose_power_everywhere(works[i], false), 0);
}

Test(file_faults, a_loss_of_power_leaves_a_new_frame_empty_or_whole)
{
	is_whole = true;
	cr_assert_eq(lose_power_everywhere(work_on_first, false), 0);
	cr_assert_gt(lose_power_everywhere(work_on_first, true), 0);
}

Test(file_faults, without_sync_a_loss_of_power_is_noticed)
{
	for (size_t i = 0; i < NWORKS; i++)
		cr_assert_gt(lose_power_everywhere(works[i], true), 0);
}

/* One operation fails, later ones succeed, and no data may be missing. */
static void fail_at(work_fn *run, uint64_t at, int error, bool onwards)
{
	struct fault_disk *disk = make_disk_for(run), *after;
	const struct fault_plan plan = {
		.at = at, .err = error, .onwards = onwards};
	static struct work w;

	fault_disk_fail(disk, &plan);
	begin(&w, disk);
	run(&w);
	after = fault_disk_after_loss(disk, 0);
	/* Growth may be committed as far as the disk has room. */
	cr_expect(find_state(&w, after, w.oldest) >= 0 ||
			  ((error == ENOSPC || error == EDQUOT) &&
			   holds_beginning(&w, after)),
		  "error %d at %llu", error, (unsigned long long)at);
	fault_disk_free(after);
	/*
	 * The data of the failed commit are still in memory, and are committed
	 * now.
	 */
	fault_disk_fail(disk, NULL);
	if (b2f_file_is_writable(w.file)) {
		check_reading(&w);
		cr_expect_eq(commit(&w, B2F_COMMIT_DURABLE), 0,
			     "error %d at %llu", error, (unsigned long long)at);
		after = fault_disk_after_loss(disk, 0);
		cr_expect_eq(find_state(&w, after, w.nstates - 1),
			     (int)w.nstates - 1, "error %d at %llu", error,
			     (unsigned long long)at);
		fault_disk_free(after);
	}
	end(&w);
	fault_disk_free(disk);
}

/* Each operation of @run fails, alone and with all later ones. */
static void fail_everywhere(work_fn *run)
{
	static const int errors[] = {ENOSPC, EIO, EDQUOT, EMFILE};
	uint64_t nops = count_ops(run);

	for (uint64_t at = 0; at < nops; at++) {
		fail_at(run, at, errors[at % 4], false);
		fail_at(run, at, errors[(at + 1) % 4], true);
	}
}

Test(file_faults, an_error_loses_nothing)
{
	for (size_t i = 0; i < NWORKS; i++)
		fail_everywhere(works[i]);
}

/* Without work_on_new(), whose frame is sparse. */
#define NSINGLES 4

Test(file_faults, a_loss_of_power_leaves_one_commit_in_a_contiguous_frame)
{
	is_single = true;
	cr_assert_eq(lose_power_everywhere(work_again, false), 0);
	cr_assert_gt(lose_power_everywhere(work_again, true), 0);
	for (size_t i = 0; i < NSINGLES; i++)
		cr_assert_eq(lose_power_everywhere(works[i], false), 0);
	for (size_t i = 0; i < NSINGLES; i++)
		cr_assert_gt(lose_power_everywhere(works[i], true), 0);
}

Test(file_faults, an_error_loses_nothing_of_a_contiguous_frame)
{
	is_single = true;
	for (size_t i = 0; i <= NSINGLES; i++)
		fail_everywhere(i < NSINGLES ? works[i] : work_again);
}

Test(file_faults, a_loss_of_power_leaves_one_commit_in_a_small_frame)
{
	is_single = is_small = true;
	for (size_t i = 0; i < NSMALL; i++)
		cr_assert_eq(lose_power_everywhere(small_works[i], false), 0);
	for (size_t i = 0; i < NSMALL; i++)
		cr_assert_gt(lose_power_everywhere(small_works[i], true), 0);
}

Test(file_faults, an_error_loses_nothing_of_a_small_frame)
{
	is_single = is_small = true;
	for (size_t i = 0; i < NSMALL; i++)
		fail_everywhere(small_works[i]);
}

static work_fn *const long_works[] = {work, work_on_empty};
#define NLONG (sizeof(long_works) / sizeof(*long_works))

Test(file_faults, a_loss_of_power_leaves_one_commit_beside_long_metalayers)
{
	is_single = is_long = true;
	for (size_t i = 0; i < 2 * NLONG; i++) {
		is_sealed = i >= NLONG;
		cr_assert_eq(
			lose_power_everywhere(long_works[i % NLONG], false), 0);
	}
}

Test(file_faults, an_error_loses_nothing_beside_long_metalayers)
{
	is_single = is_long = true;
	for (size_t i = 0; i < 2 * NLONG; i++) {
		is_sealed = i >= NLONG;
		fail_everywhere(long_works[i % NLONG]);
	}
}

/* Work that is never synced. */
static void work_unsynced(struct work *w)
{
	write_some(w, 0, 9000, true);
	commit(w, B2F_COMMIT_VISIBLE);
	write_some(w, 3000, 4000, true);
	commit(w, B2F_COMMIT_VISIBLE);
	write_some(w, 0, 22000, true);
	commit(w, B2F_COMMIT_VISIBLE);
	write_some(w, 1000, 9000, true);
	commit(w, B2F_COMMIT_VISIBLE);
	check_reading(w);
	cut(w, 3000);
	commit(w, B2F_COMMIT_VISIBLE);
}

/*
 * Closes the file of @w.  Each state that a loss of power may leave has to be
 * that of an acknowledged commit or a later one; @what happened at operation
 * @at.
 */
static void close_and_lose_power(struct work *w, unsigned int nvariants,
				 const char *what, uint64_t at)
{
	b2f_file_close(w->file);
	w->file = NULL;
	for (unsigned int variant = 0; variant < nvariants; variant++) {
		struct fault_disk *after =
			fault_disk_after_loss(w->disk, variant);

		cr_expect(find_state(w, after, w->oldest) >= 0,
			  "%s at %llu, variant %u", what,
			  (unsigned long long)at, variant);
		fault_disk_free(after);
	}
	end(w);
	fault_disk_free(w->disk);
}

/* The power is lost at operation @at; the frame began in @state. */
static void lose_power(work_fn *run, uint64_t at, enum b2f_durable_state state)
{
	struct b2f_durability d = {.state = state};
	struct fault_disk *disk = make_disk(is_single);
	static struct work w;

	fault_disk_lose_power(disk, at);
	begin_with(&w, disk, &d);
	run(&w);
	close_and_lose_power(&w, 24, "power lost", at);
}

Test(file_faults, a_new_contiguous_frame_is_whole_without_a_sync)
{
	uint64_t nops;

	is_single = true;
	nops = count_ops(work_unsynced);
	/* Also after the close. */
	for (uint64_t at = 0; at <= nops + 8; at++)
		lose_power(work_unsynced, at, B2F_DISK_NEW);
}

/* One operation fails; the file is closed, and the power lost. */
static void fail_and_lose_power(work_fn *run, uint64_t at)
{
	struct fault_disk *disk = make_disk_for(run);
	const struct fault_plan plan = {.at = at, .err = EIO};
	static struct work w;

	fault_disk_fail(disk, &plan);
	begin(&w, disk);
	run(&w);
	close_and_lose_power(&w, 12, "error", at);
}

Test(file_faults, a_close_after_an_error_leaves_what_is_durable)
{
	for (int single = 0; single < 2; single++) {
		is_single = single;
		for (size_t i = 0; i < NSINGLES; i++) {
			uint64_t nops = count_ops(works[i]);

			for (uint64_t at = 0; at < nops; at++)
				fail_and_lose_power(works[i], at);
		}
	}
}

/* Writes bytes most of which are dead at the end. */
static void work_mostly_dead(struct work *w)
{
	write_some(w, 0, 150000, true);
	commit(w, B2F_COMMIT_DURABLE);
	if (b2f_file_zero(w->file, 0, 140000) == 0)
		memset(w->model, 0, 140000);
	else
		w->nfailed++;
	commit(w, B2F_COMMIT_DURABLE);
}

/*
 * Leaves dead bytes, so that the open frame gets shorter, and writes to it
 * after that.
 */
static void be_tidied(struct work *w, enum b2f_commit_how how)
{
	write_some(w, 0, 150000, true);
	commit(w, how);
	if (b2f_file_zero(w->file, 0, 140000) == 0)
		memset(w->model, 0, 140000);
	else
		w->nfailed++;
	commit(w, how);
	b2f_file_tidy(w->file, true, false);
	check_reading(w);
	write_some(w, 500, 9000, true);
	commit(w, how);
}

static void work_tidied(struct work *w)
{
	be_tidied(w, B2F_COMMIT_DURABLE);
}

static void work_tidied_unsynced(struct work *w)
{
	be_tidied(w, B2F_COMMIT_VISIBLE);
}

static uint64_t file_size(struct fault_disk *disk)
{
	struct b2f_store *store = fault_disk_mount(disk);
	struct stat st = {0};

	cr_assert_eq(b2f_store_stat_index(store, &st), 0);
	b2f_store_free(store);
	return (uint64_t)st.st_size;
}

/* This disk frees no room for holes, so the file itself has to shrink. */
Test(file_faults, a_contiguous_frame_that_is_mostly_dead_gets_shorter)
{
	struct fault_disk *disk;
	static struct work w;

	is_single = true;
	disk = make_disk(is_single);
	begin(&w, disk);
	work_mostly_dead(&w);
	cr_assert_eq(w.nfailed, 0);
	end(&w);
	cr_expect_lt(file_size(disk), 30000, "%llu",
		     (unsigned long long)file_size(disk));
	/* The same for a writer that goes on. */
	for (size_t i = 0; i < 3; i++) {
		struct b2f_durability d = {.state = B2F_DISK_NEW};

		fault_disk_free(disk);
		disk = make_disk(is_single);
		begin_with(&w, disk, i == 1 ? &d : NULL);
		(i ? work_tidied_unsynced : work_tidied)(&w);
		b2f_file_tidy(w.file, true, false);
		cr_assert_eq(w.nfailed, 0);
		cr_expect_lt(file_size(disk), 40000, "%zu: %llu", i,
			     (unsigned long long)file_size(disk));
		end(&w);
	}
	fault_disk_free(disk);
}

/* The same with a fault at operation @at, which may be in the close. */
static void close_mostly_dead(uint64_t at, bool loses_power)
{
	const struct fault_plan plan = {.at = at, .err = EIO};
	struct fault_disk *disk = make_disk(is_single);
	static struct work w;

	if (loses_power)
		fault_disk_lose_power(disk, at);
	else
		fault_disk_fail(disk, &plan);
	begin(&w, disk);
	work_mostly_dead(&w);
	close_and_lose_power(&w, 8, loses_power ? "power lost" : "error", at);
}

Test(file_faults, a_fault_while_a_frame_gets_shorter_loses_nothing)
{
	uint64_t from, until;

	is_single = true;
	from = count_ops(work_mostly_dead);
	/* More operations than a close takes. */
	until = from + 120;
	for (uint64_t at = from; at < until; at++) {
		close_mostly_dead(at, true);
		close_mostly_dead(at, false);
	}
}

/* The same for a frame that stays open, in each state of durability. */
Test(file_faults, a_fault_while_an_open_frame_gets_shorter_loses_nothing)
{
	work_fn *const runs[] = {work_tidied, work_tidied_unsynced};

	is_single = true;
	for (size_t i = 0; i < 2; i++) {
		uint64_t nops = count_ops(runs[i]);

		for (uint64_t at = 0; at <= nops + 8; at++) {
			fail_and_lose_power(runs[i], at);
			lose_power(runs[i], at, B2F_DISK_NEW);
			lose_power(runs[i], at, B2F_DISK_DURABLE);
		}
	}
}

/* A killed program leaves files that the next writer removes. */
Test(file_faults, the_next_writer_cleans_up)
{
	struct fault_disk *disk = make_disk(is_single), *after;
	static struct work w;

	fault_disk_lose_power(disk, count_ops(work) - 3);
	begin(&w, disk);
	work(&w);
	after = fault_disk_after_loss(disk, 1);
	end(&w);
	fault_disk_free(disk);
	begin(&w, after);
	work(&w);
	cr_assert_eq(w.nfailed, 0);
	end(&w);
	fault_disk_free(after);
}

/* Another program changes a chunk of the frame that @w has open. */
static void change_elsewhere(struct work *w, bool durably)
{
	struct b2f_durability d = {.state = durably ? B2F_DISK_DURABLE
						    : B2F_DISK_NEW};
	static struct work other;

	b2f_store_unlock(w->file->frame->store);
	begin_with(&other, w->disk, &d);
	write_some(&other, 0, 100, false);
	cr_assert_eq(commit(&other, B2F_COMMIT_VISIBLE), 0);
	cr_assert_eq(count_durable(&other) == 12, durably);
	end(&other);
	cr_assert_eq(b2f_store_lock(w->file->frame->store, NULL), 0);
	memcpy(w->model, other.model, 100);
}

/*
 * Fails operation @n while changes of two programs are joined; false if there
 * are fewer.
 */
static bool fails_to_merge(uint64_t n)
{
	struct fault_disk *disk = make_disk(false);
	struct fault_plan plan = {.err = EMFILE};
	static struct work w;
	bool failed;
	int err;

	begin(&w, disk);
	write_some(&w, 0, 9000, true);
	commit(&w, B2F_COMMIT_DURABLE);
	write_some(&w, 6000, 100, true);
	change_elsewhere(&w, true);
	fault_disk_count(disk, FAULT_OPEN | FAULT_READ | FAULT_STAT);
	plan.at = fault_disk_nops(disk) + n;
	fault_disk_fail(disk, &plan);
	err = commit(&w, B2F_COMMIT_DURABLE);
	cr_expect(!err || err == -EMFILE, "%d at %d", err, (int)n);
	failed = fault_disk_nops(disk) > plan.at;
	fault_disk_fail(disk, NULL);
	cr_expect_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	check_reading(&w);
	end(&w);
	fault_disk_free(disk);
	return failed;
}

Test(file_faults, an_error_is_no_conflict_with_another_program)
{
	uint64_t n = 0;

	while (fails_to_merge(n))
		n++;
	cr_expect_gt(n, 5);
}

Test(file_faults, changes_of_another_program_are_synced_with_ours)
{
	OWN(fault_disk_free) struct fault_disk *disk = make_disk(false);
	static struct work w;

	begin(&w, disk);
	write_some(&w, 0, 9000, true);
	commit(&w, B2F_COMMIT_DURABLE);
	write_some(&w, 6000, 100, true);
	change_elsewhere(&w, false);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(count_durable(&w), 12);
	end(&w);
}

/* Holds a contiguous frame while the lock fails with @error. */
static int hold(int error)
{
	const struct fault_plan plan = {.err = error, .kinds = FAULT_LOCK};
	const struct b2f_frame_options options = {.offset = 0};
	struct fault_disk *disk = make_disk(true);
	struct b2f_frame *frame = NULL;
	int err;

	cr_assert_eq(b2f_frame_open_store(&options, fault_disk_mount(disk),
					  "disk", &frame),
		     0);
	fault_disk_count(disk, FAULT_LOCK);
	fault_disk_fail(disk, &plan);
	err = b2f_frame_hold(frame);
	b2f_frame_close(frame);
	fault_disk_free(disk);
	return err;
}

/* Who may only read a frame may replace it without a lock. */
Test(file_faults, a_frame_is_not_held_if_its_lock_cannot_be_taken)
{
	cr_expect_eq(hold(EMFILE), -EMFILE);
	cr_expect_eq(hold(EIO), -EIO);
	cr_expect_eq(hold(EACCES), 0);
	cr_expect_eq(hold(EROFS), 0);
}
