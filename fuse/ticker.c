/* SPDX-License-Identifier: BSD-3-Clause */
/* ticker.c - periodic work, once a second */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bucket_writer.h"
#include "durable.h"
#include "fs.h"
#include "session.h"
#include "view.h"
#include "wakeup.h"

/* A mount with open files or uncommitted changes is in use. */
static bool is_used(struct fs *fs)
{
	uint64_t nuses = fs_stats_uses(&fs->stats), before = fs->ticker.nuses;

	fs->ticker.nuses = nuses;
	return nuses != before || fs_file_any(fs);
}

/*
 * Unmounts an unused mount when timeout= has passed.  Returns whether it has to
 * be called again even without requests.
 */
static bool tick_unused(struct fs *fs)
{
	struct fs_ticker *ticker = &fs->ticker;

	if (fs->options.timeout_s == 0)
		return false;
	ticker->unused_s = is_used(fs) ? 0 : ticker->unused_s + 1;
	if (ticker->unused_s < fs->options.timeout_s)
		return true;
	/* The unmount fails if a program uses the mount. */
	ticker->unused_s = 0;
	if (fs_session_unmount_idle(fs))
		fs_logger_write(fs->logger, B2F_LOG_INFO,
				"%s: ending: not used for %lld s",
				fs->mountpoint.path,
				(long long)fs->options.timeout_s);
	return true;
}

/*
 * A lent inode number is shown for so many seconds longer than the kernel
 * caches attributes.
 */
#define NUMBER_S 2

#define SECOND_NS INT64_C(1000000000)

/* Without a timer only very many frames are synced. */
#define NEVER_S INT32_MAX

/* How long fs_ticker_stop() waits for the kernel, seconds. */
#define STOP_S 3

static void tick_file(struct fs *fs, struct fs_file *file, bool is_urgent)
{
	if (!is_urgent)
		file->ops->tick(fs, file);
	if (file->ops->drop)
		file->ops->drop(fs, file);
	else
		fs_view_drop_cached(fs,
				    ((struct fs_open_frame *)file)->pin.node,
				    FS_CACHE_DROP_SELF | FS_CACHE_DROP_VIEW);
	file->ops->put(fs, file);
}

/*
 * Has the kernel drop its pages of plain files; looks for changed ones first,
 * unless @is_urgent.  Returns whether more are left for later.
 */
static bool tick_others(struct fs *fs, bool is_urgent)
{
	struct fs_handle *h = NULL;
	bool any = false;

	while ((h = fs_handle_next(fs, h))) {
		any = true;
		if (!is_urgent)
			fs_cache_state_look(fs, h->pin.node, h->fd);
		fs_view_drop_cached(fs, h->pin.node, FS_CACHE_DROP_SELF);
	}
	return any;
}

/*
 * Does one tick; with @is_urgent it only has the kernel drop pages.  Returns
 * whether more ticks must follow.
 */
static bool tick(struct fs *fs, bool is_urgent)
{
	const time_t age_s = fs->config.commit_ns / SECOND_NS;
	B2F_OWN struct fs_file **files = NULL;
	size_t n = 0;
	bool more = tick_others(fs, is_urgent);

	if (!is_urgent) {
		more |= fs_file_tick(fs);
		more |= fs_bucket_doomed_tick(fs);
		more |= fs_maker_drop_spare(&fs->requests.spare, false);
		if (fs->tree)
			more |= fs_tree_tick(fs->tree, fs_clock_s(),
					     fs->options.cache.attr_timeout_s +
						     NUMBER_S);
	}
	/* Without memory, try a second later. */
	if (fs_file_all(fs, &files, &n))
		return true;
	for (size_t i = 0; i < n; i++)
		tick_file(fs, files[i], is_urgent);
	if (!is_urgent)
		(void)!fs_durable_sync_due(fs, age_s ? age_s : NEVER_S);
	return more || n > 0;
}

/* The sum of bytes read and written, which grows with each block. */
static uint64_t work_done(const struct b2f_runtime_stats *stats)
{
	uint64_t n = stats->misses;

	for (int i = 0; i < B2F_STATS_CODECS; i++)
		n += stats->codecs[i].encoded_bytes;
	return n;
}

/*
 * Gives memory back when nothing is open, or when reads and writes have paused
 * for a second.
 */
static void trim_memory(struct fs *fs, bool is_idle)
{
	struct fs_ticker *ticker = &fs->ticker;
	struct b2f_runtime_stats stats;
	uint64_t work;

	b2f_runtime_stats_get(fs->runtime, &stats);
	work = work_done(&stats);
	if (is_idle || (work == ticker->work && work != ticker->work_trimmed)) {
		b2f_runtime_trim(fs->runtime);
		ticker->work_trimmed = work;
	}
	ticker->work = work;
}

static void *run(void *arg)
{
	struct timespec next = b2f_monotonic_in_ms(1000);
	struct fs *fs = arg;
	bool is_urgent, more, goes_on;

	while (fs_wakeup_wait(&fs->wakeup, &next, &is_urgent)) {
		more = tick(fs, is_urgent);
		/* Some options need ticks without requests, too. */
		goes_on = is_urgent || fs_stats_file_tick(fs);
		goes_on |= !is_urgent && tick_unused(fs);
		if (more || goes_on || fs_durable_sync_waits(fs))
			fs_wakeup_call(&fs->wakeup, false);
		if (is_urgent)
			continue;
		trim_memory(fs, !more);
		next = b2f_monotonic_in_ms(1000);
	}
	return NULL;
}

int fs_ticker_start(struct fs *fs)
{
	int err = pthread_create(&fs->ticker.thread, NULL, run, fs);

	/* Some options need ticks before the first request. */
	fs_wakeup_call(&fs->wakeup, false);
	fs->ticker.is_running = err == 0;
	return -err;
}

void fs_ticker_stop(struct fs *fs)
{
	struct fs_ticker *ticker = &fs->ticker;

	if (!ticker->is_running)
		return;
	fs_wakeup_end(&fs->wakeup);
	/*
	 * The ticker may be waiting for the kernel, and the kernel for an
	 * answer that will not come: then cut the connection.
	 */
	if (!fs_clock_join(ticker->thread, STOP_S)) {
		fs_session_cut(fs);
		pthread_join(ticker->thread, NULL);
	}
	ticker->is_running = false;
}
