/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_remote_outcomes.c - results of a change, by the answer to its PUT
 *
 * Tries each change with each answer to the PUT of its index, done or not: the
 * frame is whole, it is the old or the new one, and the writer reports that, or
 * that the outcome is unknown.
 */
#include <criterion/criterion.h>

#include "b2frame/b2frame.h"
#include "b2frame/remote.h"
#include "programs/copy_frame.h"
#include "tests/support/writers_scene.h"

#define MAX_CHUNKS 8

/* Possible answers, whether the server has done it or not. */
static const char *const answers[] = {
	"status 412", "garbage",    "status 301", "status 302", "status 303",
	"status 304", "status 307", "status 308", "status 400", "status 403",
	"status 404", "status 408", "status 409", "status 410", "status 429",
	"status 500", "status 501", "status 502", "status 503", "status 504",
	"status 505", "status 507", "drop",	  "silent"};

#define NANSWERS (sizeof(answers) / sizeof(answers[0]))

struct change {
	const char *name;
	/*
	 * The frame that it makes or changes, before and after; "": no frame.
	 */
	const char *path;
	const char *before;
	const char *after;
	/*
	 * Makes the change; by @w, a writer of @path, if there is a frame
	 * before.
	 */
	int (*run)(struct scene *s, struct writer *w);
	bool has_writer;
};

/* The change and the answer that are tried. */
static char case_name[80];

/*
 * Returns the values at @path: "1111", a 0 for a chunk of zeros; "" if no frame
 * is there.
 */
static const char *look(struct scene *s, const char *path)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_remote *remote = connect_to(s);
	struct b2f_frame *frame = NULL;
	static char text[MAX_CHUNKS + 1];
	uint8_t data[CHUNK];
	struct b2f_file *file = NULL;
	int err = b2f_remote_open_frame(remote, path, &options, &frame);

	memset(text, 0, sizeof(text));
	cr_assert(!err || err == -ENOENT, "%s: %s", case_name, message);
	if (!err) {
		cr_assert_eq(b2f_file_open(s->rt, frame, &file), 0);
		for (uint64_t i = 0; i < b2f_file_size(file) / CHUNK; i++) {
			cr_assert_eq(b2f_file_pread(file, NULL, data, CHUNK,
						    i * CHUNK),
				     CHUNK, "%s: %s", case_name, message);
			text[i] = data[1] ? (char)data[1] : '0';
		}
	}
	b2f_file_close(file);
	b2f_remote_free(remote);
	return text;
}

static int append(struct scene *s, struct writer *w)
{
	(void)s;
	fill(w, NCHUNKS, '2');
	return commit(w);
}

static int grow(struct scene *s, struct writer *w)
{
	(void)s;
	cr_assert_eq(b2f_file_truncate(w->file, (NCHUNKS + 2) * CHUNK), 0);
	return commit(w);
}

static int write_over(struct scene *s, struct writer *w)
{
	(void)s;
	cr_assert_eq(b2f_file_truncate(w->file, 0), 0);
	for (uint64_t i = 0; i < 3; i++)
		fill(w, i, '3');
	return commit(w);
}

static int make_new(struct scene *s, struct writer *w)
{
	struct writer new = writer_new(s, w->remote, "y");
	int err;

	fill(&new, 0, '5');
	err = commit(&new);
	b2f_file_close(new.file);
	return err;
}

static struct b2f_frame *open_x(struct writer *w)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_frame *frame = NULL;

	cr_assert_eq(b2f_remote_open_frame(w->remote, "x", &options, &frame), 0,
		     "%s", message);
	return frame;
}

static int rename_over(struct scene *s, struct writer *w)
{
	struct b2f_frame *frame = open_x(w);
	struct b2f_remote_renamed done;
	const struct b2f_replace over = {.is_read = NULL};
	int err = b2f_remote_rename_frame(w->remote, frame, "y", &over, &done);

	(void)s;
	b2f_remote_remains_free(done.replaced);
	b2f_remote_remains_free(done.from);
	b2f_frame_close(frame);
	return err;
}

/* Replaces a frame as bloscctl copy and compress do. */
static int copy_over(struct scene *s, struct writer *w)
{
	struct b2f_frame *frame = open_x(w);
	const struct b2f_copy_options plain = {.progress = NULL};
	struct b2f_copy_target *target = NULL;
	struct b2f_copied copied;
	int err;

	cr_assert_eq(b2f_copy_to_remote(w->remote, "y", true, &target), 0);
	err = b2f_copy_frame(s->rt, frame, target, &plain, &copied);
	b2f_copy_target_free(target);
	b2f_frame_close(frame);
	return err;
}

static const struct change changes[] = {
	{"append", "x", "1111", "11112", append, true},
	{"growth", "x", "1111", "111100", grow, true},
	{"write over", "x", "1111", "333", write_over, true},
	{"new file", "y", "", "5", make_new, false},
	{"rename over", "y", "222", "1111", rename_over, false},
	{"rename", "y", "", "1111", rename_over, false},
	{"compress", "y", "", "1111", copy_over, false},
	{"compress over", "y", "222", "1111", copy_over, false},
};

