/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writers_scene.h - an object store, and writers of one frame in it
 *
 *	OWN_SCENE struct scene s = scene_open();
 *	OWN_WRITER struct writer a = begin(&s), b = another(&s);
 *
 *	fill(&a, 0, 'a');
 *	cr_assert_eq(commit(&a), 0, "%s", message);
 *	cr_assert_str_eq(content(&s), "a111");
 */
#ifndef B2F_TESTS_WRITERS_SCENE_H
#define B2F_TESTS_WRITERS_SCENE_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "b2frame/remote.h"
#include "tests/support/own.h"
#include "tests/support/server.h"

OWNER(b2f_frame, b2f_frame_close);
OWNER(b2f_remote, b2f_remote_free);

#define FAKE_S3 B2F_SOURCE_DIR "/tests/support/fake_s3.py"

#define CHUNK	4096
#define NCHUNKS 4

/* Faults of requests (fake_s3.py). */
static const char *const faults[] = {"lose", "drop", "status 500",
				     "status 503", "status 409", "status 429"};

#define NFAULTS (sizeof(faults) / sizeof(faults[0]))

/* The last error. */
static char message[512];

static inline void note(void *arg, enum b2f_log_level level, const char *text)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)arg;
	(void)level;
	pthread_mutex_lock(&lock);
	snprintf(message, sizeof(message), "%s", text);
	pthread_mutex_unlock(&lock);
}

static const struct b2f_log watching = {.write = note,
					.max_level = B2F_LOG_WARNING};

/* On a busy machine a request may take seconds. */
#define PATIENT_MS 30000
/* How long a test waits for a silent server. */
#define HASTY_MS   3000

/* A store, and a runtime for the files of all writers. */
struct scene {
	struct server server;
	/* How long new connections wait for a silent server. */
	unsigned int stall_ms;
	struct b2f_runtime *rt;
};

/* A writer, with its own connections. */
struct writer {
	struct b2f_remote *remote;
	struct b2f_file *file;
};

static inline struct b2f_remote *connect_as(const struct scene *s,
					    struct b2f_remote_options options)
{
	struct b2f_remote *remote = NULL;

	options.log = &watching;
	options.endpoint = s->server.url;
	options.access_key = "key";
	options.secret_key = "secret";
	cr_assert_eq(b2f_remote_new(&options, "s3://bucket/top", &remote), 0);
	return remote;
}

static inline struct b2f_remote *connect_with(const struct scene *s,
					      unsigned int keep_s)
{
	const struct b2f_remote_options options = {.retry_ms = 80,
						   .backoff_ms = 2,
						   .stall_ms = s->stall_ms,
						   .refresh_ms = 60000,
						   .keep_s = keep_s};

	return connect_as(s, options);
}

static inline struct b2f_remote *connect_to(const struct scene *s)
{
	return connect_with(s, 3600);
}

static inline struct scene scene_open(void)
{
	const struct b2f_runtime_options some = {.nworkers = 2};
	struct scene s = {.server = server_open(FAKE_S3, NULL),
			  .stall_ms = PATIENT_MS};

	message[0] = '\0';
	cr_assert_eq(b2f_runtime_new(&some, &s.rt), 0);
	return s;
}

static inline void scene_close(struct scene *s)
{
	b2f_runtime_free(s->rt);
	server_close(&s->server);
}

/* Closes a scene, with its server, at the end of its block. */
#define OWN_SCENE __attribute__((cleanup(scene_close)))

static inline struct writer writer_of(struct scene *s, struct b2f_remote *remote,
				      const char *path)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct writer w = {.remote = remote};
	struct b2f_frame *frame = NULL;

	cr_assert_eq(b2f_remote_open_frame(w.remote, path, &options, &frame), 0,
		     "%s", message);
	cr_assert_eq(b2f_file_open(s->rt, frame, &w.file), 0);
	return w;
}

