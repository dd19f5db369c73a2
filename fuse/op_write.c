/* SPDX-License-Identifier: BSD-3-Clause */
/* op_write.c - changes of data, and when they are stored */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "anew.h"
#include "form.h"
#include "maker.h"
#include "ops.h"
#include "reply.h"
#include "setattr.h"

/*
 * Does the write append?  With O_APPEND it goes to the current end, because
 * other programs may append, too; but pages that the kernel writes back keep
 * their offsets.
 */
static bool is_append(const struct fs *fs, const struct fuse_file_info *fi)
{
	return (fi->flags & O_APPEND) && !fi->writepage &&
	       !fs->options.cache.writeback_cache;
}

/*
 * Returns the flags of pwritev2(2) for O_SYNC and O_DSYNC.  After writes
 * through its cache the kernel sends an fsync itself.
 */
static int sync_flags(const struct fuse_file_info *fi)
{
	if (fi->writepage || !(fi->flags & O_DSYNC) ||
	    !(fs_handle_of(fi)->direct_io || (fi->flags & O_DIRECT)))
		return 0;
	return (fi->flags & O_SYNC) == O_SYNC ? RWF_SYNC : RWF_DSYNC;
}

/*
 * Writes as the caller, so that only root gets the blocks reserved for root.
 * Pages that the kernel writes back have no caller.
 */
static ssize_t write_other(fuse_req_t req, int fd, const char *buf, size_t size,
			   off_t off, const struct fuse_file_info *fi)
{
	const struct fs *fs = fs_of(req);
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf,
				  .iov_len = size};
	int flags = sync_flags(fi) | (is_append(fs, fi) ? RWF_APPEND : 0);
	ssize_t n;

	if (!fi->writepage)
		fs_maker_begin(req);
	do
		n = pwritev2(fd, &iov, 1, off, flags);
	while (n < 0 && errno == EINTR);
	n = n < 0 ? -errno : n;
	if (!fi->writepage)
		fs_maker_end(req);
	return n;
}

/*
 * Compares the part of @buf that lies in the header of a view: the header may
 * be written only with the bytes that it has.  Returns the length of that part,
 * or -EPERM.
 */
static ssize_t skip_head(const struct fs_handle *handle, const char *buf,
			 size_t size, uint64_t off)
{
	size_t n = 0;

	if (off < handle->head_len)
		n = handle->head_len - off < size ? handle->head_len - off
						  : size;
	if (n && memcmp(buf, handle->head + off, n))
		return -EPERM;
	return (ssize_t)n;
}

/* See form.h. */
static void decide_form(struct fs *fs, struct fs_handle *handle,
			const void *buf, size_t size, uint64_t off)
{
	if (handle->frame)
		fs_form_decide(fs, handle->frame, buf, size, off);
}

static ssize_t write_frame(struct fs *fs, struct fs_handle *handle,
			   const char *buf, size_t size, uint64_t off)
{
	ssize_t skip = fs_handle_check_view(handle), n = 0;

	if (!skip)
		skip = fs_anew_before_write(fs, handle, buf, size, off);
	if (!skip)
		skip = skip_head(handle, buf, size, off);
	if (skip < 0)
		return skip;
	off += (uint64_t)skip - handle->head_len;
	if (size > (size_t)skip) {
		decide_form(fs, handle, buf + skip, size - (size_t)skip, off);
		n = b2f_file_pwrite(handle->file, buf + skip,
				    size - (size_t)skip, off);
	}
	if (n < 0)
		fs_anew_spoil(handle);
	return n < 0 && !skip ? n : (n < 0 ? 0 : n) + skip;
}

/* Appends to the current end; @off is the end that the kernel assumes. */
static ssize_t append_frame(struct fs *fs, struct fs_handle *handle,
			    const char *buf, size_t size, uint64_t off)
{
	uint64_t at = off;
	ssize_t n = fs_anew_before_write(fs, handle, buf, size, 0);

	if (!n)
		decide_form(fs, handle, buf, size, b2f_file_size(handle->file));
	if (!n)
		n = b2f_file_append(handle->file, buf, size, &at);
	if (n < 0)
		fs_anew_spoil(handle);
	/* The kernel has cached the new bytes at the wrong offset. */
	if (n > 0 && at != off)
		handle->ops->drop_cached(fs, handle);
	return n;
}

static ssize_t change_frame(struct fs *fs, const char *buf, size_t size,
			    uint64_t off, const struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);
	int err = 0;
	ssize_t n;

	handle->ops->begin_change(fs, handle);
	/* A view does not grow, and its offsets differ. */
	if (!handle->head && is_append(fs, fi))
		n = append_frame(fs, handle, buf, size, off);
	else
		n = write_frame(fs, handle, buf, size, off);
	handle->ops->end_change(fs, handle);
	/* An array that is only partly rewritten is not committed. */
	if (n > 0 && sync_flags(fi) && !fs_anew_is_half(handle))
		err = fs_handle_commit(fs, handle, B2F_COMMIT_DURABLE);
	return err ? err : n;
}

static ssize_t change_other(fuse_req_t req, struct fs_handle *handle,
			    const char *buf, size_t size, off_t off,
			    const struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	ssize_t n;

	atomic_store(&handle->wrote, true);
	fs_cache_state_begin(fs, handle->pin.node, handle->fd);
	n = write_other(req, handle->fd, buf, size, off, fi);
	fs_cache_state_end(fs, handle->pin.node, handle->fd,
			   n > 0 && is_append(fs, fi) ? off + n : -1);
	return n;
}

