/* SPDX-License-Identifier: BSD-3-Clause */
/* test_remote_rename.c - renames of frames in an object store, with faults */
#include <criterion/criterion.h>
#include <sys/random.h>

#include "b2frame/b2frame.h"
#include "b2frame/remote.h"
#include "tests/support/writers_scene.h"

/* Objects of a frame without replaced chunks. */
#define NOBJECTS (NCHUNKS + 1)

static const struct b2f_replace over = {.is_read = NULL};

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* The frame at @path, or NULL. */
static struct b2f_frame *open_at(struct b2f_remote *remote, const char *path)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_frame *frame = NULL;
	int err = b2f_remote_open_frame(remote, path, &options, &frame);

	cr_assert(!err || err == -ENOENT, "%d: %s", err, message);
	return frame;
}

static bool is_at(struct b2f_remote *remote, const char *path)
{
	struct b2f_frame *frame = open_at(remote, path);

	b2f_frame_close(frame);
	return frame != NULL;
}

/* Renames @frame to y, closes it, and removes leftovers. */
static int rename_frame(struct b2f_remote *remote, struct b2f_frame *frame,
			bool replace)
{
	struct b2f_remote_renamed done;
	int err = b2f_remote_rename_frame(remote, frame, "y",
					  replace ? &over : NULL, &done);

	b2f_remote_remains_free(done.replaced);
	b2f_remote_remains_free(done.from);
	b2f_frame_close(frame);
	return err;
}

static int rename_x(struct b2f_remote *remote, bool replace)
{
	return rename_frame(remote, open_at(remote, "x"), replace);
}

/* Removes all chunks of @path that no index names. */
static void sweep(struct b2f_remote *remote, const char *path)
{
	struct b2f_remote_orphans found;
	int err = b2f_remote_sweep(remote, path, 0, false, &found);

	/* The frame may be missing. */
	cr_assert(!err || err == -ENOENT, "%d: %s", err, message);
}

/* Renames x to y; returns the remains of the frame that was there. */
static struct b2f_remote_remains *replace_y(struct b2f_remote *remote,
					    const struct b2f_replace *how)
{
	struct b2f_frame *frame = open_at(remote, "x");
	struct b2f_remote_renamed done;

	cr_assert_eq(b2f_remote_rename_frame(remote, frame, "y", how, &done), 0,
		     "%s", message);
	cr_assert(done.is_there && done.from && done.replaced);
	b2f_remote_remains_free(done.from);
	b2f_frame_close(frame);
	return done.replaced;
}

/* Makes the frame y with "2222" beside x, of NOBJECTS objects. */
static void make_y(struct scene *s)
{
	struct writer w = begin_at(s, "y", "2222");

	writer_close(&w);
}

Test(remote_rename, a_frame_is_at_its_new_path_and_nowhere_else)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	cr_assert_eq(rename_x(w.remote, false), 0, "%s", message);
	cr_assert_str_eq(content_of(&s, "y"), "1111");
	cr_assert_not(is_at(w.remote, "x"));
	cr_assert_eq(server_tell(&s.server, "objects"), NOBJECTS);
}

/* Marks differ, but all distances of ids are drawn alike. */
static bool draws_alike;

ssize_t getrandom(void *buf, size_t n, unsigned int flags)
{
	static _Atomic uint64_t last;
	uint64_t mark = ++last << 12;

	(void)flags;
	if (!draws_alike || n != sizeof(mark))
		return -1;
	memcpy(buf, &mark, n);
	return (ssize_t)n;
}

static void *rename_slowly(void *remote)
{
	int err = rename_x(remote, false);

	cr_assert(!err || err == -EEXIST, "%d: %s", err, message);
	return NULL;
}

Test(remote_rename, two_renames_to_one_path_at_once_keep_apart)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer x = begin(&s), z = begin_at(&s, "z", "3333");
	pthread_t slow;

	(void)server_ask(&s.server, "when PUT y/0 4 stall 1");
	draws_alike = true;
	cr_assert_eq(pthread_create(&slow, NULL, rename_slowly, x.remote), 0);
	while (server_tell(&s.server, "count PUT y/0") == 0)
		usleep(1000);
	cr_assert_eq(rename_frame(z.remote, open_at(z.remote, "z"), true), 0,
		     "%s", message);
	cr_assert_eq(pthread_join(slow, NULL), 0);
	draws_alike = false;
	cr_assert_str_eq(content_of(&s, "y"), "3333");
}

/* For each chunk of x puts a chunk of another writer at y. */
static int put_theirs(void *arg, const struct b2f_remote_entry *entry)
{
	char path[80];

	snprintf(path, sizeof(path), "y/%s", entry->name);
	return strstr(path, ".chunk")
		       ? b2f_remote_put(arg, path, "theirs", 6, NULL, NULL)
		       : 0;
}

