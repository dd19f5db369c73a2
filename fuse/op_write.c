/* SPDX-License-Identifier: BSD-3-Clause */
/* op_write.c - changes of data, and when they are stored */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "anew.h"
#include "maker.h"
#include "ops.h"
#include "reply.h"
#include "view.h"

static void reply(fuse_req_t req, int err)
{
	if (err)
		fs_stats_add(&fs_of(req)->stats.nerrors, 1);
	/* The file is open, so it exists, whatever is missing below it. */
	fs_reply_error(req, err == -ENOENT ? -EIO : err);
}

/*
 * Does the write go to the end of the file as it is now?  So it does with
 * O_APPEND, as other programs may append too; but not what the kernel writes
 * back.
 */
static bool is_append(const struct fs *fs, const struct fuse_file_info *fi)
{
	return (fi->flags & O_APPEND) && !fi->writepage &&
	       !fs->options.writeback_cache;
}

/*
 * What O_SYNC and O_DSYNC ask for, as flags of pwritev2(2).  For writes that go
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
 * As the caller, who gets no room that a filesystem keeps for root.  Of what the kernel
 * writes back there is none.
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
 * How many bytes from @off on are the header of a view; they may be written if
 * they do not change.  Returns the number, or -EPERM.
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

static ssize_t write_frame(struct fs *fs, struct fs_handle *handle,
			   const char *buf, size_t size, uint64_t off)
{
	ssize_t skip = fs_view_head_check(fs, handle, true), n = 0;

	if (!skip)
		skip = fs_anew_before_write(fs, handle, buf, size, off);
	if (!skip)
		skip = skip_head(handle, buf, size, off);
	if (skip < 0)
		return skip;
	off += (uint64_t)skip - handle->head_len;
	if (size > (size_t)skip) {
		fs_grow_before(fs, handle->frame, buf + skip,
			       size - (size_t)skip, off);
		n = b2f_file_pwrite(handle->frame->file, buf + skip,
				    size - (size_t)skip, off);
	}
	if (n < 0)
		fs_anew_spoil(handle);
	fs_open_frame_note_change(handle->frame);
	fs_view_head_note_change(fs, handle);
	return n < 0 && !skip ? n : (n < 0 ? 0 : n) + skip;
}

/* Appends to the end as it is now; @off is where the kernel thinks it is. */
static ssize_t append_frame(struct fs *fs, struct fs_handle *handle,
			    const char *buf, size_t size, uint64_t off)
{
	uint64_t at = off;
	ssize_t n = fs_anew_before_write(fs, handle, buf, size, 0);

	if (!n)
		fs_grow_before(fs, handle->frame, buf, size,
			       b2f_file_size(handle->frame->file));
	if (!n)
		n = b2f_file_append(handle->frame->file, buf, size, &at);
	if (n < 0)
		fs_anew_spoil(handle);

	fs_open_frame_note_change(handle->frame);
	fs_view_head_note_change(fs, handle);
	/* The kernel has cached the bytes at the wrong offset. */
	if (n > 0 && at != off)
		fs_open_frame_drop_cached(fs, handle->frame);
	return n;
}

static ssize_t change_other(fuse_req_t req, struct fs_handle *handle,
			    const char *buf, size_t size, off_t off,
			    const struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	ssize_t n;

	atomic_store(&handle->wrote, true);
	fs_seen_begin(fs, handle->pin.node, handle->fd);
	n = write_other(req, handle->fd, buf, size, off, fi);
	fs_seen_end(fs, handle->pin.node, handle->fd);
	return n;
}

static ssize_t write_some(fuse_req_t req, const char *buf, size_t size,
			  off_t off, const struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_handle *handle = fs_handle_of(fi);
	int err = 0;
	ssize_t n;

	if (!handle->frame)
		return change_other(req, handle, buf, size, off, fi);
	/* A view cannot grow, and its bytes have other offsets. */
	if (!handle->head && is_append(fs, fi))
		n = append_frame(fs, handle, buf, size, (uint64_t)off);
	else
		n = write_frame(fs, handle, buf, size, (uint64_t)off);
	if (n > 0 && sync_flags(fi))
		err = fs_open_frame_commit(fs, handle->frame,
					   B2F_COMMIT_DURABLE);
	return err ? err : n;
}

/*
 * Writes all of @buf: what the kernel writes back from its cache (of mmap(2),
 * mostly) it takes for stored unless there is an error; a short count would
 * lose the rest.
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

void fs_op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
		 off_t off, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	ssize_t n;

	(void)ino;
	fs_stats_add(&fs->stats.nwrites, 1);
	if (fi->writepage)
		n = write_back(req, buf, size, off, fi);
	else
		n = write_some(req, buf, size, off, fi);
	if (n < 0) {
		reply(req, (int)n);
	} else {
		fs_stats_add(&fs->stats.nwritten_bytes, (uint64_t)n);
		fuse_reply_write(req, (size_t)n);
	}
	fs_stats_add(&fs->stats.nwrites_done, 1);
}

/*
 * Counts the bytes of [@off, @end) without a stored chunk: holes, and what is
 * behind the end.  Stops above @enough.  Returns the count, or an errno.
 */