static ssize_t write_some(fuse_req_t req, const char *buf, size_t size,
			  off_t off, const struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);

	return handle->file
		       ? change_frame(fs_of(req), buf, size, (uint64_t)off, fi)
		       : change_other(req, handle, buf, size, off, fi);
}

/*
 * Writes all of @buf.  Without an error the kernel takes dirty pages of mmap(2)
 * for stored: after a short count it would lose the rest.
 */
static ssize_t write_back(fuse_req_t req, const char *buf, size_t size,
			  off_t off, const struct fuse_file_info *fi)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write_some(req, buf + done, size - done,
				       off + (off_t)done, fi);

		if (n <= 0)
			return n < 0 ? n : -EIO;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/*
 * Clears set-uid and set-gid before a change of data by a user.  The kernel
 * does not tell whose pages it writes back.
 */
static int clear_set_ids(fuse_req_t req, fuse_ino_t ino,
			 const struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	bool by_user = fi->writepage ? fs->options.access.allow_other
				     : fuse_req_ctx(req)->uid != 0;
	bool cleared = false;
	int err;

	if (!by_user)
		return 0;
	err = fs_setattr_clear_set_ids(fs, &fs_handle_of(fi)->pin, &cleared);
	/* The file of pages that are written back may not be open. */
	if (cleared && !fi->writepage)
		fs_node_drop_attributes(fs, ino);
	return err;
}

void fs_op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
		 off_t off, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	ssize_t n;

	fs_stats_add(&fs->stats.nwrites, 1);
	n = clear_set_ids(req, ino, fi);
	if (!n && fi->writepage)
		n = write_back(req, buf, size, off, fi);
	else if (!n)
		n = write_some(req, buf, size, off, fi);
	if (n < 0) {
		fs_reply_change_error(req, (int)n);
	} else {
		fs_stats_add(&fs->stats.nwritten_bytes, (uint64_t)n);
		fuse_reply_write(req, (size_t)n);
	}
	fs_stats_add(&fs->stats.nwrites_done, 1);
}

/* Zeroes a range, or extends the file to it. */
static int allocate(struct fs *fs, struct fs_handle *handle, int mode,
		    uint64_t off, uint64_t length)
{
	struct b2f_file *file = handle->file;
	int err = fs_handle_check_view(handle);
	uint64_t end;

	if (err)
		return err;
	/* The header of a view cannot change. */
	if (off < handle->head_len || fs_anew_is_due(handle))
		return -EPERM;
	off -= handle->head_len;
	end = off + length;
	if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE |
		     FALLOC_FL_ZERO_RANGE))
		return -EOPNOTSUPP;
	if (end > INT64_MAX)
		return -EFBIG;
	if (!(mode & FALLOC_FL_PUNCH_HOLE) && handle->ops->check_room)
		err = handle->ops->check_room(handle, off, end);
	if (!err && (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)))
		err = b2f_file_zero(file, off, length);
	/* The kernel keeps other requests from changing the size meanwhile. */
	if (!err && !(mode & FALLOC_FL_KEEP_SIZE) &&
	    end > b2f_file_size(file)) {
		decide_form(fs, handle, NULL, 0, end);
		err = b2f_file_truncate(file, end);
	}
	return err;
}

static int allocate_other(fuse_req_t req, struct fs_handle *handle, int mode,
			  off_t off, off_t length)
{
	struct fs *fs = fs_of(req);
	int err;

	atomic_store(&handle->wrote, true);
	fs_cache_state_begin(fs, handle->pin.node, handle->fd);
	fs_maker_begin(req);
	err = fallocate(handle->fd, mode, off, length) ? -errno : 0;
	fs_maker_end(req);
	fs_cache_state_end(fs, handle->pin.node, handle->fd, -1);
	return err;
}

void fs_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
		     off_t length, struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);
	struct fs *fs = fs_of(req);
	int err = clear_set_ids(req, ino, fi);

	if (!err && handle->file) {
		handle->ops->begin_change(fs, handle);
		err = allocate(fs, handle, mode, (uint64_t)off,
			       (uint64_t)length);
		handle->ops->end_change(fs, handle);
	} else if (!err) {
		err = allocate_other(req, handle, mode, off, length);
	}
	fs_reply_change_error(req, err);
}

/* Returns an error that the backing filesystem reports only at close(2). */
static int flush_other(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	/* If no descriptor is free, fsync(2) has it, too. */
	return (copy >= 0 ? close(copy) : fsync(fd)) ? -errno : 0;
}

static int flush_frame(struct fs *fs, struct fs_handle *handle)
{
	int err = fs_handle_commit(fs, handle, fs_commit_at_close(fs));

	if (!err && handle->ops->tidy)
		handle->ops->tidy(fs, handle);
	return err;
}

void fs_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_handle *handle = fs_handle_of(fi);
	int err = fs_anew_finish(handle);

	(void)ino;
	if (!err && handle->writes)
		err = handle->file ? flush_frame(fs, handle)
				   : flush_other(handle->fd);
	if (!err && fs->options.sync && atomic_load(&handle->wrote) &&
	    fsync(handle->fd))
		err = -errno;
	fs_reply_change_error(req, err);
}

/* Syncs the file, whichever handle changed it. */
static int sync_data(struct fs *fs, struct fs_handle *handle, int datasync)
{
	if (handle->file)
		return fs_handle_commit(fs, handle, B2F_COMMIT_DURABLE);
	if (handle->fd < 0)
		return 0;
	return (datasync ? fdatasync(handle->fd) : fsync(handle->fd)) ? -errno
								      : 0;
}

void fs_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		 struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);
	int err = fs_anew_finish(handle);

	(void)ino;
	if (!err)
		err = sync_data(fs_of(req), handle, datasync);
	fs_reply_change_error(req, err);
}
