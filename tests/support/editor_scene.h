/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * editor_scene.h - an empty frame, open in an editor
 *
 *	TestSuite(suite, .init = editor_scene_begin, .fini = editor_scene_end);
 */
#ifndef B2F_TESTS_EDITOR_SCENE_H
#define B2F_TESTS_EDITOR_SCENE_H

#include "tests/support/frame_dir.h"

#define CHUNK 100u

/* The frame is "f" in this directory; its chunks are known by their bytes. */
static struct frame_dir dir;
static int dirfd_;
static struct b2f_editor *editor;

static inline void close_editor(void)
{
	b2f_editor_close(editor);
	editor = NULL;
}

static inline void open_editor_as(bool any_kind)
{
	const struct b2f_editor_options options = {.any_kind = any_kind};

	close_editor();
	cr_assert_eq(b2f_editor_open(&options, dirfd_, "f", &editor), 0);
}

static inline void editor_scene_begin(void)
{
	struct b2f_settings settings = b2f_settings_default();

	dir = frame_dir_new();
	dirfd_ = open(dir.path, O_RDONLY | O_DIRECTORY);
	cr_assert_eq(b2f_frame_create(&settings, dirfd_, "f", 0644, true, NULL),
		     0);
	open_editor_as(false);
}

static inline void editor_scene_end(void)
{
	close_editor();
	cr_assert_eq(b2f_frame_remove(dirfd_, "f"), 0);
	close(dirfd_);
	frame_dir_remove(&dir);
}

/* The bytes of chunk @which, which its first byte tells. */
static inline const uint8_t *bytes_of(int which, uint32_t nbytes)
{
	static uint8_t buf[4 * CHUNK];

	for (uint32_t i = 0; i < nbytes; i++)
		buf[i] = (uint8_t)(which + 7 * (int)i);
	return buf;
}

static inline void append(int which, uint32_t nbytes)
{
	cr_assert_eq(b2f_editor_append(editor, bytes_of(which, nbytes), nbytes),
		     0);
}

static inline void append_four(void)
{
	for (int i = 0; i < 4; i++)
		append(10 * i, CHUNK);
	cr_assert_eq(b2f_editor_commit(editor), 0);
}

#endif
