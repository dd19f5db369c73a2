/* SPDX-License-Identifier: BSD-3-Clause */
/* test_remote_removal.c - objects of a store that are removed, or stay */
#include <criterion/criterion.h>

#include "tests/support/writers_scene.h"

#define INDEX "/bucket/top/x/chunks.b2frame"

/* The frame top/x, without a writer. */
static struct scene scene_with_frame(void)
{
	struct scene s = scene_open();
	struct writer w = begin(&s);

	writer_close(&w);
	return s;
}

static int remove_x(struct scene *s)
{
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(s);

	return b2f_remote_remove_frame(remote, "x");
}

/* A server that keeps to conditions of DELETE, and one that ignores them. */
static const char *const manners[] = {"keep nothing", "plain_deletes"};
#define NMANNERS (sizeof(manners) / sizeof(manners[0]))

/* Removes x where @n answers to the DELETE of its index are a @fault. */
static void check_fault(const char *manner, unsigned int n, const char *fault,
			int expected)
{
	OWN_SCENE struct scene s = scene_with_frame();

	(void)server_ask(&s.server, "%s", manner);
	(void)server_ask(&s.server, "when DELETE chunks.b2frame %u %s", n,
			 fault);
	cr_assert_eq(remove_x(&s), expected, "%s: %s", fault, message);
	cr_assert_eq(server_tell(&s.server, "objects"),
		     expected ? 1 + NCHUNKS : 0, "%s", fault);
}

Test(remote_removal, a_fault_at_the_index_is_settled)
{
	for (size_t i = 0; i < NFAULTS; i++)
		for (size_t k = 0; k < NMANNERS; k++)
			check_fault(manners[k], 1, faults[i], 0);
}

/* A server says 204; a proxy that answers for it may say 200 to anything. */
Test(remote_removal, a_success_that_is_none_is_not_believed)
{
	check_fault(manners[0], 1, "status 200", 0);
}

Test(remote_removal, a_version_that_is_not_there_any_more_is_looked_for_again)
{
	check_fault(manners[0], 1, "status 412", 0);
	check_fault(manners[0], 99, "status 412", -EBUSY);
}

/* What a server or a proxy may answer to a DELETE that has happened. */
static const char *const unclear[] = {"lose", "done status 500",
				      "done status 503", "done status 429"};

Test(remote_removal, a_frame_that_was_made_since_stays)
{
	for (size_t i = 0; i < sizeof(unclear) / sizeof(unclear[0]); i++) {
		for (size_t k = 0; k < NMANNERS; k++) {
			OWN_SCENE struct scene s = scene_with_frame();

			(void)server_ask(&s.server, "%s", manners[k]);
			(void)server_ask(&s.server,
					 "after_delete chunks.b2frame " INDEX);
			(void)server_ask(&s.server,
					 "when DELETE chunks.b2frame 1 %s",
					 unclear[i]);
			cr_assert_eq(remove_x(&s), -ESTALE, "%s", unclear[i]);
			/* The new index, and the chunks that it may name. */
			cr_assert_eq(server_tell(&s.server, "objects"),
				     1 + NCHUNKS);
		}
	}
}

/* By now a chunk of another frame may have that id. */
Test(remote_removal, a_chunk_whose_removal_may_have_happened_is_not_removed_twice)
{
	OWN_SCENE struct scene s = scene_with_frame();

	(void)server_ask(&s.server, "count DELETE .chunk");
	(void)server_ask(&s.server, "when DELETE .chunk 1 lose");
	cr_assert_eq(remove_x(&s), 0, "%s", message);
	cr_assert_eq(server_tell(&s.server, "count DELETE .chunk"), NCHUNKS);
}

/* The writer has sent chunks; no index names them. */
Test(remote_removal, what_a_writer_of_a_removed_frame_has_sent_goes_with_it)
{
	for (size_t k = 0; k < NMANNERS; k++) {
		OWN_SCENE struct scene s = scene_open();
		struct writer w = begin(&s);

		(void)server_ask(&s.server, "%s", manners[k]);
		cr_assert_eq(remove_x(&s), 0, "%s", message);
		fill(&w, 0, '2');
		cr_assert_neq(commit(&w), 0);
		cr_assert_eq(server_tell(&s.server, "objects"), 1);
		writer_close(&w);
		cr_assert_eq(server_tell(&s.server, "objects"), 0);
	}
}

