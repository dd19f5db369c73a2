/* SPDX-License-Identifier: BSD-3-Clause */
/* openfiles.c - handles: what the kernel has open */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs.h"
#include "listing.h"
#include "view.h"

void fs_openfiles_init(struct fs_openfiles *files)
{
	pthread_mutex_init(&files->lock, NULL);
	files->all.prev = files->all.next = &files->all;
}

void fs_openfiles_fini(struct fs *fs)
{
	while (fs->files.all.next != &fs->files.all)
		fs_openfiles_close(fs, fs->files.all.next);
}

/* @made: as for fs_openfiles_open_made(), or NULL. */
static int open_frame(struct fs *fs, struct fs_handle *handle,
		      struct b2f_frame *made, struct fs_opened *opened)
{
	struct fs_node *node = handle->pin.node;
	struct fs_frame_opened frame;
	int err;

	if (made)
		err = fs_frames_add(fs, node, made, &frame);
	else
		err = fs_frames_get(fs, node, &frame);
	if (err)
		return err;
	handle->file = frame.file;
	if (handle->writes)
		fs_frames_begin_writer(fs, frame.file);
	opened->keep_cache = frame.keep_cache;
	opened->direct_io = frame.direct_io;
	if (handle->writes)
		err = fs_frames_allow_write(fs, frame.file);
	return err ? err : b2f_stream_new(frame.file->file, &handle->stream);
}

/*
 * Flags for the backing file.  O_APPEND is done with each write, as what the
 * kernel writes back from its cache has a place; and it reads what it needs to
 * fill up a page, with writeback_cache also for a program that only writes.
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

	/* A file that may be written to, but not be read. */
	if (fd == -EACCES && (wanted & O_ACCMODE) != (flags & O_ACCMODE))
		fd = fs_tree_reopen(fs->tree, path_fd, O_WRONLY | O_NONBLOCK);
	return fd;
}

static int open_other(struct fs *fs, struct fs_handle *handle, int flags,
		      struct fs_opened *opened)
{
	int fd = reopen(fs, handle->pin.fd, flags);
	int err;

	if (fd < 0)
		return fd;
	handle->fd = fd;
	err = fs_seen_open_plain(fs, handle->pin.node, fd, &opened->keep_cache);
	if (err)
		return err;
	pthread_mutex_lock(&fs->files.lock);
	handle->is_seen = true;
	handle->pin.node->state.nwriters += handle->writes;
	pthread_mutex_unlock(&fs->files.lock);
	fs_ticker_wake(&fs->ticker, false);
	return 0;
}

/* Makes a handle that is in the list, and pins @node. */
static int new_handle(struct fs *fs, struct fs_node *node,
		      struct fs_handle **out)
{
	struct fs_handle *handle = calloc(1, sizeof(*handle));
	struct fs_handle *head = &fs->files.all;
	int err;

	if (!handle)
		return -ENOMEM;
	handle->fd = -1;
	atomic_init(&handle->nrefs, 1);
	err = fs_tree_pin(fs->tree, node, &handle->pin);
	if (err) {
		free(handle);
		return err;
	}
	pthread_mutex_lock(&fs->files.lock);
	handle->prev = head->prev;
	handle->next = head;
	head->prev->next = handle;
	head->prev = handle;
	node->state.nhandles++;
	pthread_mutex_unlock(&fs->files.lock);
	*out = handle;
	return 0;
}

static int open_view(struct fs *fs, struct fs_handle *handle)
{
	pthread_mutex_lock(&fs->files.lock);
	handle->pin.node->state.has_view = true;
	pthread_mutex_unlock(&fs->files.lock);
	return fs_view_open(handle);
}

int fs_openfiles_open(struct fs *fs, struct fs_node *node, int flags,
		      struct fs_opened *out)
{
	struct fs_opened opened = {0};
	struct fs_handle *handle = NULL;
	struct fs_node *base;
	int err;

