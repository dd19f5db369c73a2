/* SPDX-License-Identifier: BSD-3-Clause */
/* anew.c - arrays that are opened with O_TRUNC and written again */
#include "anew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs.h"
#include "programs/file_form.h"

/* The longest .npy header that an array can have. */
#define HEAD_MAX (1u << 16)

enum step {
	DUE,
	BEGUN,
	ENDED,
	SPOILED,
};

struct fs_anew {
	_Atomic enum step step;
	/* The written part of the header; malloc'ed. */
	uint8_t *head;
	size_t len;
	/* Header of the old array, which a reader may still use. */
	uint8_t *old_head;
};

bool fs_anew_is_for(const struct fs_handle *handle)
{
	return handle->file &&
	       (handle->head || (b2f_file_keeps_size(handle->file) &&
				 b2f_file_size(handle->file) > 0));
}

int fs_anew_begin(struct fs_handle *handle)
{
	struct fs_anew *anew = calloc(1, sizeof(*anew));

	if (!anew)
		return -ENOMEM;
	atomic_init(&anew->step, DUE);
	handle->anew = anew;
	return 0;
}

static bool is_at(const struct fs_handle *handle, enum step step)
{
	return handle->anew && atomic_load(&handle->anew->step) == step;
}

bool fs_anew_is_due(const struct fs_handle *handle)
{
	return is_at(handle, DUE);
}

bool fs_anew_is_half(const struct fs_handle *handle)
{
	return is_at(handle, BEGUN) || is_at(handle, SPOILED);
}

/* Changes the state from BEGUN to @step. */
static void leave(struct fs_anew *anew, enum step step)
{
	enum step begun = BEGUN;

	atomic_compare_exchange_strong(&anew->step, &begun, step);
}

void fs_anew_spoil(struct fs_handle *handle)
{
	if (handle->anew)
		leave(handle->anew, SPOILED);
}

/*
 * Commits data that were written before, which are no part of the new array.
 * Another handle may be replacing the array; but a save that was broken off may
 * also have ended for its program alone, whose last close the daemon has yet to
 * hear of.
 */
static int commit_others(struct fs *fs, struct fs_handle *handle)
{
	int err, tries = 0;

	do {
		err = b2f_file_is_dirty(handle->file)
			      ? handle->ops->commit(fs, handle,
						    B2F_COMMIT_VISIBLE)
			      : 0;
	} while (err == -EBUSY && fs_file_wait_busy(fs, &tries));
	/* This handle has lost nothing by what was dropped until now. */
	if (!err)
		(void)fs_handle_note_dropped(handle);
	return err;
}

/* Begins the new array, for a view with the @len bytes of header collected. */
static ssize_t begin(struct fs *fs, struct fs_handle *handle, size_t len)
{
	struct fs_anew *anew = handle->anew;
	ssize_t n = commit_others(fs, handle);

	if (n)
		return n;
	n = b2f_file_begin_anew(handle->file, anew->head, len);
	if (n >= 0)
		atomic_store(&anew->step, BEGUN);
	else if (n != -EAGAIN && n != -EPERM)
		atomic_store(&anew->step, SPOILED);
	return n;
}

/* Collects the header of a view.  Returns as fs_anew_before_write(). */
static ssize_t collect(struct fs *fs, struct fs_handle *handle, const char *buf,
		       size_t size, uint64_t off)
{
	struct fs_anew *anew = handle->anew;
	size_t before = anew->len, more = size;
	ssize_t n;

	if (off != before)
		return -EPERM;
	if (!anew->head)
		anew->head = malloc(HEAD_MAX);
	if (!anew->head)
		return -ENOMEM;
	more = more < HEAD_MAX - before ? more : HEAD_MAX - before;
	memcpy(anew->head + before, buf, more);
	n = begin(fs, handle, before + more);
	if (n == -EAGAIN) {
		anew->len = before + more;
		return (ssize_t)more;
	}
	if (n < 0)
		return n;
	anew->old_head = atomic_exchange(&handle->head, anew->head);
	atomic_store(&handle->head_len, (size_t)n);
	anew->head = NULL;
	return n - (ssize_t)before;
}

ssize_t fs_anew_before_write(struct fs *fs, struct fs_handle *handle,
			     const char *buf, size_t size, uint64_t off)
{
	ssize_t n = 0;

	if (!fs_anew_is_due(handle))
		return 0;
	B2F_HOLD(&handle->lock);
	if (fs_anew_is_due(handle))
		n = handle->head ? collect(fs, handle, buf, size, off)
				 : begin(fs, handle, 0);
	return n;
}

int fs_anew_resize(struct fs *fs, struct fs_handle *handle, uint64_t size)
{
	int err;

	if (fs_anew_is_due(handle) && size == 0)
		return 0;
	if (fs_anew_is_due(handle) && handle->head)
		return -EPERM;
	err = (int)fs_anew_before_write(fs, handle, NULL, 0, 0);
	if (err)
		return err;
	handle->ops->begin_change(fs, handle);
	if (size < handle->head_len)
		err = -EPERM;
	else
		err = b2f_file_truncate(handle->file, size - handle->head_len);
	if (err)
		fs_anew_spoil(handle);
	handle->ops->end_change(fs, handle);
	return err;
}

int fs_anew_finish(struct fs_handle *handle)
{
	int err;

	if (!handle->anew || is_at(handle, ENDED))
		return 0;
	if (!is_at(handle, BEGUN))
		return -EPERM;
	/* open_memmap() writes the header, then opens the file again. */
	err = b2f_file_end_anew(handle->file, handle->head != NULL);
	if (!err)
		leave(handle->anew, ENDED);
	return err;
}

void fs_anew_end(struct fs *fs, struct fs_handle *handle)
{
	struct fs_anew *anew = handle->anew;

	if (!anew)
		return;
	if (fs_anew_is_half(handle)) {
		fs_file_begin_revert(fs, handle->open);
		handle->ops->revert(fs, handle);
		fs_file_end_revert(fs, handle->open);
	}
	free(anew->head);
	free(anew->old_head);
	free(anew);
}
