/* SPDX-License-Identifier: BSD-3-Clause */
/* test_remote_write.c - writes to frames in an object store, with faults */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "b2frame/remote.h"
#include "remote/remote_store.h"
#include "remote/upload.h"
#include "store/write.h"
#include "tests/support/own.h"
#include "tests/support/writers_scene.h"

OWNER(b2f_store, b2f_store_free);

Test(remote_write, a_commit_is_one_put_of_the_index_behind_those_of_its_chunks)
{
	OWN_SCENE struct scene s = scene_open();
	struct writer w = begin(&s);

	(void)server_ask(&s.server, "count PUT x");
	fill(&w, 1, '2');
	fill(&w, 3, '2');
	cr_assert_eq(commit(&w), 0);
	cr_assert_eq(server_tell(&s.server, "count PUT x"), 3);
	cr_assert_str_eq(content(&s), "1212");
	/*
	 * The chunks of the commit before stay: 4 and 2 chunks, and the index.
	 */
	cr_assert_eq(server_tell(&s.server, "objects"), 7);
	writer_close(&w);
	cr_assert_eq(server_tell(&s.server, "objects"), 7);
}

Test(remote_write, a_frame_that_is_there_is_not_created_again)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_settings settings = b2f_settings_default();
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	struct b2f_frame *frame = NULL;

	cr_assert_eq(b2f_remote_make_frame(w.remote, "x", &settings, &options,
					   &frame),
		     -EEXIST);
	cr_assert_str_eq(content(&s), "1111");
}

Test(remote_write, a_frame_whose_keys_would_be_too_long_is_not_made)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_settings settings = b2f_settings_default();
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	struct b2f_remote_renamed done;
	OWN(b2f_frame_close) struct b2f_frame *frame = NULL;
	char path[1024 - sizeof("top//chunks.b2frame") + 3] = "";

	memset(path, 'p', sizeof(path) - 1);
	cr_assert_eq(b2f_remote_make_frame(w.remote, path, &settings, &options,
					   &frame),
		     -ENAMETOOLONG);
	cr_assert_eq(b2f_remote_rename_frame(w.remote, b2f_file_frame(w.file),
					     path, NULL, &done),
		     -ENAMETOOLONG);
	path[sizeof(path) - 2] = '\0';
	cr_assert_eq(b2f_remote_make_frame(w.remote, path, &settings, &options,
					   &frame),
		     0, "%s", message);
}

static int read_nothing(void *arg, uint64_t off, void *buf, size_t n)
{
	(void)arg;
	(void)off;
	(void)buf;
	(void)n;
	return -EIO;
}

Test(remote_write, what_is_more_than_a_store_takes_is_refused_without_a_request)
{
	struct b2f_remote_source source = {.read = read_nothing,
					   .size = B2F_REMOTE_PUT_MAX + 1};
	const char *path = "x/chunks.b2frame";
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	uint64_t before = b2f_remote_counts_get(w.remote).requests;
	bool kept;

	cr_assert_eq(b2f_remote_send(w.remote, path, &source, true, &kept),
		     B2F_ETOOBIG);
	cr_assert_eq(b2f_remote_counts_get(w.remote).requests, before);
	cr_assert(strstr(message, "convert --sparse"), "%s", message);
	/* With a byte less it differs from the existing object. */
	source.size--;
	cr_assert_eq(b2f_remote_send(w.remote, path, &source, false, &kept),
		     -EEXIST);
}

Test(remote_write, writers_of_different_chunks_both_stand)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer a = begin(&s), b = another(&s);

	fill(&a, 0, 'a');
	fill(&b, 1, 'b');
	cr_assert_eq(commit(&a), 0);
	cr_assert_eq(commit(&b), 0, "%s", message);
	cr_assert_str_eq(content(&s), "ab11");
	fill(&a, 2, 'a');
	cr_assert_eq(commit(&a), 0, "%s", message);
	cr_assert_str_eq(content(&s), "aba1");
}

Test(remote_write, the_second_writer_of_a_chunk_is_told)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer a = begin(&s), b = another(&s);

	fill(&a, 0, 'a');
	fill(&b, 0, 'b');
	cr_assert_eq(commit(&a), 0);
	cr_assert_eq(commit(&b), -ESTALE);
	cr_assert_str_eq(content(&s), "a111");
}