static int is_theirs(void *arg, const struct b2f_remote_entry *entry)
{
	size_t *n = arg;

	*n += entry->st.size == 6;
	return 0;
}

/* Another writer has put chunks there, and is about to commit. */
Test(remote_rename, a_rename_replaces_no_chunk_of_another_writer)
{
	OWN_SCENE struct scene s = scene_open();
	struct writer w = begin(&s);
	size_t n = 0;

	cr_assert_eq(b2f_remote_list(w.remote, "x", put_theirs, w.remote), 0);
	cr_assert_eq(rename_x(w.remote, false), 0, "%s", message);
	cr_assert_eq(b2f_remote_list(w.remote, "y", is_theirs, &n), 0);
	cr_assert_eq(n, 4);
	writer_close(&w);
	cr_assert_str_eq(content_of(&s, "y"), "1111");
}

Test(remote_rename, a_frame_that_is_there_is_kept_if_that_is_asked_for)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	make_y(&s);
	cr_assert_eq(rename_x(w.remote, false), -EEXIST);
	cr_assert_str_eq(content(&s), "1111");
	cr_assert_str_eq(content_of(&s, "y"), "2222");
	cr_assert_eq(server_tell(&s.server, "objects"), 2 * NOBJECTS);
}

Test(remote_rename, readers_of_a_frame_that_is_replaced_keep_it_until_its_chunks_go)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s), reader;
	struct b2f_remote_remains *old;

	make_y(&s);
	reader = writer_of(&s, connect_to(&s), "y");
	old = replace_y(w.remote, &over);
	cr_assert_str_eq(content_of(&s, "y"), "1111");
	b2f_file_stay(reader.file);
	for (uint64_t i = 0; i < NCHUNKS; i++)
		cr_assert_eq(value_of(&reader, i), '2');
	b2f_remote_remains_free(old);
	cr_assert_eq(server_tell(&s.server, "objects"), NOBJECTS);
	cr_assert_str_eq(content_of(&s, "y"), "1111");
}

/* Fills chunk 0 of y; removes chunks that were replaced a second ago. */
static void change_y(struct scene *s, uint8_t value)
{
	OWN_WRITER struct writer w = writer_of(s, connect_with(s, 1), "y");

	cr_assert_eq(allow(&w), 0, "%s", message);
	fill(&w, 0, value);
	cr_assert_eq(commit(&w), 0, "%s", message);
}

Test(remote_rename, chunks_of_what_is_replaced_and_open_stay_whatever_others_do)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s), reader;
	struct b2f_remote_remains *old;

	make_y(&s);
	reader = writer_of(&s, connect_to(&s), "y");
	old = replace_y(w.remote, &(struct b2f_replace){.is_read = always});
	sleep(4);
	change_y(&s, '3');
	cr_assert_eq(b2f_remote_remove_frame(w.remote, "y"), 0, "%s", message);
	b2f_file_stay(reader.file);
	for (uint64_t i = 0; i < NCHUNKS; i++)
		cr_assert_eq(value_of(&reader, i), '2');
	b2f_remote_remains_free(old);
	cr_assert_eq(server_tell(&s.server, "objects"), 0);
}

/*
 * The renaming program ends before chunks are due; a later commit removes them.
 */
Test(remote_rename, chunks_of_what_was_replaced_go_with_a_later_commit)
{
	OWN_SCENE struct scene s = scene_open();
	struct writer w = begin(&s);
	struct b2f_remote_remains *old;

	make_y(&s);
	old = replace_y(w.remote, &over);
	b2f_remote_remains_leave(old);
	writer_close(&w);
	cr_assert_eq(server_tell(&s.server, "objects"), NOBJECTS + NCHUNKS);
	sleep(4);
	change_y(&s, '3');
	cr_assert_eq(server_tell(&s.server, "objects"), NOBJECTS + 1);
	cr_assert_str_eq(content_of(&s, "y"), "3111");
}

Test(remote_rename, chunks_of_what_was_replaced_stay_if_another_frame_came_since)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	struct b2f_remote_remains *old;

	make_y(&s);
	(void)server_ask(&s.server, "keep y/");
	old = replace_y(w.remote, &over);
	/* The frame is removed, and another one with the same ids appears. */
	cr_assert_eq(b2f_remote_remove_frame(w.remote, "y"), 0, "%s", message);
	(void)server_ask(&s.server, "bring_back");
	b2f_remote_remains_free(old);
	cr_assert_str_eq(content_of(&s, "y"), "2222");
}

