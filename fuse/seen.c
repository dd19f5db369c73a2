/* SPDX-License-Identifier: BSD-3-Clause */
/* seen.c - what the kernel and we have seen of a frame */
#include "fs.h"
#include "seen.h"

#define SECOND_NS INT64_C(1000000000)

/* Locked, as what follows. */
static bool is_own(const struct fs_state *state,
		   const struct b2f_frame_stamp *stamp)
{
	return state->has_own && b2f_frame_stamp_equal(&state->own, stamp);
}

static void set_own(struct fs_state *state, const struct b2f_frame_stamp *stamp,
		    int64_t ctime_ns)
{
	state->own = *stamp;
	state->own_ctime.tv_sec = ctime_ns / SECOND_NS;
	state->own_ctime.tv_nsec = ctime_ns % SECOND_NS;
	state->has_own = true;
}

void fs_seen_note_left(struct fs_state *state,
		       const struct b2f_frame_stamp *stamp)
{
	if (!is_own(state, stamp))
		set_own(state, stamp, stamp->ctime_ns);
}

void fs_seen_note_own(struct fs *fs, struct fs_node *node,
		      const struct stat *before, const struct stat *now)
{
	struct b2f_frame_stamp old = {0}, new = b2f_frame_stamp_of(now);
	struct fs_state *state = &node->state;

	if (before)
		old = b2f_frame_stamp_of(before);
	pthread_mutex_lock(&fs->files.lock);
	if (!before || is_own(state, &old))
		set_own(state, &new, new.ctime_ns);
	if (before && state->has_told &&
	    b2f_frame_stamp_equal(&state->told, &old))
		state->told = new;
	if (before && state->has_cached &&
	    b2f_frame_stamp_equal(&state->cached, &old))
		state->cached = new;
	pthread_mutex_unlock(&fs->files.lock);
}

static int64_t in_ns(const struct timespec *t)
{
	return t->tv_sec * SECOND_NS + t->tv_nsec;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The ctime of what the index @stamp is of.  Locked. */
static int64_t ctime_of(const struct fs_state *state,
			const struct b2f_frame_stamp *stamp)
{
	if (is_own(state, stamp))
		return in_ns(&state->own_ctime);
	return stamp->ctime_ns;
}

void fs_seen_note_commit(struct fs *fs, struct fs_file *file,
			 const struct b2f_file_now *before)
{
	struct fs_state *state = &file->pin.node->state;
	struct b2f_file_now now;
	int64_t changed;

	b2f_file_now_get(file->file, &now);
	if (b2f_frame_stamp_equal(&now.stamp, &before->stamp))
		return;
	pthread_mutex_lock(&fs->files.lock);
	changed = max(ctime_of(state, &before->stamp),
		      in_ns(&file->attr.st_ctim));
	/* The time of the last write, which may have come meanwhile. */
	if (before->has_mtime)
		changed = max(changed, now.stamp.mtime_ns);
	if (changed > now.stamp.ctime_ns)
		changed = now.stamp.ctime_ns;
	set_own(state, &now.stamp, changed);
	pthread_mutex_unlock(&fs->files.lock);
}

struct timespec fs_seen_ctime(struct fs *fs, const struct fs_node *node,
			      const struct stat *index)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	const struct fs_state *state = &node->state;
	struct timespec t = index->st_ctim;

	pthread_mutex_lock(&fs->files.lock);
	if (is_own(state, &stamp))
		t = state->own_ctime;
	pthread_mutex_unlock(&fs->files.lock);
	return t;
}
