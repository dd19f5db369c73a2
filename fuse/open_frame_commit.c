/* SPDX-License-Identifier: BSD-3-Clause */
/* open_frame_commit.c - versions of open frames: ours, and foreign ones */
#include <errno.h>
#include <string.h>

#include "fs.h"
#include "b2frame/error.h"
#include "probe.h"

/*
 * How often and how long to wait for another writer: a mount that was just
 * unmounted may still be storing its last changes.
 */
#define BUSY_TRIES 60
#define BUSY_NS	   50000000

static bool is_deleted(struct fs *fs, const struct fs_open_frame *frame)
{
	bool deleted;

	pthread_mutex_lock(&fs->state_lock);
	deleted = frame->pin.node->state.deleted ||
		  frame->pin.node->state.unlinked;
	pthread_mutex_unlock(&fs->state_lock);
	return deleted;
}

void fs_open_frame_note_commit(struct fs *fs, struct fs_open_frame *frame,
			       const struct b2f_file_now *before)
{
	struct b2f_file_now now;
	struct timespec shown;

	b2f_file_now_get(frame->open.data, &now);
	pthread_mutex_lock(&fs->state_lock);
	shown = frame->attr.st_ctim;
	pthread_mutex_unlock(&fs->state_lock);
	fs_cache_state_note_commit(fs, frame->pin.node, before, &now, &shown);
}

void fs_open_frame_log_failure(struct fs *fs, const struct fs_open_frame *frame,
			       int err)
{
	fs_logger_write(fs->logger, B2F_LOG_ERROR,
			err == -ESTALE ? "%s: changes are lost: %s"
				       : "%s: changes are kept in memory: %s",
			frame->label, b2f_strerror(err));
}

/*
 * Has @f lost its last name, but not by this mount?  Another one may have made a
 * directory of it while this one waited for its lock (form.h): what would be
 * written here now, nothing would lead to.
 */
