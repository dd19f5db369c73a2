/* SPDX-License-Identifier: BSD-3-Clause */
/* op_io.c - the data of files: open, read, seek, close */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "ops.h"
#include "reply.h"
#include "resize.h"
#include "view.h"

void fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_node *node = fs_node_of(fs, ino);
	const struct fs_open_how how = {.flags = fi->flags,
					.uid = fuse_req_ctx(req)->uid};
	struct fs_handle *handle;
	int err;

	/* Root can remount a read-only mount as writable. */
	if (!fs->read_write && (fi->flags & (O_ACCMODE | O_TRUNC))) {
		fs_reply_error(req, -EROFS);
		return;
	}
	if (fi->flags & O_TRUNC)
		err = fs_resize_open(fs, node, &how, &handle);
	else
		err = fs_handle_open(fs, node, &how, &handle);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fs_reply_opened(fs, handle, fi);
	/* The open was interrupted: no release will come. */
	if (fuse_reply_open(req, fi) < 0)
		fs_handle_close(fs, handle);
}

/*
 * Answers with @n bytes of the header of a view, from @off on, followed by
 * @view.
 */
static int reply_both(fuse_req_t req, const struct fs_handle *handle,
		      uint64_t off, size_t n, const struct b2f_view *view)
{
	struct iovec *iov = malloc((view->niov + 1) * sizeof(*iov));
	uint8_t *head = NULL;
	size_t len = 0;
	int err = iov ? 0 : -ENOMEM;

	/*
	 * Take the current header: the kernel keeps it for later opens of the
	 * view.
	 */
	if (!err)
		err = b2f_file_npy_header(handle->frame->file, &head, &len);
	/*
	 * With another length, the data have moved: the file must be opened
	 * anew.
	 */
	if (!err && len != handle->head_len)
		err = -ESTALE;
	if (err)
		goto out;
	iov[0] = (struct iovec){.iov_base = head + off, .iov_len = n};
	for (size_t i = 0; i < view->niov; i++)
		iov[i + 1] = view->iov[i];
	fuse_reply_iov(req, iov, (int)view->niov + 1);
out:
	free(head);
	free(iov);
	return err;
}

/*
 * Replies straight from the cache of decoded blocks, which stay pinned
 * meanwhile.
 */
static void read_frame(fuse_req_t req, struct fs_handle *handle, size_t size,
		       uint64_t off)
{
	struct fs *fs = fs_of(req);
	struct b2f_view view = {0};
	size_t head = 0;
	int err = fs_view_head_check(fs, handle, false);
	ssize_t n;

	if (err) {
		fs_reply_data_error(req, err);
		return;
	}
	if (off < handle->head_len) {
		head = handle->head_len - off;
		head = size < head ? size : head;
	}
	n = b2f_file_view(handle->frame->file, handle->stream, size - head,
			  off + head - handle->head_len, &view);
	if (n < 0) {
		fs_reply_data_error(req, (int)n);
		return;
	}
	fs_stats_add(&fs->stats.nread_bytes, (uint64_t)n + head);
	fs_handle_ref(handle);
	if (head)
		err = reply_both(req, handle, off, head, &view);
	else
		fuse_reply_iov(req, view.iov, (int)view.niov);
	if (err)
		fs_reply_data_error(req, err);
	b2f_file_view_release(&view);
	fs_handle_close(fs, handle);
}

/* As pread(2), but ends early at the end of the file only. */
static ssize_t read_fully(int fd, char *buf, size_t size, off_t off)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, buf + done, size - done,
				  off + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && !done)
			return -errno;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Not by fuse_reply_data(): that would answer errors itself (fs_reply_error()). */
static void read_other(fuse_req_t req, struct fs_handle *handle, size_t size,
		       off_t off)
{
	char *buf = malloc(size ? size : 1);
	ssize_t n = buf ? read_fully(handle->fd, buf, size, off) : -ENOMEM;

	if (n < 0)
		fs_reply_error(req, (int)n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	free(buf);
}

void fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);

	(void)ino;
	fs_stats_add(&fs_of(req)->stats.nreads, 1);
	if (handle->frame)
		read_frame(req, handle, size, (uint64_t)off);
	else
		read_other(req, handle, size, off);
}

/*
 * A writer may have mapped the file, and the kernel may have pages where we
 * have a hole: then call everything data.
 */
static int64_t seek_data_alone(uint64_t size, off_t off, int whence)
{
	if (off < 0 || (uint64_t)off >= size)
		return -ENXIO;
	return whence == SEEK_DATA ? off : (int64_t)size;
}

static int64_t seek_frame(struct fs_open_frame *frame, off_t off, int whence)
{
	if (off < 0)
		return -ENXIO;
	if (atomic_load(&frame->nwriters) > 0)
		return seek_data_alone(b2f_file_size(frame->file), off, whence);
	if (whence == SEEK_DATA)
		return b2f_file_seek_data(frame->file, (uint64_t)off);
	return b2f_file_seek_hole(frame->file, (uint64_t)off);
}

static int64_t seek_view(struct fs_handle *handle, off_t off, int whence)
{
	off_t head = (off_t)handle->head_len;
	int64_t pos;

	if (off < 0)
		return -ENXIO;
	if (off < head && whence == SEEK_DATA)
		return off;
	pos = seek_frame(handle->frame, off < head ? 0 : off - head, whence);
	/*
	 * No data behind the header: the hole at the end of the file begins
	 * there.
	 */
	if (pos == -ENXIO && off < head)
		return head;
	return pos < 0 ? pos : pos + head;
}

static int64_t seek_other(struct fs *fs, struct fs_handle *handle, off_t off,
			  int whence)
{
	struct stat st;
	bool written;
	off_t pos;

	pthread_mutex_lock(&fs->state_lock);
	written = handle->pin.node->state.nwriters > 0;
	pthread_mutex_unlock(&fs->state_lock);
	if (!written) {
		pos = lseek(handle->fd, off, whence);
		return pos < 0 ? -errno : pos;
	}
	if (fstat(handle->fd, &st))
		return -errno;
	return seek_data_alone((uint64_t)st.st_size, off, whence);
}

void fs_op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		 struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);
	int64_t pos;

	(void)ino;
	/*
	 * With writeback_cache we do not know what was written.  On ENOSYS the
	 * kernel takes everything for data, and does not ask again.
	 */
	if (fs_of(req)->options.writeback_cache) {
		fs_reply_error(req, -ENOSYS);
		return;
	}
	/* The kernel answers all others itself. */
	if (whence != SEEK_DATA && whence != SEEK_HOLE) {
		fs_reply_error(req, -EINVAL);
		return;
	}
	if (handle->head) {
		/* Behind its header a view has the holes of its frame. */
		pos = seek_view(handle, off, whence);
	} else if (handle->frame) {
		pos = seek_frame(handle->frame, off, whence);
	} else {
		pos = seek_other(fs_of(req), handle, off, whence);
	}
	fs_reply_position(req, pos);
}

void fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fs_handle_close(fs_of(req), fs_handle_of(fi));
	fuse_reply_err(req, 0);
}
