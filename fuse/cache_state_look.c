/* SPDX-License-Identifier: BSD-3-Clause */
/* cache_state_look.c - finds out whether a file has changed, by its stamp */
#include <errno.h>
#include <time.h>

#include "cache_state.h"
#include "fs.h"

#define SECOND_NS INT64_C(1000000000)

void fs_cache_state_note_meta(struct fs *fs, struct fs_backed *node,
			      const struct stat *before, const struct stat *now)
{
	struct b2f_frame_stamp old = {0}, new = b2f_frame_stamp_of(now);
	struct fs_cache_state *seen = &node->state.seen;

	if (before)
		old = b2f_frame_stamp_of(before);
	B2F_HOLD(&fs->state_lock);
	if (before)
		fs_cache_state_meta(seen, &old, &new);
	else
		fs_cache_state_ours(seen, &new);
}

static int64_t in_ns(const struct timespec *t)
{
	return t->tv_sec * SECOND_NS + t->tv_nsec;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void fs_cache_state_note_commit(struct fs *fs, struct fs_backed *node,
				const struct b2f_file_now *before,
				const struct b2f_file_now *now,
				const struct timespec *shown)
{
	struct fs_cache_state *seen = &node->state.seen;
	int64_t changed = before->stamp.ctime_ns;

	if (b2f_frame_stamp_equal(&now->stamp, &before->stamp))
		return;
	B2F_HOLD(&fs->state_lock);
	if (fs_cache_state_is_ours(seen, &before->stamp))
		changed = in_ns(&seen->ctime);
	changed = max(changed, in_ns(shown));
	/* A write may have been answered in between. */
	if (before->has_mtime)
		changed = max(changed, now->stamp.mtime_ns);
	if (changed > now->stamp.ctime_ns)
		changed = now->stamp.ctime_ns;
	fs_cache_state_ours_at(seen, &now->stamp, changed);
}

struct timespec fs_cache_state_ctime(struct fs *fs,
				     const struct fs_backed *node,
				     const struct stat *index)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	const struct fs_cache_state *seen = &node->state.seen;
	struct timespec t = index->st_ctim;
	B2F_HOLD(&fs->state_lock);

	if (fs_cache_state_is_ours(seen, &stamp))
		t = seen->ctime;
	return t;
}

/*
 * Looks at the file.  @nours: how many changes under way are the caller's own.
 * Returns 0 or an errno; in both cases fs->state_lock is held.
 */
static int look_and_lock(struct fs *fs, const struct fs_cache_state *seen,
			 int fd, uint64_t nours, struct fs_look *look)
{
	struct b2f_frame_stamp stamp;
	uint64_t nbegun, nended;
	struct stat st;
	int err;

	pthread_mutex_lock(&fs->state_lock);
	nbegun = seen->nbegun;
	nended = seen->nended;
	pthread_mutex_unlock(&fs->state_lock);
	err = fstat(fd, &st) ? -errno : 0;
	pthread_mutex_lock(&fs->state_lock);
	if (err)
		return err;
	stamp = b2f_frame_stamp_of(&st);
	*look = (struct fs_look){
		.stamp = stamp,
		.settled = b2f_frame_stamp_is_settled(&stamp),
		.alone = nbegun - nended == nours && seen->nbegun == nbegun,
	};
	return 0;
}

int fs_cache_state_open_plain(struct fs *fs, struct fs_handle *handle,
			      bool *first)
{
	struct fs_state *state = &handle->pin.node->state;
	struct fs_cache_state *seen = &state->seen;
	struct fs_look look;
	bool has_pages;
	int err = look_and_lock(fs, seen, handle->fd, 0, &look);

	if (err)
		goto out;
	*first = seen->nopen == 0;
	has_pages = seen->was_open;
	handle->keep_cache =
		fs_cache_state_open_look(seen, &look, state->nwriters > 0) ||
		!has_pages;
	if (!handle->keep_cache)
		seen->drop |= FS_CACHE_DROP_SELF;
	handle->is_seen = FS_SEEN;
	state->nwriters += handle->writes;
out:
	pthread_mutex_unlock(&fs->state_lock);
	return err;
}

void fs_cache_state_close_plain(struct fs *fs, struct fs_backed *node, int fd)
{
	struct fs_cache_state *seen = &node->state.seen;
	struct fs_look look;
	int err = look_and_lock(fs, seen, fd, 0, &look);

	if (!err)
		fs_cache_state_compare(seen, &look);
	fs_cache_state_close(seen, !err && look.alone ? &look.stamp : NULL,
			     true, !err && look.settled);
	pthread_mutex_unlock(&fs->state_lock);
}

void fs_cache_state_begin(struct fs *fs, struct fs_backed *node, int fd)
{
	struct fs_cache_state *seen = &node->state.seen;
	struct fs_look look;

	/* Look now: our write would hide a foreign change. */
	if (!look_and_lock(fs, seen, fd, 0, &look))
		fs_cache_state_compare(seen, &look);
	seen->nbegun++;
	pthread_mutex_unlock(&fs->state_lock);
}

void fs_cache_state_end(struct fs *fs, struct fs_backed *node, int fd,
			int64_t size)
{
	struct fs_cache_state *seen = &node->state.seen;
	struct fs_look look;
	int err = look_and_lock(fs, seen, fd, 1, &look);
	bool must_drop;

	if (!err && look.alone) {
		fs_cache_state_ours(seen, &look.stamp);
		seen->nseen = seen->nbegun;
	}
	/* The kernel may have cached the appended bytes at a wrong offset. */
	if (!err && size >= 0 && look.stamp.size != size)
		fs_cache_state_theirs(seen, &look.stamp);
	must_drop = fs_cache_state_end_change(seen);
	pthread_mutex_unlock(&fs->state_lock);
	if (must_drop)
		fs_wakeup_call(&fs->wakeup, true);
}

void fs_cache_state_look(struct fs *fs, struct fs_backed *node, int fd)
{
	struct fs_look look;

	if (!look_and_lock(fs, &node->state.seen, fd, 0, &look)) {
		fs_cache_state_compare(&node->state.seen, &look);
		if (node->state.nwriters == 0)
			fs_cache_state_resolve(&node->state.seen, &look);
	}
	pthread_mutex_unlock(&fs->state_lock);
}
