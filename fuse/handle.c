/* SPDX-License-Identifier: BSD-3-Clause */
/* handle.c - handles of open files and directories */
#include <errno.h>
#include <stdlib.h>

#include "anew.h"
#include "fs.h"

void fs_handle_fini(struct fs *fs)
{
	while (!TAILQ_EMPTY(&fs->handles))
		fs_handle_close(fs, TAILQ_FIRST(&fs->handles));
}

struct fs_handle *fs_handle_new(struct fs *fs, const struct fs_data_ops *ops,
				struct fs_node *node)
{
	struct fs_handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	pthread_mutex_init(&handle->lock, NULL);
	atomic_init(&handle->nrefs, 1);
	handle->ops = ops;
	handle->node = node;
	fs_node_ref(node);
	handle->fd = -1;
	handle->direct_io = fs->options.cache.direct_io;
	B2F_HOLD(&fs->state_lock);
	TAILQ_INSERT_TAIL(&fs->handles, handle, all);
	return handle;
}

int fs_handle_give(struct fs *fs, struct fs_handle *handle, int err,
		   struct fs_handle **out)
{
	if (err)
		fs_handle_close(fs, handle);
	else
		*out = handle;
	return err;
}

bool fs_handle_note_dropped(struct fs_handle *handle)
{
	struct b2f_file_now now;

	b2f_file_now_get(handle->file, &now);
	return atomic_exchange(&handle->ndropped, now.ndropped) != now.ndropped;
}

int fs_handle_show(struct fs_handle *handle, struct fs_file *open)
{
	uint8_t *head = NULL;
	size_t len = 0;
	int err;

	handle->open = open;
	handle->file = open->data;
	(void)fs_handle_note_dropped(handle);
	err = b2f_stream_new(open->data, &handle->stream);
	if (!err && handle->node->is_view)
		err = b2f_file_npy_header(open->data, &head, &len);
	atomic_store(&handle->head, head);
	atomic_store(&handle->head_len, len);
	return err;
}

int fs_handle_commit(struct fs *fs, struct fs_handle *handle,
		     enum b2f_commit_how how)
{
	int err = handle->ops->commit ? handle->ops->commit(fs, handle, how)
				      : 0;

	if (err || !handle->writes)
		return err;
	return fs_handle_note_dropped(handle) ? -ESTALE : 0;
}

int fs_handle_check_view(const struct fs_handle *handle)
{
	return handle->head && b2f_file_is_npy(handle->file) ? -ESTALE : 0;
}

/* Takes a reference, unless @handle is already leaving the list. */
static bool ref_unless_closed(struct fs_handle *handle)
{
	size_t n = atomic_load(&handle->nrefs);

	while (n > 0 &&
	       !atomic_compare_exchange_weak(&handle->nrefs, &n, n + 1))
		;
	return n > 0;
}

struct fs_handle *fs_handle_next(struct fs *fs, struct fs_handle *before)
{
	struct fs_handle *h;

	pthread_mutex_lock(&fs->state_lock);
	h = before ? TAILQ_NEXT(before, all) : TAILQ_FIRST(&fs->handles);
	while (h && !(h->is_seen && ref_unless_closed(h)))
		h = TAILQ_NEXT(h, all);
	pthread_mutex_unlock(&fs->state_lock);
	if (before)
		fs_handle_close(fs, before);
	return h;
}

void fs_handle_close(struct fs *fs, struct fs_handle *handle)
{
	if (atomic_fetch_sub_explicit(&handle->nrefs, 1,
				      memory_order_acq_rel) != 1)
		return;
	pthread_mutex_lock(&fs->state_lock);
	TAILQ_REMOVE(&fs->handles, handle, all);
	pthread_mutex_unlock(&fs->state_lock);
	b2f_stream_free(handle->stream);
	fs_anew_end(fs, handle);
	free(handle->head);
	handle->ops->close(fs, handle);
	fs_node_put(handle->node, 1);
	pthread_mutex_destroy(&handle->lock);
	free(handle);
}
