/* SPDX-License-Identifier: BSD-3-Clause */
/* handle.c - handles: what the kernel has open */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "anew.h"
#include "fs.h"
#include "listing.h"
#include "view.h"

void fs_handle_fini(struct fs *fs)
{
	while (!TAILQ_EMPTY(&fs->handles))
		fs_handle_close(fs, TAILQ_FIRST(&fs->handles));
}

/* @made: as for fs_handle_open_made(), or NULL. */
static int open_frame(struct fs *fs, struct fs_handle *handle,
		      struct b2f_frame *made)
{
	struct fs_node *node = handle->pin.node;
	bool *keep = &handle->keep_cache;
	int err = made ? fs_open_frame_add(fs, node, made, &handle->frame, keep)
		       : fs_open_frame_get(fs, node, &handle->frame, keep);

	if (err)
		return err;
	handle->direct_io |= handle->frame->past_cache;
	if (!handle->writes)
		return b2f_stream_new(handle->frame->file, &handle->stream);
	fs_open_frame_begin_writer(fs, handle->frame);
	atomic_store(&handle->ndropped, atomic_load(&handle->frame->ndropped));
	err = fs_open_frame_allow_write(fs, handle->frame);
	return err ? err : b2f_stream_new(handle->frame->file, &handle->stream);
}

/*
 * Flags for the backing file.  Each write appends by itself if it has to, as
 * what the kernel writes back from its cache has a fixed offset.  With
 * writeback_cache the kernel reads to fill up pages, even for a program that
 * only writes.
 */
static int backing_flags(const struct fs *fs, int flags)
{
	int access = flags & O_ACCMODE;

	if (access == O_WRONLY && fs->options.writeback_cache)
		access = O_RDWR;
	return access | O_NONBLOCK;
}

/* Opens the backing file. */
static int reopen(struct fs *fs, int path_fd, int flags)
{
	int wanted = backing_flags(fs, flags);
	int fd = fs_tree_reopen(fs->tree, path_fd, wanted);

	/* This user may write to the file, but not read it. */
	if (fd == -EACCES && (wanted & O_ACCMODE) != (flags & O_ACCMODE))
		fd = fs_tree_reopen(fs->tree, path_fd, O_WRONLY | O_NONBLOCK);
	return fd;
}

static int open_other(struct fs *fs, struct fs_handle *handle, int flags)
{
	int fd = reopen(fs, handle->pin.fd, flags);
	int err;

	if (fd < 0)
		return fd;
	handle->fd = fd;
	err = fs_seen_open_plain(fs, handle->pin.node, fd, &handle->keep_cache);
	if (err)
		return err;
	pthread_mutex_lock(&fs->state_lock);
	handle->is_seen = true;
	handle->pin.node->state.nwriters += handle->writes;
	pthread_mutex_unlock(&fs->state_lock);
	fs_wakeup_call(&fs->wakeup, false);
	return 0;
}

/* Makes a handle that is in the list, and pins @node. */
static int new_handle(struct fs *fs, struct fs_node *node,
		      const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_handle *handle = calloc(1, sizeof(*handle));
	int err = handle ? fs_share_take(fs, how->uid) : -ENOMEM;

	if (err) {
		free(handle);
		return err;
	}
	handle->opener = how->uid;
	handle->fd = -1;
	handle->writes = (how->flags & O_ACCMODE) != O_RDONLY;
	handle->direct_io = fs->options.direct_io;
	atomic_init(&handle->nrefs, 1);
	err = fs_tree_pin(fs->tree, node, &handle->pin);
	pthread_mutex_lock(&fs->state_lock);
	/* The kernel looks the name up again. */
	if (!err && node->state.renewed)
		err = -ESTALE;
	if (!err) {
		TAILQ_INSERT_TAIL(&fs->handles, handle, all);
		node->state.nhandles++;
		*out = handle;
	}
	pthread_mutex_unlock(&fs->state_lock);
	if (err) {
		fs_tree_unpin(fs->tree, &handle->pin);
		fs_share_give(fs, how->uid);
		free(handle);
	}
	return err;
}

