/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_file_faults.c - writing to a disk that fails or loses its power
 *
 * One mixed workload is run again and again, each time with another operation
 * of the disk failing, or the power lost at it.  What the disk holds then must
 * be the state of one commit: the last one that was acknowledged, or one that
 * was begun after that.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array/npy.h"
#include "b2frame/b2frame.h"
#include "frame/frame.h"
#include "tests/support/fault_store.h"
#include "tests/support/frame_dir.h"

#define MODEL_MAX  160000
#define CHUNKSIZE  5000
#define STATES_MAX 64

struct state {
	uint8_t *data;
	uint64_t size;
};

struct work;
typedef void work_fn(struct work *w);

struct work {
	struct fault_disk *disk;
	struct b2f_runtime *rt;
	struct b2f_file *file;
	uint8_t model[MODEL_MAX];
	uint64_t size;
	uint64_t seed;
	/* What each commit was to make of the frame. */
	struct state states[STATES_MAX];
	size_t nstates;
	/* The first of them that the disk may still hold. */
	size_t oldest;
	/* Calls that failed. */
	unsigned int nfailed;
};

static uint64_t next(struct work *w)
{
	w->seed = w->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return w->seed >> 33;
}

/* Is the frame to be a contiguous one? */
static bool is_single;

/* The empty sparse frame @path becomes a contiguous one. */
static void make_single(const char *path)
{
	char index[160];
	uint8_t bytes[256];
	size_t size;
	FILE *f;

	snprintf(index, sizeof(index), "%s/" B2F_INDEX_NAME, path);
	f = fopen(index, "rb");
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	cr_assert_eq(b2f_frame_remove(AT_FDCWD, path), 0);
	/* The kind of frame; and C-Blosc2 makes no checksums. */
	bytes[26] = 0;
	memset(bytes + size - 17, 0, 17);
	f = fopen(path, "wb");
	cr_assert_eq(fwrite(bytes, 1, size, f), size);
	fclose(f);
}

/* As many bytes have the chunks of a frame of chunks of different sizes. */
static const uint32_t varied[] = {100, 9000, 37, 5000, 4001, 6000};
#define NVARIED (sizeof(varied) / sizeof(*varied))

/* Makes their files in @dir, which is new.  Returns how many bytes that are. */
static uint64_t make_varied_chunks(const struct frame_dir *dir)
{
	static uint8_t data[10000];
	uint64_t total = 0;

	cr_assert_eq(mkdir(dir->path, 0700), 0);
	for (size_t i = 0; i < NVARIED; i++) {
		for (size_t k = 0; k < varied[i]; k++)
			data[k] = (uint8_t)(k / 9 + i + 1);
		frame_dir_chunk(dir, (uint32_t)i, data, varied[i], 1000);
		total += varied[i];
	}
	return total;
}

/* Makes a contiguous frame @path of the chunk files of @dir. */
static void join_chunks(const struct frame_dir *dir, const char *path,
			uint64_t nbytes)
{
	struct b2f_frame_header header = {.nbytes = nbytes};
	uint64_t entries[NVARIED];
	uint8_t *raw = NULL, *chunks = malloc(nbytes);
	size_t size = 0;
	FILE *f;

	for (size_t i = 0; i < NVARIED; i++) {
		char name[160];

		snprintf(name, sizeof(name), "%s/%08zX.chunk", dir->path, i);
		f = fopen(name, "rb");
		entries[i] = header.cbytes;
		header.cbytes += fread(chunks + header.cbytes, 1, varied[i] + 64, f);
		fclose(f);
	}
	frame_dir_make_index(&header, entries, NVARIED, &raw, &size);
	f = fopen(path, "wb");
	cr_assert_eq(fwrite(raw, 1, B2F_FRAME_HEADER_PLAIN, f),
		     B2F_FRAME_HEADER_PLAIN);
	cr_assert_eq(fwrite(chunks, 1, header.cbytes, f), header.cbytes);
	size -= B2F_FRAME_HEADER_PLAIN;
	cr_assert_eq(fwrite(raw + B2F_FRAME_HEADER_PLAIN, 1, size, f), size);
	fclose(f);
	free(chunks);
	free(raw);
}

/* A disk with a frame of chunks of different sizes. */
static struct fault_disk *make_varied_disk(void)
{
	struct frame_dir dir = frame_dir_new(), sparse;
	struct fault_disk *disk;
	char path[128];
	uint64_t nbytes;

