/* SPDX-License-Identifier: BSD-3-Clause */
/* test_remote_copy.c - copies over what earlier copies left */
#include <criterion/criterion.h>

#include "b2frame/b2frame.h"
#include "b2frame/remote.h"
#include "programs/copy_frame.h"
#include "tests/support/writers_scene.h"

/* A writer that ends while a copy is being made. */
struct leaving {
	struct writer *w;
};

static void leave(void *arg, uint64_t done, uint64_t total)
{
	struct leaving *leaving = arg;

	(void)done;
	(void)total;
	if (leaving->w)
		writer_close(leaving->w);
	leaving->w = NULL;
}

/* Replaces y by x, as "bloscctl copy -f" does. */
static int copy_over(struct scene *s, struct writer *x,
		     void (*progress)(void *, uint64_t, uint64_t), void *arg)
{
	const struct b2f_copy_options options = {.progress = progress,
						 .arg = arg};
	const struct b2f_frame_options opening = {.log = &watching};
	struct b2f_copy_target *target = NULL;
	struct b2f_frame *frame = NULL;
	struct b2f_copied copied;
	int err;

	cr_assert_eq(b2f_remote_open_frame(x->remote, "x", &opening, &frame),
		     0);
	cr_assert_eq(b2f_copy_to_remote(x->remote, "y", true, &target), 0);
	err = b2f_copy_frame(s->rt, frame, target, &options, &copied);
	b2f_copy_target_free(target);
	b2f_frame_close(frame);
	return err;
}

/* A writer of the copy y, which has changed its first chunk. */
static struct writer change(struct scene *s, unsigned int keep_s)
{
	struct writer w = writer_of(s, connect_with(s, keep_s), "y");

	cr_assert_eq(allow(&w), 0, "%s", message);
	fill(&w, 0, '2');
	cr_assert_eq(commit(&w), 0, "%s", message);
	return w;
}

static void check_again(const char *fault)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer x = begin(&s), y;
	struct leaving nobody = {NULL};

	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	y = change(&s, 3600);
	writer_close(&y);
	cr_assert_str_eq(content_of(&s, "y"), "2111");
	(void)server_ask(&s.server, "when PUT y/chunks.b2frame 1 %s", fault);
	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	cr_assert_str_eq(content_of(&s, "y"), "1111");
}

Test(remote_copy, a_copy_that_failed_is_not_taken_for_an_earlier_one)
{
	check_again("status 503");
	check_again("drop");
	check_again("lose");
}

/* Copies @x to y, and removes the index of y but not its chunks. */
static void leave_chunks(struct scene *s, struct writer *x)
{
	struct b2f_remote_remains *remains = NULL;
	struct leaving nobody = {NULL};

	cr_assert_eq(copy_over(s, x, leave, &nobody), 0, "%s", message);
	cr_assert_eq(b2f_remote_remove_index(x->remote, "y", true, &remains),
		     0);
	b2f_remote_remains_leave(remains);
}

/* The removing program has had the frame open, and ends now. */
Test(remote_copy, chunks_of_a_removed_frame_that_go_meanwhile_are_sent_again)
{
	OWN_SCENE struct scene s = scene_open();
	struct leaving nobody = {NULL};
	OWN_WRITER struct writer x = begin(&s);

	leave_chunks(&s, &x);
	(void)server_ask(&s.server, "gone_at_put y/chunks.b2frame y/0");
	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	cr_assert_str_eq(content_of(&s, "y"), "1111", "%s", message);
	cr_assert_eq(server_tell(&s.server, "objects"), 2 * (1 + NCHUNKS));
}

/* A program that removes chunks of y; its requests take a second each. */
struct remover {
	struct scene *s;
	struct b2f_remote_remains *remains;
	pthread_t thread;
	bool runs;
};

static void *remove_chunks(void *arg)
{
	struct remover *r = arg;

	b2f_remote_remains_free(r->remains);
	return NULL;
}

/* Returns when it has looked for an index, and is about to remove chunks. */
static void start_removing(void *arg, uint64_t done, uint64_t total)
{
	struct remover *r = arg;

	(void)done;
	(void)total;
	if (r->runs)
		return;
	r->runs = true;
	cr_assert_eq(pthread_create(&r->thread, NULL, remove_chunks, r), 0);
	while (server_tell(&r->s->server, "count DELETE .chunk") == 0)
		usleep(1000);
}