/* Commits with one fault of a kind at a request. */
static void check_fault(const char *kind, const char *method, const char *what)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	/* Chunks are sent as soon as they are encoded. */
	(void)server_ask(&s.server, "when %s %s 1 %s", method, what, kind);
	fill(&w, 0, '2');
	fill(&w, 2, '2');
	cr_assert_eq(commit(&w), 0, "%s %s %s: %s", kind, method, what,
		     message);
	cr_assert_str_eq(content(&s), "2121");
	/* The next commit knows the current index. */
	fill(&w, 1, '3');
	cr_assert_eq(commit(&w), 0, "%s", message);
	cr_assert_str_eq(content(&s), "2321");
}

Test(remote_write, a_fault_at_a_chunk_is_settled)
{
	for (size_t i = 0; i < NFAULTS; i++)
		check_fault(faults[i], "PUT", ".chunk");
}

Test(remote_write, a_fault_at_the_index_is_settled)
{
	for (size_t i = 0; i < NFAULTS; i++)
		check_fault(faults[i], "PUT", "chunks.b2frame");
}

Test(remote_write, an_id_that_another_writer_has_taken_is_not_written_over)
{
	/* The server refuses because the object exists. */
	check_fault("status 412", "PUT", ".chunk");
}

Test(remote_write, an_index_that_was_replaced_before_its_writer_looked_stands)
{
	OWN_SCENE struct scene s = scene_open();
	struct writer a = begin(&s), b;

	fill(&a, 0, 'a');
	/*
	 * The answer is lost, and the writer cannot look, until another one has
	 * committed.
	 */
	(void)server_ask(&s.server, "when PUT chunks.b2frame 1 lose");
	(void)server_ask(&s.server, "when HEAD chunks.b2frame 1000 status 503");
	(void)server_ask(&s.server, "when GET chunks.b2frame 1000 status 503");
	cr_assert_eq(commit(&a), B2F_EINDOUBT);
	(void)server_ask(&s.server, "forget");
	b = another(&s);
	fill(&b, 1, 'b');
	cr_assert_eq(commit(&b), 0, "%s", message);
	cr_assert_str_eq(content(&s), "ab11");
	cr_assert_eq(commit(&a), 0, "%s", message);
	cr_assert_str_eq(content(&s), "ab11");
	fill(&a, 0, 'c');
	cr_assert_eq(commit(&a), 0, "%s", message);
	cr_assert_str_eq(content(&s), "cb11");
	writer_close(&a);
	writer_close(&b);
	cr_assert_str_eq(content(&s), "cb11");
}

Test(remote_write, what_could_not_be_committed_stays_and_is_committed_later)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	(void)server_ask(&s.server, "when PUT .chunk 100 status 500");
	fill(&w, 0, '2');
	cr_assert_eq(commit(&w), -EIO);
	cr_assert_eq(value_of(&w, 0), '2');
	cr_assert_str_eq(content(&s), "1111");
	/* Attempts use up the remaining faults. */
	while (commit(&w))
		;
	cr_assert_str_eq(content(&s), "2111");
}

Test(remote_write, the_next_commit_sends_all_that_the_server_did_not_take)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	(void)server_ask(&s.server, "when PUT .chunk 1000 status 400");
	for (uint64_t i = 0; i < 32; i++)
		fill(&w, i, '2');
	cr_assert_eq(commit(&w), -EIO);
	(void)server_ask(&s.server, "forget");
	cr_assert_eq(commit(&w), 0, "%s", message);
	for (uint64_t i = 0; i < 32; i++)
		cr_assert_eq(value_of(&w, i), '2');
}

/* A commit whose outcome @w cannot find out; the server has done it or not. */
static void doubt(struct scene *s, struct writer *w, const char *fault)
{
	(void)server_ask(&s->server, "when PUT x/chunks.b2frame 1 %s", fault);
	(void)server_ask(&s->server, "away_after PUT x/chunks.b2frame");
	cr_assert_eq(commit(w), B2F_EINDOUBT, "%s", message);
	(void)server_ask(&s->server, "forget");
}

/* The first commit has all chunks of the second one, and one more. */
Test(remote_write, what_is_cut_off_stays_off_after_commits_in_doubt)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	fill(&w, 0, '3');
	fill(&w, NCHUNKS, '2');
	doubt(&s, &w, "done garbage");
	cr_assert_eq(b2f_file_truncate(w.file, NCHUNKS * CHUNK), 0);
	doubt(&s, &w, "garbage");
	cr_assert_eq(commit(&w), 0, "%s", message);
	cr_assert_str_eq(content(&s), "3111");
}

