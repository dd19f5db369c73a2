/* SPDX-License-Identifier: BSD-3-Clause */
/* plainfiles.c - what the kernel has cached of other files than frames */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fs.h"
#include "plainfiles.h"

/* A file, and whether what is seen is sure to be without a change of ours. */
struct look {
	struct stat st;
	struct b2f_frame_stamp stamp;
	bool alone;
};

/*
 * @nours: changes that the caller knows of.  Returns 0 or an errno, in any case
 * with files->lock held.
 */
static int look_and_lock(struct fs *fs, const struct fs_state *state, int fd,
			 size_t nours, struct look *look)
{
	uint64_t nchanges;
	bool alone;
	int err;

	pthread_mutex_lock(&fs->files.lock);
	nchanges = state->nchanges;
	alone = state->nchanging == nours;
	pthread_mutex_unlock(&fs->files.lock);
	err = fstat(fd, &look->st) ? -errno : 0;
	pthread_mutex_lock(&fs->files.lock);
	if (err)
		return err;
	look->stamp = b2f_frame_stamp_of(&look->st);
	look->alone = alone && state->nchanging == nours &&
		      state->nchanges == nchanges;
	return 0;
}

/* What is on disk is what the kernel is to have.  Locked. */
static void note(struct fs_state *state, const struct look *look)
{
	state->has_ours = false;
	state->cached = look->stamp;
	state->has_cached = fs_frames_settled(&look->st);
}

/* Have others changed it since @state->cached, as far as is known?  Locked. */
static bool is_theirs(const struct fs_state *state, const struct look *look)
{
	return state->nplain > 0 && look->alone && !state->has_ours &&
	       !b2f_frame_stamp_same_data(&state->cached, &look->stamp, false);
}

void fs_plain_begin(struct fs *fs, struct fs_node *node, int fd)
{
	struct fs_state *state = &node->state;
	struct look look;

	/* Else it would seem to be a part of ours. */
	if (!look_and_lock(fs, state, fd, 0, &look) && is_theirs(state, &look))
		state->has_theirs = true;
	state->nchanging++;
	state->nchanges++;
	pthread_mutex_unlock(&fs->files.lock);
}

void fs_plain_end(struct fs *fs, struct fs_node *node, int fd)
{
	struct look look;
	struct fs_state *state = &node->state;
	int err = look_and_lock(fs, state, fd, 1, &look);

	/* When nobody has it open, the next open is to compare it. */
	if (state->nplain > 0 && !err && look.alone)
		note(state, &look);
	else if (state->nplain > 0)
		state->has_ours = true;
	state->nchanging--;
	pthread_mutex_unlock(&fs->files.lock);
}

/* What is known of the file from other handles is right.  Locked. */
static bool is_known(const struct fs_state *state, const struct look *look)
{
	if (state->nwriters == 0)
		return false;
	return !look->alone || state->has_ours ||
	       b2f_frame_stamp_same_data(&state->cached, &look->stamp, false);
}

/* Is what the kernel has cached right, for a new handle?  Locked. */
static bool may_keep(struct fs_state *state, const struct look *look)
{
	bool keep, is_same;

	if (state->ndropping > 0 || state->has_theirs)
		return false;
	if (is_known(state, look))
		return true;
	is_same = b2f_frame_stamp_equal(&state->cached, &look->stamp);
	keep = state->has_cached && is_same;
	/* Who has it open already is told by the ticker. */
	if (state->nplain == 0 || is_same)
		note(state, look);
	return keep;
}

int fs_plain_add(struct fs *fs, struct fs_handle *handle, bool *keep)
{
	struct fs_state *state = &handle->pin.node->state;
	struct look look;
	int err = look_and_lock(fs, state, handle->fd, 0, &look);

	if (!err) {
		*keep = may_keep(state, &look);
		state->nplain++;
		state->nwriters += handle->writes;
		handle->is_plain = true;
	}
	pthread_mutex_unlock(&fs->files.lock);
	return err;
}

/* Else what we did would seem to be of others. */
static void note_written(struct fs *fs, const struct fs_handle *handle)
{
	struct fs_state *state = &handle->pin.node->state;
	struct look look;

	if (!look_and_lock(fs, state, handle->fd, 0, &look)) {
		state->has_theirs |= is_theirs(state, &look);
		/* Only a look at its name can tell the kernel of a size. */
		state->outdated |= state->has_theirs;
		state->told = look.stamp;
		state->has_told = true;
		if (state->has_theirs || state->has_ours)
			state->has_cached = false;
		else if (look.alone)
			note(state, &look);
	}
	pthread_mutex_unlock(&fs->files.lock);
}

void fs_plain_remove(struct fs *fs, struct fs_handle *handle)
{
	struct fs_state *state = &handle->pin.node->state;

	if (atomic_load(&handle->wrote))
		note_written(fs, handle);
	pthread_mutex_lock(&fs->files.lock);
	if (handle->is_plain) {
		state->nplain--;
		state->nwriters -= handle->writes;
	}
	handle->is_plain = false;
	pthread_mutex_unlock(&fs->files.lock);
}

/* One that nobody refers to any more is about to leave the list. */
static bool ref_unless_closed(struct fs_handle *handle)
{
	size_t n = atomic_load(&handle->nrefs);

	while (n > 0 &&
	       !atomic_compare_exchange_weak(&handle->nrefs, &n, n + 1))
		;
	return n > 0;
}

int fs_plain_all(struct fs *fs, struct fs_handle ***out, size_t *n)
{
	struct fs_handle *head = &fs->files.all;
	struct fs_handle **handles = NULL;
	size_t count = 0, i = 0;

	pthread_mutex_lock(&fs->files.lock);
	for (struct fs_handle *h = head->next; h != head; h = h->next)
		count += h->is_plain;
	if (count > 0)
		handles = malloc(count * sizeof(struct fs_handle *));
	for (struct fs_handle *h = head->next; handles && h != head;
	     h = h->next) {
		if (h->is_plain && ref_unless_closed(h))
			handles[i++] = h;
	}
	pthread_mutex_unlock(&fs->files.lock);
	if (count > 0 && !handles)
		return -ENOMEM;
	*out = handles;
	*n = i;
	return 0;
}

bool fs_plain_has_changed(struct fs *fs, struct fs_handle *handle)
{
	struct fs_state *state = &handle->pin.node->state;
	bool changed = false;
	struct look look;

	if (!look_and_lock(fs, state, handle->fd, 0, &look)) {
		changed = state->has_theirs || is_theirs(state, &look);
		state->outdated |= changed;
		state->has_theirs = false;
		if (look.alone && (changed || state->has_ours))
			note(state, &look);
		state->ndropping += changed;
	}
	pthread_mutex_unlock(&fs->files.lock);
	return changed;
}
