/* SPDX-License-Identifier: BSD-3-Clause */
/* open_frame.c - open frames: the first open, and sharing */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk_frame.h"
#include "fs.h"
#include "table_rows.h"

/* How long and how often an open waits for a frame that is being changed. */
#define WAIT_NS 20000000
#define WAITS	3

/* How long an open waits for a program that has locked the frame. */
#define OPEN_WAIT_MS 3000

static void free_frame(struct fs_open_frame *frame)
{
	if (!frame)
		return;
	b2f_file_close(frame->open.data);
	fs_tree_unpin(&frame->pin);
	free(frame->label);
	free(frame);
}

/* Did our last commit leave this index? */
static bool is_own(struct fs *fs, struct fs_backed *node,
		   const struct stat *index)
{
	struct b2f_frame_stamp stamp = b2f_frame_stamp_of(index);
	B2F_HOLD(&fs->state_lock);

	return fs_cache_state_is_ours(&node->state.seen, &stamp);
}

/*
 * Gets the index once its stamp is settled.  After a while returns it
 * unsettled, if it keeps changing or its clock ticks too slowly.
 */
static int wait_for_index(struct fs *fs, const struct fs_pin *pin,
			  struct stat *index, bool *settled)
{
	const struct timespec pause = {.tv_nsec = WAIT_NS};
	struct b2f_frame_stamp stamp;
	int err = 0;

	for (int i = 0; i <= WAITS; i++) {
		err = fs_probe_index(pin->fd, pin->node->sparse, index);
		if (err)
			break;
		stamp = b2f_frame_stamp_of(index);
		*settled = b2f_frame_stamp_is_settled(&stamp);
		if (*settled || b2f_frame_stamp_is_coarse(&stamp) ||
		    is_own(fs, pin->node, index))
			break;
		if (i < WAITS)
			nanosleep(&pause, NULL);
	}
	return err == -ENOENT ? -ESTALE : err;
}

/* Takes over @disk and @pin, and makes an open frame with one reference. */
static int wrap_frame(struct fs *fs, struct fs_pin *pin, struct b2f_frame *disk,
		      struct fs_open_frame **out)
{
	struct fs_open_frame *frame = calloc(1, sizeof(*frame));
	const struct b2f_frame_stamp file = b2f_frame_stamp_get(disk);
	/* A contiguous frame is that file. */
	struct stat st = {.st_dev = file.dev, .st_ino = file.ino};
	int err = 0;

	if (!frame) {
		fs_tree_unpin(pin);
		b2f_frame_close(disk);
		return -ENOMEM;
	}
	frame->pin = *pin;
	*pin = (struct fs_pin){0};
	frame->open.nrefs = 1;
	frame->open.ops = &fs_open_frame_ops;
	frame->label = strdup(b2f_frame_label(disk));
	if (!frame->label)
		err = -ENOMEM;
	else if (frame->pin.node->sparse && fstat(frame->pin.fd, &st))
		err = -errno;
	if (err)
		goto out;
	frame->dev = st.st_dev;
	frame->ino = st.st_ino;
	err = b2f_file_open(fs->runtime, disk, &frame->open.data);
	if (err)
		goto out;
	disk = NULL; /* now the frame's */
	*out = frame;
	frame = NULL; /* now the caller's */
out:
	b2f_frame_close(disk);
	free_frame(frame);
	return err;
}

/* Opens the current version.  *@settled: no other one has its stamp. */
static int new_frame(struct fs *fs, struct fs_backed *node,
		     struct fs_open_frame **out, bool *settled)
{
	struct b2f_frame *disk = NULL;
	struct b2f_frame_stamp before, opened = {0};
	FS_PIN(pin);
	struct stat index;
	uint64_t nrows = 0;
	int err = fs_tree_pin(fs->tree, node, &pin);

	if (!err)
		err = wait_for_index(fs, &pin, &index, settled);
	if (!err)
		err = fs_disk_frame_open(fs, node, pin.fd, &disk);
	if (!err) {
		opened = b2f_frame_stamp_get(disk);
		if (!fs_table_rows_count(fs, node, disk, &nrows))
			fs_table_rows_warn(fs, disk, nrows);
		err = wrap_frame(fs, &pin, disk, out);
	}
	if (err)
		return err;
	/* @index is older: a later version has another stamp. */
	before = b2f_frame_stamp_of(&index);
	*settled = *settled && b2f_frame_stamp_equal(&before, &opened);
	return 0;
}

/*
 * Makes *@frame the open frame of its node, or takes the one that another
 * thread published.  @inside: the daemon opens the frame for itself.  Returns
 * whether the kernel may keep its cached pages.
 */
static bool publish(struct fs *fs, struct fs_open_frame **frame, bool settled,
		    bool inside)
{
	struct fs_state *state = &(*frame)->pin.node->state;
	struct fs_open_frame *other, *spare = NULL;
	struct b2f_file_now now;
	bool keep = false;

	b2f_file_now_get((*frame)->open.data, &now);
	pthread_mutex_lock(&fs->state_lock);
	other = state->frame;
	if (other && (!other->pin.node->is_root ||
		      (other->dev == (*frame)->dev &&
		       other->ino == (*frame)->ino))) {
		other->open.nrefs++;
		spare = *frame;
		*frame = other;
		keep = fs_cache_state_may_share(&state->seen);
	} else {
		(*frame)->past_cache = other;
		if (!other) {
			state->frame = *frame;
			if (inside)
				fs_cache_state_open_inside(&state->seen,
							   &now.stamp, settled);
			else
				keep = fs_cache_state_open(&state->seen,
							   &now.stamp, settled);
		}
		TAILQ_INSERT_TAIL(&fs->files.active, &(*frame)->open, active);
	}
	pthread_mutex_unlock(&fs->state_lock);
	free_frame(spare);
	fs_wakeup_call(&fs->wakeup, false);
	return keep;
}

