/* SPDX-License-Identifier: BSD-3-Clause */
/* op_remote_write.c - requests that change data in an object store */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "op_remote_write.h"
#include "remote_anew.h"
#include "remote_attr.h"
#include "remote_handle.h"
#include "remote_writer.h"
#include "reply.h"

/*
 * What a program that writes is told: which connection failed is in the log, and no
 * program expects it of a file.
 */
static int as_stored(int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EHOSTUNREACH:
	case -EREMOTE:
	case -EPROTO:
		return -EIO;
	default:
		return err;
	}
}

static void reply(fuse_req_t req, int err)
{
	if (err)
		fs_stats_add(&fs_of(req)->stats.nerrors, 1);
	fs_reply_error(req, as_stored(err));
}

/* The end of the file as it is now; the kernel thinks that it is @off. */
static ssize_t append(struct fs *fs, struct fs_remote_handle *h,
		      const char *buf, size_t size, uint64_t off)
{
	uint64_t at = off;
	ssize_t n = b2f_file_append(h->shown.file, buf, size, &at);

	/* The kernel has cached the bytes at the wrong offset. */
	if (n > 0 && at != off)
		fs_remote_writer_drop_cached(fs, h->node);
	return n;
}

static ssize_t write_some(struct fs *fs, const char *buf, size_t size,
			  off_t off, const struct fuse_file_info *fi)
{
	struct fs_remote_handle *h = fs_remote_handle_of(fi);
	bool appends = (fi->flags & O_APPEND) && !fi->writepage;
	ssize_t n;

	fs_remote_writer_catch_up(fs, h->node, h->shown.file);
	n = fs_remote_anew_before_write(fs, h);
	if (n == 0)
		n = appends ? append(fs, h, buf, size, (uint64_t)off)
			    : b2f_file_pwrite(h->shown.file, buf, size,
					      (uint64_t)off);
	if (n < 0)
		fs_remote_anew_spoil(h);
	fs_remote_writer_note_change(fs, h->node, h->shown.file);
	return n;
}

/*
 * What the kernel writes back from its cache (of mmap(2)) it takes for stored unless
 * there is an error; a short count would lose the rest.
 */
static ssize_t write_back(struct fs *fs, const char *buf, size_t size,
			  off_t off, const struct fuse_file_info *fi)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write_some(fs, buf + done, size - done,
				       off + (off_t)done, fi);

		if (n <= 0)
			return n < 0 ? n : -EIO;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* For writes that go through its cache the kernel sends an fsync itself. */
static bool is_synchronous(const struct fs *fs, const struct fuse_file_info *fi)
{
	return !fi->writepage && (fi->flags & O_DSYNC) &&
	       (fs->options.direct_io || (fi->flags & O_DIRECT));
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		     size_t size, off_t off, struct fuse_file_info *fi)
{
	struct fs_remote_handle *h = fs_remote_handle_of(fi);
	struct fs *fs = fs_of(req);
	int err = 0;
	ssize_t n;

	(void)ino;
	fs_stats_add(&fs->stats.nwrites, 1);
	n = fi->writepage ? write_back(fs, buf, size, off, fi)
			  : write_some(fs, buf, size, off, fi);
	/* A part of an array is not committed. */
	if (n > 0 && is_synchronous(fs, fi) && !h->anew)
		err = fs_remote_writer_commit(fs, h->node, h->shown.file);
	if (n < 0 || err) {
		reply(req, err ? err : (int)n);
	} else {
		fs_stats_add(&fs->stats.nwritten_bytes, (uint64_t)n);
		fuse_reply_write(req, (size_t)n);
	}
	fs_stats_add(&fs->stats.nwrites_done, 1);
}

/* Zeroes a range, or extends the file to it; nothing can be reserved. */
static int allocate(struct b2f_file *file, int mode, uint64_t off,
		    uint64_t length)
{
	uint64_t end = off + length;
	int err = 0;

	if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE |
		     FALLOC_FL_ZERO_RANGE))
		return -EOPNOTSUPP;
	if (end > INT64_MAX)
		return -EFBIG;
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		err = b2f_file_zero(file, off, length);
	/* The kernel lets no other request change the size meanwhile. */
	if (!err && !(mode & FALLOC_FL_KEEP_SIZE) && end > b2f_file_size(file))
		err = b2f_file_truncate(file, end);
	return err;
}