Test(remote_removal, what_such_a_writer_has_sent_goes_from_beside_another_frame)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s), other;

	cr_assert_eq(remove_x(&s), 0, "%s", message);
	fill(&w, 0, '2');
	cr_assert_neq(commit(&w), 0);
	other = begin(&s);
	writer_close(&w);
	cr_assert_eq(server_tell(&s.server, "objects"), 1 + NCHUNKS);
	cr_assert_str_eq(content(&s), "1111");
}

/* Another client makes and removes a frame before the first commit here. */
Test(remote_removal, what_the_writer_of_a_new_frame_has_sent_stays_beside_one_that_goes)
{
	const struct b2f_runtime_options small = {.nworkers = 2,
						  .dirty_bytes = 1};
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer late, w;

	b2f_runtime_free(s.rt);
	cr_assert_eq(b2f_runtime_new(&small, &s.rt), 0);
	late = writer_new(&s, connect_to(&s), "x");
	for (uint64_t i = 0; i < NCHUNKS; i++)
		fill(&late, i, '2');
	while (server_tell(&s.server, "objects") == 0)
		;
	w = begin(&s);
	writer_close(&w);
	cr_assert_eq(remove_x(&s), 0, "%s", message);
	cr_assert_eq(commit(&late), 0, "%s", message);
	cr_assert_str_eq(content(&s), "2222");
}

Test(remote_removal, readers_of_a_removed_frame_keep_it_when_another_one_goes)
{
	OWN_SCENE struct scene s = scene_with_frame();
	OWN_WRITER struct writer reader = writer_open(&s), w;
	struct b2f_remote_remains *remains = NULL;

	cr_assert_eq(
		b2f_remote_remove_index(reader.remote, "x", true, &remains), 0);
	w = begin(&s);
	writer_close(&w);
	cr_assert_eq(remove_x(&s), 0, "%s", message);
	cr_assert_eq(value_of(&reader, 2), '1');
	b2f_remote_remains_free(remains);
	cr_assert_eq(server_tell(&s.server, "objects"), 0);
}

/*
 * Another client has removed the frame, and has put a chunk that no index names
 * yet.
 */
Test(remote_removal, what_others_have_put_in_the_place_of_what_was_sent_stays)
{
	OWN_SCENE struct scene s = scene_open();
	struct writer w = begin(&s);

	cr_assert_eq(remove_x(&s), 0, "%s", message);
	fill(&w, 0, '2');
	cr_assert_neq(commit(&w), 0);
	(void)server_ask(&s.server, "replace .chunk");
	writer_close(&w);
	cr_assert_eq(server_tell(&s.server, "objects"), 1);
}

/*
 * The commit cannot happen any more: another one has replaced the index before
 * it.
 */
Test(remote_removal, what_a_commit_in_doubt_was_to_name_goes_when_that_is_settled)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer a = begin(&s), b = another(&s);

	fill(&a, 0, '2');
	(void)server_ask(&s.server, "when PUT chunks.b2frame 99 drop");
	(void)server_ask(&s.server, "when HEAD chunks.b2frame 99 drop");
	cr_assert_eq(commit(&a), B2F_EINDOUBT);
	(void)server_ask(&s.server, "forget");
	fill(&b, 0, '3');
	cr_assert_eq(commit(&b), 0, "%s", message);
	writer_close(&a);
	/* The replaced chunk stays for its time. */
	cr_assert_eq(server_tell(&s.server, "objects"), 1 + NCHUNKS + 1);
	cr_assert_str_eq(content(&s), "3111");
}

/* A program replaces chunk 0, and ends; replaced chunks stay for @keep_s. */
static void run_short(struct scene *s, unsigned int keep_s, uint8_t value)
{
	OWN_WRITER struct writer w = writer_at(s, connect_with(s, keep_s));

	cr_assert_eq(allow(&w), 0, "%s", message);
	fill(&w, 0, value);
	cr_assert_eq(commit(&w), 0, "%s", message);
}

