/* SPDX-License-Identifier: BSD-3-Clause */
/* test_remote.c - frames on a web server that fails in many ways */
#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>

#include "tests/support/remote_scene.h"

Test(remote, sparse_frame_opens_with_one_request)
{
	OWN_SCENE struct scene s = scene_open(false);

	cr_assert_eq(try_open(&s), 0, "%s", message);
	cr_assert_eq(count(&s.server), 1);
}

Test(remote, random_read_takes_one_request_and_then_none)
{
	for (int contiguous = 0; contiguous < 2; contiguous++) {
		OWN_SCENE struct scene s = scene_open(contiguous != 0);

		cr_assert_eq(try_open(&s), 0);
		/* The first read also asks for the length of the last chunk. */
		cr_assert_eq(read_at(&s, 500000, 4096), 0);
		(void)count(&s.server);
		cr_assert_eq(read_at(&s, 3 * CHUNK + 500000, 4096), 0);
		cr_assert_eq(count(&s.server), 1);
		cr_assert_eq(read_at(&s, 3 * CHUNK + 200000, 4096), 0);
		cr_assert_eq(count(&s.server), 0);
		cr_assert_eq(read_at(&s, CHUNK + 1000000, 4096), 0);
		cr_assert_leq(count(&s.server), 1);
	}
}

Test(remote, all_bytes_of_a_sparse_frame_are_right)
{
	OWN_SCENE struct scene s = scene_open(false);

	cr_assert_eq(try_open(&s), 0);
	(void)count(&s.server);
	read_in_order(&s);
	/*
	 * Two requests for the length of the last chunk, two more where the
	 * reader began.
	 */
	cr_assert_leq(count(&s.server), NCHUNKS + 4);
}

Test(remote, what_was_prefetched_in_vain_hinders_no_reader)
{
	const struct b2f_check_options plain = {.chunk = NULL};
	struct b2f_check_result result;
	OWN_SCENE struct scene s = scene_open(false);
	struct b2f_frame *frame;

	cr_assert_eq(try_open(&s), 0);
	frame = b2f_file_frame(s.file);
	(void)count(&s.server);
	/* Prefetches as much as fits, of a chunk that no reader opens. */
	b2f_store_prefetch(frame->store, 1000, 128 << 20);
	cr_assert_eq(b2f_check_frame(s.rt, frame, &plain, &result), 0);
	cr_assert_eq(result.ndamaged + result.nfailed, 0);
	/*
	 * Begin and rest of each chunk, and two for the length of the last
	 * chunk.
	 */
	cr_assert_leq(count(&s.server), 1 + 2 * NCHUNKS + 2);
}

Test(remote, chunks_of_a_contiguous_frame_come_at_once)
{
	OWN_SCENE struct scene s = scene_open(true);
	unsigned int requests = 0;
	unsigned long long bytes = 0;
	struct stat st;
	char path[80];

	snprintf(path, sizeof(path), "%s/x", s.dir.path);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(try_open(&s), 0, "%s", message);
	(void)count(&s.server);
	read_in_order(&s);
	cr_assert_eq(sscanf(server_ask(&s.server, "count"), "%u %llu", &requests,
			    &bytes),
		     2);
	/*
	 * As for a sparse frame; only the bytes where the reader began come
	 * twice.
	 */
	cr_assert_leq(requests, 8 * NCHUNKS);
	cr_assert_leq(bytes, (unsigned long long)st.st_size * 3 / 2, "%u %llu %lld", requests, bytes, (long long)st.st_size);
}

Test(remote, blocks_that_are_read_in_order_do_not_come_one_by_one)
{
	for (int contiguous = 0; contiguous < 2; contiguous++) {
		OWN_SCENE struct scene s = scene_open(contiguous != 0);

		cr_assert_eq(try_open(&s), 0, "%s", message);
		cr_assert_eq(read_at(&s, 500000, 4096), 0);
		(void)count(&s.server);
		/* 32 blocks, read without a stream. */
		cr_assert_eq(read_at(&s, 2 * CHUNK, CHUNK), 0);
		cr_assert_leq(count(&s.server), 10);
	}
}

Test(remote, contiguous_frame_is_read_by_ranges)
{
	OWN_SCENE struct scene s = scene_open(true);

	cr_assert_eq(try_open(&s), 0, "%s", message);
	cr_assert_leq(count(&s.server), 4);
	cr_assert_eq(read_at(&s, 500000, 4096), 0);
	(void)count(&s.server);
	cr_assert_eq(read_at(&s, 3 * CHUNK + 500000, 4096), 0);
	cr_assert_leq(count(&s.server), 2);
	cr_assert_eq(read_at(&s, 0, NBYTES), 0);
}

