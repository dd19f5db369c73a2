/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_scene.h - a frame, a web server that fails on command, and a reader
 *
 *	OWN_SCENE struct scene s = scene_open(contiguous);
 *
 *	cr_assert_eq(try_open(&s), 0, "%s", message);
 *	server_ask(&s.server, "fault 1 status 503");
 *	cr_assert_eq(read_at(&s, 0, 4096), 0);
 */
#ifndef B2F_TESTS_REMOTE_SCENE_H
#define B2F_TESTS_REMOTE_SCENE_H

#include <criterion/criterion.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "base/attr.h"
#include "frame/frame.h"
#include "tests/support/frame_dir.h"
#include "tests/support/server.h"

#define PROXY B2F_SOURCE_DIR "/tests/support/proxy.py"

#define CHUNK	((size_t)1 << 20)
#define NCHUNKS 6
#define NBYTES	(NCHUNKS * CHUNK - 12345)

/* The last error. */
static char message[512];

static void note(void *arg, enum b2f_log_level level, const char *text)
{
	(void)arg;
	if (level == B2F_LOG_ERROR)
		snprintf(message, sizeof(message), "%s", text);
}

static const struct b2f_log watching = {.write = note,
					.max_level = B2F_LOG_WARNING};

/* The number of requests since the last call. */
static unsigned int count(struct server *server)
{
	return server_tell(server, "count");
}

static struct b2f_remote *connect_to(const struct server *server)
{
	const struct b2f_remote_options options = {.log = &watching,
						   .retry_ms = 80,
						   .backoff_ms = 2,
						   .stall_ms = 30000,
						   .refresh_ms = 60000};
	struct b2f_remote *remote = NULL;

	message[0] = '\0';
	cr_assert_eq(b2f_remote_new(&options, server->url, &remote), 0);
	return remote;
}

static uint8_t byte_at(uint64_t off)
{
	uint64_t x = (off / 5 + 1) * UINT64_C(0x9E3779B97F4A7C15);

	return off % 5 < 2 ? (uint8_t)(x >> 56) : (uint8_t)(off >> 12);
}

/* The empty frame dir/x, opened. */
static struct b2f_frame *make_empty(const struct frame_dir *dir, bool contiguous)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_settings settings = b2f_settings_default();
	struct b2f_frame_made made = {.frame = NULL};
	char path[80];

	settings.blocksize = 32768;
	settings.chunksize = CHUNK;
	snprintf(path, sizeof(path), "%s/x", dir->path);
	if (contiguous)
		cr_assert_eq(b2f_frame_make_small(&settings, AT_FDCWD, path,
						  0644, &options, &made),
			     0);
	else
		cr_assert_eq(b2f_frame_make(&settings, AT_FDCWD, path, 0755,
					    &options, &made),
			     0);
	return made.frame;
}

/* A frame of NBYTES bytes, @contiguous or a directory, as dir/x. */
static void make_frame(const struct frame_dir *dir, bool contiguous)
{
	const struct b2f_runtime_options some = {.nworkers = 2};
	const struct b2f_write_options writing = {.chunksize = CHUNK};
	struct b2f_runtime *rt = NULL;
	struct b2f_file *file = NULL;
	uint8_t *data = malloc(NBYTES);

	for (size_t i = 0; i < NBYTES; i++)
		data[i] = byte_at(i);
	cr_assert_eq(b2f_runtime_new(&some, &rt), 0);
	cr_assert_eq(b2f_file_open(rt, make_empty(dir, contiguous), &file), 0);
	cr_assert_eq(b2f_file_allow_write(file, &writing), 0);
	cr_assert_eq(b2f_file_pwrite(file, data, NBYTES, 0), (ssize_t)NBYTES);
	cr_assert_eq(b2f_file_commit(file, B2F_COMMIT_VISIBLE), 0);
	b2f_file_close(file);
	b2f_runtime_free(rt);
	free(data);
}

/* A directory with a frame, its server, and a reader of it. */
struct scene {
	struct frame_dir dir;
	struct server server;
	struct b2f_remote *remote;
	struct b2f_runtime *rt;
	struct b2f_file *file;
};