/* Does the name of the root lead to another directory than @frame's now? */
static bool is_replaced(struct fs *fs, const struct fs_open_frame *frame)
{
	FS_PIN(pin);
	struct stat st;

	return frame->pin.node->is_root &&
	       !fs_tree_pin(fs->tree, frame->pin.node, &pin) &&
	       fstat(pin.fd, &st) == 0 &&
	       (st.st_dev != frame->dev || st.st_ino != frame->ino);
}

/* Takes in foreign changes of @frame before it is shared. */
static int share(struct fs *fs, struct fs_open_frame *frame, bool *keep)
{
	int err = fs_open_frame_refresh(fs, frame, NULL, OPEN_WAIT_MS);

	if (err)
		return err == -ENOENT ? -ESTALE : err;
	B2F_HOLD(&fs->state_lock);
	*keep = fs_cache_state_may_share(&frame->pin.node->state.seen);
	return 0;
}

/* Waits while the open frame of @state is being opened or closed.  Locked. */
static struct fs_open_frame *settled(struct fs *fs,
				     const struct fs_state *state)
{
	while (!state->frame && (state->nclosing > 0 || state->opening))
		pthread_cond_wait(&fs->files.settled, &fs->state_lock);
	return state->frame;
}

int fs_open_frame_peek_or_begin(struct fs *fs, struct fs_backed *node,
				struct fs_open_frame **out)
{
	struct fs_state *state = &node->state;
	struct fs_open_frame *frame;
	B2F_HOLD(&fs->state_lock);

	*out = frame = settled(fs, state);
	if (frame) {
		frame->open.nrefs++;
		fs_open_frame_wake(&fs->files, frame);
	} else if (state->renewed) {
		return -ESTALE;
	} else {
		state->opening = true;
	}
	return 0;
}

void fs_open_frame_end_begin(struct fs *fs, struct fs_backed *node)
{
	B2F_HOLD(&fs->state_lock);

	node->state.opening = false;
	pthread_cond_broadcast(&fs->files.settled);
}

/* May the kernel have pages of another version than @frame's? */
static bool must_drop(struct fs *fs, const struct fs_open_frame *frame)
{
	struct b2f_file_now now;

	b2f_file_now_get(frame->open.data, &now);
	B2F_HOLD(&fs->state_lock);
	return fs_cache_state_must_drop(&frame->pin.node->state.seen,
					&now.stamp);
}

/*
 * Opens @node, either the first time or because the root's name leads to
 * another frame now.
 */
static int open_anew(struct fs *fs, struct fs_backed *node, bool first,
		     struct fs_open_frame **out, bool *keep_cache)
{
	struct fs_open_frame *frame = NULL;
	bool settled = false, dropped = false, keep;
	int err = new_frame(fs, node, &frame, &settled);

	if (err)
		return err;
	/* While nothing is open, no page waits for this thread. */
	if (first && keep_cache)
		dropped = !must_drop(fs, frame) ||
			  fs_node_drop_cached(&node->head);
	keep = publish(fs, &frame, settled, !keep_cache);
	if (keep_cache)
		*keep_cache = keep || dropped;
	*out = frame;
	return 0;
}

int fs_open_frame_get(struct fs *fs, struct fs_backed *node,
		      struct fs_open_frame **out, bool *keep_cache)
{
	struct fs_open_frame *frame = NULL;
	int err = fs_open_frame_peek_or_begin(fs, node, &frame);
	bool first = !frame, keep;

	if (err)
		return err;
	if (frame && is_replaced(fs, frame)) {
		fs_open_frame_put(fs, frame);
		frame = NULL;
	}
	if (!frame) {
		err = open_anew(fs, node, first, out, keep_cache);
		if (first)
			fs_open_frame_end_begin(fs, node);
		return err;
	}
	err = share(fs, frame, &keep);
	if (err) {
		fs_open_frame_put(fs, frame);
		return err;
	}
	if (keep_cache)
		*keep_cache = keep;
	*out = frame;
	return 0;
}

int fs_open_frame_add(struct fs *fs, struct fs_backed *node,
		      struct b2f_frame *made, struct fs_open_frame **out,
		      bool *keep_cache)
{
	struct fs_pin pin = {0};
	bool is_empty;
	int err = fs_tree_pin(fs->tree, node, &pin);

	if (err) {
		b2f_frame_close(made);
		return err;
	}
	err = wrap_frame(fs, &pin, made, out);
	if (err)
		return err;
	/*
	 * The kernel shows the name before it drops pages as the answer says:
	 * another program may be writing by then.
	 */
	is_empty = !must_drop(fs, *out);
	*keep_cache = publish(fs, out, false, false) || is_empty;
	return 0;
}

struct fs_open_frame *fs_open_frame_peek(struct fs *fs, struct fs_backed *node,
					 bool wait)
{
	B2F_HOLD(&fs->state_lock);
	struct fs_open_frame *frame =
		wait ? settled(fs, &node->state) : node->state.frame;

	if (frame)
		frame->open.nrefs++;
	return frame;
}
