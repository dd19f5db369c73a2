/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_anew.c - arrays in an object store that are opened with O_TRUNC */
#include "remote_anew.h"

#include <stdlib.h>

#include "anew_state.h"
#include "remote_writer.h"

bool fs_remote_anew_is_due(const struct fs_remote_handle *h)
{
	return h->anew && fs_anew_state_is(h->anew, FS_ANEW_DUE);
}

int fs_remote_anew_new(struct fs_remote_handle *h)
{
	h->anew = malloc(sizeof(*h->anew));
	if (!h->anew)
		return -ENOMEM;
	fs_anew_state_init(h->anew);
	return 0;
}

static int begin(struct fs *fs, struct fs_remote_handle *h)
{
	struct b2f_file *file = h->shown.file;
	ssize_t n = 0;

	/* What was written before is not part of it. */
	if (b2f_file_is_dirty(file))
		n = fs_remote_writer_commit(fs, h->node, file);
	if (!n)
		n = fs_anew_state_begin(h->anew, file, NULL, 0);
	return n < 0 ? (int)n : 0;
}

int fs_remote_anew_before_write(struct fs *fs, struct fs_remote_handle *h)
{
	int err = 0;

	if (!fs_remote_anew_is_due(h))
		return 0;
	pthread_mutex_lock(&h->anew->lock);
	if (fs_remote_anew_is_due(h))
		err = begin(fs, h);
	pthread_mutex_unlock(&h->anew->lock);
	return err;
}

void fs_remote_anew_spoil(struct fs_remote_handle *h)
{
	if (h->anew)
		fs_anew_state_spoil(h->anew);
}

int fs_remote_anew_finish(struct fs_remote_handle *h)
{
	return h->anew ? fs_anew_state_finish(h->anew, h->shown.file, false)
		       : 0;
}

void fs_remote_anew_end(struct fs *fs, struct fs_remote_handle *h)
{
	if (!h->anew)
		return;
	/* If this fails, the frame has gone. */
	if (fs_anew_state_is_half(h->anew) && !b2f_file_revert(h->shown.file)) {
		fs_remote_writer_note_change(fs, h->node, h->shown.file);
		fs_remote_writer_drop_cached(fs, h->node);
	}
	fs_anew_state_fini(h->anew);
	free(h->anew);
}
