/* SPDX-License-Identifier: BSD-3-Clause */
/* test_meta_flips.c - damaged metalayers of an array give no wrong bytes */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

#include "array/npy.h"
#include "frame/frame_read.h"
#include "tests/support/fault_work.h"
#include "tests/support/frame_dir.h"

/* The numbers of threads, which C-Blosc2 writes with the metalayers. */
#define THREADS 62

static struct work w;
static struct frame_dir dir;
/* The saved frame, and the file of it that has the header. */
static const char *path;
static char index_path[96];
static int header;
static size_t header_len;

static void write_array(int64_t nitems)
{
	char dtype[] = "<i4";
	const struct b2f_array array = {.ndim = 2,
					.shape = {nitems, 10},
					.itemsize = 4,
					.dtype = dtype};
	static uint8_t items[40000];
	OWN(free) uint8_t *head = NULL;
	size_t len = 0, n = (size_t)nitems * 40;

	cr_assert_eq(b2f_npy_write(&array, &head, &len), 0);
	for (size_t i = 0; i < n; i++)
		items[i] = (uint8_t)next(&w);
	cr_assert_eq(b2f_file_pwrite(w.file, head, len, 0), (ssize_t)len);
	cr_assert_eq(b2f_file_pwrite(w.file, items, n, len), (ssize_t)n);
	memcpy(w.model, head, len);
	memcpy(w.model + len, items, n);
	w.size = len + n;
	cr_assert_eq(commit(&w, B2F_COMMIT_DURABLE), 0);
}

/* Saves a frame on @disk that is an array of @nitems rows. */
static void make(struct fault_disk *disk, int64_t nitems, bool single)
{
	uint8_t len[4];

	dir = frame_dir_new();
	snprintf(index_path, sizeof(index_path), "%s/chunks.b2frame", dir.path);
	path = single ? index_path : dir.path;
	begin(&w, disk);
	write_array(nitems);
	cr_assert_eq(rmdir(dir.path), 0);
	cr_assert_eq(fault_disk_save(disk, dir.path), 0);
	header = open(index_path, O_RDWR);
	cr_assert_geq(header, 0);
	cr_assert_eq(pread(header, len, 4, 11), 4);
	header_len = b2f_load_be32(len);
	cr_assert_gt(header_len, 97 + 4 + 30);
}

static void drop(void)
{
	struct fault_disk *disk = w.disk;

	close(header);
	end(&w);
	frame_dir_remove(&dir);
	fault_disk_free(disk);
}

static void patch(size_t at, uint8_t with)
{
	uint8_t byte;

	cr_assert_eq(pread(header, &byte, 1, (off_t)at), 1);
	byte ^= with;
	cr_assert_eq(pwrite(header, &byte, 1, (off_t)at), 1);
}

enum seen { NOT_OPENED, RIGHT, WRONG };

/* What does a reader of the saved frame get?  It does not wait for writers. */
static enum seen look(bool *changed)
{
	struct fault_disk *disk = fault_disk_load(path);
	const struct b2f_frame_options options = {.offset = 0};
	enum seen seen = NOT_OPENED;
	struct b2f_frame *frame;
	int err;

	cr_assert_not_null(disk);
	err = b2f_frame_glance(&options, fault_disk_mount(disk), &frame);
	if (err)
		cr_expect_eq(err, B2F_ECORRUPT);
	if (!err) {
		*changed = b2f_frame_meta_has_changed(frame);
		b2f_frame_close(frame);
		seen = find_state(&w, disk, w.nstates - 1) >= 0 ? RIGHT : WRONG;
	}
	fault_disk_free(disk);
	return seen;
}

/* No reader opens the frame while a bit of [@from, @end) is flipped. */
static void flip_bits(size_t from, size_t end)
{
	bool changed = false;

	for (size_t at = from; at < end; at++) {
		for (int bit = 0; bit < 8; bit++) {
			patch(at, (uint8_t)(1 << bit));
			cr_expect_eq(look(&changed), NOT_OPENED,
				     "bit %d of byte %zu", bit, at);
			patch(at, (uint8_t)(1 << bit));
		}
	}
}

static void flip_all(struct fault_disk *disk, int64_t nitems, bool single)
{
	bool changed = false;

	make(disk, nitems, single);
	cr_expect_eq(look(&changed), RIGHT);
	cr_expect(!changed);
	flip_bits(87, header_len);
	drop();
}

Test(meta_flips, of_a_sparse_array_are_found)
{
	flip_all(make_disk(false), 500, false);
}

Test(meta_flips, of_a_small_array_are_found)
{
	flip_all(make_small_disk(), 500, true);
}

Test(meta_flips, of_an_empty_array_are_found)
{
	flip_all(make_small_disk(), 0, true);
	flip_all(make_disk(false), 0, false);
}

/* Metalayers that do not fit are damage beside any mark with a flipped bit. */
Test(meta_flips, of_the_mark_hide_no_damage)
{
	make(make_disk(false), 500, false);
	patch(header_len - 1, '4' ^ '2');
	flip_bits(THREADS, THREADS + 6);
	drop();
}

/* Nothing else depends on the numbers of threads. */
Test(meta_flips, of_numbers_of_threads_change_nothing)
{
	bool changed = false;

	make(make_disk(false), 500, false);
	for (size_t at = THREADS; at < THREADS + 6; at++) {
		patch(at, 3);
		cr_expect_eq(look(&changed), RIGHT);
		cr_expect(!changed);
	}
	drop();
}

/* C-Blosc2 has no numbers of threads below 1, and keeps none. */
Test(meta_flips, metalayers_that_c_blosc2_wrote_are_no_damage)
{
	static const uint8_t threads[] = {0xd1, 0, 1, 0xd1, 0, 1};
	bool changed = false;

	make(make_disk(false), 500, false);
	cr_assert_eq(pwrite(header, threads, 6, THREADS), 6);
	cr_expect_eq(look(&changed), RIGHT);
	cr_expect(!changed);
	/* The last byte of the dtype. */
	patch(header_len - 1, '4' ^ '2');
	cr_expect_neq(look(&changed), NOT_OPENED);
	cr_expect(changed);
	drop();
}
