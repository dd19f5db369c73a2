/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply.h - errors of the library as errors of system calls
 *
 * Only this file maps them:
 *
 *   B2F_ECORRUPT      EIO
 *   B2F_EUNSUPPORTED  EOPNOTSUPP (its own errno): the data are sound, but need
 *                     a codec or filter that is not built in
 *   B2F_ETOOBIG       EFBIG at open; EIO for data
 *   -ENOENT           itself for a name; EIO for data, since a file that is
 *                     open does exist, whatever is missing below it
 *   all others        themselves
 *
 * Layer: fuse.  Threads: any.
 */
#ifndef B2F_FUSE_REPLY_H
#define B2F_FUSE_REPLY_H

#include "fs.h"

/* Answers @req with the error @err (0 or negative). */
void fs_reply_error(fuse_req_t req, int err);

/* fs_reply_error() for a request for data; counts errors. */
void fs_reply_data_error(fuse_req_t req, int err);

/*
 * fs_reply_error() for a change of data and for a commit (also for 0); an error
 * of the server becomes EIO.  Counts errors.
 */
void fs_reply_change_error(fuse_req_t req, int err);

/* Answers with the position @pos, or with an error if that is negative. */
void fs_reply_position(fuse_req_t req, int64_t pos);

/* Answers with the @size bytes at @value; with the size alone if @room is 0. */
void fs_reply_value(fuse_req_t req, const char *value, size_t size,
		    size_t room);

/*
 * Answers @req with @answer, or with an error.  If the answer does not arrive,
 * gives back the kernel's reference.
 */
void fs_reply_entry(fuse_req_t req, int err,
		    const struct fuse_entry_param *answer);

/* Sets the answer @fi to the create that made @handle. */
void fs_reply_opened(struct fs *fs, const struct fs_handle *handle,
		     struct fuse_file_info *fi);

/* Answers the open @req that made @handle.  Returns as fuse_reply_open(). */
int fs_reply_open(fuse_req_t req, struct fs_handle *handle,
		  struct fuse_file_info *fi);

#endif