static struct scene scene_open(bool contiguous)
{
	const struct b2f_runtime_options some = {.nworkers = 2};
	struct scene s = {.dir = frame_dir_new()};

	make_frame(&s.dir, contiguous);
	s.server = server_open(PROXY, s.dir.path);
	s.remote = connect_to(&s.server);
	cr_assert_eq(b2f_runtime_new(&some, &s.rt), 0);
	return s;
}

static int try_open(struct scene *s)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_frame *frame = NULL;
	int err = b2f_remote_open_frame(s->remote, "x", &options, &frame);

	if (err)
		return err;
	cr_assert_eq(b2f_file_open(s->rt, frame, &s->file), 0);
	return 0;
}

static void forget_file(struct scene *s)
{
	b2f_file_close(s->file);
	s->file = NULL;
}

static void remove_frame(const struct scene *s)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/x", s->dir.path);
	if (unlink(path) != 0 && errno != ENOENT)
		cr_assert_eq(b2f_frame_remove(AT_FDCWD, path), 0);
}

static void scene_close(struct scene *s)
{
	forget_file(s);
	b2f_runtime_free(s->rt);
	b2f_remote_free(s->remote);
	server_close(&s->server);
	remove_frame(s);
	frame_dir_remove(&s->dir);
}

/* Closes a scene at the end of its block. */
#define OWN_SCENE __attribute__((cleanup(scene_close)))

/* Reads @n bytes at @off, and checks them. */
static int read_at(struct scene *s, uint64_t off, size_t n)
{
	uint8_t *buf = malloc(n);
	ssize_t got = b2f_file_pread(s->file, NULL, buf, n, off);

	for (ssize_t i = 0; i < got; i++)
		cr_assert_eq(buf[i], byte_at(off + (uint64_t)i), "byte %llu",
			     (unsigned long long)off + (unsigned long long)i);
	free(buf);
	if (got < 0)
		return (int)got;
	cr_assert_eq(got, (ssize_t)n);
	return 0;
}

/* Reads all, as a copying program does. */
static void read_in_order(struct scene *s)
{
	struct b2f_stream *stream = NULL;
	uint8_t *buf = malloc(131072);
	uint64_t off = 0;
	ssize_t n = 1;

	cr_assert_eq(b2f_stream_new(s->file, &stream), 0);
	while (n > 0) {
		n = b2f_file_pread(s->file, stream, buf, 131072, off);
		cr_assert_geq(n, 0);
		for (ssize_t i = 0; i < n; i++)
			cr_assert_eq(buf[i], byte_at(off + (uint64_t)i));
		off += (uint64_t)n;
	}
	cr_assert_eq(off, NBYTES);
	b2f_stream_free(stream);
	free(buf);
}

/* The name of the file of chunk @nchunk, in a static buffer. */
static const char *file_of_chunk(const struct scene *s, uint64_t nchunk)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_chunk_info info;
	struct b2f_frame *frame = NULL;
	static char name[32];
	char path[80];

	snprintf(path, sizeof(path), "%s/x", s->dir.path);
	cr_assert_eq(b2f_frame_open(&options, AT_FDCWD, path, &frame), 0);
	cr_assert_eq(b2f_frame_chunk_info(frame, nchunk, &info), 0);
	b2f_frame_close(frame);
	snprintf(name, sizeof(name), "x/%08X.chunk", (unsigned int)info.place);
	return name;
}

/*
 * Changes the byte @back bytes before the end of a file, and its time by more
 * than a second, the unit of HTTP.
 */
static void rewrite(const struct scene *s, const char *name, long back)
{
	const struct timespec then[2] = {{.tv_sec = 1000000000},
					 {.tv_sec = 1000000000}};
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", s->dir.path, name);
	f = fopen(path, "r+b");
	cr_assert_not_null(f);
	cr_assert_eq(fseek(f, -back, SEEK_END), 0);
	fputc('x', f);
	fclose(f);
	cr_assert_eq(utimensat(AT_FDCWD, path, then, 0), 0);
}

#endif
