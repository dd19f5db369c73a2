/* SPDX-License-Identifier: BSD-3-Clause */
/* anew.c - arrays that are opened with O_TRUNC and written again */
#include "anew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "anew_state.h"
#include "fs.h"
#include "view.h"

/* No .npy header that can be an array's is longer. */
#define HEAD_MAX (1u << 16)

struct fs_anew {
	struct fs_anew_state state;
	/* What of the header has been written; malloc'ed. */
	uint8_t *head;
	size_t len;
	/* That of the array before, which a reader may still be at. */
	uint8_t *old_head;
};

bool fs_anew_is_for(const struct fs_handle *handle)
{
	return handle->frame &&
	       (handle->head || (b2f_file_keeps_size(handle->frame->file) &&
				 b2f_file_size(handle->frame->file) > 0));
}

int fs_anew_begin(struct fs_handle *handle)
{
	struct fs_anew *anew = calloc(1, sizeof(*anew));

	if (!anew)
		return -ENOMEM;
	fs_anew_state_init(&anew->state);
	handle->anew = anew;
	return 0;
}

bool fs_anew_is_due(const struct fs_handle *handle)
{
	return handle->anew &&
	       fs_anew_state_is(&handle->anew->state, FS_ANEW_DUE);
}

void fs_anew_spoil(struct fs_handle *handle)
{
	if (handle->anew)
		fs_anew_state_spoil(&handle->anew->state);
}

/* The array begins, as a view of the @len bytes that have been collected. */
static ssize_t begin(struct fs *fs, struct fs_handle *handle, size_t len)
{
	struct fs_anew *anew = handle->anew;
	struct b2f_file *file = handle->frame->file;
	int err = 0;

	/* What was written before is not part of it. */
	if (b2f_file_is_dirty(file))
		err = fs_open_frame_commit(fs, handle->frame,
					   B2F_COMMIT_VISIBLE);
	return err ? err
		   : fs_anew_state_begin(&anew->state, file, anew->head, len);
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
	struct fs_anew *anew = handle->anew;
	ssize_t n = 0;

	if (!fs_anew_is_due(handle))
		return 0;
	pthread_mutex_lock(&anew->state.lock);
	if (fs_anew_is_due(handle))
		n = handle->head ? collect(fs, handle, buf, size, off)
				 : begin(fs, handle, 0);
	pthread_mutex_unlock(&anew->state.lock);
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
	if (size < handle->head_len)
		err = -EPERM;
	else
		err = b2f_file_truncate(handle->frame->file,
					size - handle->head_len);
	if (err)
		fs_anew_spoil(handle);
	fs_open_frame_note_change(handle->frame);
	fs_view_head_note_change(fs, handle);
	return err;
}

int fs_anew_finish(struct fs_handle *handle)
{
	/* open_memmap() closes what has a header alone, and opens it again. */
	return fs_anew_state_finish(&handle->anew->state, handle->frame->file,
				    handle->head != NULL);
}

/* Goes back to what is on disk. */
static void revert(struct fs *fs, struct fs_open_frame *frame)
{
	uint64_t n = atomic_load(&frame->nchanges);

	/*
	 * Other writers may have changed what was not completed.  Until it is
	 * dropped, their commits fail.
	 */
	if (atomic_load(&frame->nwriters) > 1)
		atomic_fetch_add(&frame->ndropped, 1);
	/* If this fails, the frame has gone. */
	if (b2f_file_revert(frame->file))
		return;
	atomic_store(&frame->ncommitted, n);
	fs_open_frame_drop_cached(fs, frame);
	fs_open_frame_take_foreign(fs, frame);
}

void fs_anew_end(struct fs *fs, struct fs_handle *handle)
{
	struct fs_anew *anew = handle->anew;

	if (!anew)
		return;
	if (fs_anew_state_is_half(&anew->state))
		revert(fs, handle->frame);
	fs_anew_state_fini(&anew->state);
	free(anew->head);
	free(anew->old_head);
	free(anew);
}
