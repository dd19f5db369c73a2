/* SPDX-License-Identifier: BSD-3-Clause */
/* test_parts.c - objects that are sent in parts */
#include <criterion/criterion.h>

#include "remote/object_sum.h"
#include "tests/support/writers_scene.h"

/* Objects above this size are sent in parts, each of a quarter of it. */
#define LIMIT 16384
#define SIZE  50001

/* An object whose bytes tell its version. */
struct version {
	struct b2f_remote_source source;
	char tag;
	/* When this byte is read, sends @command to the server, or fails. */
	uint64_t at;
	const char *command;
	struct scene *scene;
	int err;
};

static char byte_at(char tag, uint64_t off)
{
	return (char)(tag + off % 13 + off / 4096 % 7);
}

static int read_version(void *arg, uint64_t off, void *buf, size_t n)
{
	const struct version *v = arg;

	if (v->at >= off && v->at < off + n && v->err)
		return v->err;
	if (v->at >= off && v->at < off + n && v->command)
		(void)server_ask(&v->scene->server, "%s", v->command);
	for (size_t i = 0; i < n; i++)
		((char *)buf)[i] = byte_at(v->tag, off + i);
	return 0;
}

static struct b2f_remote *connect_parts(const struct scene *s)
{
	const struct b2f_remote_options options = {.retry_ms = 80,
						   .backoff_ms = 2,
						   .stall_ms = s->stall_ms,
						   .put_bytes = LIMIT};

	return connect_as(s, options);
}

static int send_as(struct b2f_remote *remote, const char *path,
		   struct version *v, uint64_t size)
{
	bool kept;

	message[0] = '\0';
	v->source.read = read_version;
	v->source.arg = v;
	v->source.size = size;
	v->source.key = (uint64_t)v->tag << 32 | size;
	return b2f_remote_send(remote, path, &v->source, true, &kept);
}

static int send(struct b2f_remote *remote, const char *path, char tag)
{
	struct version v = {.tag = tag};

	return send_as(remote, path, &v, SIZE);
}

/* The tag of the frame at @path, which has to be whole; 0: no frame. */
static char tag_at(struct b2f_remote *remote, const char *path)
{
	static char bytes[SIZE + 1];
	struct b2f_remote_stat st;
	int err = b2f_remote_look(remote, path, &st);

	if (err == -ENOENT)
		return 0;
	cr_assert_eq(err, 0, "%s", message);
	cr_assert_eq(b2f_remote_read(remote, path, &st, 0, bytes, sizeof(bytes)),
		     (ssize_t)st.size);
	for (uint64_t i = 0; i < st.size; i++)
		cr_assert_eq(bytes[i], byte_at(bytes[0], i));
	return bytes[0];
}

static unsigned int begun(struct scene *s)
{
	return server_tell(&s->server, "uploads");
}

Test(parts, sums_are_those_of_zlib_in_base64)
{
	char text[B2F_OBJECT_SUM_TEXT];
	uint32_t sum = b2f_object_sum(0, "hello", 5), back = 0;
	uint32_t joined = b2f_object_sum_join(b2f_object_sum(0, "he", 2),
					      b2f_object_sum(0, "llo", 3), 3);

	b2f_object_sum_write(sum, text);
	cr_assert_str_eq(text, "NhCmhg==");
	cr_assert(b2f_object_sum_read(text, &back));
	cr_assert_eq(back, sum);
	cr_assert_eq(joined, sum);
	cr_assert(!b2f_object_sum_read("NhCmhg==-2", &back));
	cr_assert(!b2f_object_sum_read("NhCm!g==", &back));
}

Test(parts, what_is_longer_than_the_limit_is_sent_in_parts)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_parts(&s);
	struct version v = {.tag = 'a'};

	cr_assert_eq(send_as(remote, "x", &v, LIMIT), 0, "%s", message);
	(void)server_tell(&s.server, "count POST top");
	cr_assert_eq(send_as(remote, "x", &v, LIMIT), 0);
	cr_assert_eq(server_tell(&s.server, "count POST top"), 0);
	v.tag = 'b';
	cr_assert_eq(send_as(remote, "x", &v, LIMIT + 1), 0, "%s", message);
	/* Two for the probe, once; 5 parts. */
	cr_assert_eq(server_tell(&s.server, "count POST top/x"), 2);
	cr_assert_eq(tag_at(remote, "x"), 'b');
	cr_assert_eq(send(remote, "x", 'c'), 0, "%s", message);
	cr_assert_eq(server_tell(&s.server, "count PUT partNumber"), 13);
	cr_assert_eq(tag_at(remote, "x"), 'c');
	/* The object has this version already. */
	cr_assert_eq(send(remote, "x", 'c'), 0);
	cr_assert_eq(server_tell(&s.server, "count POST top"), 0);
	cr_assert_eq(begun(&s), 0);
}

/*
 * Checks that nothing is done twice or half, and that the outcome is told
 * right.
 */
