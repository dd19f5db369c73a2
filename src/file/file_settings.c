/* SPDX-License-Identifier: BSD-3-Clause */
/* file_settings.c - changes how the chunks of a file are encoded */
#include <errno.h>

#include "file/reading.h"
#include "file/writer.h"
#include "frame/settings_change.h"
#include "programs/io.h"

/* The first data may set the item size meanwhile, but only once. */
#define TRIES 2

static struct b2f_frame_header get_now(struct b2f_file *file)
{
	const struct b2f_txn *txn = file->writer->txn;
	B2F_HOLD(&file->lock);
	struct b2f_frame_header now = txn->header;

	now.nbytes = txn->working.nbytes;
	return now;
}

/*
 * Continues with @frame, which it takes over, if it still has the item size of
 * the file.  Returns 1 or -EAGAIN.
 */
static int swap(struct b2f_file *file, struct b2f_frame *frame)
{
	struct b2f_writer *w = file->writer;
	bool fits;

	pthread_mutex_lock(&file->lock);
	b2f_writer_wait_idle(file);
	fits = frame->header.typesize == w->txn->header.typesize;
	if (fits) {
		b2f_txn_set_frame(w->txn, frame);
		b2f_file_set_frame(file, frame);
		if (w->dirty.since_ns == 0)
			w->dirty.since_ns = b2f_monotonic_ns();
	}
	pthread_mutex_unlock(&file->lock);
	if (!fits) {
		b2f_frame_close(frame);
		return -EAGAIN;
	}
	b2f_head_forget_all(file);
	return 1;
}

/* Returns -EAGAIN if the change may be tried. */
static int check(struct b2f_file *file)
{
	const struct b2f_writer *w = file->writer;
	B2F_HOLD(&file->lock);

	return !w->txn ? -EROFS : w->anew ? -EBUSY : -EAGAIN;
}

/* The commit_lock and the write_lock are held. */
static int change(struct b2f_file *file, const struct b2f_encoding *encoding)
{
	struct b2f_frame_header now;
	struct b2f_frame *frame;
	int ret = check(file);

	for (int i = 0; i < TRIES && ret == -EAGAIN; i++) {
		now = get_now(file);
		ret = b2f_settings_change(file->frame, &now, encoding, &frame);
		if (!ret && frame)
			ret = swap(file, frame);
	}
	return ret;
}

int b2f_file_set_encoding(struct b2f_file *file,
			  const struct b2f_encoding *encoding)
{
	struct b2f_writer *w = file->writer;
	int ret;

	if (!w)
		return -EBADF;
	/* The first change is made to the version on disk now. */
	b2f_file_catch_up(file);
	b2f_writer_lock(file);
	ret = change(file, encoding);
	b2f_writer_unlock(file);
	return ret;
}