	err = fs_view_enter(fs, node, &base);
	if (err)
		return err;
	err = new_handle(fs, base, &handle);
	/* The handle's pin holds it. */
	fs_view_leave(fs, base);
	if (err)
		return err;
	opened.handle = handle;
	handle->writes = (flags & O_ACCMODE) != O_RDONLY;
	if (handle->pin.node->kind == FS_KIND_FRAME)
		err = open_frame(fs, handle, NULL, &opened);
	else
		err = open_other(fs, handle, flags, &opened);
	if (!err && node->kind == FS_KIND_VIEW) {
		err = open_view(fs, handle);
		/* The frame may have been changed by its other name. */
		opened.keep_cache = false;
	}
	if (err)
		fs_openfiles_close(fs, handle);
	else
		*out = opened;
	return err;
}

int fs_openfiles_open_made(struct fs *fs, struct fs_node *node,
			   struct b2f_frame *frame, int flags,
			   struct fs_opened *out)
{
	struct fs_opened opened = {0};
	int err = new_handle(fs, node, &opened.handle);

	if (err) {
		b2f_frame_close(frame);
		return err;
	}
	opened.handle->writes = (flags & O_ACCMODE) != O_RDONLY;
	err = open_frame(fs, opened.handle, frame, &opened);
	if (err)
		fs_openfiles_close(fs, opened.handle);
	else
		*out = opened;
	return err;
}

int fs_openfiles_add_listing(struct fs *fs, struct fs_node *node,
			     struct fs_listing *listing, struct fs_handle **out)
{
	struct fs_handle *handle = NULL;
	int err = new_handle(fs, node, &handle);

	if (err)
		return err;
	handle->listing = listing;
	*out = handle;
	return 0;
}

/* One that nobody refers to any more is about to leave the list. */
static bool ref_unless_closed(struct fs_handle *handle)
{
	size_t n = atomic_load(&handle->nrefs);

	while (n > 0 &&
	       !atomic_compare_exchange_weak(&handle->nrefs, &n, n + 1))
		;
	return n > 0;
}

int fs_openfiles_others(struct fs *fs, struct fs_handle ***out, size_t *n)
{
	struct fs_handle *head = &fs->files.all;
	struct fs_handle **handles = NULL;
	size_t count = 0, i = 0;

	pthread_mutex_lock(&fs->files.lock);
	for (struct fs_handle *h = head->next; h != head; h = h->next)
		count += h->is_seen;
	if (count > 0)
		handles = malloc(count * sizeof(struct fs_handle *));
	for (struct fs_handle *h = head->next; handles && h != head;
	     h = h->next) {
		if (h->is_seen && ref_unless_closed(h))
			handles[i++] = h;
	}
	pthread_mutex_unlock(&fs->files.lock);
	if (count > 0 && !handles)
		return -ENOMEM;
	*out = handles;
	*n = i;
	return 0;
}

void fs_openfiles_ref(struct fs_handle *handle)
{
	atomic_fetch_add_explicit(&handle->nrefs, 1, memory_order_relaxed);
}

void fs_openfiles_close(struct fs *fs, struct fs_handle *handle)
{
	if (atomic_fetch_sub_explicit(&handle->nrefs, 1,
				      memory_order_acq_rel) != 1)
		return;
	b2f_stream_free(handle->stream);
	free(handle->head);
	if (handle->file) {
		if (handle->writes)
			fs_frames_end_writer(fs, handle->file);
		fs_frames_put(fs, handle->file);
	}
	fs_listing_free(handle->listing);
	if (handle->is_seen)
		fs_seen_close_plain(fs, handle->pin.node, handle->fd);
	if (handle->fd >= 0)
		close(handle->fd);
	pthread_mutex_lock(&fs->files.lock);
	handle->pin.node->state.nwriters -= handle->is_seen && handle->writes;
	handle->prev->next = handle->next;
	handle->next->prev = handle->prev;
	handle->pin.node->state.nhandles--;
	pthread_mutex_unlock(&fs->files.lock);
	fs_tree_unpin(fs->tree, &handle->pin);
	free(handle);
}