Test(remote, what_may_pass_is_tried_again)
{
	static const char *const faults[] = {"status 503", "status 500",
					     "status 429", "drop", "lose",
					     "cut 3000"};
	OWN_SCENE struct scene s = scene_open(false);

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		server_ask(&s.server, "fault 2 %s", faults[i]);
		cr_assert_eq(try_open(&s), 0, "%s: %s", faults[i], message);
		server_ask(&s.server, "fault 1 %s", faults[i]);
		cr_assert_eq(read_at(&s, i * CHUNK + 70000, 4096), 0, "%s: %s",
			     faults[i], message);
		forget_file(&s);
	}
	cr_assert_geq(b2f_remote_counts_get(s.remote).retries, 10);
}

Test(remote, what_does_not_pass_is_told)
{
	OWN_SCENE struct scene s = scene_open(false);

	server_ask(&s.server, "fault 100 status 503");
	cr_assert_eq(try_open(&s), -EIO);
	cr_assert_not_null(strstr(message, "503"), "%s", message);
	server_ask(&s.server, "fault 100 drop");
	cr_assert_eq(try_open(&s), -ECONNRESET);
	server_ask(&s.server, "fault 100 status 403");
	cr_assert_eq(try_open(&s), -EACCES);
	server_ask(&s.server, "fault 100 status 404");
	cr_assert_eq(try_open(&s), -ENOENT);
	server_ask(&s.server, "fault 0 none");
	cr_assert_eq(try_open(&s), 0);
}