/* Runs programs until there are at most @n objects. */
static void wait_for_objects(struct scene *s, unsigned int n,
			     void (*run)(struct scene *s))
{
	for (int i = 0; i < 600 && server_tell(&s->server, "objects") > n; i++) {
		usleep(50000);
		run(s);
	}
	cr_assert_eq(server_tell(&s->server, "objects"), n);
}

static void commit_once(struct scene *s)
{
	run_short(s, 1, '7');
}

Test(remote_removal, what_programs_that_have_ended_replaced_goes_with_a_later_commit)
{
	OWN_SCENE struct scene s = scene_with_frame();

	for (uint8_t i = 0; i < 5; i++)
		run_short(&s, 3600, '2' + i);
	cr_assert_eq(server_tell(&s.server, "objects"), 1 + NCHUNKS + 5);
	cr_assert_str_eq(content(&s), "6111");
	sleep(4);
	run_short(&s, 1, '7');
	/* Chunks that this program replaced itself are still there. */
	cr_assert_eq(server_tell(&s.server, "objects"), 1 + NCHUNKS + 1);
	cr_assert_str_eq(content(&s), "7111");
}

/*
 * Waits for @after_ns in an even second, or, if @even is not 0, in the second
 * after it.  Returns that second.
 */
static time_t wait_for_second(time_t even, long after_ns)
{
	struct timespec now;

	do {
		usleep(1000);
		clock_gettime(CLOCK_REALTIME, &now);
	} while (even ? now.tv_sec <= even
		      : now.tv_sec % 2 || now.tv_nsec < after_ns);
	return now.tv_sec;
}

Test(remote_removal, what_was_replaced_late_in_a_second_stays_for_a_whole_one)
{
	OWN_SCENE struct scene s = scene_with_frame();
	time_t even = wait_for_second(0, 850000000);

	commit_once(&s);
	wait_for_second(even, 0);
	commit_once(&s);
	/*
	 * On a busy machine more time may have passed, and the chunk is gone.
	 */
	if (time(NULL) < even + 2)
		cr_assert_eq(server_tell(&s.server, "objects"), 1 + NCHUNKS + 2);
}

/* Checks that reopening the frame asks for its chunks only once. */
static void check_asked_once(struct scene *s)
{
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_with(s, 1);
	struct writer w;

	cr_assert_eq(b2f_remote_allow_write(remote, "x"), 0);
	(void)server_ask(&s->server, "count HEAD .chunk");
	for (int i = 0; i < 3; i++) {
		w = writer_at(s, remote);
		b2f_file_close(w.file);
	}
	cr_assert_eq(server_tell(&s->server, "count HEAD .chunk"), 1);
}

/* A writer that writes nothing. */
static void read_once(struct scene *s)
{
	OWN_WRITER struct writer w = writer_at(s, connect_with(s, 1));

	cr_assert_eq(b2f_remote_allow_write(w.remote, "x"), 0);
	cr_assert_eq(value_of(&w, 1), '1');
}

Test(remote_removal, what_programs_that_have_ended_replaced_goes_with_a_later_reader)
{
	OWN_SCENE struct scene s = scene_with_frame();

	commit_once(&s);
	commit_once(&s);
	wait_for_objects(&s, 1 + NCHUNKS, read_once);
	/* The index still lists these chunks; they are looked for once. */
	(void)server_ask(&s.server, "count DELETE .chunk");
	read_once(&s);
	cr_assert_eq(server_tell(&s.server, "count DELETE .chunk"), 0);
	check_asked_once(&s);
	cr_assert_str_eq(content(&s), "7111");
}