static bool is_gone(struct fs *fs, const struct fs_open_frame *f)
{
	struct stat st;

	return fstat(f->pin.fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_nlink == 0 && !is_deleted(fs, f);
}

int fs_open_frame_allow_write(struct fs *fs, struct fs_open_frame *f)
{
	const struct timespec pause = {.tv_nsec = BUSY_NS};
	struct b2f_write_options options = fs->config.write;
	int err = -EBUSY;

	options.durability = fs_durable_open(fs, f);
	if (!options.durability)
		return -ENOMEM;
	for (int i = 0; i < BUSY_TRIES && err == -EBUSY; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		err = b2f_file_allow_write(f->open.data, &options);
	}
	/* The kernel looks up the name again. */
	if (!err && is_gone(fs, f))
		err = -ESTALE;
	return err;
}

/*
 * A durable commit writes anew what a sync failed for; for that the frame must
 * be writable.
 */
static int prepare(struct fs *fs, struct fs_open_frame *frame,
		   enum b2f_commit_how how)
{
	if (how != B2F_COMMIT_DURABLE || b2f_file_is_writable(frame->open.data) ||
	    fs_durable_state(fs, frame->dev, frame->ino) != B2F_DISK_FAILED)
		return 0;
	return fs_open_frame_allow_write(fs, frame);
}

/*
 * Makes the rest durable after a commit: the contents, if there was nothing to
 * commit because the frame was not @writable, and a new name.
 */
static int make_durable(struct fs *fs, struct fs_open_frame *frame,
			bool writable)
{
	int err = 0;

	if (!writable || !b2f_file_is_writable(frame->open.data))
		err = fs_durable_make_contents(fs, frame->dev, frame->ino,
					       frame->pin.fd);
	return err ? err
		   : fs_durable_make_name(fs, frame->pin.node, frame->dev,
					  frame->ino);
}

static void note_foreign(struct fs *fs, struct fs_file *file)
{
	fs_open_frame_drop_cached(fs, (struct fs_open_frame *)file);
}

static void note_commit(struct fs *fs, struct fs_file *file,
			const struct b2f_file_now *before, bool foreign,
			int err)
{
	struct fs_open_frame *frame = (struct fs_open_frame *)file;

	(void)err;
	if (!foreign && !frame->past_cache)
		fs_open_frame_note_commit(fs, frame, before);
}

static void revert(struct fs *fs, struct fs_file *file)
{
	struct fs_open_frame *frame = (struct fs_open_frame *)file;

	/* If this fails, the frame is gone: there is nothing else to show. */
	if (b2f_file_revert(file->data))
		return;
	atomic_store(&frame->ncommitted, atomic_load(&frame->nchanges));
	fs_open_frame_take_foreign(fs, frame);
	fs_open_frame_log_failure(fs, frame, -ESTALE);
}

const struct fs_file_ops fs_open_frame_ops = {
	.note_foreign = note_foreign,
	.note_commit = note_commit,
	.revert = revert,
};

static int commit(struct fs *fs, struct fs_open_frame *frame,
		  enum b2f_commit_how how, bool waits)
{
	uint64_t n = atomic_load(&frame->nchanges), old;
	bool writable;
	int err;

	if (is_deleted(fs, frame))
		return 0;
	err = prepare(fs, frame, how);
	if (err)
		return err;
	writable = b2f_file_is_writable(frame->open.data);
	err = fs_file_commit(fs, &frame->open, how, waits);
	if (!err && how == B2F_COMMIT_DURABLE)
		err = make_durable(fs, frame, writable);
	if (err)
		return err;
	old = atomic_load(&frame->ncommitted);
	while (old < n &&
	       !atomic_compare_exchange_weak(&frame->ncommitted, &old, n))
		;
	return 0;
}

int fs_open_frame_commit(struct fs *fs, struct fs_open_frame *frame,
			 enum b2f_commit_how how)
{
	return commit(fs, frame, how, true);
}

int fs_open_frame_try_commit(struct fs *fs, struct fs_open_frame *frame,
			     enum b2f_commit_how how)
{
	return commit(fs, frame, how, false);
}

void fs_open_frame_tidy(struct fs *fs, struct fs_open_frame *frame, bool late)
{
	struct b2f_file_now before;

	if (is_deleted(fs, frame))
		return;
	atomic_store(&frame->ntidied, atomic_load(&frame->ncommitted));
	b2f_file_now_get(frame->open.data, &before);
	b2f_file_tidy(frame->open.data, atomic_load(&frame->open.nwriters) <= 1, late);
	if (!frame->past_cache)
		fs_open_frame_note_commit(fs, frame, &before);
}

void fs_open_frame_begin_writer(struct fs *fs, struct fs_open_frame *frame)
{
	pthread_mutex_lock(&fs->state_lock);
	fs_file_add_writer(fs, &frame->open);
	frame->keeps_lock = false;
	pthread_mutex_unlock(&fs->state_lock);
}

void fs_open_frame_end_writer(struct fs *fs, struct fs_open_frame *frame)
{
	bool last;

	pthread_mutex_lock(&fs->state_lock);
	last = atomic_fetch_sub(&frame->open.nwriters, 1) == 1;
	frame->keeps_lock |= last;
	pthread_mutex_unlock(&fs->state_lock);
	if (last && !fs_open_frame_is_committed(frame))
		/* If this fails, the data stay, and the ticker tries again. */
		(void)!fs_open_frame_commit(fs, frame, B2F_COMMIT_VISIBLE);
}

/* Ends the transaction; -EBUSY: there is something to commit. */
static int end_write(struct fs *fs, struct fs_open_frame *frame)
{
	struct b2f_file_now before;
	int err = 0;

	if (is_deleted(fs, frame))
		return 0;
	if (!fs_open_frame_is_committed(frame))
		return -EBUSY;
	b2f_file_now_get(frame->open.data, &before);
	err = b2f_file_end_write(frame->open.data);
	note_commit(fs, &frame->open, &before,
		    fs_file_take_foreign(fs, &frame->open), err);
	return err;
}

void fs_open_frame_unlock(struct fs *fs, struct fs_open_frame *frame)
{
	bool may;
	int err;

	pthread_mutex_lock(&fs->state_lock);
	may = frame->keeps_lock && !frame->open.reverting &&
	      atomic_load(&frame->open.nwriters) == 0;
	frame->open.reverting |= may;
	pthread_mutex_unlock(&fs->state_lock);
	if (!may)
		return;
	err = end_write(fs, frame);
	pthread_mutex_lock(&fs->state_lock);
	/* The ticker commits, and tries again. */
	frame->keeps_lock = err == -EBUSY;
	pthread_mutex_unlock(&fs->state_lock);
	fs_file_end_revert(fs, &frame->open);
}

int fs_open_frame_commit_old(struct fs *fs, struct fs_open_frame *frame)
{
	uint64_t age_ns = fs->config.commit_ns;

	if (age_ns == 0 || b2f_file_dirty_ns(frame->open.data) < age_ns)
		return 0;
	return fs_open_frame_try_commit(fs, frame, B2F_COMMIT_DURABLE);
}

void fs_open_frame_drop_cached(struct fs *fs, struct fs_open_frame *frame)
{
	struct fs_state *state = &frame->pin.node->state;

	pthread_mutex_lock(&fs->state_lock);
	fs_cache_state_theirs(&state->seen, NULL);
	if (state->has_view)
		state->seen.drop |= FS_CACHE_DROP_VIEW;
	pthread_mutex_unlock(&fs->state_lock);
	fs_wakeup_call(&fs->wakeup, true);
}

void fs_open_frame_take_foreign(struct fs *fs, struct fs_open_frame *frame)
{
	(void)fs_file_take_foreign(fs, &frame->open);
}

int fs_open_frame_refresh(struct fs *fs, struct fs_open_frame *frame,
			  const struct stat *index, uint32_t wait_ms)
{
	const struct fs_pin *pin = &frame->pin;
	struct b2f_frame_stamp stamp;
	struct b2f_file_now now;
	struct stat seen = {0};
	bool changed = false;
	int err;

	/* If there is no index, b2f_file_refresh() tells why. */
	if (!index)
		(void)!fs_probe_index(pin->fd, pin->node->sparse, &seen);
	stamp = b2f_frame_stamp_of(index ? index : &seen);
	/* b2f_file_refresh() waits for the end of a commit, so avoid it. */
	b2f_file_now_get(frame->open.data, &now);
	if (b2f_frame_stamp_equal(&now.stamp, &stamp) && !now.in_doubt) {
		fs_open_frame_take_foreign(fs, frame);
		return 0;
	}
	err = b2f_file_refresh(frame->open.data, wait_ms, &changed);
	if (!err && changed)
		fs_open_frame_drop_cached(fs, frame);
	return err;
}