/* The sanitizer would report memory that is left. */
Test(remote_write, a_commit_that_failed_may_be_given_up)
{
	OWN_SCENE struct scene s = scene_open();
	struct writer w = begin(&s);

	(void)server_ask(&s.server, "when PUT .chunk 100 status 500");
	fill(&w, 0, '2');
	cr_assert_eq(commit(&w), -EIO);
	writer_close(&w);
	(void)server_ask(&s.server, "when PUT .chunk 0 status 500");
	cr_assert_str_eq(content(&s), "1111");
}

Test(remote_write, a_frame_is_removed_once)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	cr_assert_eq(b2f_remote_remove_frame(w.remote, "x"), 0, "%s", message);
	cr_assert_eq(b2f_remote_remove_frame(w.remote, "x"), -ENOENT);
	cr_assert_eq(server_tell(&s.server, "objects"), 0);
}

/* VersityGW gives files put straight into its directory no ETag. */
Test(remote_write, an_index_without_an_etag_is_not_written_to)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	(void)server_ask(&s.server, "no_etag chunks.b2frame");
	(void)server_ask(&s.server, "age chunks.b2frame 100");
	writer_close(&w);
	w = writer_open(&s);
	(void)server_tell(&s.server, "count PUT top/x/");
	cr_assert_eq(allow(&w), -EROFS);
	cr_assert_not_null(strstr(message, "ETag"), "%s", message);
	cr_assert_eq(b2f_remote_put(w.remote, "x/chunks.b2frame", "", 0,
				    &(struct b2f_remote_stat){.mtime = 1}, NULL),
		     -EROFS);
	cr_assert_eq(server_tell(&s.server, "count PUT top/x/"), 0);
	cr_assert_str_eq(content(&s), "1111");
}

Test(remote_write, removing_a_frame_leaves_the_chunks_of_one_that_comes_meanwhile)
{
	OWN_SCENE struct scene s = scene_open();
	struct writer w = begin(&s);

	(void)server_ask(&s.server,
			     "after_delete chunks.b2frame "
			     "/bucket/top/x/0000ABCD.chunk");
	cr_assert_eq(b2f_remote_remove_frame(w.remote, "x"), 0, "%s", message);
	writer_close(&w);
	cr_assert_eq(server_tell(&s.server, "objects"), 1);
}

Test(remote_write, a_replaced_chunk_is_deleted_only_if_the_index_is_still_ours)
{
	OWN_SCENE struct scene s = scene_open();
	struct writer w = begin(&s);

	writer_close(&w);
	(void)server_ask(&s.server, "keep chunks.b2frame");
	/* It looks at the index once, and trusts that version. */
	w = writer_at(&s, connect_with(&s, 1));
	cr_assert_eq(allow(&w), 0, "%s", message);
	fill(&w, 0, '2');
	cr_assert_eq(commit(&w), 0, "%s", message);
	fill(&w, 0, '3');
	cr_assert_eq(commit(&w), 0, "%s", message);
	cr_assert_eq(server_tell(&s.server, "objects"), 7);
	/*
	 * The first chunk is due, but a program that ignores conditions has
	 * restored an index that names it.
	 */
	sleep(b2f_remote_keep_s(w.remote));
	(void)server_ask(&s.server, "bring_back");
	writer_close(&w);
	cr_assert_str_eq(content(&s), "1111");
}

/* Replaces the object o, named by @put, by a longer one. */
static void put_next(struct b2f_remote *remote, struct b2f_put *put)
{
	static const char bytes[64];
	struct b2f_remote_stat before = put->now;
	struct b2f_put_spec spec = {.path = "o",
				    .data = bytes,
				    .size = before.size + 1,
				    .replaces = &before};
	struct b2f_note note = put->spec.note;

	b2f_put_fini(put);
	b2f_note_follow(&spec.note, &note, b2f_note_draw());
	cr_assert_eq(b2f_put_start(remote, &spec, put), 0);
	cr_assert_eq(b2f_put_wait(put, NULL), 0);
}

/*
 * Loses the answer to a PUT, lets @n other PUTs follow, and checks the outcome.
 */
