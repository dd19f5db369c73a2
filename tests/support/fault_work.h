/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_work.h - a file on a disk that fails, with the expected contents of
 * file and disk
 *
 *	begin(&w, make_disk(false));
 *	write_some(&w, 0, 9000, true);
 *	commit(&w, B2F_COMMIT_DURABLE);
 *	after = fault_disk_after_loss(w.disk, 5);
 *	cr_expect(find_state(&w, after, w.oldest) >= 0);
 */
#ifndef B2F_TESTS_FAULT_WORK_H
#define B2F_TESTS_FAULT_WORK_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/b2frame.h"
#include "frame/frame.h"
#include "tests/support/fault_frame.h"

#define MODEL_MAX  160000
#define CHUNKSIZE  5000
#define STATES_MAX 64

struct state {
	uint8_t *data;
	uint64_t size;
};

struct work {
	struct fault_disk *disk;
	struct b2f_runtime *rt;
	struct b2f_file *file;
	uint8_t model[MODEL_MAX];
	uint64_t size;
	uint64_t seed;
	/* The states that the commits should make. */
	struct state states[STATES_MAX];
	size_t nstates;
	/* The first of them that the disk may still hold. */
	size_t oldest;
	/* Calls that failed. */
	unsigned int nfailed;
};

static inline uint64_t next(struct work *w)
{
	w->seed = w->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return w->seed >> 33;
}

static inline struct b2f_settings disk_settings(void)
{
	struct b2f_settings settings = b2f_settings_default();

	settings.typesize = 4;
	settings.clevel = 1;
	settings.chunksize = CHUNKSIZE;
	return settings;
}

/* An empty frame, a contiguous one if @single. */
static inline struct fault_disk *make_disk(bool single)
{
	struct b2f_settings settings = disk_settings();

	return fault_frame_new(&settings, single);
}

/* An empty contiguous frame, made small. */
static inline struct fault_disk *make_small_disk(void)
{
	struct b2f_settings settings = disk_settings();

	return fault_frame_small(&settings);
}

/* An empty contiguous frame with long metalayers. */
static inline struct fault_disk *make_long_disk(bool sealed)
{
	struct b2f_settings settings = disk_settings();

	return fault_frame_long(&settings, sealed);
}

static inline struct b2f_file *open_disk(struct b2f_runtime *rt,
					 struct fault_disk *disk)
{
	const struct b2f_frame_options options = {.offset = 0};
	struct b2f_frame *frame = NULL;
	struct b2f_file *file = NULL;

	if (b2f_frame_open_store(&options, fault_disk_mount(disk), "disk",
				 &frame))
		return NULL;
	cr_assert_eq(b2f_file_open(rt, frame, &file), 0);
	return file;
}

static inline void note_state(struct work *w)
{
	struct state *s = &w->states[w->nstates++];

	cr_assert_lt(w->nstates, STATES_MAX);
	s->size = w->size;
	s->data = malloc(w->size + 1);
	memcpy(s->data, w->model, w->size);
}

static inline void write_some(struct work *w, uint64_t off, uint64_t n, bool noise)
{
	static uint8_t buf[MODEL_MAX];
	ssize_t got;

	for (uint64_t i = 0; i < n; i++)
		buf[i] = noise ? (uint8_t)next(w) : (uint8_t)(w->seed + i / 99);
	got = b2f_file_pwrite(w->file, buf, n, off);
	if (got < (ssize_t)n)
		w->nfailed++;
	if (got <= 0)
		return;
	memcpy(w->model + off, buf, (size_t)got);
	if (off + (uint64_t)got > w->size)
		w->size = off + (uint64_t)got;
}

static inline void cut(struct work *w, uint64_t size)
{
	if (b2f_file_truncate(w->file, size)) {
		w->nfailed++;
		/*
		 * The write may have been done in part: the contents are
		 * unknown.
		 */
		cr_assert_eq(b2f_file_size(w->file), w->size);
		return;
	}
	if (size < w->size)
		memset(w->model + size, 0, w->size - size);
	w->size = size;
}

