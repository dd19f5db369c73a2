/* SPDX-License-Identifier: BSD-3-Clause */
/* open_frames_end.c - commits, the last close, and deletion of open frames */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "durable.h"
#include "fs.h"
#include "probe.h"

#define SECOND_NS UINT64_C(1000000000)

/* How long to wait after a commit that failed at the last close, seconds. */
#define RETRY_S 5

/* How long the end waits for programs that have locked frames, seconds. */
#define LOCKED_S		5
#define LOCKED_PAUSE_NS 50000000

static time_t monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static bool is_deleted(struct fs *fs, const struct fs_file *file)
{
	bool deleted;

	pthread_mutex_lock(&fs->files.lock);
	deleted = file->pin.node->state.deleted;
	pthread_mutex_unlock(&fs->files.lock);
	return deleted;
}

/* The index is as our commit left it, unless another program was faster. */
static void note_commit(struct fs *fs, struct fs_file *file,
			const struct b2f_file_now *before)
{
	struct b2f_file_now now;
	struct timespec shown;

	b2f_file_now_get(file->file, &now);
	pthread_mutex_lock(&fs->files.lock);
	shown = file->attr.st_ctim;
	pthread_mutex_unlock(&fs->files.lock);
	fs_seen_note_commit(fs, file->pin.node, before, &now, &shown);
}

static void log_failure(struct fs *fs, const struct fs_file *file, int err)
{
	fs_logger_write(fs->logger, B2F_LOG_ERROR,
			err == -ESTALE ? "%s: changes are lost: %s"
				       : "%s: changes are kept in memory: %s",
			file->label, strerror(-err));
}

static void set_reverting(struct fs *fs, struct fs_file *file, bool reverting)
{
	pthread_mutex_lock(&fs->files.lock);
	file->reverting = reverting;
	pthread_cond_broadcast(&fs->frames.closed);
	pthread_mutex_unlock(&fs->files.lock);
}

/*
 * Shows readers what is on disk again, once every writer has been told that its
 * changes contradict it.  A writer that began before would be told nothing.
 */
static void forget_refused(struct fs *fs, struct fs_file *file)
{
	bool may;

	pthread_mutex_lock(&fs->files.lock);
	may = atomic_load(&file->nwriters) == 0 && !file->reverting;
	file->reverting |= may;
	pthread_mutex_unlock(&fs->files.lock);
	if (!may)
		return;
	/* If it fails, the frame has gone: there is nothing else to show. */
	if (b2f_file_revert(file->file) == 0) {
		atomic_store(&file->ncommitted, atomic_load(&file->nchanges));
		fs_frames_take_news(fs, file);
		log_failure(fs, file, -ESTALE);
	}
	set_reverting(fs, file, false);
}

typedef int commit_fn(struct b2f_file *file, enum b2f_commit_how how);

static int commit(struct fs *fs, struct fs_file *file, enum b2f_commit_how how,
		  commit_fn *fn)
{
	uint64_t n = atomic_load(&file->nchanges), old;
	struct b2f_file_now before;
	bool writable;
	int err;

	if (is_deleted(fs, file))
		return 0;
	writable = b2f_file_is_writable(file->file);
	b2f_file_now_get(file->file, &before);
	err = fn(file->file, how);
	if (b2f_file_take_news(file->file))
		fs_frames_drop_cached(fs, file);
	else if (!file->past_cache)
		note_commit(fs, file, &before);
	if (err == -ESTALE)
		forget_refused(fs, file);
	if (!err && how == B2F_COMMIT_DURABLE)
		err = fs_durable_make(fs, file, writable);
	if (err)
		return err;
	old = atomic_load(&file->ncommitted);
	while (old < n &&
	       !atomic_compare_exchange_weak(&file->ncommitted, &old, n))
		;
	return 0;
}

int fs_frames_commit(struct fs *fs, struct fs_file *file,
		     enum b2f_commit_how how)
{
	return commit(fs, file, how, b2f_file_commit);
}

