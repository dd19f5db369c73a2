/* SPDX-License-Identifier: BSD-3-Clause */
/* op_io.c - the data of files: open, read, seek, close */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "ops.h"
#include "programs/io.h"
#include "reply.h"
#include "volume.h"

void fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_node *node = fs_node_of(fs, ino);
	const struct fs_open_how how = {.flags = fi->flags,
					.uid = fuse_req_ctx(req)->uid};
	struct fs_handle *handle = NULL;
	int err = -EROFS;

	/* Root can remount a read-only mount as writable. */
	if (fs->read_write || !(fi->flags & (O_ACCMODE | O_TRUNC)))
		err = node->volume->ops->open(fs, node, &how, &handle);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	/* The open was interrupted: the kernel sends no release. */
	if (fs_reply_open(req, handle, fi) < 0)
		fs_handle_close(fs, handle);
}

/*
 * An answer to a read: the header of a view from byte @off on, @nhead bytes of
 * it, then data of the frame.
 */
struct found {
	/* The length of that header; a save may exchange it meanwhile. */
	size_t head_len;
	size_t off;
	size_t nhead;
	struct b2f_view data;
};

/* Returns the length or an errno.  End with b2f_file_view_release(). */
static ssize_t find(const struct fs_handle *handle, size_t size, uint64_t off,
		    struct found *out)
{
	size_t head_len = handle->head_len, nhead = 0;
	ssize_t n;

	*out = (struct found){.head_len = head_len};
	n = fs_handle_check_view(handle);
	if (n)
		return n;
	if (off < head_len) {
		nhead = head_len - (size_t)off;
		nhead = size < nhead ? size : nhead;
	}
	n = b2f_file_view(handle->file, handle->stream, size - nhead,
			  off + nhead - head_len, &out->data);
	if (n < 0) {
		out->data = (struct b2f_view){0};
		return n;
	}
	out->off = (size_t)off;
	out->nhead = nhead;
	return n + (ssize_t)nhead;
}

/* Replies with a part of the header, then the data. */
static int reply_both(fuse_req_t req, struct b2f_file *file,
		      const struct found *found)
{
	const struct b2f_view *data = &found->data;
	B2F_OWN struct iovec *iov = malloc((data->niov + 1) * sizeof(*iov));
	B2F_OWN uint8_t *head = NULL;
	size_t len = 0;
	int err = iov ? 0 : -ENOMEM;

	/* Read the header again: the kernel caches it for later opens. */
	if (!err)
		err = b2f_file_npy_header(file, &head, &len);
	/*
	 * If its length differs, the data have moved: the file has to be opened
	 * again.
	 */
	if (!err && len != found->head_len)
		err = -ESTALE;
	if (err)
		return err;
	iov[0] = (struct iovec){.iov_base = head + found->off,
				.iov_len = found->nhead};
	for (size_t i = 0; i < data->niov; i++)
		iov[i + 1] = data->iov[i];
	fuse_reply_iov(req, iov, (int)data->niov + 1);
	return 0;
}

/* Has the volume check a read that returned @n: bytes or an errno. */
static int check_read(struct fs *fs, const struct fs_handle *handle, ssize_t n)
{
	int err = handle->ops->check_read
			  ? handle->ops->check_read(fs, handle, n)
			  : 0;

	return !err && n < 0 ? (int)n : err;
}

/* Replies straight from the cache; its blocks stay pinned until then. */
static int read_frame(fuse_req_t req, const struct fs_handle *handle,
		      size_t size, uint64_t off)
{
	struct fs *fs = fs_of(req);
	struct found found;
	ssize_t n = find(handle, size, off, &found);
	int err = check_read(fs, handle, n);

	if (err == -EAGAIN) {
		b2f_file_view_release(&found.data);
		n = find(handle, size, off, &found);
		err = n < 0 ? (int)n : 0;
	}
	if (!err) {
		fs_stats_add(&fs->stats.nread_bytes, (uint64_t)n);
		if (found.nhead)
			err = reply_both(req, handle->file, &found);
		else
			fuse_reply_iov(req, found.data.iov,
				       (int)found.data.niov);
	}
	b2f_file_view_release(&found.data);
	return err;
}