/* Resets an earlier test: x has "1111", and y has "2222" or is missing. */
static void begin_again(struct scene *s, struct b2f_remote *remote, bool has_y)
{
	struct b2f_frame *frame = open_at(remote, "y");
	struct b2f_remote_renamed done = {.from = NULL};

	if (frame)
		cr_assert_eq(b2f_remote_rename_frame(remote, frame, "x", &over,
						     &done),
			     0, "%s", message);
	b2f_remote_remains_free(done.from);
	b2f_frame_close(frame);
	if (has_y)
		make_y(s);
}

/* Checks that a client killed at request @at left whole frames. */
static void check_names(struct scene *s, struct b2f_remote *remote, bool had_y,
			int at)
{
	bool has_x = is_at(remote, "x"), has_y = is_at(remote, "y");
	bool is_new;

	cr_assert(has_x || has_y, "request %d", at);
	cr_assert(has_y || !had_y, "request %d", at);
	if (has_x)
		cr_assert_str_eq(content(s), "1111", "request %d", at);
	if (!has_y)
		return;
	is_new = strcmp(content_of(s, "y"), "1111") == 0;
	cr_assert(is_new || (had_y && has_x && strcmp(content_of(s, "y"),
						      "2222") == 0),
		  "request %d", at);
}

/* Renames, killed at the first, second ...  request, until none is reached. */
static void check_kills(bool has_y, const char *how)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	struct b2f_frame *frame;
	bool killed = true;

	for (int at = 0; killed; at++) {
		begin_again(&s, w.remote, has_y);
		frame = open_at(w.remote, "x");
		(void)server_ask(&s.server, "stop %d %s", at, how);
		(void)!rename_frame(w.remote, frame, true);
		killed = server_tell(&s.server, "go") > 0;
		check_names(&s, w.remote, has_y, at);
		/* Another client completes the rename, and sweeps. */
		if (is_at(w.remote, "x"))
			cr_assert_eq(rename_x(w.remote, true), 0, "%s",
				     message);
		sweep(w.remote, "x");
		sweep(w.remote, "y");
		cr_assert_str_eq(content_of(&s, "y"), "1111");
		cr_assert_eq(server_tell(&s.server, "objects"), NOBJECTS,
			     "request %d", at);
	}
}

Test(remote_rename, killed_before_any_request_it_leaves_whole_frames)
{
	check_kills(false, "drop");
}

Test(remote_rename, killed_before_any_request_of_a_replacement_it_leaves_whole_frames)
{
	check_kills(true, "drop");
}

Test(remote_rename, killed_behind_any_request_of_a_replacement_it_leaves_whole_frames)
{
	check_kills(true, "lose");
}

Test(remote_rename, a_fault_is_settled)
{
	static const char *const requests[][2] = {
		{"PUT", "y/chunks.b2frame"}, {"PUT", ".chunk"},
		{"DELETE", "x/chunks.b2frame"}, {"HEAD", "chunks.b2frame"}};
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < NFAULTS; k++) {
			/* No server answers a HEAD so. */
			if (i == 3 && strstr(faults[k], "409"))
				continue;
			begin_again(&s, w.remote, true);
			(void)server_ask(&s.server, "when %s %s 1 %s",
					 requests[i][0], requests[i][1],
					 faults[k]);
			cr_assert_eq(rename_x(w.remote, true), 0,
				     "%s %s %s: %s", requests[i][0],
				     requests[i][1], faults[k], message);
			cr_assert_str_eq(content_of(&s, "y"), "1111");
			cr_assert_not(is_at(w.remote, "x"));
			cr_assert_eq(server_tell(&s.server, "objects"),
				     NOBJECTS);
		}
}

/* The status of a copy that has failed is 200, too. */
Test(remote_rename, a_copy_that_is_not_confirmed_is_not_believed)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	/* The first PUT claims the ids. */
	(void)server_ask(&s.server, "each 2 PUT y/0 status 200");
	cr_assert_neq(rename_x(w.remote, false), 0);
	cr_assert_str_eq(content(&s), "1111");
	cr_assert_not(is_at(w.remote, "y"));
}

Test(remote_rename, the_last_rename_wins)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	make_y(&s);
	/* 412 means that another client was faster. */
	(void)server_ask(&s.server, "when PUT y/chunks.b2frame 2 status 412");
	cr_assert_eq(rename_x(w.remote, true), 0, "%s", message);
	cr_assert_str_eq(content_of(&s, "y"), "1111");
}

/* Another client that removes y has found the copied chunks, too. */
Test(remote_rename, what_is_removed_beside_the_frame_that_is_replaced_is_copied_again)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);

	make_y(&s);
	(void)server_ask(&s.server, "gone_at_put y/chunks.b2frame y/");
	cr_assert_eq(rename_x(w.remote, true), 0, "%s", message);
	cr_assert_str_eq(content_of(&s, "y"), "1111");
	cr_assert_eq(server_tell(&s.server, "objects"), NOBJECTS);
}