void fs_frames_begin_writer(struct fs *fs, struct fs_file *file)
{
	pthread_mutex_lock(&fs->files.lock);
	while (file->reverting)
		pthread_cond_wait(&fs->frames.closed, &fs->files.lock);
	atomic_fetch_add(&file->nwriters, 1);
	pthread_mutex_unlock(&fs->files.lock);
}

void fs_frames_end_writer(struct fs *fs, struct fs_file *file)
{
	bool last;

	pthread_mutex_lock(&fs->files.lock);
	last = atomic_fetch_sub(&file->nwriters, 1) == 1;
	pthread_mutex_unlock(&fs->files.lock);
	if (last && !fs_frames_is_committed(file))
		/* If it fails, the data stay, and it is tried again. */
		(void)!fs_frames_commit(fs, file, B2F_COMMIT_VISIBLE);
}

int fs_frames_commit_old(struct fs *fs, struct fs_file *file)
{
	uint64_t age_ns = fs->settings.commit_ns;

	if (age_ns == 0 || b2f_file_dirty_ns(file->file) < age_ns)
		return 0;
	return commit(fs, file, B2F_COMMIT_DURABLE, b2f_file_try_commit);
}

/* What is known of a frame at its last close. */
struct ending {
	struct b2f_file_now now;
	/* The index is as we left it, and has been so for a while. */
	bool settled;
	bool as_left;
};

static struct ending look_back(const struct fs_file *file)
{
	const struct fs_pin *pin = &file->pin;
	struct ending end = {0};
	struct b2f_frame_stamp stamp;
	struct stat index;

	b2f_file_now_get(file->file, &end.now);
	if (fs_probe_index(pin->fd, pin->node->sparse, &index))
		return end;
	stamp = b2f_frame_stamp_of(&index);
	end.as_left = b2f_frame_stamp_equal(&stamp, &end.now.stamp);
	end.settled = end.as_left && fs_frames_settled(&index);
	return end;
}

/* It is about to be closed by destroy(), and nobody finds it.  Locked. */
static void drop_from_list(struct fs_file *file, const struct ending *end)
{
	struct fs_state *state = &file->pin.node->state;

	file->prev->next = file->next;
	file->next->prev = file->prev;
	if (state->file == file)
		state->file = NULL;
	state->nclosing++;
	/* Of one that was read past it, the cache has nothing. */
	if (!file->past_cache)
		fs_seen_close(&state->seen, end ? &end->now.stamp : NULL,
			      end && end->as_left, end && end->settled);
}

/* What nobody has open any more, and is in no list. */
static void destroy(struct fs *fs, struct fs_file *file, bool deleted)
{
	if (deleted)
		b2f_file_discard(file->file);
	b2f_file_close(file->file);
	fs_durable_close(fs, file);
	pthread_mutex_lock(&fs->files.lock);
	file->pin.node->state.nclosing--;
	pthread_cond_broadcast(&fs->frames.closed);
	pthread_mutex_unlock(&fs->files.lock);
	fs_tree_unpin(fs->tree, &file->pin);
	free(file->label);
	free(file);
}

enum leaving {
	/* Others have it open. */
	OTHERS,
	/* There is something to be committed first. */
	COMMIT,
	/* It stays, until it can be committed. */
	KEEP,
	DELETED,
	CLOSE,
};

/*
 * Gives back a reference, unless there is something to commit first.  @err is
 * what the last try gave.
 */
static enum leaving try_leave(struct fs *fs, struct fs_file *file, bool tried,
			      int err, const struct ending *end)
{
	struct fs_state *state = &file->pin.node->state;
	enum leaving result = CLOSE;

	pthread_mutex_lock(&fs->files.lock);
	if (file->nrefs > 1)
		result = OTHERS;
	else if (state->deleted)
		result = DELETED;
	else if (!fs_frames_is_committed(file) && !tried &&
		 file->retry_s <= monotonic_s())
		result = COMMIT;
	else if (!fs_frames_is_committed(file) && err != -ESTALE)
		result = KEEP;
	if (result != COMMIT)
		file->nrefs--;
	if (result == KEEP && tried)
		file->retry_s = monotonic_s() + RETRY_S;
	if (result == CLOSE || result == DELETED)
		drop_from_list(file, result == CLOSE ? end : NULL);
	pthread_mutex_unlock(&fs->files.lock);
	return result;
}

