/* SPDX-License-Identifier: BSD-3-Clause */
/* reply.c - errors of the library as errors of system calls */
#include <errno.h>

#include "b2frame/error.h"
#include "reply.h"

void fs_reply_error(fuse_req_t req, int err)
{
	fuse_reply_err(req, err == B2F_ECORRUPT ? EIO : -err);
}

void fs_reply_data_error(fuse_req_t req, int err)
{
	if (err)
		fs_stats_add(&fs_of(req)->stats.nerrors, 1);
	if (err == B2F_ETOOBIG || err == -ENOENT)
		err = -EIO;
	fs_reply_error(req, err);
}
