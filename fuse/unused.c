/* SPDX-License-Identifier: BSD-3-Clause */
/* unused.c - ends a mount that has not been used for some time (timeout=) */
#include "fs.h"
#include "session.h"

bool fs_unused_tick(struct fs *fs)
{
	struct fs_unused *unused = &fs->unused;
	uint64_t nuses = fs_stats_uses(&fs->stats);

	if (fs->options.timeout_s == 0)
		return false;
	unused->since_s = nuses == unused->nuses ? unused->since_s + 1 : 0;
	unused->nuses = nuses;
	if (unused->since_s < fs->options.timeout_s)
		return true;
	/* One that is busy is in use. */
	unused->since_s = 0;
	if (fs_session_unmount_idle(fs))
		fs_logger_write(fs->logger, B2F_LOG_INFO,
				"%s: ending: not used for %lld s",
				fs->mountpoint.path,
				(long long)fs->options.timeout_s);
	return true;
}
