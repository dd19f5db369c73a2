/* SPDX-License-Identifier: BSD-3-Clause */
/* test_remote_versions.c - a read from an object store never mixes versions */
#include <criterion/criterion.h>
#include <string.h>
#include <xxhash.h>

#include "frame/frame.h"
#include "remote/remote_store.h"
#include "tests/support/frame_dir.h"
#include "tests/support/writers_scene.h"

/* A store, and a directory for files to upload, and for a cache. */
struct stage {
	struct scene s;
	struct frame_dir dir;
	char cache[80];
};

static struct stage stage_open(void)
{
	struct stage t = {.s = scene_open(), .dir = frame_dir_new()};

	snprintf(t.cache, sizeof(t.cache), "%s-cache", t.dir.path);
	return t;
}

static void stage_close(struct stage *t)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", t->cache);
	cr_assert_eq(system(command), 0);
	frame_dir_remove(&t->dir);
	scene_close(&t->s);
}

#define OWN_STAGE __attribute__((cleanup(stage_close)))

/* A reader that knows nothing but the cache directory. */
static struct b2f_remote *reader(const struct stage *t)
{
	const struct b2f_remote_options options = {.cache_dir = t->cache,
						   .refresh_ms = 1};

	return connect_as(&t->s, options);
}

/* A foreign program uploads the file @name as a part of the frame x. */
static void upload(struct stage *t, const char *name)
{
	(void)server_ask(&t->s.server, "load %s/%s /bucket/top/x/%s",
			 t->dir.path, name, name);
}

/* Makes a frame of one chunk, all @value, in the directory. */
static void make_foreign(struct stage *t, uint8_t value)
{
	/* Two frames never have the same index. */
	const struct b2f_frame_header header = {.nbytes = CHUNK,
						.cbytes = CHUNK + value,
						.chunksize = CHUNK,
						.sparse = true};
	const uint64_t entry = 0;
	uint8_t data[CHUNK], *raw = NULL;
	size_t size = 0;

	memset(data, value, sizeof(data));
	frame_dir_chunk(&t->dir, 0, data, CHUNK, CHUNK);
	frame_dir_make_index(&header, &entry, 1, &raw, &size);
	frame_dir_write(&t->dir, B2F_INDEX_NAME, raw, size);
	free(raw);
}

/* The first byte of the frame x. */
static int first_byte(struct stage *t)
{
	struct writer w = writer_at(&t->s, reader(t));
	uint8_t byte = 0;
	ssize_t n = b2f_file_pread(w.file, NULL, &byte, 1, 0);

	writer_close(&w);
	return n < 0 ? (int)n : byte;
}

Test(remote_versions, chunks_of_an_index_that_came_before_them_are_not_kept)
{
	OWN_STAGE struct stage t = stage_open();

	make_foreign(&t, 'a');
	upload(&t, "00000000.chunk");
	upload(&t, B2F_INDEX_NAME);
	cr_assert_eq(first_byte(&t), 'a', "%s", message);
	/* A new frame with other content; its index comes first. */
	make_foreign(&t, 'b');
	upload(&t, B2F_INDEX_NAME);
	/* Until the chunk is uploaded, the old chunk is read. */
	cr_assert_eq(first_byte(&t), 'a', "%s", message);
	upload(&t, "00000000.chunk");
	cr_assert_eq(first_byte(&t), 'b', "%s", message);
}

/* Returns the number of objects that a second reader asks for. */
static unsigned int count_again(struct stage *t, int expected)
{
	cr_assert_eq(first_byte(t), expected, "%s", message);
	(void)server_ask(&t->s.server, "count GET x");
	cr_assert_eq(first_byte(t), expected, "%s", message);
	return server_tell(&t->s.server, "count GET x");
}

Test(remote_versions, chunks_of_an_index_that_is_old_are_kept)
{
	OWN_STAGE struct stage t = stage_open();

	make_foreign(&t, 'a');
	upload(&t, "00000000.chunk");
	upload(&t, B2F_INDEX_NAME);
	cr_assert_eq(count_again(&t, 'a'), 2);
	(void)server_ask(&t.s.server, "age x/chunks.b2frame 7200");
	cr_assert_eq(count_again(&t, 'a'), 1);
}

