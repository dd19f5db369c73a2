/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_change.c - writes, cuts and zeros of any file
 *
 * The shape (shape.h) knows the chunks of a change.  A change that no array
 * allows makes the file plain first.
 */
#include <limits.h>

#include "file/change.h"
#include "file/relayout.h"
#include "file/shape.h"

enum change_what { CHANGE_WRITE, CHANGE_APPEND, CHANGE_SIZE, CHANGE_ZEROS };

/* A change of [@off, @off + @size); a new size is @off. */
struct change {
	enum change_what what;
	const void *buf;
	uint64_t size;
	uint64_t off;
};

/*
 * Takes the write_lock of @w, for a change that begins at @off.  Returns 0, 1
 * (a thread has just gone on to another version), or -EROFS.
 */
static int lock_to_write(struct b2f_file *file, struct b2f_writer *w,
			 uint64_t off)
{
	int ret = 0;

	pthread_mutex_lock(&w->write_lock);
	pthread_mutex_lock(&file->lock);
	if (!w->txn)
		ret = atomic_load(&w->is_lost) && !file->stays ? 1 : -EROFS;
	w->dirty.from = b2f_min_u64(w->dirty.from, off);
	pthread_mutex_unlock(&file->lock);
	if (ret)
		pthread_mutex_unlock(&w->write_lock);
	return ret;
}

/*
 * Takes the write_lock of @file in *@out, if it can be written to, for a change
 * that begins at @off.  Returns 0, -EBADF, or as b2f_file_allow_write().
 */
static int begin(struct b2f_file *file, uint64_t off, struct b2f_writer **out)
{
	struct b2f_writer *w;
	bool clean;
	int err;

	pthread_mutex_lock(&file->lock);
	w = file->writer;
	clean = w && !w->dirty.since_ns && !w->commit;
	pthread_mutex_unlock(&file->lock);
	if (!w)
		return -EBADF;
	/* The first change is made to the version on disk now. */
	if (clean && !file->stays)
		b2f_file_catch_up(file);
	do {
		err = file->stays ? 0 : b2f_writer_allow_again(file);
		if (!err)
			err = lock_to_write(file, w, off);
	} while (err > 0);
	if (!err)
		*out = w;
	return err;
}

static ssize_t write_at(struct b2f_file *file, const struct change *c)
{
	uint64_t size = c->size > SSIZE_MAX ? SSIZE_MAX : c->size;

	if (size == 0)
		return 0;
	if (c->off > B2F_SIZE_LIMIT || size > B2F_SIZE_LIMIT - c->off)
		return -EFBIG;
	return b2f_shape_of(file)->write(file, c->buf, size, c->off);
}

static int zero_at(struct b2f_file *file, const struct change *c)
{
	uint64_t end = b2f_file_size(file);

	if (c->off >= end || c->size == 0)
		return 0;
	if (c->size < end - c->off)
		end = c->off + c->size;
	return b2f_shape_of(file)->zero(file, c->off, end);
}

/* The write_lock is held: the end of the file stays where it is. */
static ssize_t apply(struct b2f_file *file, struct change *c)
{
	switch (c->what) {
	case CHANGE_APPEND:
		c->off = b2f_file_size(file);
		return write_at(file, c);
	case CHANGE_WRITE:
		return write_at(file, c);
	case CHANGE_SIZE:
		return b2f_shape_of(file)->resize(file, c->off);
	case CHANGE_ZEROS:
		return zero_at(file, c);
	}
	return -EINVAL;
}

static ssize_t try_change(struct b2f_file *file, struct change *c)
{
	struct b2f_writer *w = NULL;
	ssize_t n = begin(file, c->off, &w);

	if (n)
		return n;
	n = apply(file, c);
	pthread_mutex_unlock(&w->write_lock);
	return n;
}

static ssize_t change(struct b2f_file *file, struct change *c)
{
	ssize_t n;
	int err;

	if (c->what == CHANGE_APPEND)
		c->off = b2f_file_size(file);
	/* Zeros make nothing longer, so they complete no .npy file. */
	if (c->what != CHANGE_ZEROS)
		b2f_relayout_before(file, c->buf, c->size, c->off);
	for (;;) {
		n = try_change(file, c);
		if (n != B2F_ERELAYOUT)
			break;
		/* Data that are cut off need not be stored again. */
		err = b2f_relayout_to_plain(
			file, c->what == CHANGE_SIZE ? c->off : UINT64_MAX);
		if (err)
			return err;
	}
	if (n >= 0)
		b2f_writer_delete_dead(file, B2F_DELETE_PENDING);
	return n;
}

ssize_t b2f_file_pwrite(struct b2f_file *file, const void *buf, size_t size,
			uint64_t off)
{
	struct change c = {CHANGE_WRITE, buf, size, off};

	return change(file, &c);
}

ssize_t b2f_file_append(struct b2f_file *file, const void *buf, size_t size,
			uint64_t *off)
{
	struct change c = {CHANGE_APPEND, buf, size, 0};
	ssize_t n = change(file, &c);

	if (n >= 0)
		*off = c.off;
	return n;
}

int b2f_file_truncate(struct b2f_file *file, uint64_t size)
{
	struct change c = {CHANGE_SIZE, NULL, 0, size};

	return (int)change(file, &c);
}

int b2f_file_zero(struct b2f_file *file, uint64_t off, uint64_t size)
{
	struct change c = {CHANGE_ZEROS, NULL, size, off};

	return (int)change(file, &c);
}
