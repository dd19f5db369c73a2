/* SPDX-License-Identifier: BSD-3-Clause */
/* op_init.c - what is agreed with the kernel */
#include "ops.h"

/*
 * Measured: 2 MiB of readahead are 1.4 to 1.7 times as fast as the usual 128
 * KiB; more is not faster.  The kernel takes the smaller of this and of the
 * mount's own setting (session.c).
 */
#define READAHEAD (2u << 20)

/* Requests in flight that no program waits for, as readahead. */
#define BACKGROUND_MAX	   64
#define BACKGROUND_CONGEST 48

void fs_op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;
	/*
	 * Off, though libfuse turns them on: the kernel shall clear set-uid
	 * bits itself (but for O_TRUNC, which comes with the open).  We tell it
	 * of foreign changes (ticker.h); going by the mtime, it would drop
	 * pages that it is writing, and might then keep old ones.  After an
	 * asynchronous O_DIRECT write (io_submit(2)) it would not drop what a
	 * reader has cached meanwhile.
	 */
	unsigned int off = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
			   FUSE_CAP_SPLICE_MOVE | FUSE_CAP_READDIRPLUS |
			   FUSE_CAP_READDIRPLUS_AUTO |
			   FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_IOCTL_DIR |
			   FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_ASYNC_DIO;
	unsigned int on = FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
			  FUSE_CAP_ATOMIC_O_TRUNC;

	if (fs->options.writeback_cache && fs->read_write)
		on |= FUSE_CAP_WRITEBACK_CACHE;
	/* Splicing from our memory would take 4 times as long. */
	conn->want &= ~off;
	conn->want |= conn->capable & on;
	/* All other code asks this option. */
	fs->options.writeback_cache = conn->want & FUSE_CAP_WRITEBACK_CACHE;
	conn->max_readahead = READAHEAD;
	conn->max_background = BACKGROUND_MAX;
	conn->congestion_threshold = BACKGROUND_CONGEST;
	fs_logger_write(fs->logger, B2F_LOG_INFO, "%s is mounted on %s",
			fs->source.path, fs->mountpoint.path);
	if (fs->config.background)
		fs_logger_to_syslog(fs->logger);
	fs_daemon_ready(&fs->daemon);
}