static void check_doubt(unsigned int n, int expected)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(&s);
	const struct b2f_note none = {.nmarks = 0};
	struct b2f_put_spec spec = {.path = "o", .data = "a", .size = 1};
	struct b2f_why why = {""};
	struct b2f_remote_stat first;
	struct b2f_put put, lost;
	struct b2f_note seen;

	b2f_note_follow(&spec.note, &none, b2f_note_draw());
	cr_assert_eq(b2f_put_start(remote, &spec, &put), 0);
	cr_assert_eq(b2f_put_wait(&put, NULL), 0);
	(void)server_ask(&s.server, "when PUT o 1 lose");
	first = put.now;
	spec = (struct b2f_put_spec){
		.path = "o", .data = "ab", .size = 2, .replaces = &first};
	b2f_note_follow(&spec.note, &put.spec.note, b2f_note_draw());
	cr_assert_eq(b2f_put_start(remote, &spec, &lost), 0);
	b2f_put_fini(&put);
	do
		cr_assert_eq(b2f_remote_head(remote, "o", &put.now, &seen,
					     NULL),
			     0);
	while (seen.marks[0] != lost.spec.note.marks[0]);
	put.spec.note = seen;
	for (unsigned int i = 0; i < n; i++)
		put_next(remote, &put);
	cr_assert_eq(b2f_put_wait(&lost, &why), expected, "%s", why.text);
	b2f_put_fini(&lost);
	b2f_put_fini(&put);
}

Test(remote_write, that_an_index_was_replaced_is_in_doubt_if_no_mark_reaches_back)
{
	check_doubt(1, 0);
	check_doubt(B2F_NOTE_MARKS - 1, 0);
	check_doubt(B2F_NOTE_MARKS + 1, B2F_EINDOUBT);
}

static int take_id(void *arg, int64_t id)
{
	*(int64_t *)arg = id;
	return 1;
}

/* Opens a chunk of a clone of @store, as after a refresh; reads its begin. */
static int read_some_chunk(struct b2f_store *store, bool begins)
{
	struct b2f_object object = {.fd = -1};
	struct b2f_store *clone = NULL;
	int64_t id = -1;
	char head[16];
	int err;

	cr_assert_eq(b2f_store_clone(store, &clone, NULL), 0);
	if (begins)
		cr_assert_eq(b2f_remote_store_begin(clone, NULL), 0);
	cr_assert_eq(b2f_store_list(clone, take_id, &id), 1);
	cr_assert_eq(b2f_object_open(clone, id, &object, NULL), 0);
	err = b2f_object_read(&object, 0, head, sizeof(head), NULL);
	b2f_object_close(&object);
	b2f_store_free(clone);
	return err;
}

Test(remote_write, chunks_that_were_written_anew_are_read_after_a_refresh)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	OWN(b2f_store_free) struct b2f_store *store = NULL;

	cr_assert_eq(b2f_remote_store_new(w.remote, "x", true, &store), 0);
	cr_assert_eq(read_some_chunk(store, true), 0);
	/* Another program writes chunks with the same ids. */
	(void)server_ask(&s.server, "replace top/x/");
	cr_assert_eq(read_some_chunk(store, true), 0);
	/* With an index of the same bytes. */
	(void)server_ask(&s.server, "replace .chunk");
	cr_assert_eq(read_some_chunk(store, true), -ESTALE);
	cr_assert_eq(read_some_chunk(store, false), 0);
}

Test(remote_write, a_chunk_in_memory_is_read_on_after_its_commit)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(&s);
	struct b2f_remote_place *place = NULL;
	struct b2f_upload *up = NULL, *reader;
	char byte = 0;

	cr_assert_eq(b2f_remote_place_new(remote, "x", true, &place), 0);
	cr_assert_eq(b2f_upload_new(place, 1, &up), 0);
	cr_assert_eq(b2f_upload_write(up, 0, "a", 1), 0);
	cr_assert_eq(b2f_upload_send(up), 0);
	reader = b2f_upload_find(place, 1);
	b2f_upload_unref(up);
	cr_assert_eq(b2f_upload_claim(reader, true, NULL), 0);
	b2f_uploads_end_claims(place, false);
	cr_assert_eq(b2f_upload_read(reader, 0, &byte, 1, NULL), 0);
	cr_assert_eq(byte, 'a');
	b2f_upload_unref(reader);
	b2f_remote_place_unref(place);
}

/* Reads the only byte of chunk @id. */
static int read_byte(struct b2f_store *store, int64_t id, char *byte)
{
	struct b2f_object object = {.fd = -1};
	int err = b2f_object_open(store, id, &object, NULL);

	if (!err)
		err = b2f_object_read(&object, 0, byte, 1, NULL);
	b2f_object_close(&object);
	return err;
}

/* An id that no commit here takes: ids begin within a few hundred. */
#define FAR_ID 0xABCDE