/* Gives @handle to the caller, or closes it if @err. */
static int finish(struct fs *fs, struct fs_handle *handle, int err,
		  struct fs_handle **out)
{
	if (err)
		fs_handle_close(fs, handle);
	else
		*out = handle;
	return err;
}

static int open_view(struct fs *fs, struct fs_handle *handle)
{
	uint8_t *head = NULL;
	size_t len = 0;
	int err;

	pthread_mutex_lock(&fs->state_lock);
	handle->pin.node->state.has_view = true;
	pthread_mutex_unlock(&fs->state_lock);
	/* The frame may have been changed through its own name. */
	handle->keep_cache = false;
	err = b2f_file_npy_header(handle->frame->file, &head, &len);
	atomic_store(&handle->head, head);
	atomic_store(&handle->head_len, len);
	return err;
}

int fs_handle_open(struct fs *fs, struct fs_node *node,
		   const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_handle *handle = NULL;
	struct fs_node *base;
	int err;

	err = fs_view_enter(fs, node, &base);
	if (err)
		return err;
	err = new_handle(fs, base, how, &handle);
	/* The handle's pin holds it. */
	fs_tree_forget(fs->tree, base, 1);
	if (err)
		return err;
	err = handle->pin.node->kind == FS_KIND_FRAME
		      ? open_frame(fs, handle, NULL)
		      : open_other(fs, handle, how->flags);
	if (!err && node->kind == FS_KIND_VIEW)
		err = open_view(fs, handle);
	return finish(fs, handle, err, out);
}

int fs_handle_open_made(struct fs *fs, struct fs_node *node,
			struct b2f_frame *frame, const struct fs_open_how *how,
			struct fs_handle **out)
{
	struct fs_handle *handle = NULL;
	int err = new_handle(fs, node, how, &handle);

	if (err) {
		b2f_frame_close(frame);
		return err;
	}
	return finish(fs, handle, open_frame(fs, handle, frame), out);
}

int fs_handle_open_listing(struct fs *fs, struct fs_node *node,
			   struct fs_listing *listing, uid_t uid,
			   struct fs_handle **out)
{
	const struct fs_open_how how = {.flags = O_RDONLY, .uid = uid};
	int err = new_handle(fs, node, &how, out);

	if (!err)
		(*out)->listing = listing;
	return err;
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

int fs_handle_others(struct fs *fs, struct fs_handle ***out, size_t *n)
{
	struct fs_handle **handles = NULL, *h;
	size_t count = 0, i = 0;

	pthread_mutex_lock(&fs->state_lock);
	TAILQ_FOREACH (h, &fs->handles, all)
		count += h->is_seen;
	if (count > 0)
		handles = malloc(count * sizeof(struct fs_handle *));
	TAILQ_FOREACH (h, &fs->handles, all) {
		if (handles && h->is_seen && ref_unless_closed(h))
			handles[i++] = h;
	}
	pthread_mutex_unlock(&fs->state_lock);
	if (count > 0 && !handles)
		return -ENOMEM;
	*out = handles;
	*n = i;
	return 0;
}

void fs_handle_close(struct fs *fs, struct fs_handle *handle)
{
	if (atomic_fetch_sub_explicit(&handle->nrefs, 1,
				      memory_order_acq_rel) != 1)
		return;
	b2f_stream_free(handle->stream);
	fs_anew_end(fs, handle);
	free(handle->head);
	if (handle->frame) {
		if (handle->writes)
			fs_open_frame_end_writer(fs, handle->frame);
		fs_open_frame_put(fs, handle->frame);
	}
	fs_listing_free(handle->listing);
	if (handle->is_seen)
		fs_seen_close_plain(fs, handle->pin.node, handle->fd);
	if (handle->fd >= 0)
		close(handle->fd);
	pthread_mutex_lock(&fs->state_lock);
	handle->pin.node->state.nwriters -= handle->is_seen && handle->writes;
	TAILQ_REMOVE(&fs->handles, handle, all);
	handle->pin.node->state.nhandles--;
	pthread_mutex_unlock(&fs->state_lock);
	fs_tree_unpin(fs->tree, &handle->pin);
	fs_share_give(fs, handle->opener);
	free(handle);
}
