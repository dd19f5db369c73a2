/* SPDX-License-Identifier: BSD-3-Clause */
/* resize.c - files that are made longer or shorter */
#include "resize.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "anew.h"
#include "disk_frame.h"
#include "form.h"
#include "getattr.h"
#include "setattr.h"
#include "tree_handle.h"

/* How often and how long to wait for another writer. */
#define BUSY_TRIES 60
#define BUSY_NS	   50000000

/*
 * After an open of @node failed with @err: makes a damaged frame an empty one.
 * Returns 0 if the open is to be tried again.
 */
static int heal(struct fs *fs, struct fs_backed *node, int err, int *tries)
{
	const struct timespec pause = {.tv_nsec = BUSY_NS};

	if (err != B2F_ECORRUPT || node->kind != FS_KIND_FRAME ||
	    (*tries)++ == BUSY_TRIES)
		return err;
	err = fs_disk_frame_reset(fs, node);
	if (err != -EBUSY)
		return err;
	/* Another thread or mount may be doing the same. */
	nanosleep(&pause, NULL);
	return 0;
}

/* To open with O_TRUNC is a change, even if there is nothing to cut. */
static int touch(struct fs *fs, const struct fs_open_frame *frame)
{
	struct fs_setattr meta = fs_setattr_none();

	meta.has_times = true;
	meta.times[0].tv_nsec = UTIME_OMIT;
	meta.times[1].tv_nsec = UTIME_NOW;
	return fs_setattr_frame(fs, frame->pin.node, frame->pin.fd, &meta);
}

static int resize_file(struct fs *fs, struct fs_open_frame *frame,
		       uint64_t size)
{
	int err = fs_open_frame_allow_write(fs, frame);

	if (err)
		return err;
	if (size == b2f_file_size(frame->open.data))
		return touch(fs, frame);
	fs_form_decide(fs, frame, NULL, 0, size);
	err = b2f_file_truncate(frame->open.data, size);
	fs_open_frame_note_change(frame);
	return err;
}

static int resize_frame(struct fs *fs, struct fs_backed *node, uint64_t size)
{
	struct fs_open_frame *frame;
	int err, tries = 0;

	while ((err = fs_open_frame_get(fs, node, &frame, NULL)) != 0) {
		if (size == 0)
			err = heal(fs, node, err, &tries);
		if (err)
			return err;
	}
	fs_open_frame_begin_writer(fs, frame);
	err = resize_file(fs, frame, size);
	if (!err)
		err = fs_open_frame_commit(fs, frame,
					   fs->options.sync
						   ? B2F_COMMIT_DURABLE
						   : B2F_COMMIT_VISIBLE);
	if (!err)
		fs_open_frame_tidy(fs, frame, false);
	fs_open_frame_end_writer(fs, frame);
	fs_open_frame_put(fs, frame);
	return err;
}

static int resize_other(struct fs *fs, int path_fd, uint64_t size)
{
	int fd = fs_tree_reopen(fs->tree, path_fd, O_WRONLY | O_NONBLOCK);
	int err;

	if (fd < 0)
		return fd;
	err = ftruncate(fd, (off_t)size) ? -errno : 0;
	close(fd);
	return err;
}

int fs_resize_handle(struct fs *fs, struct fs_handle *handle, uint64_t size)
{
	if (handle->frame)
		return resize_file(fs, handle->frame, size);
	atomic_store(&handle->wrote, true);
	return ftruncate(handle->fd, (off_t)size) ? -errno : 0;
}

int fs_resize_node(struct fs *fs, struct fs_backed *node, int path_fd,
		   uint64_t size)
{
	return node->kind == FS_KIND_FRAME ? resize_frame(fs, node, size)
					   : resize_other(fs, path_fd, size);
}

int fs_resize_view(struct fs *fs, struct fs_backed *node, uint64_t size)
{
	struct stat st;
	int err = fs_getattr(fs, node, &st);

	if (err || size == (uint64_t)st.st_size)
		return err;
	fs_logger_write(fs->logger, B2F_LOG_WARNING,
			"the .npy view of an array keeps its size");
	return -EPERM;
}

static int cut(struct fs *fs, struct fs_backed *node, struct fs_handle *handle,
	       bool by_user)
{
	const struct fs_pin *pin = &handle->pin;
	bool is_plain = pin->node->kind == FS_KIND_OTHER;
	int err;

	if (handle->writes && fs_anew_is_for(handle)) {
		/* The kernel would keep the size 0, come what may. */
		return fs->options.cache.writeback_cache ? -EPERM
						   : fs_anew_begin(handle);
	}
	if (node != pin->node)
		return fs_resize_view(fs, node, 0);
	if (is_plain)
		fs_cache_state_begin(fs, node, pin->fd);
	if (handle->writes)
		err = fs_resize_handle(fs, handle, 0);
	else
		err = fs_resize_node(fs, node, pin->fd, 0);
	if (!err && by_user)
		err = fs_setattr_clear_set_ids(fs, pin);
	if (is_plain)
		fs_cache_state_end(fs, node, pin->fd);
	return err;
}

int fs_resize_open(struct fs *fs, struct fs_backed *node,
		   const struct fs_open_how *how, struct fs_handle **out)
{
	struct fs_handle *handle;
	int err, tries = 0;

	while ((err = fs_tree_handle_open(fs, node, how, &handle)) != 0) {
		err = heal(fs, node, err, &tries);
		if (err)
			return err;
	}
	err = cut(fs, node, handle, how->uid != 0);
	if (err)
		fs_handle_close(fs, handle);
	else
		*out = handle;
	return err;
}