/* Copies x to y, whose chunks are removed from before the copy on, or later. */
static void check_removed(bool before)
{
	OWN_SCENE struct scene s = scene_open();
	struct remover r = {.s = &s};
	struct leaving nobody = {NULL};
	OWN_WRITER struct writer x = begin(&s);
	OWN(b2f_remote_free) struct b2f_remote *other = connect_to(&s);

	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	cr_assert_eq(b2f_remote_remove_index(other, "y", true, &r.remains), 0);
	(void)server_ask(&s.server, "when DELETE .chunk 4 stall 2");
	if (before)
		start_removing(&r, 0, 0);
	cr_assert_eq(copy_over(&s, &x, start_removing, &r), 0, "%s", message);
	cr_assert_eq(pthread_join(r.thread, NULL), 0);
	cr_assert_str_eq(content_of(&s, "y"), "1111", "%s", message);
	cr_assert_eq(server_tell(&s.server, "objects"), 2 * (1 + NCHUNKS));
}

Test(remote_copy, chunks_that_another_program_is_removing_are_not_used)
{
	check_removed(true);
	check_removed(false);
}

/* A server that is full stores no flag, but also no copy. */
Test(remote_copy, chunks_are_removed_from_a_full_server)
{
	struct b2f_remote_remains *remains = NULL;
	OWN_SCENE struct scene s = scene_open();
	struct leaving nobody = {NULL};
	OWN_WRITER struct writer x = begin(&s);

	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	cr_assert_eq(b2f_remote_remove_index(x.remote, "y", true, &remains), 0);
	(void)server_ask(&s.server, "when PUT .new 9 status 507");
	b2f_remote_remains_free(remains);
	cr_assert_eq(server_tell(&s.server, "objects"), 1 + NCHUNKS);
}

/* A copy may take days. */
Test(remote_copy, old_chunks_of_an_interrupted_copy_are_used)
{
	struct b2f_remote_orphans found;
	OWN_SCENE struct scene s = scene_open();
	struct leaving nobody = {NULL};
	OWN_WRITER struct writer x = begin(&s);

	leave_chunks(&s, &x);
	(void)server_ask(&s.server, "age y/ 300000");
	(void)server_ask(&s.server, "count PUT y/");
	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	cr_assert_eq(server_tell(&s.server, "count PUT y/0"), 0);
	cr_assert_eq(b2f_remote_sweep(x.remote, "y", 0, false, &found), 0);
	cr_assert_eq(found.n, 0);
	cr_assert_str_eq(content_of(&s, "y"), "1111", "%s", message);
}

/* The first copy was killed when it found that they had gone. */
Test(remote_copy, a_copy_without_its_chunks_is_made_again)
{
	OWN_SCENE struct scene s = scene_open();
	struct leaving nobody = {NULL};
	OWN_WRITER struct writer x = begin(&s);

	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	(void)server_ask(&s.server, "gone_at_put other y/0");
	cr_assert_eq(b2f_remote_put(x.remote, "other", "o", 1, NULL, NULL), 0);
	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	cr_assert_str_eq(content_of(&s, "y"), "1111", "%s", message);
}

/* The first copy was killed before it saw the flag of another program. */
Test(remote_copy, a_copy_whose_chunks_are_being_removed_is_made_again)
{
	OWN_SCENE struct scene s = scene_open();
	struct leaving nobody = {NULL};
	OWN_WRITER struct writer x = begin(&s);

	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	cr_assert_eq(
		b2f_remote_put(x.remote, "y/.00000005.new", "1", 1, NULL, NULL),
		0);
	(void)server_ask(&s.server, "count PUT y/0");
	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	cr_assert_eq(server_tell(&s.server, "count PUT y/0"), NCHUNKS);
	cr_assert_str_eq(content_of(&s, "y"), "1111", "%s", message);
}

Test(remote_copy, chunks_that_were_replaced_are_sent_again)
{
	OWN_SCENE struct scene s = scene_open();
	struct leaving nobody = {NULL}, leaving;
	OWN_WRITER struct writer x = begin(&s), y;

	cr_assert_eq(copy_over(&s, &x, leave, &nobody), 0, "%s", message);
	y = change(&s, 1);
	cr_assert_str_eq(content_of(&s, "y"), "2111");
	sleep(b2f_remote_keep_s(y.remote));
	/* Its end removes what it has replaced. */
	leaving.w = &y;
	cr_assert_eq(copy_over(&s, &x, leave, &leaving), 0, "%s", message);
	cr_assert_null(leaving.w);
	cr_assert_str_eq(content_of(&s, "y"), "1111", "%s", message);
}