static int64_t count_missing(struct b2f_file *file, uint64_t off, uint64_t end,
			     uint64_t enough)
{
	uint64_t size = b2f_file_size(file);
	uint64_t missing = end > size ? end - (off > size ? off : size) : 0;

	end = end < size ? end : size;
	while (off < end && missing <= enough) {
		int64_t hole = b2f_file_seek_hole(file, off), data;

		/* An open with O_TRUNC has cut it meanwhile. */
		if (hole == -ENXIO)
			return (int64_t)(missing + end - off);
		if (hole < 0 || (uint64_t)hole >= end)
			return hole < 0 ? hole : (int64_t)missing;
		data = b2f_file_seek_data(file, (uint64_t)hole);
		if (data < 0 && data != -ENXIO)
			return data;
		off = data < 0 || (uint64_t)data > end ? end : (uint64_t)data;
		missing += off - (uint64_t)hole;
	}
	return (int64_t)missing;
}

/*
 * Refuses a range for which there is no room even now.  Nothing can be
 * reserved: the compressed size is not known yet.
 */
static int check_room(const struct fs_handle *handle, uint64_t off,
		      uint64_t end)
{
	struct statvfs st;
	uint64_t room;
	int64_t missing;

	if (fstatvfs(handle->pin.fd, &st))
		return -errno;
	room = (uint64_t)st.f_bavail * st.f_frsize;
	missing = count_missing(handle->frame->file, off, end, room);
	if (missing < 0)
		return (int)missing;
	return (uint64_t)missing > room ? -ENOSPC : 0;
}

/* Zeroes a range, or extends the file to it. */
static int fallocate_frame(struct fs *fs, const struct fs_handle *handle,
			   int mode, uint64_t off, uint64_t length)
{
	struct b2f_file *file = handle->frame->file;
	int err = fs_view_head_check(fs, handle, true);
	uint64_t end;

	if (err)
		return err;
	/* The header of a view stays what it is. */
	if (off < handle->head_len || fs_anew_is_due(handle))
		return -EPERM;
	off -= handle->head_len;
	end = off + length;
	if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE |
		     FALLOC_FL_ZERO_RANGE))
		return -EOPNOTSUPP;
	if (end > INT64_MAX)
		return -EFBIG;
	if (!(mode & FALLOC_FL_PUNCH_HOLE))
		err = check_room(handle, off, end);
	if (!err && (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)))
		err = b2f_file_zero(file, off, length);
	/* The kernel lets no other request change the size meanwhile. */
	if (!err && !(mode & FALLOC_FL_KEEP_SIZE) &&
	    end > b2f_file_size(file)) {
		fs_grow_before(fs, handle->frame, NULL, 0, end);
		err = b2f_file_truncate(file, end);
	}
	return err;
}

void fs_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
		     off_t length, struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);
	int err;

	(void)ino;
	if (handle->frame) {
		err = fallocate_frame(fs_of(req), handle, mode, (uint64_t)off,
				      (uint64_t)length);
		fs_open_frame_note_change(handle->frame);
		fs_view_head_note_change(fs_of(req), handle);
	} else {
		atomic_store(&handle->wrote, true);
		fs_seen_begin(fs_of(req), handle->pin.node, handle->fd);
		fs_maker_begin(req);
		err = fallocate(handle->fd, mode, off, length) ? -errno : 0;
		fs_maker_end(req);
		fs_seen_end(fs_of(req), handle->pin.node, handle->fd);
	}
	reply(req, err);
}

/* Commits the frame of @handle; -ESTALE, once, if changes were dropped. */
static int commit_frame(struct fs *fs, struct fs_handle *handle,
			enum b2f_commit_how how)
{
	uint64_t n = atomic_load(&handle->frame->ndropped);
	int err = fs_open_frame_commit(fs, handle->frame, how);

	if (!err && handle->writes &&
	    atomic_exchange(&handle->ndropped, n) != n)
		err = -ESTALE;
	return err;
}

/* Fetches an error that the backing filesystem reports at close(2) only. */
static int flush_other(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	/* Without a free descriptor, do without. */
	return copy >= 0 && close(copy) ? -errno : 0;
}

void fs_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_handle *handle = fs_handle_of(fi);
	int err = handle->anew ? fs_anew_finish(handle) : 0;

	(void)ino;
	if (err)
		;
	else if (handle->frame && handle->writes)
		err = commit_frame(fs, handle,
				   fs->options.sync ? B2F_COMMIT_DURABLE
						    : B2F_COMMIT_VISIBLE);
	else if (handle->fd >= 0 && handle->writes)
		err = flush_other(handle->fd);
	if (!err && handle->frame && handle->writes)
		fs_open_frame_tidy(fs, handle->frame, false);
	if (!err && fs->options.sync && atomic_load(&handle->wrote) &&
	    fsync(handle->fd))
		err = -errno;
	reply(req, err);
}

void fs_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		 struct fuse_file_info *fi)
{
	struct fs_handle *handle = fs_handle_of(fi);
	int err = handle->anew ? fs_anew_finish(handle) : 0;

	(void)ino;
	if (err)
		;
	else if (handle->frame)
		err = commit_frame(fs_of(req), handle, B2F_COMMIT_DURABLE);
	else if (datasync ? fdatasync(handle->fd) : fsync(handle->fd))
		err = -errno;
	reply(req, err);
}

void fs_op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
		    struct fuse_file_info *fi)
{
	int fd = openat(fs_handle_of(fi)->pin.fd, ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	(void)ino;
	if (fd < 0 || (datasync ? fdatasync(fd) : fsync(fd)))
		err = -errno;
	if (fd >= 0)
		close(fd);
	/* Some filesystems have no fsync for directories, nor need for it. */
	reply(req, err == -EINVAL ? 0 : err);
}
