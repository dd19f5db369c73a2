/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scratch_file.h - a sparse frame of its own, open as a file
 *
 *	OWN_SCRATCH struct scratch s = scratch_new(&settings, &options);
 *
 *	open_for_writing(&s);
 */
#ifndef B2F_TESTS_SCRATCH_FILE_H
#define B2F_TESTS_SCRATCH_FILE_H

#include "tests/support/frame_dir.h"

struct scratch {
	struct frame_dir dir;
	char frame[128];
	struct b2f_write_options options;
	struct b2f_runtime *rt;
	struct b2f_file *file;
	/* What the file should hold, in memory of malloc(), if that is kept. */
	uint8_t *model;
	uint64_t size;
	uint64_t seed;
};

static inline void print_text(void *arg, enum b2f_log_level level,
			      const char *text)
{
	(void)arg, (void)level;
	fprintf(stderr, "%s\n", text);
}

static const struct b2f_log to_stderr = {.write = print_text,
					 .max_level = B2F_LOG_WARNING};

static inline void open_file(struct scratch *s)
{
	const struct b2f_frame_options options = {.log = &to_stderr};
	struct b2f_frame *frame = NULL;

	cr_assert_eq(b2f_frame_open(&options, AT_FDCWD, s->frame, &frame), 0);
	cr_assert_eq(b2f_file_open(s->rt, frame, &s->file), 0);
}

static inline void open_for_writing(struct scratch *s)
{
	open_file(s);
	cr_assert_eq(b2f_file_allow_write(s->file, &s->options), 0);
}

/* The new frame is not open yet. */
static inline struct scratch
scratch_new(const struct b2f_settings *settings,
	    const struct b2f_runtime_options *options)
{
	struct scratch s = {.dir = frame_dir_new()};

	snprintf(s.frame, sizeof(s.frame), "%s/x.b2frame", s.dir.path);
	cr_assert_eq(b2f_frame_create(settings, AT_FDCWD, s.frame, 0644, false,
				      &to_stderr),
		     0);
	cr_assert_eq(b2f_runtime_new(options, &s.rt), 0);
	return s;
}

static inline void scratch_end(struct scratch *s)
{
	b2f_file_close(s->file);
	b2f_runtime_free(s->rt);
	free(s->model);
	cr_assert_eq(b2f_frame_remove(AT_FDCWD, s->frame), 0);
	frame_dir_remove(&s->dir);
}

#define OWN_SCRATCH __attribute__((cleanup(scratch_end)))

#endif