static void remove_if_there(struct b2f_remote *remote, const char *path)
{
	int err = b2f_remote_remove_frame(remote, path);

	cr_assert(!err || err == -ENOENT, "%s", message);
}

/* Makes x with "1111", whose writer it returns, and y with @y. */
static struct writer set_out(struct scene *s, const char *y)
{
	struct b2f_remote *remote = connect_to(s);
	struct writer w;

	remove_if_there(remote, "x");
	remove_if_there(remote, "y");
	if (*y) {
		w = begin_at(s, "y", y);
		writer_close(&w);
	}
	b2f_remote_free(remote);
	return begin(s);
}

/* Checks that the result @err agrees with the store's content. */
static void check_word(struct scene *s, const struct change *c, int err)
{
	const char *now = look(s, c->path);
	bool is_new = strcmp(now, c->after) == 0;

	cr_assert(is_new || strcmp(now, c->before) == 0, "%s: '%s'", case_name,
		  now);
	cr_assert(err == B2F_EINDOUBT || is_new == !err, "%s: '%s', but %d (%s)",
		  case_name, now, err, message);
}

/*
 * Without faults the writer stores everything, or gives up, and nothing is
 * lost.
 */
static void check_end(struct scene *s, const struct change *c, struct writer *w)
{
	if (c->has_writer) {
		cr_assert_eq(commit(w), 0, "%s: %s", case_name, message);
		cr_assert_str_eq(look(s, c->path), c->after, "%s", case_name);
	}
	writer_close(w);
	while (server_tell(&s->server, "late"))
		usleep(1000);
	cr_assert(!strcmp(look(s, c->path), c->after) ||
			  (!c->has_writer &&
			   !strcmp(look(s, c->path), c->before)),
		  "%s: '%s'", case_name, look(s, c->path));
}

static void check_answer(struct scene *s, const struct change *c,
			 const char *answer, bool done, int times)
{
	struct writer w;
	int err;

	s->stall_ms = strcmp(answer, "silent") ? PATIENT_MS : HASTY_MS;
	w = set_out(s, strcmp(c->path, "y") ? "" : c->before);
	snprintf(case_name, sizeof(case_name), "%s, %d %s%s", c->name, times,
		 done ? "done " : "", answer);
	(void)server_ask(&s->server, "when PUT %s/chunks.b2frame %s", c->path,
			 case_name + strlen(c->name) + 2);
	err = c->run(s, &w);
	(void)server_ask(&s->server, "forget");
	check_word(s, c, err);
	check_end(s, c, &w);
}

/*
 * The PUT is done or not, and then the server is away, so the writer cannot
 * look: a refusal may be the answer to a request that a proxy has sent twice.
 */
static void check_away(struct scene *s, const struct change *c,
		       const char *answer, bool done)
{
	struct writer w = set_out(s, strcmp(c->path, "y") ? "" : c->before);
	int err;

	snprintf(case_name, sizeof(case_name), "%s, away, %s%s", c->name,
		 done ? "done " : "", answer);
	(void)server_ask(&s->server, "when PUT %s/chunks.b2frame 1 %s%s",
			 c->path, done ? "done " : "", answer);
	/* Requests before the PUT pass. */
	(void)server_ask(&s->server, "away_after PUT %s/chunks.b2frame", c->path);
	err = c->run(s, &w);
	(void)server_ask(&s->server, "forget");
	cr_assert_eq(err, B2F_EINDOUBT, "%s: %d (%s)", case_name, err, message);
	check_word(s, c, err);
	check_end(s, c, &w);
}

static void check_change(const struct change *c)
{
	OWN_SCENE struct scene s = scene_open();

	for (size_t i = 0; i < NANSWERS; i++) {
		check_answer(&s, c, answers[i], false, 1);
		check_answer(&s, c, answers[i], true, 1);
	}
	check_answer(&s, c, "status 412", false, 1000);
	check_answer(&s, c, "status 403", false, 1000);
	check_answer(&s, c, "status 500", false, 1000);
	check_answer(&s, c, "drop", false, 1000);
	check_answer(&s, c, "twice", false, 1);
	check_answer(&s, c, "late 0.05", false, 1);
	check_answer(&s, c, "late 0.3", false, 1000);
	check_away(&s, c, "garbage", false);
	check_away(&s, c, "garbage", true);
	check_away(&s, c, "status 412", false);
	check_away(&s, c, "status 412", true);
}

Test(remote_outcomes, an_append_is_done_or_not)
{
	check_change(&changes[0]);
}

Test(remote_outcomes, a_growth_is_done_or_not)
{
	check_change(&changes[1]);
}

Test(remote_outcomes, what_is_written_over_a_file_is_done_or_not)
{
	check_change(&changes[2]);
}

Test(remote_outcomes, a_new_file_is_there_or_not)
{
	check_change(&changes[3]);
}

Test(remote_outcomes, a_rename_over_a_frame_is_done_or_not)
{
	check_change(&changes[4]);
}

Test(remote_outcomes, a_frame_that_is_renamed_is_there_or_not)
{
	check_change(&changes[5]);
}

Test(remote_outcomes, a_copy_is_there_or_not)
{
	check_change(&changes[6]);
}

Test(remote_outcomes, a_copy_over_a_frame_is_there_or_not)
{
	check_change(&changes[7]);
}
