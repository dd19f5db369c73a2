/* SPDX-License-Identifier: BSD-3-Clause */
/* reply.c - errors of the library as errors of system calls */
#include <errno.h>
#include <linux/fuse.h>

#include "b2frame/error.h"
#include "reply.h"
#include "volume.h"

void fs_reply_error(fuse_req_t req, int err)
{
	/*
	 * Programs take ENOTCONN for a dead mount: this one, not the one below
	 * SOURCE.  The log tells the other two apart.
	 */
	if (err == B2F_ECORRUPT || err == B2F_EINDOUBT || err == -ENOTCONN)
		err = -EIO;
	fuse_reply_err(req, -err);
}

void fs_reply_data_error(fuse_req_t req, int err)
{
	fs_stats_add(&fs_of(req)->stats.nerrors, 1);
	if (err == B2F_ETOOBIG || err == -ENOENT)
		err = -EIO;
	fs_reply_error(req, err);
}

/*
 * Maps errors of requests to a server for a program that writes; the log has
 * them, and programs do not expect them of a file.  ENOENT, too, because a file
 * that is open exists.
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

void fs_reply_change_error(fuse_req_t req, int err)
{
	if (err)
		fs_stats_add(&fs_of(req)->stats.nerrors, 1);
	fs_reply_error(req, as_stored(err));
}

void fs_reply_position(fuse_req_t req, int64_t pos)
{
	if (pos < 0)
		fs_reply_data_error(req, (int)pos);
	else
		fuse_reply_lseek(req, pos);
}

void fs_reply_value(fuse_req_t req, const char *value, size_t size,
		    size_t room)
{
	if (room == 0)
		fuse_reply_xattr(req, size);
	else if (size > room)
		fs_reply_error(req, -ERANGE);
	else
		fuse_reply_buf(req, value, size);
}

void fs_reply_entry(fuse_req_t req, int err,
		    const struct fuse_entry_param *answer)
{
	struct fs *fs = fs_of(req);

	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fs_node_tell(fs, answer->ino, answer->attr.st_size);
	/* The kernel did not count an answer that was lost. */
	if (fuse_reply_entry(req, answer) < 0)
		fs_node_forget(fs, answer->ino, 1);
}

void fs_reply_opened(struct fs *fs, const struct fs_handle *handle,
		     struct fuse_file_info *fi)
{
	fs_stats_add(&fs->stats.nopens, 1);
	fs_stats_add(&fs->stats.nkept, handle->keep_cache);
	fi->fh = (uintptr_t)handle;
	fi->direct_io = handle->direct_io;
	fi->keep_cache = handle->keep_cache;
	/* fs_op_flush() has nothing to do for it. */
	fi->noflush = !handle->writes;
}

int fs_reply_open(fuse_req_t req, struct fs_handle *handle,
		  struct fuse_file_info *fi)
{
	struct fs_open_answer answer = {.open_flags = FS_OPEN_PASSTHROUGH};
	struct fs *fs = fs_of(req);

	if (handle->ops->pass)
		answer.backing_id = handle->ops->pass(fs, handle, fi->flags);
	fs_reply_opened(fs, handle, fi);
	if (answer.backing_id <= 0)
		return fuse_reply_open(req, fi);
	fs_stats_add(&fs->stats.npassed, 1);
	answer.open_flags |= fi->noflush ? FOPEN_NOFLUSH : 0;
	answer.fh = fi->fh;
	return fuse_reply_buf(req, (const char *)&answer, sizeof(answer));
}