/* The usual case: others have it open too. */
static bool leave_to_others(struct fs *fs, struct fs_file *file)
{
	bool others;

	pthread_mutex_lock(&fs->files.lock);
	others = file->nrefs > 1;
	if (others)
		file->nrefs--;
	pthread_mutex_unlock(&fs->files.lock);
	return others;
}

void fs_frames_put(struct fs *fs, struct fs_file *file)
{
	enum leaving result;
	bool tried = false;
	int err = 0;

	if (leave_to_others(fs, file))
		return;
	for (;;) {
		struct ending end = look_back(file);

		result = try_leave(fs, file, tried, err, &end);
		if (result != COMMIT)
			break;
		/* The ticker may be here, and close(2) has waited before. */
		err = commit(fs, file, B2F_COMMIT_VISIBLE, b2f_file_try_commit);
		/* Another thread may change it again meanwhile. */
		tried = err != 0;
		/* -EAGAIN is no failure: the ticker is about to commit it. */
		if (err && err != -EAGAIN && !fs_frames_is_committed(file))
			log_failure(fs, file, err);
	}
	if (result == CLOSE || result == DELETED)
		destroy(fs, file, result == DELETED);
}

static void log_loss(struct fs *fs, const struct fs_file *file, int err)
{
	fs_logger_write(fs->logger, B2F_LOG_ERROR, "%s: changes are lost: %s",
			file->label,
			err == -EAGAIN ? "another program holds .b2lock"
				       : strerror(-err));
}

/*
 * Commits and closes all files, but with @patient those that another program
 * has locked.  Returns 0 or the first error.
 */
static int end_all(struct fs *fs, bool patient)
{
	struct fs_file *head = &fs->frames.all, *file, *next;
	int first = 0;

	for (file = head->next; file != head; file = next) {
		int err = commit(fs, file, B2F_COMMIT_DURABLE,
				 b2f_file_try_commit);

		next = file->next;
		if (err == -EAGAIN && patient)
			continue;
		if (err && !fs_frames_is_committed(file))
			log_loss(fs, file, err);
		if (!first)
			first = err;
		drop_from_list(file, NULL);
		destroy(fs, file, false);
	}
	return first;
}

int fs_frames_fini(struct fs *fs)
{
	const struct timespec pause = {.tv_nsec = LOCKED_PAUSE_NS};
	time_t until = monotonic_s() + LOCKED_S;
	const struct fs_file *head = &fs->frames.all;
	int first = 0;

	while (head->next != head) {
		int err = end_all(fs, monotonic_s() < until);

		if (!first)
			first = err;
		if (head->next != head)
			nanosleep(&pause, NULL);
	}
	return first;
}

/*
 * Leaves @deleted to the end of @node.  Returns the file that was only kept for
 * what could not be committed, or NULL.
 */
static struct fs_file *leave_to_node(struct fs *fs, struct fs_node *node,
				     struct fs_deleted *deleted)
{
	struct fs_state *state = &node->state;
	struct fs_file *kept = NULL;

	fs_tree_retire(fs->tree, node);
	pthread_mutex_lock(&fs->files.lock);
	state->deleted = deleted;
	if (state->file && state->file->nrefs == 0) {
		kept = state->file;
		drop_from_list(kept, NULL);
	}
	pthread_mutex_unlock(&fs->files.lock);
	return kept;
}

int fs_frames_delete(struct fs *fs, int dirfd, const char *name,
		     struct fs_node *node)
{
	struct fs_deleted *deleted = NULL;
	struct fs_file *kept;
	int err = fs_deleted_hide(fs, dirfd, name, &deleted);

	if (err)
		return err;
	if (!node) {
		fs_deleted_finish(fs, deleted);
		return 0;
	}
	fs_durable_forget(fs, node);
	kept = leave_to_node(fs, node, deleted);
	if (kept)
		destroy(fs, kept, true);
	return 0;
}