Test(remote, server_that_says_nothing_times_out)
{
	const struct b2f_remote_options options = {.log = &watching,
						   .retry_ms = UINT_MAX,
						   .stall_ms = 1000};
	OWN_SCENE struct scene s = scene_open(false);

	b2f_remote_free(s.remote);
	cr_assert_eq(b2f_remote_new(&options, s.server.url, &s.remote), 0);
	server_ask(&s.server, "fault 1 stall 4");
	cr_assert_eq(try_open(&s), -ETIMEDOUT);
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

Test(remote, server_is_not_waited_for_when_nobody_wants_its_answer)
{
	OWN_SCENE struct scene s = scene_open(false);

	server_ask(&s.server, "fault 100 silent");
	b2f_patience_set(always, NULL);
	cr_assert_eq(try_open(&s), -EINTR, "%s", message);
	b2f_patience_set(NULL, NULL);
	server_ask(&s.server, "fault 0 none");
	cr_assert_eq(try_open(&s), 0, "%s", message);
}

Test(remote, server_that_drips_holds_no_reader_for_ever)
{
	OWN_SCENE struct scene s = scene_open(false);
	const struct b2f_remote_options options = {.log = &watching,
						   .retry_ms = UINT_MAX,
						   .answer_ms = 4000};
	struct b2f_remote_stat st;
	struct b2f_remote *hasty = NULL;
	uint8_t buf[4096];

	cr_assert_eq(b2f_remote_new(&options, s.server.url, &hasty), 0);
	cr_assert_eq(b2f_remote_look(hasty, "x/chunks.b2frame", &st), 0);
	/* The whole answer would take longer than the test may. */
	server_ask(&s.server, "fault 1 drip 1");
	cr_assert_eq(b2f_remote_read(hasty, "x/chunks.b2frame", &st, 0, buf,
				     150),
		     -ETIMEDOUT);
	cr_assert_eq(b2f_remote_read(hasty, "x/chunks.b2frame", &st, 0, buf,
				     150),
		     150);
	b2f_remote_free(hasty);
}

Test(remote, no_server_is_told)
{
	const struct b2f_remote_options options = {.log = &watching,
						   .retry_ms = UINT_MAX};
	struct b2f_remote_stat st;
	struct b2f_remote *remote = NULL;

	cr_assert_eq(b2f_remote_new(&options, "http://127.0.0.1:1/x", &remote),
		     0);
	cr_assert_eq(b2f_remote_look(remote, "", &st), -ECONNREFUSED);
	cr_assert_str_eq(message, "http://127.0.0.1:1/x: cannot connect to "
				  "127.0.0.1:1: refused");
	b2f_remote_free(remote);
}

Test(remote, rewritten_chunk_is_not_mixed_with_the_one_before)
{
	OWN_SCENE struct scene s = scene_open(false);

	cr_assert_eq(try_open(&s), 0);
	cr_assert_eq(read_at(&s, CHUNK + 900000, 4096), 0);
	rewrite(&s, file_of_chunk(&s, 1), 300);
	cr_assert_eq(read_at(&s, CHUNK + 400000, 4096), -ESTALE);
}

Test(remote, rewritten_contiguous_frame_is_stale)
{
	OWN_SCENE struct scene s = scene_open(true);

	cr_assert_eq(try_open(&s), 0);
	cr_assert_eq(read_at(&s, CHUNK + 500000, 4096), 0);
	rewrite(&s, "x", 5);
	cr_assert_eq(read_at(&s, 2 * CHUNK + 400000, 4096), -ESTALE);
}

Test(remote, missing_chunk_is_damage)
{
	OWN_SCENE struct scene s = scene_open(false);
	char path[96];

	cr_assert_eq(try_open(&s), 0);
	snprintf(path, sizeof(path), "%s/%s", s.dir.path,
		 file_of_chunk(&s, 2));
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(read_at(&s, 2 * CHUNK, 4096), B2F_ECORRUPT);
	cr_assert_not_null(strstr(message, "missing"), "%s", message);
}

Test(remote, removed_frame_is_stale)
{
	OWN_SCENE struct scene s = scene_open(false);

	cr_assert_eq(try_open(&s), 0);
	remove_frame(&s);
	cr_assert_eq(read_at(&s, 2 * CHUNK, 4096), -ESTALE);
}

Test(remote, server_without_ranges_is_refused)
{
	OWN_SCENE struct scene s = scene_open(true);

	server_ask(&s.server, "ignore_ranges");
	cr_assert_eq(try_open(&s), B2F_EUNSUPPORTED);
	cr_assert_not_null(strstr(message, "does not serve ranges"), "%s",
			   message);
}

Test(remote, server_without_etags_is_read_by_time)
{
	OWN_SCENE struct scene s = scene_open(false);
	const struct b2f_remote_options defaults = {.log = &watching};

	/* A new object is read once its second is over. */
	b2f_remote_free(s.remote);
	cr_assert_eq(b2f_remote_new(&defaults, s.server.url, &s.remote), 0);
	server_ask(&s.server, "no_etags");
	cr_assert_eq(try_open(&s), 0, "%s", message);
	cr_assert_eq(read_at(&s, CHUNK + 900000, 4096), 0, "%s", message);
	rewrite(&s, file_of_chunk(&s, 1), 300);
	cr_assert_eq(read_at(&s, CHUNK + 400000, 4096), -ESTALE);
}

Test(remote, time_that_is_not_over_tells_no_version)
{
	const struct b2f_remote_options options = {.log = &watching,
						   .retry_ms = UINT_MAX};
	const struct b2f_remote_options defaults = {.log = &watching};
	OWN_SCENE struct scene s = scene_open(true);
	struct timespec now[2];
	struct b2f_remote_stat st;
	int err = 0;
	char path[80];

	b2f_remote_free(s.remote);
	cr_assert_eq(b2f_remote_new(&options, s.server.url, &s.remote), 0);
	server_ask(&s.server, "no_etags");
	snprintf(path, sizeof(path), "%s/x", s.dir.path);
	/* A second may end between the change and the answer. */
	for (int i = 0; i < 100 && !err; i++) {
		clock_gettime(CLOCK_REALTIME, &now[0]);
		now[1] = now[0];
		cr_assert_eq(utimensat(AT_FDCWD, path, now, 0), 0);
		err = b2f_remote_look(s.remote, "x", &st);
	}
	cr_assert_eq(err, -EBUSY);
	/* The same read, with its pauses, succeeds when the second is over. */
	b2f_remote_free(s.remote);
	cr_assert_eq(b2f_remote_new(&defaults, s.server.url, &s.remote), 0);
	cr_assert_eq(b2f_remote_look(s.remote, "x", &st), 0, "%s", message);
	cr_assert_eq(st.mtime, now[1].tv_sec);
}

Test(remote, plain_object_is_read_in_one_version)
{
	OWN_SCENE struct scene s = scene_open(true);
	struct b2f_remote_stat st;
	uint8_t buf[16];

	cr_assert_eq(b2f_remote_look(s.remote, "x", &st), 0);
	cr_assert_eq(b2f_remote_read(s.remote, "x", &st, 2, buf, 8), 8);
	cr_assert_arr_eq(buf, "b2frame", 7);
	cr_assert_eq(b2f_remote_read(s.remote, "x", &st, st.size - 3, buf, 8),
		     3);
	cr_assert_eq(b2f_remote_read(s.remote, "x", &st, st.size, buf, 8), 0);
	rewrite(&s, "x", 5);
	cr_assert_eq(b2f_remote_read(s.remote, "x", &st, 0, buf, 8), -ESTALE);
	cr_assert_eq(b2f_remote_look(s.remote, "y", &st), -ENOENT);
	cr_assert_eq(b2f_remote_list(s.remote, "", NULL, NULL),
		     B2F_EUNSUPPORTED);
}