/* The writer goes on, as a mount does. */
Test(remote_removal, what_a_file_that_stays_open_replaced_goes_when_it_is_time)
{
	OWN_SCENE struct scene s = scene_with_frame();
	OWN_WRITER struct writer w = writer_at(&s, connect_with(&s, 6));
	struct b2f_remote_remains *early, *late;

	cr_assert_null(b2f_remote_leftovers(b2f_file_frame(w.file)));
	cr_assert_eq(allow(&w), 0, "%s", message);
	fill(&w, 0, '2');
	cr_assert_eq(commit(&w), 0, "%s", message);
	early = b2f_remote_leftovers(b2f_file_frame(w.file));
	late = b2f_remote_leftovers(b2f_file_frame(w.file));
	cr_assert(early && late);
	b2f_remote_remains_leave(early);
	cr_assert_eq(server_tell(&s.server, "objects"), 1 + NCHUNKS + 1);
	sleep(b2f_remote_keep_s(w.remote));
	b2f_remote_remains_free(late);
	cr_assert_eq(server_tell(&s.server, "objects"), 1 + NCHUNKS);
	cr_assert_null(b2f_remote_leftovers(b2f_file_frame(w.file)));
	cr_assert_str_eq(content(&s), "2111");
}

Test(remote_removal, what_others_have_not_committed_yet_stays)
{
	OWN_SCENE struct scene s = scene_with_frame();
	OWN_WRITER struct writer w = writer_at(&s, connect_with(&s, 1));

	cr_assert_eq(allow(&w), 0, "%s", message);
	fill(&w, 3, '4');
	run_short(&s, 1, '2');
	sleep(4);
	run_short(&s, 1, '3');
	cr_assert_eq(commit(&w), 0, "%s", message);
	cr_assert_str_eq(content(&s), "3114");
}

static int take_name(void *arg, const struct b2f_remote_entry *entry)
{
	snprintf(arg, 80, "x/%s", entry->name);
	return 1;
}

/*
 * Another client has removed the chunks, too, and made a frame with the same
 * ids.
 */
Test(remote_removal, a_chunk_that_came_while_the_old_ones_were_read_stays)
{
	OWN_SCENE struct scene s = scene_with_frame();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(&s);
	struct b2f_remote_remains *remains = NULL;
	char chunk[80];

	cr_assert_eq(b2f_remote_remove_index(remote, "x", true, &remains), 0);
	cr_assert_eq(b2f_remote_list(remote, "x", take_name, chunk), 1);
	cr_assert_eq(b2f_remote_remove(remote, chunk), 0, "%s", message);
	cr_assert_eq(b2f_remote_put(remote, chunk, "new", 3, NULL, NULL), 0);
	b2f_remote_remains_free(remains);
	cr_assert_eq(server_tell(&s.server, "objects"), 1);
}

Test(remote_removal, a_plain_object_that_was_put_since_stays)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(&s);

	cr_assert_eq(b2f_remote_put(remote, "o", "a", 1, NULL, NULL), 0);
	(void)server_ask(&s.server, "after_delete top/o /bucket/top/o");
	(void)server_ask(&s.server, "when DELETE top/o 1 lose");
	cr_assert_eq(b2f_remote_remove(remote, "o"), -ESTALE);
	cr_assert_eq(server_tell(&s.server, "objects"), 1);
	(void)server_ask(&s.server, "when DELETE top/o 1 lose");
	cr_assert_eq(b2f_remote_remove(remote, "o"), 0, "%s", message);
	cr_assert_eq(server_tell(&s.server, "objects"), 0);
}

/* Leaves the objects of a killed program that tried the server. */
Test(remote_removal, what_probes_have_left_goes_with_a_later_one)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(&s);
	struct b2f_remote_stat st;

	cr_assert_eq(b2f_remote_put(remote, "x/.b2frame-probe-0000000000000001",
				    "b", 1, NULL, NULL),
		     0);
	(void)server_ask(&s.server, "age probe 7200");
	cr_assert_eq(b2f_remote_put(remote, "x/.b2frame-probe-0000000000000002",
				    "b", 1, NULL, NULL),
		     0);
	cr_assert_eq(b2f_remote_put(remote, "x/.b2frame-other", "b", 1, NULL,
				    NULL),
		     0);
	(void)server_ask(&s.server, "age other 7200");
	b2f_remote_free(remote);
	remote = connect_to(&s);
	cr_assert_eq(b2f_remote_allow_write(remote, "x"), 0, "%s", message);
	/* The second probe may be in use. */
	cr_assert_eq(server_tell(&s.server, "objects"), 2);
	cr_assert_eq(b2f_remote_look(remote, "x/.b2frame-other", &st), 0);
}
