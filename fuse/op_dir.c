/* SPDX-License-Identifier: BSD-3-Clause */
/* op_dir.c - directories: open, read, sync, close */
#include "answer.h"
#include "ops.h"
#include "reply.h"
#include "volume.h"

void fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	const struct fs_volume_ops *volume = fs_volume_of(fs, ino);
	const struct fs_open_how how = {.flags = fi->flags,
					.uid = fuse_req_ctx(req)->uid};
	struct fs_handle *handle = NULL;
	int err = 0;

	if (volume->opendir)
		err = volume->opendir(fs, ino, &how, &handle);
	if (err) {
		fs_reply_error(req, err);
		return;
	}
	fi->fh = (uintptr_t)handle;
	fi->cache_readdir = fi->keep_cache = !handle;
	if (fuse_reply_open(req, fi) < 0 && handle)
		fs_handle_close(fs, handle);
}

static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		     const struct fuse_file_info *fi, bool plus)
{
	struct fs *fs = fs_of(req);
	const struct fs_volume_ops *volume = fs_volume_of(fs, ino);
	struct fs_answer answer;
	int err = fs_answer_init(&answer, req, size, plus), lost = -1;

	if (!err)
		err = volume->list(fs, ino, fs_handle_of(fi), off, &answer);
	/* First give out what was found before an error. */
	if (err && !answer.used)
		fs_reply_error(req, err);
	else
		lost = fuse_reply_buf(req, answer.buf, answer.used);
	/* The kernel does not count nodes of an answer that is lost. */
	for (size_t i = 0; lost && i < answer.ninos; i++)
		fs_node_forget(fs, answer.inos[i], 1);
	fs_answer_fini(&answer);
}

void fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi)
{
	read_dir(req, ino, size, off, fi, false);
}

void fs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	read_dir(req, ino, size, off, fi, true);
}

void fs_op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
		    struct fuse_file_info *fi)
{
	const struct fs_volume_ops *volume = fs_volume_of(fs_of(req), ino);

	fs_reply_change_error(req, volume->sync_dir
					   ? volume->sync_dir(fs_handle_of(fi),
							      datasync)
					   : 0);
}

void fs_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if (fi->fh)
		fs_handle_close(fs_of(req), fs_handle_of(fi));
	fuse_reply_err(req, 0);
}