	snprintf(sparse.path, sizeof(sparse.path), "%.60s/x", dir.path);
	snprintf(path, sizeof(path), "%s/y", dir.path);
	nbytes = make_varied_chunks(&sparse);
	if (is_single)
		join_chunks(&sparse, path, nbytes);
	else
		frame_dir_index(&sparse, NVARIED, nbytes, 0);
	disk = fault_disk_load(is_single ? path : sparse.path);
	cr_assert_not_null(disk);
	frame_dir_remove(&sparse);
	frame_dir_remove(&dir);
	return disk;
}

/* A disk with a frame of some chunks. */
static struct fault_disk *make_disk(void)
{
	struct frame_dir dir = frame_dir_new();
	struct b2f_settings settings = b2f_settings_default();
	struct fault_disk *disk;
	char path[128];

	snprintf(path, sizeof(path), "%s/x", dir.path);
	settings.typesize = 4;
	settings.clevel = 1;
	settings.chunksize = CHUNKSIZE;
	cr_assert_eq(
		b2f_frame_create(&settings, AT_FDCWD, path, 0600, false, NULL),
		0);
	if (is_single)
		make_single(path);
	disk = fault_disk_load(path);
	cr_assert_not_null(disk);
	if (is_single)
		cr_assert_eq(unlink(path), 0);
	else
		cr_assert_eq(b2f_frame_remove(AT_FDCWD, path), 0);
	frame_dir_remove(&dir);
	return disk;
}

static struct b2f_file *open_disk(struct b2f_runtime *rt,
				  struct fault_disk *disk)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;

	if (b2f_frame_open_store(&options, fault_disk_mount(disk), "disk",
				 &frame))
		return NULL;
	cr_assert_eq(b2f_file_open(rt, frame, &file), 0);
	return file;
}

static void note_state(struct work *w)
{
	struct state *s = &w->states[w->nstates++];

	cr_assert_lt(w->nstates, STATES_MAX);
	s->size = w->size;
	s->data = malloc(w->size + 1);
	memcpy(s->data, w->model, w->size);
}

static void write_some(struct work *w, uint64_t off, uint64_t n, bool noise)
{
	static uint8_t buf[MODEL_MAX];
	ssize_t got;

	for (uint64_t i = 0; i < n; i++)
		buf[i] = noise ? (uint8_t)next(w) : (uint8_t)(w->seed + i / 99);
	got = b2f_file_pwrite(w->file, buf, n, off);
	if (got < (ssize_t)n)
		w->nfailed++;
	if (got <= 0)
		return;
	memcpy(w->model + off, buf, (size_t)got);
	if (off + (uint64_t)got > w->size)
		w->size = off + (uint64_t)got;
}

static void cut(struct work *w, uint64_t size)
{
	if (b2f_file_truncate(w->file, size)) {
		w->nfailed++;
		/* It may have been done in part: then nothing is known. */
		cr_assert_eq(b2f_file_size(w->file), w->size);
		return;
	}
	if (size < w->size)
		memset(w->model + size, 0, w->size - size);
	w->size = size;
}

static int commit(struct work *w, enum b2f_commit_how how)
{
	int err;

	note_state(w);
	err = b2f_file_commit(w->file, how);
	if (err)
		w->nfailed++;
	else if (how == B2F_COMMIT_DURABLE)
		w->oldest = w->nstates - 1;
	return err;
}

static void check_reading(struct work *w)
{
	static uint8_t buf[MODEL_MAX];
	ssize_t got = b2f_file_pread(w->file, NULL, buf, MODEL_MAX, 0);

	/* A disk without power cannot be read either. */
	if (got < 0) {
		w->nfailed++;
		return;
	}
	cr_assert_eq(got, (ssize_t)w->size);
	cr_assert_eq(memcmp(buf, w->model, w->size), 0);
}

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

/* A .npy file that is an array, is none, and is one again. */
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

/* A file that was just made, and is fsync'ed before anything is written. */
static void work_on_new(struct work *w)
{
	commit(w, B2F_COMMIT_DURABLE);
	write_some(w, 0, 9000, true);
	commit(w, B2F_COMMIT_VISIBLE);
	write_some(w, 8000, 4000, false);
	commit(w, B2F_COMMIT_VISIBLE);
	cut(w, 0);
	commit(w, B2F_COMMIT_DURABLE);
	/* Of two chunks, the first one could be committed alone. */
	write_some(w, 0, 4000, true);
	commit(w, B2F_COMMIT_VISIBLE);
	check_reading(w);
}

/* Where another writer has left room between the chunks. */
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
				 work_on_new};
#define NWORKS (sizeof(works) / sizeof(*works))

static struct fault_disk *make_used_disk(void);