static void do_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
			 off_t length, struct fuse_file_info *fi)
{
	struct fs_remote_handle *h = fs_remote_handle_of(fi);
	int err;

	(void)ino;
	fs_remote_writer_catch_up(fs_of(req), h->node, h->shown.file);
	err = fs_remote_anew_is_due(h)
		      ? -EPERM
		      : allocate(h->shown.file, mode, (uint64_t)off,
				 (uint64_t)length);
	fs_remote_writer_note_change(fs_of(req), h->node, h->shown.file);
	reply(req, err);
}

/* What a close may tell of is what the commit tells. */
static void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs_remote_handle *h = fs_remote_handle_of(fi);
	int err = fs_remote_anew_finish(h);

	(void)ino;
	if (!err && h->writes)
		err = fs_remote_writer_commit(fs_of(req), h->node,
					      h->shown.file);
	reply(req, err);
}

/* By whichever handle: there may be changes by another one. */
static void do_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	struct fs_remote_handle *h = fs_remote_handle_of(fi);
	int err = fs_remote_anew_finish(h);

	(void)ino;
	(void)datasync;
	if (!err && h->shown.file)
		err = fs_remote_writer_commit(fs_of(req), h->node,
					      h->shown.file);
	reply(req, err);
}

/* A name in a store is durable as soon as it is there. */
static void do_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
			struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fs_reply_error(req, 0);
}

static int resize_handle(struct fs *fs, struct fs_remote_handle *h,
			 uint64_t size)
{
	int err;

	if (fs_remote_anew_is_due(h) && size == 0)
		return 0;
	fs_remote_writer_catch_up(fs, h->node, h->shown.file);
	err = fs_remote_anew_before_write(fs, h);
	if (!err)
		err = b2f_file_truncate(h->shown.file, size);
	if (err)
		fs_remote_anew_spoil(h);
	fs_remote_writer_note_change(fs, h->node, h->shown.file);
	return err;
}

/* By its name: committed when this returns. */
static int resize_entry(struct fs *fs, const struct fs_remote_entry *entry,
			uint64_t size)
{
	struct fs_remote_handle *h;
	int err = fs_remote_handle_open(fs, entry, O_WRONLY, &h);

	if (err)
		return err;
	err = resize_handle(fs, h, size);
	if (!err)
		err = fs_remote_writer_commit(fs, h->node, h->shown.file);
	fs_remote_handle_put(fs, h);
	return err;
}

/*
 * There is one owner, and one mode: to set these again is no error, as cp -p and tar
 * do that.
 */
static int check_meta(const struct stat *now, const struct stat *wanted,
		      int to_set)
{
	if ((to_set & FUSE_SET_ATTR_MODE) &&
	    (wanted->st_mode & 07777) != (now->st_mode & 07777))
		return -EPERM;
	if ((to_set & FUSE_SET_ATTR_UID) && wanted->st_uid != now->st_uid)
		return -EPERM;
	if ((to_set & FUSE_SET_ATTR_GID) && wanted->st_gid != now->st_gid)
		return -EPERM;
	return 0;
}

/* Nothing can be kept in the store, so it is shown until the node goes. */
static void set_times(struct fs *fs, struct fs_remote_node *node,
		      const struct stat *wanted, int to_set)
{
	struct timespec mtime = wanted->st_mtim;

	if (!(to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) ||
	    node->kind == FS_REMOTE_DIR)
		return;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &mtime);
	fs_remote_writer_set_mtime(fs, node, &mtime);
}

static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *wanted,
		       int to_set, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	const struct fs_remote_entry entry = fs_remote_entry_of(fs->remote, ino);
	struct stat st;
	int err;

	fs_remote_attr(fs, &entry, &st);
	err = check_meta(&st, wanted, to_set);
	if (!err && (to_set & FUSE_SET_ATTR_SIZE))
		err = fi ? resize_handle(fs, fs_remote_handle_of(fi),
					 (uint64_t)wanted->st_size)
			 : resize_entry(fs, &entry, (uint64_t)wanted->st_size);
	if (err) {
		reply(req, err);
		return;
	}
	set_times(fs, entry.node, wanted, to_set);
	fs_remote_attr(fs, &entry, &st);
	fuse_reply_attr(req, &st, fs->options.attr_timeout_s);
}

void fs_op_remote_add_changes(struct fuse_lowlevel_ops *ops)
{
	ops->write = do_write;
	ops->fallocate = do_fallocate;
	ops->flush = do_flush;
	ops->fsync = do_fsync;
	ops->fsyncdir = do_fsyncdir;
	ops->setattr = do_setattr;
}