Test(remote_versions, chunks_of_an_index_of_ours_are_kept)
{
	OWN_STAGE struct stage t = stage_open();
	struct writer w = begin(&t.s);

	writer_close(&w);
	/* Chunk 0 begins with its number. */
	cr_assert_eq(count_again(&t, 0), 1);
}

/* Puts a contiguous frame of @nchunks chunks as the object o. */
static void put_single(struct stage *t, uint64_t nchunks)
{
	const struct b2f_frame_options options = {.log = &watching};
	const struct b2f_write_options writing = {.chunksize = CHUNK};
	struct b2f_settings settings = b2f_settings_default();
	struct b2f_frame_made made = {.frame = NULL};
	struct writer w = {.remote = NULL};
	char path[96];

	settings.chunksize = CHUNK;
	snprintf(path, sizeof(path), "%s/o", t->dir.path);
	(void)unlink(path);
	cr_assert_eq(b2f_frame_make_small(&settings, AT_FDCWD, path, 0644,
					  &options, &made),
		     0);
	cr_assert_eq(b2f_file_open(t->s.rt, made.frame, &w.file), 0);
	cr_assert_eq(b2f_file_allow_write(w.file, &writing), 0);
	for (uint64_t i = 0; i < nchunks; i++)
		fill(&w, i, 'x');
	cr_assert_eq(b2f_file_commit(w.file, B2F_COMMIT_VISIBLE), 0);
	b2f_file_close(w.file);
	(void)server_ask(&t->s.server, "load %s /bucket/top/o", path);
}

Test(remote_versions, an_object_that_changes_while_it_is_opened_has_its_own_stamp)
{
	const struct b2f_frame_options options = {.log = &watching};
	OWN_STAGE struct stage t = stage_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = reader(&t);
	struct b2f_store *store = NULL;
	OWN(b2f_frame_close) struct b2f_frame *frame = NULL;
	struct b2f_frame_stamp stamp;
	struct b2f_remote_stat now;

	put_single(&t, 1);
	(void)server_ask(&t.s.server, "keep top/o");
	put_single(&t, 2);
	(void)server_ask(&t.s.server, "back_after_get top/o");
	cr_assert_eq(b2f_remote_store_new(remote, "o", false, &store), 0);
	cr_assert_eq(b2f_remote_store_begin(store, NULL), 0);
	/* A look at the index is trusted for a millisecond. */
	usleep(5000);
	cr_assert_eq(b2f_frame_open_store(&options, store, "o", &frame), 0, "%s",
		     message);
	cr_assert_eq(b2f_remote_look(remote, "o", &now), 0);
	stamp = b2f_remote_stamp(&now);
	cr_assert(b2f_frame_stamp_equal(&frame->stamp, &stamp));
	cr_assert_eq(b2f_frame_info_get(frame)->nbytes, CHUNK);
}

/* Uploads an index that compresses badly, of 1,000,000 chunks of 1000 bytes. */
static void upload_huge(struct stage *t)
{
	const uint64_t n = 1000000;
	const struct b2f_frame_header header = {.nbytes = n * 1000,
						.cbytes = n * 1000,
						.chunksize = 1000,
						.sparse = true};
	OWN(free) uint64_t *entries = malloc(n * sizeof(*entries));
	OWN(free) uint8_t *raw = NULL;
	size_t size = 0;

	for (uint64_t i = 0; i < n; i++)
		entries[i] = XXH3_64bits(&i, sizeof(i)) >> 33;
	frame_dir_make_index(&header, entries, n, &raw, &size);
	cr_assert_gt(size, 3u << 20);
	frame_dir_write(&t->dir, B2F_INDEX_NAME, raw, size);
	upload(t, B2F_INDEX_NAME);
}

Test(remote_versions, a_million_chunks_open_with_two_requests)
{
	const struct b2f_frame_options options = {.log = &watching};
	OWN_STAGE struct stage t = stage_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = reader(&t);
	OWN(b2f_frame_close) struct b2f_frame *frame = NULL;

	upload_huge(&t);
	(void)server_ask(&t.s.server, "count GET x");
	cr_assert_eq(b2f_remote_open_frame(remote, "x", &options, &frame), 0,
		     "%s", message);
	cr_assert_leq(server_tell(&t.s.server, "count GET x"), 2);
	cr_assert_eq(b2f_frame_info_get(frame)->nchunks, 1000000);
}
