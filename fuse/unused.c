/* SPDX-License-Identifier: BSD-3-Clause */
/* unused.c - ends a mount that has not been used for some time (timeout=) */
#include "fs.h"
#include "bucket_writer.h"
#include "session.h"

/* Open files count as in use, and so do unstored changes. */
static bool is_used(struct fs *fs)
{
	uint64_t nuses = fs_stats_uses(&fs->stats), before = fs->unused.nuses;

	fs->unused.nuses = nuses;
	return nuses != before || fs_open_frame_any(fs) ||
	       fs_bucket_writer_any(fs);
}

bool fs_unused_tick(struct fs *fs)
{
	struct fs_unused *unused = &fs->unused;

	if (fs->options.timeout_s == 0)
		return false;
	unused->since_s = is_used(fs) ? 0 : unused->since_s + 1;
	if (unused->since_s < fs->options.timeout_s)
		return true;
	/* A busy mount is in use. */
	unused->since_s = 0;
	if (fs_session_unmount_idle(fs))
		fs_logger_write(fs->logger, B2F_LOG_INFO,
				"%s: ending: not used for %lld s",
				fs->mountpoint.path,
				(long long)fs->options.timeout_s);
	return true;
}