static inline int allow(struct writer *w)
{
	const struct b2f_write_options options = {.chunksize = CHUNK};

	return b2f_file_allow_write(w->file, &options);
}

/* A writer of a new frame at @path; the first commit stores the frame. */
static inline struct writer writer_new(struct scene *s, struct b2f_remote *remote,
				       const char *path)
{
	const struct b2f_frame_options options = {.log = &watching};
	struct b2f_settings settings = b2f_settings_default();
	struct writer w = {.remote = remote};
	struct b2f_frame *frame = NULL;

	settings.chunksize = CHUNK;
	cr_assert_eq(b2f_remote_make_frame(remote, path, &settings, &options,
					   &frame),
		     0, "%s", message);
	cr_assert_eq(b2f_file_open(s->rt, frame, &w.file), 0);
	cr_assert_eq(allow(&w), 0, "%s", message);
	return w;
}

static inline struct writer writer_at(struct scene *s, struct b2f_remote *remote)
{
	return writer_of(s, remote, "x");
}

static inline struct writer writer_open(struct scene *s)
{
	return writer_at(s, connect_to(s));
}

static inline void writer_close(struct writer *w)
{
	b2f_file_close(w->file);
	b2f_remote_free(w->remote);
	*w = (struct writer){.file = NULL};
}

/* Closes a writer, unless that was done before, at the end of its block. */
#define OWN_WRITER __attribute__((cleanup(writer_close)))

/* Fills chunk @nchunk with @value. */
static inline void fill(struct writer *w, uint64_t nchunk, uint8_t value)
{
	uint8_t data[CHUNK];

	memset(data, value, sizeof(data));
	/* The first byte differs, so that no two chunks are equal. */
	data[0] = (uint8_t)nchunk;
	cr_assert_eq(b2f_file_pwrite(w->file, data, CHUNK, nchunk * CHUNK),
		     CHUNK);
}

static inline int commit(struct writer *w)
{
	return b2f_file_commit(w->file, B2F_COMMIT_DURABLE);
}

/* Returns the value that @w reads from chunk @nchunk. */
static inline uint8_t value_of(struct writer *w, uint64_t nchunk)
{
	uint8_t data[CHUNK];

	cr_assert_eq(b2f_file_pread(w->file, NULL, data, CHUNK,
				    nchunk * CHUNK),
		     CHUNK);
	cr_assert_eq(data[0], (uint8_t)nchunk);
	for (size_t i = 2; i < CHUNK; i++)
		cr_assert_eq(data[i], data[1]);
	return data[1];
}

/* Returns the values that a new reader finds in the chunks of @path: "1234". */
static inline const char *content_of(struct scene *s, const char *path)
{
	static char text[NCHUNKS + 1];
	struct writer w = writer_of(s, connect_to(s), path);

	memset(text, 0, sizeof(text));
	cr_assert_eq(b2f_file_size(w.file), NCHUNKS * CHUNK);
	for (uint64_t i = 0; i < NCHUNKS; i++)
		text[i] = (char)value_of(&w, i);
	writer_close(&w);
	return text;
}

static inline const char *content(struct scene *s)
{
	return content_of(s, "x");
}

/* The new frame @path with the values @text, and a writer of it. */
static inline struct writer begin_at(struct scene *s, const char *path,
				     const char *text)
{
	struct writer w = writer_new(s, connect_to(s), path);

	for (uint64_t i = 0; text[i]; i++)
		fill(&w, i, (uint8_t)text[i]);
	cr_assert_eq(commit(&w), 0, "%s", message);
	return w;
}

/* The frame top/x with "1111", and a writer of it. */
static inline struct writer begin(struct scene *s)
{
	return begin_at(s, "x", "1111");
}

static inline struct writer another(struct scene *s)
{
	struct writer w = writer_open(s);

	cr_assert_eq(allow(&w), 0, "%s", message);
	return w;
}

#endif
