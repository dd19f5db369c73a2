/* SPDX-License-Identifier: BSD-3-Clause */
/* file_move.c - moves the frame of an open file to another place */
#include "file/writer.h"
#include "store/turn.h"

/* How often to commit again if a write came between commit and move. */
#define TRIES 5

static bool is_clean(struct b2f_file *file, const struct b2f_writer *w)
{
	B2F_HOLD(&file->lock);

	return b2f_writer_is_clean(w);
}

/* Commits everything.  If it returns 0, it holds the write_lock. */
static int commit_all(struct b2f_file *file, struct b2f_writer *w)
{
	int err;

	for (int i = 0; i < TRIES; i++) {
		err = b2f_commit_now(file, B2F_COMMIT_DURABLE);
		if (err)
			return err;
		pthread_mutex_lock(&w->write_lock);
		if (is_clean(file, w))
			return 0;
		pthread_mutex_unlock(&w->write_lock);
	}
	return -EBUSY;
}

/* Opens the stored frame, which has to be the version that the file shows. */
static int open_stored(struct b2f_file *file, struct b2f_frame **out)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file), *stored = NULL;
	struct b2f_frame_stamp known;
	int err = b2f_frame_reopen(frame, B2F_TURN_WAIT_MS, &stored);

	b2f_frame_close(frame);
	if (err)
		return err;
	pthread_mutex_lock(&file->lock);
	known = b2f_file_known_stamp(file);
	pthread_mutex_unlock(&file->lock);
	if (!b2f_frame_stamp_equal(&known, &stored->stamp)) {
		b2f_frame_close(stored);
		return -ESTALE;
	}
	*out = stored;
	return 0;
}

/*
 * Nothing is dirty; the locks are held: the write_lock of @w, if there is one.
 */
static int move(struct b2f_file *file, struct b2f_writer *w,
		b2f_file_move_fn *fn, void *arg)
{
	bool has_foreign = b2f_file_take_foreign(file);
	struct b2f_frame *stored = NULL, *moved = NULL;
	int err = open_stored(file, &stored);

	if (!err)
		err = fn(arg, stored, &moved);
	b2f_frame_close(stored);
	if (!err)
		err = b2f_file_continue_with(file, w, moved, false);
	/* A move changes no data. */
	B2F_HOLD(&file->lock);
	file->has_foreign = has_foreign;
	return err;
}

int b2f_file_move(struct b2f_file *file, b2f_file_move_fn *fn, void *arg)
{
	struct b2f_writer *w;
	int err;

	pthread_mutex_lock(&file->commit_lock);
	w = file->writer;
	err = w ? commit_all(file, w) : 0;
	if (err)
		goto out;
	err = move(file, w, fn, arg);
	if (w)
		pthread_mutex_unlock(&w->write_lock);
out:
	pthread_mutex_unlock(&file->commit_lock);
	return err;
}
