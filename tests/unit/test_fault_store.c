/* SPDX-License-Identifier: BSD-3-Clause */
/* test_fault_store.c - the failing disk of other tests fails as planned */
#include <criterion/criterion.h>
#include <pthread.h>

#include "frame/frame.h"
#include "tests/support/fault_store.h"
#include "tests/support/frame_dir.h"

/* Enough variants to see every outcome. */
#define VARIANTS 400

/* Longer than two pages. */
#define LONG 10000

static struct fault_disk *disk;
static struct b2f_store *store;

static void setup(void)
{
	disk = fault_disk_new();
	store = fault_disk_mount(disk);
	cr_assert_eq(b2f_store_lock(store, NULL), 0);
}

static void teardown(void)
{
	b2f_store_free(store);
	fault_disk_free(disk);
}

TestSuite(fault_store, .init = setup, .fini = teardown);

static struct b2f_object create(int64_t id)
{
	struct b2f_object object = {.fd = -1};

	cr_assert_eq(b2f_object_create(store, id, &object, NULL), 0);
	return object;
}

/* Makes a file with @text, none of it durable. */
static struct b2f_object put(int64_t id, const char *text)
{
	struct b2f_object object = create(id);

	cr_assert_eq(b2f_object_write(&object, 0, text, strlen(text), NULL), 0);
	return object;
}

/* The same, all of it durable. */
static void put_durably(int64_t id, const char *text)
{
	struct b2f_object object = put(id, text);

	cr_assert_eq(b2f_object_sync(&object, NULL), 0);
	cr_assert_eq(b2f_store_sync_names(store, NULL), 0);
	b2f_object_close(&object);
}

/* Installs an index of @text, synced if @sync; the name is not durable. */
static void install(const char *text, bool sync)
{
	struct b2f_object object = put(B2F_OBJECT_NEW_INDEX, text);

	cr_assert_eq(b2f_object_inherit(&object, NULL, NULL), 0);
	if (sync)
		cr_assert_eq(b2f_object_sync(&object, NULL), 0);
	cr_assert_eq(b2f_store_install(store, NULL, NULL), 0);
	b2f_object_close(&object);
}

/* The content of @id, 0-terminated and malloc'ed, or NULL. */
static char *get(struct b2f_store *from, int64_t id, size_t *size)
{
	struct b2f_object object;
	char *text;

	if (b2f_object_open(from, id, &object, NULL))
		return NULL;
	text = calloc(1, object.size + 1);
	cr_assert_eq(b2f_object_read(&object, 0, text, object.size, NULL), 0);
	*size = object.size;
	b2f_object_close(&object);
	return text;
}

/* True if @id holds @text after a loss, or, with NULL, does not exist. */
static bool holds_after(unsigned int variant, int64_t id, const char *text)
{
	struct fault_disk *after = fault_disk_after_loss(disk, variant);
	struct b2f_store *mounted = fault_disk_mount(after);
	size_t size;
	char *got = get(mounted, id, &size);
	bool equal = got && text ? strcmp(got, text) == 0 : got == text;

	free(got);
	b2f_store_free(mounted);
	fault_disk_free(after);
	return equal;
}

