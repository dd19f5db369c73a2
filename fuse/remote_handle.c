/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_handle.c - handles of a bucket */
#include <errno.h>
#include <fcntl.h>

#include "anew.h"
#include "remote_handle.h"
#include "remote_pack.h"
#include "remote_writer.h"

static void do_close(struct fs *fs, struct fs_handle *handle)
{
	struct fs_remote_node *node = handle->remote;

	if (handle->writes)
		fs_remote_writer_end(fs, node, handle->file);
	if (handle->file)
		fs_remote_node_close(fs, node);
	fs_remote_node_put(fs->remote, node, 1);
}

static ssize_t do_pread(struct fs *fs, const struct fs_handle *handle,
			void *buf, size_t size, uint64_t off)
{
	const struct fs_remote_node *node = handle->remote;
	ssize_t n = 0;

	if (node->pack)
		n = b2f_pack_read(node->pack->pack, node->entry, off, buf, size);
	else if (off < node->version.size)
		n = b2f_remote_read(fs->remote->place, node->path,
				    &node->version, off, buf, size);
	if (n > 0)
		fs_stats_add(&fs->stats.nread_bytes, (uint64_t)n);
	return n;
}

static int check_read(struct fs *fs, const struct fs_handle *handle, ssize_t n)
{
	if (n == -ESTALE)
		fs_remote_node_doubt(fs->remote, handle->remote);
	if (n < 0 || !handle->file)
		return 0;
	return fs_remote_writer_wait_dropped(fs, handle->remote, handle->file)
		       ? -EAGAIN
		       : 0;
}

static bool is_written(struct fs *fs, const struct fs_handle *handle)
{
	bool written;

	pthread_mutex_lock(&fs->remote->lock);
	written = handle->remote->writing.nwriters > 0;
	pthread_mutex_unlock(&fs->remote->lock);
	return written;
}

static void begin_change(struct fs *fs, struct fs_handle *handle)
{
	fs_remote_writer_catch_up(fs, handle->remote, handle->file);
}

static void end_change(struct fs *fs, struct fs_handle *handle)
{
	fs_remote_writer_note_change(fs, handle->remote, handle->file);
}

static void drop_cached(struct fs *fs, struct fs_handle *handle)
{
	fs_remote_writer_drop_cached(fs, handle->remote);
}

/* The server has acknowledged the index when this returns: durable. */
static int commit(struct fs *fs, struct fs_handle *handle,
		  enum b2f_commit_how how)
{
	(void)how;
	return fs_remote_writer_commit(fs, handle->remote, handle->file);
}

static void revert(struct fs *fs, struct fs_handle *handle)
{
	/* If this fails, the frame has gone. */
	if (b2f_file_revert(handle->file))
		return;
	end_change(fs, handle);
	drop_cached(fs, handle);
}

static const struct fs_data_ops data_ops = {
	.close = do_close,
	.pread = do_pread,
	.check_read = check_read,
	.is_written = is_written,
	.begin_change = begin_change,
	.end_change = end_change,
	.drop_cached = drop_cached,
	.commit = commit,
	.revert = revert,
};

static bool asks_to_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* Makes @handle, which has its data open, a writer. */
static int begin_writing(struct fs *fs, struct fs_handle *handle, int flags)
{
	struct b2f_file *file = handle->file;
	int err = fs_remote_writer_begin(fs, handle->remote, file);

	handle->writes = !err;
	if (err || !(flags & O_TRUNC) || b2f_file_size(file) == 0)
		return err;
	if (fs_anew_is_for(handle))
		return fs_anew_begin(handle);
	err = b2f_file_truncate(file, 0);
	end_change(fs, handle);
	return err;
}

static int open_frame(struct fs *fs, struct fs_handle *handle, bool is_view,
		      int flags)
{
	struct b2f_file *file = NULL;
	int err = fs_remote_node_open(fs, handle->remote, &file);

	if (err)
		return err;
	err = fs_handle_show(handle, file, is_view);
	if (!err && asks_to_write(flags))
		err = begin_writing(fs, handle, flags);
	return err;
}

/* Says why the bytes cannot be had, if so. */
static int open_plain(struct fs_handle *handle)
{
	const struct fs_remote_node *node = handle->remote;
	uint8_t none;

	handle->nbytes = node->sizes.nbytes;
	return node->pack ? (int)b2f_pack_read(node->pack->pack, node->entry, 0,
					       &none, 0)
			  : 0;
}

int fs_remote_handle_open(struct fs *fs, const struct fs_remote_entry *entry,
			  int flags, struct fs_handle **out)
{
	struct fs_remote_node *node = entry->node;
	bool is_frame = node->kind == FS_REMOTE_FRAME;
	struct fs_handle *handle;
	int err;

	if (asks_to_write(flags) &&
	    (!fs->read_write || !is_frame || entry->is_view || node->pack))
		return -EROFS;
	handle = fs_handle_new(fs, &data_ops);
	if (!handle)
		return -ENOMEM;
	fs_remote_node_ref(fs->remote, node);
	handle->remote = node;
	err = is_frame ? open_frame(fs, handle, entry->is_view, flags)
		       : open_plain(handle);
	if (err == -ESTALE)
		fs_remote_node_doubt(fs->remote, node);
	if (err) {
		fs_handle_close(fs, handle);
		return err;
	}
	/* What a node shows never changes, unless it is written to. */
	handle->keep_cache = fs_remote_writer_may_keep(fs, node);
	*out = handle;
	return 0;
}

int fs_remote_handle_resize(struct fs *fs, struct fs_handle *handle,
			    uint64_t size)
{
	int err;

	if (fs_anew_is_due(handle) && size == 0)
		return 0;
	begin_change(fs, handle);
	if (handle->anew)
		return fs_anew_resize(fs, handle, size);
	err = b2f_file_truncate(handle->file, size);
	end_change(fs, handle);
	return err;
}