static inline int commit(struct work *w, enum b2f_commit_how how)
{
	int err;

	note_state(w);
	err = b2f_file_commit(w->file, how);
	if (err)
		w->nfailed++;
	else if (how == B2F_COMMIT_DURABLE)
		w->oldest = w->nstates - 1;
	return err;
}

static inline void check_reading(struct work *w)
{
	static uint8_t buf[MODEL_MAX];
	ssize_t got = b2f_file_pread(w->file, NULL, buf, MODEL_MAX, 0);

	/* A disk without power cannot be read either. */
	if (got < 0) {
		w->nfailed++;
		return;
	}
	cr_assert_eq(got, (ssize_t)w->size);
	cr_assert_eq(memcmp(buf, w->model, w->size), 0);
}

static inline void begin_with(struct work *w, struct fault_disk *disk,
			      struct b2f_durability *durability)
{
	const struct b2f_runtime_options options = {
		.cache_bytes = 1 << 20, .nworkers = 1, .dirty_bytes = 30000};
	const struct b2f_write_options write = {.chunksize = CHUNKSIZE,
						.npy_arrays = true,
						.durability = durability};

	*w = (struct work){.disk = disk, .seed = 7};
	cr_assert_eq(b2f_runtime_new(&options, &w->rt), 0);
	w->file = open_disk(w->rt, disk);
	cr_assert_not_null(w->file);
	/* Read the model from the frame. */
	w->size = b2f_file_size(w->file);
	cr_assert_eq(b2f_file_pread(w->file, NULL, w->model, MODEL_MAX, 0),
		     (ssize_t)w->size);
	note_state(w);
	if (b2f_file_allow_write(w->file, &write))
		w->nfailed++;
}

static inline void begin(struct work *w, struct fault_disk *disk)
{
	begin_with(w, disk, NULL);
}

static inline void end(struct work *w)
{
	b2f_file_close(w->file);
	b2f_runtime_free(w->rt);
	for (size_t i = 0; i < w->nstates; i++)
		free(w->states[i].data);
}

/* The number of the state that @disk holds; -1 if it is no commit's state. */
static inline int find_state(const struct work *w, struct fault_disk *disk,
			     size_t from)
{
	static uint8_t buf[MODEL_MAX];
	struct b2f_file *file = open_disk(w->rt, disk);
	uint64_t size;
	int found = -1;

	if (!file)
		return -1;
	size = b2f_file_size(file);
	if (size <= MODEL_MAX &&
	    b2f_file_pread(file, NULL, buf, MODEL_MAX, 0) == (ssize_t)size)
		for (size_t i = from; i < w->nstates && found < 0; i++)
			if (w->states[i].size == size &&
			    memcmp(w->states[i].data, buf, size) == 0)
				found = (int)i;
	b2f_file_close(file);
	return found;
}

/* Does @disk hold a beginning of the last state? */
static inline bool holds_beginning(const struct work *w, struct fault_disk *disk)
{
	static uint8_t buf[MODEL_MAX];
	const struct state *last = &w->states[w->nstates - 1];
	struct b2f_file *file = open_disk(w->rt, disk);
	ssize_t got;

	if (!file)
		return false;
	got = b2f_file_pread(file, NULL, buf, MODEL_MAX, 0);
	b2f_file_close(file);
	return got > 0 && (uint64_t)got < last->size &&
	       memcmp(last->data, buf, (size_t)got) == 0;
}

/*
 * The number of losses of power, of 12, that leave the state of the last
 * commit.
 */
static inline int count_durable(struct work *w)
{
	int n = 0;

	for (unsigned int variant = 0; variant < 12; variant++) {
		struct fault_disk *after =
			fault_disk_after_loss(w->disk, variant);

		n += find_state(w, after, w->nstates - 1) >= 0;
		fault_disk_free(after);
	}
	return n;
}

#endif