/* The disk that @run begins with. */
static struct fault_disk *make_disk_for(work_fn *run)
{
	struct fault_disk *disk;

	if (run == work_on_varied)
		return make_varied_disk();
	disk = run == work_again ? make_used_disk() : make_disk();
	if (run == work_on_new)
		fault_disk_just_made(disk);
	return disk;
}

static void begin_with(struct work *w, struct fault_disk *disk,
		       struct b2f_durability *durability)
{
	const struct b2f_runtime_options options = {
		.cache_bytes = 1 << 20, .nworkers = 1, .dirty_bytes = 30000};
	const struct b2f_write_options write = {.chunksize = CHUNKSIZE,
						.npy_arrays = true,
						.durability = durability};

	*w = (struct work){.disk = disk, .seed = 7};
	cr_assert_eq(b2f_runtime_new(&options, &w->rt), 0);
	w->file = open_disk(w->rt, disk);
	cr_assert_not_null(w->file);
	/* The frame as it is. */
	w->size = b2f_file_size(w->file);
	cr_assert_eq(b2f_file_pread(w->file, NULL, w->model, MODEL_MAX, 0),
		     (ssize_t)w->size);
	note_state(w);
	if (b2f_file_allow_write(w->file, &write))
		w->nfailed++;
}

static void begin(struct work *w, struct fault_disk *disk)
{
	begin_with(w, disk, NULL);
}

static void end(struct work *w)
{
	b2f_file_close(w->file);
	b2f_runtime_free(w->rt);
	for (size_t i = 0; i < w->nstates; i++)
		free(w->states[i].data);
}

/* A disk with a frame that has been written to before. */
static struct fault_disk *make_used_disk(void)
{
	struct fault_disk *disk = make_disk(), *after;
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

/* The state that @disk holds; -1 if it is none that was to be committed. */
static int find_state(const struct work *w, struct fault_disk *disk,
		      size_t from)
{
	static uint8_t buf[MODEL_MAX];
	struct b2f_file *file = open_disk(w->rt, disk);
	uint64_t size;
	int found = -1;

	if (!file)
		return -1;
	size = b2f_file_size(file);
	if (size <= MODEL_MAX &&
	    b2f_file_pread(file, NULL, buf, MODEL_MAX, 0) == (ssize_t)size)
		for (size_t i = from; i < w->nstates && found < 0; i++)
			if (w->states[i].size == size &&
			    memcmp(w->states[i].data, buf, size) == 0)
				found = (int)i;
	b2f_file_close(file);
	return found;
}

/* Does @disk hold a beginning of what was to be committed last? */
static bool holds_beginning(const struct work *w, struct fault_disk *disk)
{
	static uint8_t buf[MODEL_MAX];
	const struct state *last = &w->states[w->nstates - 1];
	struct b2f_file *file = open_disk(w->rt, disk);
	ssize_t got;

	if (!file)
		return false;
	got = b2f_file_pread(file, NULL, buf, MODEL_MAX, 0);
	b2f_file_close(file);
	return got > 0 && (uint64_t)got < last->size &&
	       memcmp(last->data, buf, (size_t)got) == 0;
}

static uint64_t count_ops(work_fn *run)
{
	struct fault_disk *disk = make_disk_for(run);
	static struct work w;
	uint64_t nops;

	begin(&w, disk);
	run(&w);
	cr_assert_eq(w.nfailed, 0);
	nops = fault_disk_nops(disk);
	end(&w);
	fault_disk_free(disk);
	return nops;
}

/*
 * What is not needed any more is deleted without a word; and a worker that is
 * slower than last time may save an operation.
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
 * Before anything is durable of a frame that was just made, its index may be
 * cut anywhere; filesystems leave nothing of it, zeros, or all.
 */
static bool may_be_cut(const struct work *w, work_fn *run, unsigned int variant)
{
	return run == work_on_new && w->oldest == 0 && variant > 1;
}

/* How many losses of power left something else than a commit. */
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
		begin(&w, disk);
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

Test(file_faults, without_sync_a_loss_of_power_is_noticed)
{
	for (size_t i = 0; i < NWORKS; i++)
		cr_assert_gt(lose_power_everywhere(works[i], true), 0);
}

/* One operation fails; then all works, and nothing may be missing. */
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
	/* What only became longer may be committed as far as there is room. */
	cr_expect(find_state(&w, after, w.oldest) >= 0 ||
			  ((error == ENOSPC || error == EDQUOT) &&
			   holds_beginning(&w, after)),
		  "error %d at %llu", error, (unsigned long long)at);
	fault_disk_free(after);
	/* What could not be committed is still there, and is now. */
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

Test(file_faults, an_error_loses_nothing)
{
	static const int errors[] = {ENOSPC, EIO, EDQUOT, EMFILE};

	for (size_t i = 0; i < NWORKS; i++) {
		uint64_t nops = count_ops(works[i]);

		for (uint64_t at = 0; at < nops; at++) {
			fail_at(works[i], at, errors[at % 4], false);
			fail_at(works[i], at, errors[(at + 1) % 4], true);
		}
	}
}

/* Not work_on_new(): such a frame is made sparse. */
#define NSINGLES 3

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
	static const int errors[] = {ENOSPC, EIO, EDQUOT, EMFILE};