/* Does not use fuse_reply_data(): that would answer errors itself. */
static int read_plain(fuse_req_t req, const struct fs_handle *handle,
		      size_t size, uint64_t off)
{
	struct fs *fs = fs_of(req);
	B2F_OWN char *buf = malloc(size ? size : 1);
	ssize_t n = -ENOMEM;
	int err;

	if (buf && handle->fd >= 0)
		n = b2f_io_read(handle->fd, buf, size, (int64_t)off);
	else if (buf)
		n = handle->ops->pread(fs, handle, buf, size, off);
	err = check_read(fs, handle, n);
	if (!err)
		fuse_reply_buf(req, buf, (size_t)n);
	return err;
}

void fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);
	struct fs *fs = fs_of(req);
	int err;

	(void)ino;
	fs_stats_add(&fs->stats.nreads, 1);
	fs_handle_ref(handle);
	err = handle->file ? read_frame(req, handle, size, (uint64_t)off)
			   : read_plain(req, handle, size, (uint64_t)off);
	if (err)
		fs_reply_data_error(req, err);
	fs_handle_close(fs, handle);
}

/*
 * Seeks in a file without holes.  The kernel may have dirty pages in a hole of
 * the frame, so all bytes of a file that is written to count as data.
 */
static int64_t seek_data_alone(uint64_t size, off_t off, int whence)
{
	if (off < 0 || (uint64_t)off >= size)
		return -ENXIO;
	return whence == SEEK_DATA ? off : (int64_t)size;
}

static int64_t seek_frame(const struct fs_handle *handle, off_t off, int whence)
{
	struct b2f_file *file = handle->file;

	if (off < 0)
		return -ENXIO;
	/* The kernel may have dirty pages where the frame has a hole. */
	if (atomic_load(&handle->open->nwriters) > 0)
		return seek_data_alone(b2f_file_size(file), off, whence);
	if (whence == SEEK_DATA)
		return b2f_file_seek_data(file, (uint64_t)off);
	return b2f_file_seek_hole(file, (uint64_t)off);
}

/* Behind its header a view has the holes of its frame. */
static int64_t seek_view(const struct fs_handle *handle, off_t off, int whence)
{
	off_t head = (off_t)handle->head_len;
	int64_t pos;

	if (off < 0)
		return -ENXIO;
	if (off < head && whence == SEEK_DATA)
		return off;
	pos = seek_frame(handle, off < head ? 0 : off - head, whence);
	/* The hole at the end of the frame begins right behind the header. */
	if (pos == -ENXIO && off < head)
		return head;
	return pos < 0 ? pos : pos + head;
}

static int64_t seek_fd(const struct fs_handle *handle, off_t off, int whence)
{
	struct stat st;
	off_t pos;

	if (atomic_load(&handle->pin.node->state.nwriters) == 0) {
		pos = lseek(handle->fd, off, whence);
		return pos < 0 ? -errno : pos;
	}
	if (fstat(handle->fd, &st))
		return -errno;
	return seek_data_alone((uint64_t)st.st_size, off, whence);
}

static int64_t seek(const struct fs_handle *handle, off_t off, int whence)
{
	/* The kernel handles the other values of whence itself. */
	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return -EINVAL;
	if (handle->head)
		return seek_view(handle, off, whence);
	if (handle->file)
		return seek_frame(handle, off, whence);
	if (handle->fd >= 0)
		return seek_fd(handle, off, whence);
	return seek_data_alone(handle->nbytes, off, whence);
}

void fs_op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		 struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);

	(void)ino;
	/*
	 * With writeback_cache the kernel may hold dirty pages that the daemon
	 * does not know.  On ENOSYS the kernel takes all bytes for data, and
	 * does not ask again.
	 */
	if (fs->options.cache.writeback_cache)
		fs_reply_error(req, -ENOSYS);
	else
		fs_reply_position(req, seek(fs_handle_of(fi), off, whence));
}

void fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fs_handle_close(fs_of(req), fs_handle_of(fi));
	fuse_reply_err(req, 0);
}
