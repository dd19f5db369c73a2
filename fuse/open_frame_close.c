/* SPDX-License-Identifier: BSD-3-Clause */
/* open_frame_close.c - the last close of frames, and their deletion */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wakeup.h"
#include "b2frame/error.h"
#include "fs.h"
#include "probe.h"

/* How long the end waits for programs that have locked frames, seconds. */
#define LOCKED_S	5
#define LOCKED_PAUSE_NS 50000000

/* State of a frame when its last user leaves. */
struct ending {
	struct b2f_file_now now;
	/*
	 * The index is as we left it; and no other version can have its stamp.
	 */
	bool settled;
	bool as_left;
};

static struct ending look_back(const struct fs_open_frame *frame)
{
	const struct fs_pin *pin = &frame->pin;
	struct ending end = {0};
	struct b2f_frame_stamp stamp;
	struct stat index;

	b2f_file_now_get(frame->open.data, &end.now);
	if (fs_probe_index(pin->fd, pin->node->sparse, &index))
		return end;
	stamp = b2f_frame_stamp_of(&index);
	end.as_left = b2f_frame_stamp_equal(&stamp, &end.now.stamp);
	end.settled = end.as_left && b2f_frame_stamp_is_settled(&stamp);
	return end;
}

/* Takes @frame out of the list and off its node, before destroy().  Locked. */
static void drop_from_list(struct fs *fs, struct fs_open_frame *frame,
			   const struct ending *end)
{
	struct fs_state *state = &frame->pin.node->state;

	TAILQ_REMOVE(&fs->files.frames, frame, all);
	if (state->frame == frame)
		state->frame = NULL;
	state->nclosing++;
	/* The kernel has cached nothing of a frame read past its cache. */
	if (!frame->past_cache)
		fs_cache_state_close(&state->seen, end ? &end->now.stamp : NULL,
				     end && end->as_left, end && end->settled);
}

/* Closes a frame that is in no list and has no user. */
static void destroy(struct fs *fs, struct fs_open_frame *frame, bool deleted)
{
	if (deleted)
		b2f_file_discard(frame->open.data);
	b2f_file_close(frame->open.data);
	fs_durable_close(fs, frame);
	pthread_mutex_lock(&fs->state_lock);
	frame->pin.node->state.nclosing--;
	pthread_cond_broadcast(&fs->files.settled);
	pthread_mutex_unlock(&fs->state_lock);
	fs_tree_unpin(fs->tree, &frame->pin);
	free(frame->label);
	free(frame);
}

enum leaving {
	/* Others have it open. */
	OTHERS,
	/* Its changes must be committed first. */
	COMMIT,
	/* It stays open until its changes can be committed. */
	KEEP,
	DELETED,
	CLOSE,
};

/*
 * Gives back a reference, unless the changes must be committed first.  @tried:
 * that was tried, and gave @err.
 */
static enum leaving try_leave(struct fs *fs, struct fs_open_frame *frame,
			      bool tried, int err, const struct ending *end)
{
	struct fs_state *state = &frame->pin.node->state;
	enum leaving result = CLOSE;

	pthread_mutex_lock(&fs->state_lock);
	if (frame->open.nrefs > 1)
		result = OTHERS;
	else if (state->deleted || state->unlinked)
		result = DELETED;
	else if (!fs_open_frame_is_committed(frame) && !tried &&
		 fs_file_is_due(&frame->open))
		result = COMMIT;
	else if (!fs_open_frame_is_committed(frame) && err != -ESTALE)
		result = KEEP;
	if (result != COMMIT)
		frame->open.nrefs--;
	if (result == KEEP && tried)
		fs_file_put_off(&frame->open);
	if (result == CLOSE || result == DELETED)
		drop_from_list(fs, frame, result == CLOSE ? end : NULL);
	pthread_mutex_unlock(&fs->state_lock);
	return result;
}

/*
 * The usual case: it has other users.  *@must_unlock: these do not write, and with
 * *@tried false, it stays until others may.
 */
static bool leave_to_others(struct fs *fs, struct fs_open_frame *frame,
			    bool tried, bool *must_unlock)
{
	bool others;

	pthread_mutex_lock(&fs->state_lock);
	others = frame->open.nrefs > 1;
	*must_unlock = others && frame->keeps_lock && !tried;
	if (others && !*must_unlock)
		frame->open.nrefs--;
	pthread_mutex_unlock(&fs->state_lock);
	return others;
}

/* Returns whether others have it; the last writer of all leaves no lock to them. */
static bool leave_shared(struct fs *fs, struct fs_open_frame *frame)
{
	bool must_unlock;

	if (!leave_to_others(fs, frame, false, &must_unlock))
		return false;
	if (!must_unlock)
		return true;
	fs_open_frame_unlock(fs, frame);
	return leave_to_others(fs, frame, true, &must_unlock);
}