Test(fault_store, without_failures_it_is_like_any_store)
{
	struct b2f_object object, again;
	struct stat before, now;
	char back[8] = "";

	put_durably(B2F_OBJECT_INDEX, "old");
	cr_assert_eq(b2f_store_stat_index(store, &before), 0);
	cr_assert_eq(before.st_size, 3);
	object = put(7, "abc");
	cr_assert_eq(b2f_object_write(&object, 5, "f", 1, NULL), 0);
	cr_assert_eq(b2f_object_create(store, 7, &again, NULL), -EEXIST);
	cr_assert_eq(b2f_object_open(store, 7, &again, NULL), 0);
	cr_assert_eq(again.size, 6);
	cr_assert_eq(b2f_object_read(&again, 0, back, 6, NULL), 0);
	cr_assert_eq(memcmp(back, "abc\0\0f", 6), 0);
	cr_assert_eq(b2f_object_read(&again, 1, back, 6, NULL), B2F_ECORRUPT);
	install("new", true);
	cr_assert_eq(b2f_store_stat_index(store, &now), 0);
	cr_assert_neq(before.st_ino, now.st_ino);
	cr_assert_eq(now.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	cr_assert_eq(b2f_store_install(store, NULL, NULL), -ENOENT);
	cr_assert_eq(b2f_store_remove(store, 7, NULL), 0);
	cr_assert_eq(b2f_store_remove(store, 7, NULL), 0);
	cr_assert_eq(b2f_object_read(&again, 0, back, 6, NULL), 0,
		     "what is open stays");
	cr_assert_eq(b2f_object_open(store, 7, &again, NULL), B2F_ECORRUPT);
}

Test(fault_store, a_rewritten_file_has_another_identity)
{
	struct b2f_object object = put(7, "abc");
	struct b2f_frame_stamp before, now;

	cr_assert_eq(b2f_store_identify(store, 7, &before), 0);
	cr_assert_eq(b2f_store_identify(store, 7, &now), 0);
	cr_assert(b2f_frame_stamp_equal(&before, &now));
	cr_assert_eq(b2f_object_write(&object, 0, "xyz", 3, NULL), 0);
	cr_assert_eq(b2f_store_identify(store, 7, &now), 0);
	cr_assert_not(b2f_frame_stamp_equal(&before, &now));
	cr_assert_eq(b2f_store_identify(store, 8, &now), -ENOENT);
}

static int add_up(void *arg, int64_t id)
{
	*(int64_t *)arg += id;
	return b2f_store_remove(store, id, NULL);
}

Test(fault_store, listed_files_may_be_removed_meanwhile)
{
	int64_t sum = 0;

	put_durably(B2F_OBJECT_INDEX, "index");
	for (int id = 1; id <= 10; id++)
		(void)put(id, "x");
	(void)put(B2F_OBJECT_NEW_INDEX, "left");
	cr_assert_eq(b2f_store_list(store, add_up, &sum), 0);
	cr_assert_eq(sum, 55 + B2F_OBJECT_NEW_INDEX);
	sum = 0;
	cr_assert_eq(b2f_store_list(store, add_up, &sum), 0);
	cr_assert_eq(sum, 0);
}

Test(fault_store, only_one_store_can_write)
{
	struct b2f_store *other = NULL;
	struct b2f_object object;

	cr_assert_eq(b2f_store_clone(store, &other, NULL), 0);
	cr_assert_eq(b2f_store_dirfd(other), -1);
	cr_assert_eq(b2f_store_lock(other, NULL), -EBUSY);
	cr_assert_eq(b2f_object_create(other, 1, &object, NULL), -EPERM);
	b2f_store_free(store);
	cr_assert_eq(b2f_store_lock(other, NULL), 0);
	store = other;
}

Test(fault_store, what_was_synced_survives)
{
	put_durably(B2F_OBJECT_INDEX, "index");
	for (unsigned int v = 0; v < VARIANTS; v++)
		cr_assert(holds_after(v, B2F_OBJECT_INDEX, "index"));
}

Test(fault_store, a_name_that_was_not_synced_may_be_lost)
{
	struct b2f_object object = put(1, "data");
	int nlost = 0;

	cr_assert_eq(b2f_object_sync(&object, NULL), 0);
	cr_assert(holds_after(0, 1, NULL));
	cr_assert(holds_after(1, 1, "data"));
	for (unsigned int v = 2; v < VARIANTS; v++) {
		bool lost = holds_after(v, 1, NULL);

		cr_assert(lost || holds_after(v, 1, "data"));
		nlost += lost;
	}
	cr_assert(nlost > 10 && nlost < VARIANTS - 10);
}

/* Outcomes of writing LONG bytes of 'x'. */
enum outcome { EMPTY, WHOLE, CUT, ZEROS, HOLES, OUTCOMES };

static enum outcome judge(const char *text, size_t size)
{
	size_t nx = 0;

	for (size_t i = 0; i < size; i++)
		nx += text[i] == 'x';
	if (size == 0)
		return EMPTY;
	if (nx == LONG)
		return WHOLE;
	if (nx == size)
		return CUT;
	cr_assert_eq(size, LONG);
	return nx == 0 ? ZEROS : HOLES;
}

Test(fault_store, a_content_that_was_not_synced_may_be_torn)
{
	struct b2f_object object = create(1);
	int seen[OUTCOMES] = {0};
	char data[LONG];

	memset(data, 'x', sizeof(data));
	cr_assert_eq(b2f_object_write(&object, 0, data, LONG, NULL), 0);
	cr_assert_eq(b2f_store_sync_names(store, NULL), 0);
	cr_assert(holds_after(0, 1, ""));
	for (unsigned int v = 1; v < VARIANTS; v++) {
		struct fault_disk *after = fault_disk_after_loss(disk, v);
		struct b2f_store *mounted = fault_disk_mount(after);
		size_t size;
		char *text = get(mounted, 1, &size);

		cr_assert_not_null(text, "its name was synced");
		cr_assert(v > 1 || judge(text, size) == WHOLE);
		seen[judge(text, size)]++;
		free(text);
		b2f_store_free(mounted);
		fault_disk_free(after);
	}
	for (int i = 0; i < OUTCOMES; i++)
		cr_assert_gt(seen[i], 0, "outcome %d", i);
}

Test(fault_store, what_is_written_over_comes_back_old_or_new)
{
	struct b2f_object object;
	int nold = 0, nmixed = 0;

	put_durably(1, "aaaa");
	cr_assert_eq(b2f_object_open(store, 1, &object, NULL), 0);
	cr_assert_eq(b2f_object_write(&object, 0, "bbbb", 4, NULL), 0);
	cr_assert(holds_after(0, 1, "aaaa"));
	cr_assert(holds_after(1, 1, "bbbb"));
	for (unsigned int v = 2; v < VARIANTS; v++) {
		nold += holds_after(v, 1, "aaaa");
		nmixed += holds_after(v, 1, "bbaa");
	}
	cr_assert(nold > 0 && nmixed > 0);
}

/* Bit i is set if file i exists after a loss. */
static unsigned int present(unsigned int variant)
{
	struct fault_disk *after = fault_disk_after_loss(disk, variant);
	struct b2f_store *mounted = fault_disk_mount(after);
	struct b2f_frame_stamp identity;
	unsigned int bits = 0;

	for (int id = 0; id < 4; id++)
		if (b2f_store_identify(mounted, id, &identity) == 0)
			bits |= 1U << id;
	b2f_store_free(mounted);
	fault_disk_free(after);
	return bits;
}

Test(fault_store, names_change_in_their_order)
{
	static const unsigned int moments[] = {8, 9, 11, 15, 14};
	unsigned int seen = 0;

	put_durably(3, "");
	for (int id = 0; id < 3; id++)
		(void)put(id, "");
	cr_assert_eq(b2f_store_remove(store, 0, NULL), 0);
	for (unsigned int v = 0; v < VARIANTS; v++) {
		bool found = false;

		for (int i = 0; i < 5; i++)
			found |= present(v) == moments[i];
		cr_assert(found, "variant %u: %x", v, present(v));
		seen |= 1U << present(v);
	}
	cr_assert_eq(seen, 1 << 8 | 1 << 9 | 1 << 11 | 1 << 15 | 1 << 14);
}

Test(fault_store, names_change_in_any_order_if_asked_to)
{
	unsigned int seen = 0;

	fault_disk_unordered(disk);
	for (int id = 0; id < 3; id++)
		(void)put(id, "");
	for (unsigned int v = 0; v < VARIANTS; v++)
		seen |= 1U << present(v);
	cr_assert_eq(seen, 0xff);
}

Test(fault_store, an_installed_index_is_the_old_or_the_new_one)
{
	int nnew = 0;

	put_durably(B2F_OBJECT_INDEX, "old");
	install("new", true);
	cr_assert(holds_after(0, B2F_OBJECT_INDEX, "old"));
	for (unsigned int v = 1; v < VARIANTS; v++) {
		bool is_new = holds_after(v, B2F_OBJECT_INDEX, "new");

		cr_assert(is_new || holds_after(v, B2F_OBJECT_INDEX, "old"));
		cr_assert(!is_new ||
			  holds_after(v, B2F_OBJECT_NEW_INDEX, NULL));
		nnew += is_new;
	}
	cr_assert(nnew > 10 && nnew < VARIANTS - 10);
	cr_assert_eq(b2f_store_sync_names(store, NULL), 0);
	for (unsigned int v = 0; v < VARIANTS; v++)
		cr_assert(holds_after(v, B2F_OBJECT_INDEX, "new"));
}

Test(fault_store, an_index_installed_without_sync_may_be_empty)
{
	int nempty = 0;

	put_durably(B2F_OBJECT_INDEX, "old");
	install("new", false);
	for (unsigned int v = 0; v < VARIANTS; v++)
		nempty += holds_after(v, B2F_OBJECT_INDEX, "");
	cr_assert_gt(nempty, 0);
}

Test(fault_store, ignored_syncs_make_nothing_durable)
{
	fault_disk_ignore_sync(disk);
	put_durably(B2F_OBJECT_INDEX, "index");
	cr_assert(holds_after(0, B2F_OBJECT_INDEX, NULL));
	cr_assert(holds_after(1, B2F_OBJECT_INDEX, "index"));
}

Test(fault_store, a_loss_of_power_ends_everything)
{
	struct b2f_object object, again;
	struct b2f_frame_stamp identity;
	struct stat st;
	char buf[4];

	put_durably(1, "data");
	object = put(2, "x");
	fault_disk_lose_power(disk, fault_disk_nops(disk) + 1);
	cr_assert_eq(b2f_object_sync(&object, NULL), 0);
	cr_assert_eq(b2f_object_write(&object, 0, "y", 1, NULL), -EIO);
	cr_assert_eq(b2f_object_read(&object, 0, buf, 1, NULL), -EIO);
	cr_assert_eq(b2f_object_open(store, 1, &again, NULL), -EIO);
	cr_assert_eq(b2f_object_sync(&object, NULL), -EIO);
	cr_assert_eq(b2f_store_sync_names(store, NULL), -EIO);
	cr_assert_eq(b2f_store_remove(store, 1, NULL), -EIO);
	cr_assert_eq(b2f_store_stat_index(store, &st), -EIO);
	cr_assert_eq(b2f_store_identify(store, 1, &identity), -EIO);
	cr_assert_eq(b2f_store_list(store, add_up, NULL), -EIO);
	cr_assert(holds_after(0, 1, "data"));
	cr_assert(holds_after(0, 2, NULL));
	cr_assert(holds_after(1, 2, "x"));
}

Test(fault_store, a_planned_failure_comes_once_or_from_then_on)
{
	struct fault_plan plan = {.at = 1, .err = ENOSPC};
	struct b2f_object object;

	fault_disk_fail(disk, &plan);
	(void)create(1);
	cr_assert_eq(b2f_object_create(store, 2, &object, NULL), -ENOSPC);
	(void)create(2);
	plan = (struct fault_plan){.at = 0,
				   .err = EDQUOT,
				   .kinds = FAULT_TAKES_ROOM,
				   .onwards = true};
	fault_disk_fail(disk, &plan);
	cr_assert_eq(b2f_store_sync_names(store, NULL), 0);
	cr_assert_eq(b2f_store_remove(store, 1, NULL), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(b2f_object_create(store, 3, &object, NULL),
			     -EDQUOT);
	fault_disk_fail(disk, NULL);
	(void)create(3);
}

Test(fault_store, a_failed_write_leaves_its_first_bytes)
{
	const struct fault_plan plan = {
		.err = ENOSPC, .kinds = FAULT_WRITE, .onwards = true};
	size_t size, total = 0;
	char data[1000];

	memset(data, 'x', sizeof(data));
	fault_disk_fail(disk, &plan);
	for (int id = 0; id < 10; id++) {
		struct b2f_object object = create(id);
		char *text;

		cr_assert_eq(b2f_object_write(&object, 0, data, 1000, NULL),
			     -ENOSPC);
		text = get(store, id, &size);
		cr_assert_lt(size, 1000);
		cr_assert_eq(memcmp(text, data, size), 0);
		free(text);
		total += size;
	}
	cr_assert_gt(total, 0);
}

Test(fault_store, after_a_failed_sync_a_good_one_helps_no_more)
{
	const struct fault_plan plan = {.err = EIO, .kinds = FAULT_SYNC};
	struct b2f_object object = put(1, "data");

	cr_assert_eq(b2f_store_sync_names(store, NULL), 0);
	fault_disk_fail(disk, &plan);
	cr_assert_eq(b2f_object_sync(&object, NULL), -EIO);
	cr_assert_eq(b2f_object_sync(&object, NULL), 0);
	cr_assert(holds_after(0, 1, ""));
	put_durably(2, "data");
	cr_assert(holds_after(0, 2, "data"));
}

Test(fault_store, operations_are_counted_and_described)
{
	struct b2f_object object = put(0xAB, "x");
	char text[64];
	size_t size;

	free(get(store, 0xAB, &size));
	cr_assert_eq(fault_disk_nops(disk), 2);
	fault_disk_describe(disk, 1, text, sizeof(text));
	cr_assert_str_eq(text, "write 000000AB.chunk");
	fault_disk_count(disk, FAULT_ALL);
	free(get(store, 0xAB, &size));
	cr_assert_eq(fault_disk_nops(disk), 4);
	fault_disk_describe(disk, 2, text, sizeof(text));
	cr_assert_str_eq(text, "open 000000AB.chunk");
	cr_assert_eq(b2f_store_remove(store, 0xAB, NULL), 0);
	cr_assert_eq(b2f_object_sync(&object, NULL), 0);
	fault_disk_describe(disk, 5, text, sizeof(text));
	cr_assert_str_eq(text, "sync a nameless file");
}

static void expect_frame(struct b2f_frame *frame)
{
	struct b2f_chunk_info info;

	cr_assert_eq(b2f_frame_info_get(frame)->nchunks, 2);
	for (uint64_t i = 0; i < 2; i++) {
		cr_assert_eq(b2f_frame_chunk_info(frame, i, &info), 0);
		cr_assert_eq(info.nbytes, 1000);
	}
	b2f_frame_close(frame);
}

Test(fault_store, a_frame_goes_in_and_out)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct frame_dir dir = frame_dir_new(), copy;
	struct fault_disk *loaded;
	struct b2f_frame *frame;
	uint8_t data[1000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i);
	frame_dir_chunk(&dir, 0, data, sizeof(data), 500);
	frame_dir_chunk(&dir, 1, data, sizeof(data), 500);
	frame_dir_index(&dir, 2, 2000, 1000);
	loaded = fault_disk_load(dir.path);
	cr_assert_not_null(loaded);
	cr_assert_eq(b2f_frame_open_store(&options, fault_disk_mount(loaded),
					  "fault", &frame),
		     0);
	expect_frame(frame);
	copy = frame_dir_new();
	cr_assert_eq(fault_disk_save(loaded, copy.path), -EEXIST);
	cr_assert_eq(rmdir(copy.path), 0);
	cr_assert_eq(fault_disk_save(loaded, copy.path), 0);
	cr_assert_eq(b2f_frame_open(&options, AT_FDCWD, copy.path, &frame), 0);
	expect_frame(frame);
	fault_disk_free(loaded);
	frame_dir_remove(&dir);
	frame_dir_remove(&copy);
	cr_assert_null(fault_disk_load(dir.path));
}

#define THREADS	   4
#define PER_THREAD 100

static void *work(void *arg)
{
	int64_t first = *(int64_t *)arg;
	char text[8] = "xxxxxxx";

	for (int64_t id = first; id < first + PER_THREAD; id++) {
		struct b2f_object object = put(id, text);

		cr_assert_eq(b2f_object_read(&object, 0, text, 7, NULL), 0);
		cr_assert_eq(b2f_object_sync(&object, NULL), 0);
		if (id & 1)
			cr_assert_eq(b2f_store_remove(store, id, NULL), 0);
		b2f_object_close(&object);
	}
	return NULL;
}

static int count(void *arg, int64_t id)
{
	cr_assert_eq(id & 1, 0);
	++*(int *)arg;
	return 0;
}

Test(fault_store, encoders_write_at_the_same_time)
{
	pthread_t threads[THREADS];
	int64_t first[THREADS];
	int n = 0;

	for (int i = 0; i < THREADS; i++) {
		first[i] = i * PER_THREAD;
		cr_assert_eq(pthread_create(&threads[i], NULL, work, &first[i]),
			     0);
	}
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	cr_assert_eq(b2f_store_list(store, count, &n), 0);
	cr_assert_eq(n, THREADS * PER_THREAD / 2);
}