	is_single = true;
	for (size_t i = 0; i <= NSINGLES; i++) {
		work_fn *run = i < NSINGLES ? works[i] : work_again;
		uint64_t nops = count_ops(run);

		for (uint64_t at = 0; at < nops; at++) {
			fail_at(run, at, errors[at % 4], false);
			fail_at(run, at, errors[(at + 1) % 4], true);
		}
	}
}

/* What is never synced. */
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

/* The power is lost at operation @at, of a frame that was never durable. */
static void lose_power_unsynced(uint64_t at)
{
	struct b2f_durability d = {.state = B2F_DISK_NEW};
	struct fault_disk *disk = make_disk();
	static struct work w;

	fault_disk_lose_power(disk, at);
	begin_with(&w, disk, &d);
	work_unsynced(&w);
	b2f_file_close(w.file);
	w.file = NULL;
	for (unsigned int variant = 0; variant < 24; variant++) {
		struct fault_disk *after = fault_disk_after_loss(disk, variant);

		cr_expect(find_state(&w, after, 0) >= 0,
			  "power lost at %llu, variant %u",
			  (unsigned long long)at, variant);
		fault_disk_free(after);
	}
	end(&w);
	fault_disk_free(disk);
}

Test(file_faults, a_new_contiguous_frame_is_whole_without_a_sync)
{
	uint64_t nops;

	is_single = true;
	nops = count_ops(work_unsynced);
	/* Also when it has been closed. */
	for (uint64_t at = 0; at <= nops + 8; at++)
		lose_power_unsynced(at);
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
	b2f_file_close(w.file);
	w.file = NULL;
	for (unsigned int variant = 0; variant < 12; variant++) {
		struct fault_disk *after = fault_disk_after_loss(disk, variant);

		cr_expect(find_state(&w, after, w.oldest) >= 0,
			  "error at %llu, variant %u", (unsigned long long)at,
			  variant);
		fault_disk_free(after);
	}
	end(&w);
	fault_disk_free(disk);
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

/* Of what is written here most is dead at the end. */
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

static uint64_t file_size(struct fault_disk *disk)
{
	struct b2f_store *store = fault_disk_mount(disk);
	struct stat st = {0};

	cr_assert_eq(b2f_store_stat_index(store, &st), 0);
	b2f_store_free(store);
	return (uint64_t)st.st_size;
}

/* The disk of the tests gives no room back for a hole. */
Test(file_faults, a_contiguous_frame_that_is_mostly_dead_gets_shorter)
{
	struct fault_disk *disk;
	static struct work w;

	is_single = true;
	disk = make_disk();
	begin(&w, disk);
	work_mostly_dead(&w);
	cr_assert_eq(w.nfailed, 0);
	end(&w);
	/* What was there before the last commit may still be read. */
	cr_expect_gt(file_size(disk), 150000);
	/* The next writer ends it behind the last chunk. */
	begin(&w, disk);
	write_some(&w, 100, 1, true);
	commit(&w, B2F_COMMIT_DURABLE);
	b2f_file_close(w.file);
	w.file = NULL;
	cr_expect_lt(file_size(disk), 30000, "%llu",
		     (unsigned long long)file_size(disk));
	cr_expect_eq(find_state(&w, disk, w.oldest), (int)w.oldest);
	end(&w);
	fault_disk_free(disk);
}

/* The same with a fault at each operation, also of the close. */
static void close_mostly_dead(uint64_t at, bool loses_power)
{
	const struct fault_plan plan = {.at = at, .err = EIO};
	struct fault_disk *disk = make_disk();
	static struct work w;

	if (loses_power)
		fault_disk_lose_power(disk, at);
	else
		fault_disk_fail(disk, &plan);
	begin(&w, disk);
	work_mostly_dead(&w);
	b2f_file_close(w.file);
	w.file = NULL;
	for (unsigned int variant = 0; variant < 8; variant++) {
		struct fault_disk *after = fault_disk_after_loss(disk, variant);

		cr_expect(find_state(&w, after, w.oldest) >= 0,
			  "%s at %llu, variant %u",
			  loses_power ? "power lost" : "error",
			  (unsigned long long)at, variant);
		fault_disk_free(after);
	}
	end(&w);
	fault_disk_free(disk);
}

Test(file_faults, a_fault_while_a_frame_gets_shorter_loses_nothing)
{
	uint64_t from, until;

	is_single = true;
	from = count_ops(work_mostly_dead);
	/* As many as a close takes, and some more. */
	until = from + 120;
	for (uint64_t at = from; at < until; at++) {
		close_mostly_dead(at, true);
		close_mostly_dead(at, false);
	}
}

/* How many of 12 losses of power leave the state of the last commit. */
static int count_durable(struct work *w)
{
	int n = 0;

	for (unsigned int variant = 0; variant < 12; variant++) {
		struct fault_disk *after =
			fault_disk_after_loss(w->disk, variant);

		n += find_state(w, after, w->nstates - 1) >= 0;
		fault_disk_free(after);
	}
	return n;
}

/* A sync of the filesystem fails that the file was left to. */
static bool is_durable_after_failure(bool tell)
{
	struct fault_disk *disk = make_disk();
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
	/* What comes later does not hide it. */
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

Test(file_faults, what_a_sync_has_failed_for_is_written_anew)
{
	cr_expect(is_durable_after_failure(true));
	cr_expect(!is_durable_after_failure(false));
}

/* If the directory cannot be synced at the very end of a commit. */
Test(file_faults, what_replaced_something_durable_is_synced_next_time)
{
	struct fault_plan plan = {.err = EIO, .kinds = FAULT_SYNC_NAMES};
	struct fault_disk *disk = make_disk();
	struct b2f_durability d = {.state = B2F_DISK_DURABLE};
	static struct work w;

	begin_with(&w, disk, &d);
	write_some(&w, 0, 22000, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cut(&w, 5000);
	plan.at = fault_disk_nops(disk);
	fault_disk_fail(disk, &plan);
	cr_assert_eq(commit(&w, B2F_COMMIT_VISIBLE), -EIO);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_UNSYNCED);
	write_some(&w, 0, 10, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_VISIBLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_DURABLE);
	cr_expect_eq(count_durable(&w), 12);
	end(&w);
	fault_disk_free(disk);
}

/* How many of 40 losses of power leave none of the last two commits. */
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

/* As long as the index before may come back, so do the files that it names. */
Test(file_faults, what_an_index_names_that_may_come_back_is_not_deleted)
{
	struct fault_plan plan = {.err = EIO, .kinds = FAULT_SYNC_NAMES};
	struct fault_disk *disk = make_disk();
	struct b2f_durability d = {.state = B2F_DISK_DURABLE};
	const struct b2f_write_options write = {.durability = &d};
	const struct b2f_runtime_options options = {.nworkers = 1};
	static struct work w;

	begin_with(&w, disk, &d);
	write_some(&w, 0, 22000, true);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	fault_disk_unordered(disk);
	cut(&w, 5000);
	plan.at = fault_disk_nops(disk);
	fault_disk_fail(disk, &plan);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), -EIO);
	cr_expect_eq(count_lost(&w), 0);
	/* Neither by this writer at its end, nor by the next one. */
	b2f_file_close(w.file);
	cr_expect_eq(count_lost(&w), 0);
	/* Jobs may still have the store, and with it the lock. */
	b2f_runtime_free(w.rt);
	cr_assert_eq(b2f_runtime_new(&options, &w.rt), 0);
	w.file = open_disk(w.rt, disk);
	cr_assert_eq(b2f_file_allow_write(w.file, &write), 0);
	cr_expect_eq(count_lost(&w), 0);
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
	cr_expect_eq(b2f_durability_get(&d), B2F_DISK_DURABLE);
	cr_expect_eq(count_lost(&w), 0);
	end(&w);
	fault_disk_free(disk);
}

Test(file_faults, a_file_that_cannot_be_opened_now_is_not_lost)
{
	struct fault_plan plan = {
		.err = EMFILE, .kinds = FAULT_OPEN, .onwards = true};
	struct fault_disk *disk = make_disk();
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
	fault_disk_free(disk);
}

/* A program that ends without a word leaves files that the next one removes. */
Test(file_faults, the_next_writer_cleans_up)
{
	struct fault_disk *disk = make_disk(), *after;
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