void fs_open_frame_put(struct fs *fs, struct fs_open_frame *frame)
{
	enum leaving result;
	bool tried = false;
	int err = 0;

	if (leave_shared(fs, frame))
		return;
	for (;;) {
		struct ending end;

		/*
		 * The close would tidy after commits since the last flush,
		 * which must not look like a foreign change.
		 */
		if (!frame->pin.node->sparse &&
		    atomic_load(&frame->ntidied) != atomic_load(&frame->ncommitted))
			fs_open_frame_tidy(fs, frame, true);
		end = look_back(frame);
		result = try_leave(fs, frame, tried, err, &end);
		if (result != COMMIT)
			break;
		/*
		 * Do not wait: this may be the ticker, and close(2) has waited
		 * before.
		 */
		err = fs_open_frame_try_commit(fs, frame, B2F_COMMIT_VISIBLE);
		/* Another thread may change it again meanwhile. */
		tried = err != 0;
		/* -EAGAIN is no failure: the ticker is about to commit it. */
		if (err && err != -EAGAIN && !fs_open_frame_is_committed(frame))
			fs_open_frame_log_failure(fs, frame, err);
	}
	if (result == CLOSE || result == DELETED)
		destroy(fs, frame, result == DELETED);
}

static void log_loss(struct fs *fs, const struct fs_open_frame *frame, int err)
{
	fs_logger_write(fs->logger, B2F_LOG_ERROR, "%s: changes are lost: %s",
			frame->label,
			err == -EAGAIN ? "another program holds .b2lock"
				       : b2f_strerror(err));
}

/*
 * Commits and closes all frames, but with @patient keeps those that another
 * program has locked.  Returns 0 or the first error.
 */
static int end_all(struct fs *fs, bool patient)
{
	struct fs_open_frame *frame, *next;
	int first = 0;

	for (frame = TAILQ_FIRST(&fs->files.frames); frame; frame = next) {
		int err =
			fs_open_frame_try_commit(fs, frame, B2F_COMMIT_DURABLE);

		next = TAILQ_NEXT(frame, all);
		if (err == -EAGAIN && patient)
			continue;
		if (err && !fs_open_frame_is_committed(frame))
			log_loss(fs, frame, err);
		if (!first)
			first = err;
		drop_from_list(fs, frame, NULL);
		destroy(fs, frame, false);
	}
	return first;
}

int fs_open_frame_fini(struct fs *fs)
{
	const struct timespec pause = {.tv_nsec = LOCKED_PAUSE_NS};
	time_t until = fs_clock_s() + LOCKED_S;
	int first = 0;

	while (!TAILQ_EMPTY(&fs->files.frames)) {
		int err = end_all(fs, fs_clock_s() < until);

		if (!first)
			first = err;
		if (!TAILQ_EMPTY(&fs->files.frames))
			nanosleep(&pause, NULL);
	}
	return first;
}

/*
 * Takes away the open frame of @node, which has no name any more, if it was
 * kept only for changes that are lost now; or NULL.  Locked.
 */
static struct fs_open_frame *take_kept(struct fs *fs, struct fs_backed *node)
{
	struct fs_open_frame *kept = node->state.frame;

	if (!kept || kept->open.nrefs > 0)
		return NULL;
	drop_from_list(fs, kept, NULL);
	return kept;
}

void fs_open_frame_unlinked(struct fs *fs, struct fs_backed *node)
{
	struct fs_open_frame *kept;

	fs_durable_forget(fs, node);
	pthread_mutex_lock(&fs->state_lock);
	node->state.unlinked = true;
	kept = take_kept(fs, node);
	pthread_mutex_unlock(&fs->state_lock);
	if (kept)
		destroy(fs, kept, true);
}

/* Hands @deleted to @node, which finishes it when it is freed. */
static void leave_to_node(struct fs *fs, struct fs_backed *node,
			  struct fs_unlinked *deleted)
{
	struct fs_open_frame *kept;

	fs_tree_retire(fs->tree, node);
	pthread_mutex_lock(&fs->state_lock);
	node->state.deleted = deleted;
	kept = take_kept(fs, node);
	pthread_mutex_unlock(&fs->state_lock);
	if (kept)
		destroy(fs, kept, true);
}

int fs_open_frame_delete(struct fs *fs, int dirfd, const char *name,
			 const struct stat *what, struct fs_backed *node)
{
	struct fs_unlinked *deleted = NULL;
	int err = fs_unlinked_hide(fs, dirfd, name, what, &deleted);

	if (err)
		return err;
	if (!node) {
		fs_unlinked_finish(fs, deleted);
		return 0;
	}
	fs_durable_forget(fs, node);
	leave_to_node(fs, node, deleted);
	return 0;
}