Test(remote_write, a_chunk_in_memory_is_not_asked_for)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	OWN(b2f_store_free) struct b2f_store *store = NULL;
	struct b2f_remote_place *place;
	struct b2f_upload *up = NULL;
	struct b2f_why why = {""};
	char byte = 0;

	cr_assert_eq(b2f_remote_store_new(w.remote, "x", true, &store), 0);
	cr_assert_eq(b2f_remote_store_begin(store, NULL), 0);
	place = b2f_remote_store_place(store);
	cr_assert_eq(b2f_upload_new(place, FAR_ID, &up), 0);
	cr_assert_eq(b2f_upload_write(up, 0, "a", 1), 0);
	(void)server_ask(&s.server, "count GET .chunk");
	b2f_store_prefetch(store, FAR_ID, 1);
	cr_assert_eq(read_byte(store, FAR_ID, &byte), 0);
	cr_assert_eq(byte, 'a');
	cr_assert_eq(b2f_upload_send(up), 0);
	cr_assert_eq(b2f_upload_claim(up, true, &why), 0, "%s", why.text);
	b2f_upload_unref(up);
	b2f_uploads_end_claims(place, false);
	/* Nor does an earlier "missing" count once it was sent. */
	cr_assert_eq(read_byte(store, FAR_ID, &byte), 0, "%s", message);
	cr_assert_eq(byte, 'a');
	cr_assert_eq(server_tell(&s.server, "count GET .chunk"), 1);
}

#define NRACERS	    8
#define NRACES	    6
#define RACE_CHUNKS NRACERS

/* A writer of one of the chunks, which commits again and again. */
struct racer {
	struct scene *scene;
	pthread_t thread;
	uint64_t nchunk;
	int err;
};

static void *race(void *arg)
{
	struct racer *racer = arg;
	struct writer w = writer_open(racer->scene);

	racer->err = allow(&w);
	for (uint8_t i = 0; i < NRACES && !racer->err; i++) {
		fill(&w, racer->nchunk, (uint8_t)('a' + i));
		racer->err = commit(&w);
	}
	writer_close(&w);
	return NULL;
}

/* Runs all writers at once; then each chunk has its writer's last value. */
static void run_race(struct scene *s)
{
	struct racer racers[NRACERS];
	OWN_WRITER struct writer w = begin(s);

	for (uint64_t i = NCHUNKS; i < RACE_CHUNKS; i++)
		fill(&w, i, '1');
	cr_assert_eq(commit(&w), 0);
	writer_close(&w);
	for (uint64_t i = 0; i < NRACERS; i++) {
		racers[i] = (struct racer){.scene = s, .nchunk = i};
		cr_assert_eq(pthread_create(&racers[i].thread, NULL, race,
					    &racers[i]),
			     0);
	}
	for (size_t i = 0; i < NRACERS; i++) {
		pthread_join(racers[i].thread, NULL);
		cr_assert_eq(racers[i].err, 0, "%d: %s", racers[i].err,
			     message);
	}
	w = writer_open(s);
	for (uint64_t i = 0; i < RACE_CHUNKS; i++)
		cr_assert_eq(value_of(&w, i), 'a' + NRACES - 1);
}

Test(remote_write, eight_writers_that_race_lose_nothing)
{
	OWN_SCENE struct scene s = scene_open();

	run_race(&s);
}

Test(remote_write, eight_writers_that_race_lose_nothing_when_answers_get_lost)
{
	OWN_SCENE struct scene s = scene_open();

	/* Faults spread over the race. */
	(void)server_ask(&s.server, "each 9 PUT chunks.b2frame lose");
	(void)server_ask(&s.server, "each 11 PUT .chunk lose");
	(void)server_ask(&s.server, "each 13 HEAD chunks.b2frame status 503");
	run_race(&s);
}

Test(remote_write, an_object_is_replaced_in_the_version_that_was_seen)
{
	struct b2f_remote_stat one = {.size = 0}, two = {.size = 0};
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(&s);

	cr_assert_eq(b2f_remote_put(remote, "o", "a", 1, NULL, &one), 0);
	cr_assert_eq(b2f_remote_put(remote, "o", "b", 1, NULL, NULL), -EEXIST);
	cr_assert_eq(b2f_remote_put(remote, "o", "bb", 2, &one, &two), 0);
	cr_assert_eq(two.size, 2);
	cr_assert_eq(b2f_remote_put(remote, "o", "cc", 2, &one, NULL), -ESTALE);
	cr_assert_eq(b2f_remote_remove(remote, "o"), 0);
	cr_assert_eq(b2f_remote_remove(remote, "o"), 0);
	cr_assert_eq(b2f_remote_put(remote, "o", "cc", 2, &two, NULL), -ESTALE);
}