static void check_answer(struct scene *s, struct b2f_remote *remote,
			 const char *path, const char *fault)
{
	char before = tag_at(remote, path), now;
	int err;

	(void)server_ask(&s->server, "when POST %s?uploadId %s", path, fault);
	err = send(remote, path, before == 'a' ? 'b' : 'a');
	(void)server_ask(&s->server, "forget");
	now = tag_at(remote, path);
	if (!err)
		cr_assert_neq(now, before, "%s", fault);
	else if (err != B2F_EINDOUBT)
		cr_assert_eq(now, before, "%s: %d %s", fault, err, message);
	/* No upload is left open. */
	cr_assert_eq(begun(s), 0, "%s", fault);
}

Test(parts, they_become_the_object_or_not_whatever_is_answered)
{
	static const char *const answers[] = {
		"status 412", "garbage",    "status 301", "status 400",
		"status 403", "status 404", "status 408", "status 409",
		"status 429", "status 500", "status 503", "drop"};
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_parts(&s);
	char fault[40], path[8];

	cr_assert_eq(send(remote, "y", 'a'), 0, "%s", message);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		for (int done = 0; done < 2; done++) {
			snprintf(fault, sizeof(fault), "1 %s%s",
				 done ? "done " : "", answers[i]);
			snprintf(path, sizeof(path), "n%zu%d", i, done);
			check_answer(&s, remote, path, fault);
			check_answer(&s, remote, "y", fault);
		}
	check_answer(&s, remote, "y", "1000 status 500");
	check_answer(&s, remote, "y", "1000 status 412");
	check_answer(&s, remote, "y", "1000 drop");
	check_answer(&s, remote, "y", "1 twice");
	b2f_remote_free(remote);
	s.stall_ms = HASTY_MS;
	remote = connect_parts(&s);
	check_answer(&s, remote, "y", "1 done silent");
}

Test(parts, an_error_behind_a_good_status_is_one)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_parts(&s);

	cr_assert_eq(send(remote, "x", 'a'), 0, "%s", message);
	(void)server_ask(&s.server, "error_in_200 InternalError");
	cr_assert_eq(send(remote, "x", 'b'), 0, "%s", message);
	cr_assert_eq(tag_at(remote, "x"), 'b');
	(void)server_ask(&s.server, "error_in_200 AccessDenied");
	cr_assert_eq(send(remote, "x", 'c'), -EACCES, "%s", message);
	cr_assert_eq(tag_at(remote, "x"), 'b');
	cr_assert_eq(begun(&s), 0);
}

Test(parts, another_writer_is_not_overwritten)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_parts(&s);
	struct version v = {.tag = 'b',
			    .at = 30000,
			    .command = "replace top/x",
			    .scene = &s};
	struct b2f_remote_stat st;

	cr_assert_eq(send(remote, "x", 'a'), 0, "%s", message);
	cr_assert_eq(send_as(remote, "x", &v, SIZE), -ESTALE, "%s", message);
	cr_assert_eq(b2f_remote_look(remote, "x", &st), 0);
	cr_assert_eq(st.size, SIZE + 1);
	cr_assert_eq(begun(&s), 0);
}

Test(parts, what_fails_is_thrown_away)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_parts(&s);
	struct version v = {.tag = 'b', .at = 30000, .err = -EIO};

	cr_assert_eq(send(remote, "x", 'a'), 0, "%s", message);
	cr_assert_eq(send_as(remote, "x", &v, SIZE), -EIO);
	cr_assert_eq(begun(&s), 0);
	(void)server_ask(&s.server, "when PUT partNumber=7 1000 status 500");
	cr_assert_eq(send(remote, "x", 'c'), -EIO, "%s", message);
	(void)server_ask(&s.server, "forget");
	cr_assert_eq(begun(&s), 0);
	(void)server_ask(&s.server, "when PUT partNumber=7 2 lose");
	cr_assert_eq(send(remote, "x", 'd'), 0, "%s", message);
	cr_assert_eq(tag_at(remote, "x"), 'd');
	cr_assert_eq(begun(&s), 0);
}

/* A server with @manner gets a large object as a whole. */
static void check_whole(const char *manner)
{
	OWN_SCENE struct scene s = scene_open();
	OWN(b2f_remote_free) struct b2f_remote *remote = connect_parts(&s);

	(void)server_ask(&s.server, "%s", manner);
	cr_assert_eq(send(remote, "x", 'a'), 0, "%s", message);
	cr_assert_eq(send(remote, "x", 'b'), 0, "%s", message);
	cr_assert_eq(tag_at(remote, "x"), 'b');
	cr_assert_eq(server_tell(&s.server, "count POST top/x"), 0);
	cr_assert_eq(begun(&s), 0);
}

Test(parts, where_they_keep_to_no_conditions_an_object_is_sent_whole)
{
	check_whole("parts_no_conditions");
	check_whole("no_parts");
}