Test(remote_rename, a_frame_that_has_changed_since_it_was_opened_stays)
{
	struct b2f_remote_renamed done;
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	struct b2f_frame *frame = open_at(w.remote, "x");
	unsigned int before;

	fill(&w, 0, '3');
	cr_assert_eq(commit(&w), 0, "%s", message);
	before = server_tell(&s.server, "objects");
	cr_assert_eq(b2f_remote_rename_frame(w.remote, frame, "y", &over, &done),
		     -ESTALE);
	cr_assert(!done.is_there && !done.from && !done.replaced);
	b2f_frame_close(frame);
	cr_assert_str_eq(content(&s), "3111");
	cr_assert_not(is_at(w.remote, "y"));
	/* Nothing is left of the attempt. */
	cr_assert_eq(server_tell(&s.server, "objects"), before);
}

struct move {
	struct b2f_remote *remote;
	struct b2f_remote_renamed done;
};

static int move_to_y(void *arg, struct b2f_frame *frame, struct b2f_frame **out)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct move *m = arg;
	int err = b2f_remote_rename_frame(m->remote, frame, "y", &over, &m->done);

	return err ? err
		   : b2f_remote_open_frame(m->remote, "y", &options, out);
}

Test(remote_rename, a_writer_goes_on_at_the_new_path)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s);
	struct move m = {.remote = w.remote};

	fill(&w, 0, '2');
	cr_assert_eq(b2f_file_move(w.file, move_to_y, &m), 0, "%s", message);
	b2f_remote_remains_free(m.done.from);
	cr_assert_not(b2f_file_take_foreign(w.file));
	cr_assert_str_eq(content_of(&s, "y"), "2111");
	cr_assert_eq(value_of(&w, 0), '2');
	fill(&w, 1, '3');
	cr_assert_eq(commit(&w), 0, "%s", message);
	cr_assert_str_eq(content_of(&s, "y"), "2311");
	cr_assert_not(is_at(w.remote, "x"));
}

Test(remote_rename, a_writer_stays_if_its_frame_cannot_be_moved)
{
	OWN_SCENE struct scene s = scene_open();
	OWN_WRITER struct writer w = begin(&s), other = another(&s);
	struct move m = {.remote = w.remote};

	(void)server_ask(&s.server, "when PUT y/ 100 status 500");
	fill(&w, 0, '2');
	cr_assert_eq(b2f_file_move(w.file, move_to_y, &m), -EIO);
	cr_assert_not(m.done.is_there);
	cr_assert_str_eq(content(&s), "2111");
	fill(&w, 1, '3');
	cr_assert_eq(commit(&w), 0, "%s", message);
	cr_assert_str_eq(content(&s), "2311");
	/* Nor if another program has changed x meanwhile. */
	fill(&other, 2, '4');
	cr_assert_eq(commit(&other), 0, "%s", message);
	cr_assert_eq(b2f_file_move(w.file, move_to_y, &m), -ESTALE);
	cr_assert_str_eq(content(&s), "2341");
}

Test(remote_rename, chunks_without_an_index_are_swept_if_nothing_else_is_there)
{
	struct b2f_remote_remains *left = NULL;
	struct b2f_remote_orphans found;
	OWN_SCENE struct scene s = scene_open();
	struct writer w = begin(&s);
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_to(&s);

	writer_close(&w);
	cr_assert_eq(b2f_remote_remove_index(remote, "x", true, &left), 0);
	b2f_remote_remains_leave(left);
	cr_assert_eq(server_tell(&s.server, "objects"), NCHUNKS);
	cr_assert_eq(b2f_remote_sweep(remote, "x", 3600, false, &found), 0);
	cr_assert_eq(found.nyoung, NCHUNKS);
	/* Without an answer about the index, it may exist. */
	(void)server_ask(&s.server, "when HEAD chunks.b2frame 1000 status 503");
	cr_assert_lt(b2f_remote_sweep(remote, "x", 0, false, &found), 0);
	(void)server_ask(&s.server, "forget");
	cr_assert_eq(server_tell(&s.server, "objects"), NCHUNKS);
	cr_assert_eq(b2f_remote_put(remote, "x/other", "o", 1, NULL, NULL), 0);
	cr_assert_lt(b2f_remote_sweep(remote, "x", 0, false, &found), 0);
	cr_assert_eq(server_tell(&s.server, "objects"), NCHUNKS + 1);
	cr_assert_eq(b2f_remote_remove(remote, "x/other"), 0);
	cr_assert_eq(b2f_remote_sweep(remote, "x", 0, true, &found), 0);
	cr_assert_eq(found.n, NCHUNKS);
	cr_assert_eq(b2f_remote_sweep(remote, "x", 0, false, &found), 0);
	cr_assert_eq(found.n, NCHUNKS);
	cr_assert_eq(server_tell(&s.server, "objects"), 0);
}
