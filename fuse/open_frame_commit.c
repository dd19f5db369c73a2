/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open_frame_commit.c - versions of open frames, their last close, and their
 * deletion
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "dir.h"
#include "fs.h"
#include "probe.h"
#include "wakeup.h"

static bool is_deleted(const struct fs_open_frame *frame)
{
	const struct fs_state *state = &frame->pin.node->state;

	return state->deleted || state->unlinked;
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

/* Logs a failed commit; its changes are "kept in memory", or "lost". */
static void log_failure(struct fs *fs, const struct fs_open_frame *frame,
			const char *what, int err)
{
	fs_logger_write(fs->logger, B2F_LOG_ERROR, "%s: changes are %s: %s",
			frame->label, what,
			err == -EAGAIN ? "another program holds .b2lock"
				       : b2f_strerror(err));
}

/*
 * Has @f lost its last name, but not by this mount?  Another mount may have
 * made a directory of it while this one waited for its lock (form.h): what is
 * written to the old file now would be lost.
 */
static bool is_gone(const struct fs_open_frame *f)
{
	struct stat st;

	return fstat(f->pin.fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_nlink == 0 && !is_deleted(f);
}

int fs_open_frame_allow_write(struct fs *fs, struct fs_open_frame *f,
			      bool no_lock_file)
{
	struct b2f_write_options options = fs->config.write;
	int err, tries = 0;

	options.no_lock_file = no_lock_file;
	options.durability = fs_durable_open(fs, f);
	if (!options.durability)
		return -ENOMEM;
	do {
		err = b2f_file_allow_write(f->open.data, &options);
		/* The other writer may make one meanwhile. */
		options.no_lock_file = false;
	} while (err == -EBUSY && fs_file_wait_busy(fs, &tries));
	/* -ESTALE has the kernel look up the name again. */
	if (!err && is_gone(f))
		err = -ESTALE;
	return err;
}

/*
 * Must @frame become writable for a durable commit, which writes all again
 * whose sync has failed?
 */
static bool must_mend(struct fs *fs, struct fs_open_frame *frame)
{
	return !b2f_file_is_writable(frame->open.data) &&
	       b2f_durable_needs_commit(
		       fs_durable_state(fs, frame->dev, frame->ino));
}

/*
 * Makes the contents durable, if the commit had no transaction to do so.
 * Returns 1 if a transaction has begun meanwhile, which must be committed.
 */
static int sync_contents(struct fs *fs, struct fs_open_frame *frame, bool waits)
{
	struct b2f_durability *d;
	int err = -ENOMEM;

	if (fs_durable_state(fs, frame->dev, frame->ino) == B2F_DISK_DURABLE)
		return 0;
	d = fs_durable_open(fs, frame);
	if (d)
		err = b2f_file_sync_stored(frame->open.data, d, waits,
					   fs_dir_sync, frame->pin.fd);
	return err;
}

static int commit_durably(struct fs *fs, struct fs_open_frame *frame, bool waits)
{
	int err;

	do {
		err = fs_file_commit(fs, &frame->open, B2F_COMMIT_DURABLE, waits);
		if (!err)
			err = sync_contents(fs, frame, waits);
	} while (err > 0);
	return err ? err : fs_durable_make_name(fs, frame);
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

bool fs_open_frame_revert(struct fs *fs, struct fs_open_frame *frame)
{
	uint64_t n = atomic_load(&frame->nchanges);
	bool done = !b2f_file_revert(frame->open.data);

	if (done)
		atomic_store(&frame->ncommitted, n);
	(void)fs_file_take_foreign(fs, &frame->open);
	return done;
}

static void drop_refused(struct fs *fs, struct fs_file *file)
{
	struct fs_open_frame *frame = (struct fs_open_frame *)file;

	/* If the revert fails, the ticker tries again. */
	if (fs_open_frame_revert(fs, frame))
		log_failure(fs, frame, "lost", -ESTALE);
}

void fs_open_frame_undo(struct fs *fs, struct fs_open_frame *frame,
			uint64_t nbefore)
{
	struct fs_file *file = &frame->open;

	fs_file_begin_revert(fs, file);
	if (atomic_load(&file->nwriters) == 1 &&
	    atomic_load(&frame->ncommitted) == nbefore &&
	    atomic_load(&frame->nchanges) == nbefore + 1)
		(void)fs_open_frame_revert(fs, frame);
	fs_file_end_revert(fs, file);
}

static int commit_now(struct fs *fs, struct fs_open_frame *frame,
		      enum b2f_commit_how how, bool waits)
{
	uint64_t n = atomic_load(&frame->nchanges), old;
	int err = how == B2F_COMMIT_DURABLE
			  ? commit_durably(fs, frame, waits)
			  : fs_file_commit(fs, &frame->open, how, waits);

	if (err)
		return err;
	old = atomic_load(&frame->ncommitted);
	while (old < n &&
	       !atomic_compare_exchange_weak(&frame->ncommitted, &old, n))
		;
	return 0;
}

static int commit(struct fs *fs, struct fs_open_frame *frame,
		  enum b2f_commit_how how, bool waits)
{
	int err;

	if (is_deleted(frame))
		return 0;
	if (how != B2F_COMMIT_DURABLE || !must_mend(fs, frame))
		return commit_now(fs, frame, how, waits);
	/* Open it as a writer, so that the frame is unlocked afterwards. */
	fs_open_frame_begin_writer(fs, frame);
	err = fs_open_frame_allow_write(fs, frame, false);
	if (!err)
		err = commit_now(fs, frame, how, waits);
	fs_open_frame_end_writer(fs, frame);
	return err;
}

int fs_open_frame_commit(struct fs *fs, struct fs_open_frame *frame,
			 enum b2f_commit_how how)
{
	return commit(fs, frame, how, true);
}

void fs_open_frame_tidy(struct fs *fs, struct fs_open_frame *frame, bool late)
{
	struct b2f_file_now before;

	if (is_deleted(frame))
		return;
	atomic_store(&frame->ntidied, atomic_load(&frame->ncommitted));
	b2f_file_now_get(frame->open.data, &before);
	b2f_file_tidy(frame->open.data, atomic_load(&frame->open.nwriters) <= 1,
		      late);
	if (!frame->past_cache)
		fs_open_frame_note_commit(fs, frame, &before);
}

void fs_open_frame_begin_writer(struct fs *fs, struct fs_open_frame *frame)
{
	B2F_HOLD(&fs->state_lock);

	fs_file_add_writer(fs, &frame->open);
	frame->open.is_told = false;
	frame->keeps_lock = false;
}

void fs_open_frame_end_writer(struct fs *fs, struct fs_open_frame *frame)
{
	bool last;

	pthread_mutex_lock(&fs->state_lock);
	last = atomic_fetch_sub(&frame->open.nwriters, 1) == 1;
	frame->keeps_lock |= last;
	pthread_mutex_unlock(&fs->state_lock);
	if (last && !fs_open_frame_is_committed(frame))
		/* If this fails, the ticker tries again. */
		(void)!fs_open_frame_commit(fs, frame, B2F_COMMIT_VISIBLE);
}

/* Ends the transaction.  -EBUSY: it has changes to commit. */
static int end_write(struct fs *fs, struct fs_open_frame *frame)
{
	struct b2f_file_now before;
	int err = 0;

	if (is_deleted(frame))
		return 0;
	if (!fs_open_frame_is_committed(frame))
		return -EBUSY;
	b2f_file_now_get(frame->open.data, &before);
	err = b2f_file_end_write(frame->open.data);
	note_commit(fs, &frame->open, &before,
		    fs_file_take_foreign(fs, &frame->open), err);
	return err;
}

/*
 * Releases the lock of @frame for other programs, when its last writer has
 * left, its changes are committed, and it still has readers.
 */
static void unlock(struct fs *fs, struct fs_open_frame *frame)
{
	bool may;
	int err;

	pthread_mutex_lock(&fs->state_lock);
	may = frame->open.nrefs > 1 && frame->keeps_lock &&
	      !frame->open.reverting && atomic_load(&frame->open.nwriters) == 0;
	frame->open.reverting |= may;
	pthread_mutex_unlock(&fs->state_lock);
	if (!may)
		return;
	err = end_write(fs, frame);
	pthread_mutex_lock(&fs->state_lock);
	/*
	 * The ticker commits the remaining changes, and tries again: another
	 * program may have held .b2lock for a moment.
	 */
	frame->keeps_lock = err != 0;
	pthread_mutex_unlock(&fs->state_lock);
	fs_file_end_revert(fs, &frame->open);
}

/*
 * Commits durably, without waiting for other programs, if a change is older
 * than commit= seconds.
 */
static int commit_old(struct fs *fs, struct fs_open_frame *frame)
{
	uint64_t age_ns = fs->config.commit_ns;

	if (age_ns == 0 || b2f_file_dirty_ns(frame->open.data) < age_ns)
		return 0;
	return commit(fs, frame, B2F_COMMIT_DURABLE, false);
}

void fs_open_frame_drop_cached(struct fs *fs, struct fs_open_frame *frame)
{
	struct fs_state *state = &frame->pin.node->state;
	B2F_HOLD(&fs->state_lock);

	fs_cache_state_theirs(&state->seen, NULL);
	if (state->has_view)
		state->seen.drop |= FS_CACHE_DROP_VIEW;
	fs_wakeup_call(&fs->wakeup, true);
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
		(void)fs_file_take_foreign(fs, &frame->open);
		return 0;
	}
	err = b2f_file_refresh(frame->open.data, wait_ms, &changed);
	/* Even after an error a change may have become visible. */
	if (changed)
		fs_open_frame_drop_cached(fs, frame);
	return err;
}

/* For how long the mount's end tries to commit. */
#define END_S	     5
#define END_PAUSE_NS 500000000

/*
 * A frame of at least REST_MIN chunks rests for REST_S seconds after its last
 * close, because reading its index takes longer than reading a block.  All
 * resting frames have at most REST_MAX chunks, and leave room in a small cache,
 * where a chunk takes up to 24 bytes, for the indexes of others.
 */
#define REST_MIN   16384
#define REST_S	   5
#define REST_MAX   4000000
#define REST_SHARE 64

static uint64_t rest_max(const struct fs *fs)
{
	size_t share = fs->config.runtime.cache_bytes / REST_SHARE;

	return share && share < REST_MAX ? share : REST_MAX;
}

/* State of a frame when its last user leaves. */
struct ending {
	struct b2f_file_now now;
	/*
	 * The index is the one of our last commit; and no other version can
	 * have its stamp.
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

/*
 * Is @frame, which has no users, to stay open?  A frame with locks or state of
 * a writer does not rest.  Locked.
 */
static bool may_rest(struct fs *fs, struct fs_open_frame *frame,
		     const struct ending *end)
{
	time_t now = fs_clock_s();

	if (frame->durable || frame->past_cache || frame->pin.node->is_root)
		return false;
	if (frame->rests)
		return frame->rests_s + REST_S > now;
	if (end->now.nchunks < REST_MIN ||
	    fs->files.rest + end->now.nchunks > rest_max(fs))
		return false;
	frame->rests_s = now;
	frame->rests = end->now.nchunks;
	fs->files.rest += frame->rests;
	return true;
}

/* Takes @frame out of the list and off its node, before destroy().  Locked. */
static void drop_from_list(struct fs *fs, struct fs_open_frame *frame,
			   const struct ending *end)
{
	struct fs_state *state = &frame->pin.node->state;

	fs_open_frame_wake(&fs->files, frame);
	TAILQ_REMOVE(&fs->files.active, &frame->open, active);
	if (state->frame == frame)
		state->frame = NULL;
	state->nclosing++;
	/* The kernel caches nothing of a frame that is read past its cache. */
	if (!frame->past_cache)
		fs_cache_state_close(&state->seen, end ? &end->now.stamp : NULL,
				     end && end->as_left, end && end->settled);
}

/* Closes a frame that is in no list and has no user. */
static void destroy(struct fs *fs, struct fs_open_frame *frame)
{
	b2f_file_close(frame->open.data);
	fs_durable_close(fs, frame);
	pthread_mutex_lock(&fs->state_lock);
	frame->pin.node->state.nclosing--;
	pthread_cond_broadcast(&fs->files.settled);
	pthread_mutex_unlock(&fs->state_lock);
	fs_tree_unpin(&frame->pin);
	free(frame->label);
	free(frame);
}

enum leaving {
	/* Others have it open, or it rests. */
	STAY,
	/* Its changes must be committed first. */
	COMMIT,
	/* It stays open until its changes can be committed. */
	KEEP,
	CLOSE,
};

/*
 * Gives back a reference, unless a commit must come first.  @tried: the commit
 * was tried, and returned @err.
 */
static enum leaving try_leave(struct fs *fs, struct fs_open_frame *frame,
			      bool tried, int err, const struct ending *end)
{
	enum leaving result = CLOSE;
	B2F_HOLD(&fs->state_lock);

	if (frame->open.nrefs > 1)
		result = STAY;
	else if (is_deleted(frame))
		end = NULL;
	else if (!fs_open_frame_is_committed(frame) && !tried &&
		 fs_file_is_due(&frame->open))
		result = COMMIT;
	else if (!fs_open_frame_is_committed(frame) && err != -ESTALE)
		result = KEEP;
	else if (may_rest(fs, frame, end))
		result = STAY;
	if (result != COMMIT)
		frame->open.nrefs--;
	if (result == KEEP && tried)
		fs_file_put_off(&frame->open);
	if (result == CLOSE)
		drop_from_list(fs, frame, end);
	return result;
}

/*
 * Gives back a reference if the frame has other users (the usual case); returns
 * whether it has.
 */
static bool leave_to_others(struct fs *fs, struct fs_open_frame *frame)
{
	B2F_HOLD(&fs->state_lock);
	bool others = frame->open.nrefs > 1;

	frame->open.nrefs -= others;
	return others;
}

void fs_open_frame_put(struct fs *fs, struct fs_open_frame *frame)
{
	enum leaving result;
	bool tried = false;
	int err = 0;

	unlock(fs, frame);
	if (leave_to_others(fs, frame))
		return;
	for (;;) {
		struct ending end;

		/* In the close it would look like a foreign change. */
		if (!frame->pin.node->sparse &&
		    atomic_load(&frame->ntidied) !=
			    atomic_load(&frame->ncommitted))
			fs_open_frame_tidy(fs, frame, true);
		/* Afterwards the version of the frame would look like ours. */
		(void)fs_file_take_foreign(fs, &frame->open);
		end = look_back(frame);
		result = try_leave(fs, frame, tried, err, &end);
		if (result != COMMIT)
			break;
		/* Do not wait: close(2) has waited already. */
		err = commit(fs, frame, B2F_COMMIT_VISIBLE, false);
		/* Another thread may change the frame again meanwhile. */
		tried = err != 0;
		/* -EAGAIN is no failure: the ticker commits soon. */
		if (err && err != -EAGAIN && !fs_open_frame_is_committed(frame))
			log_failure(fs, frame,
				    err == -ESTALE ? "lost" : "kept in memory",
				    err);
	}
	if (result == CLOSE)
		destroy(fs, frame);
}

/* May a commit that failed with @err succeed a moment later? */
static bool may_pass(int err)
{
	return err == -EAGAIN || err == -EBUSY || fs_probe_is_shortage(err);
}

/*
 * Commits and closes all frames; with @patient not those whose commit may
 * succeed later.  Returns 0 or the first error.
 */
static int end_all(struct fs *fs, bool patient)
{
	struct fs_file *file, *next;
	int first = 0;

	for (file = TAILQ_FIRST(&fs->files.active); file; file = next) {
		struct fs_open_frame *frame = (struct fs_open_frame *)file;
		int err = commit(fs, frame, B2F_COMMIT_DURABLE, false);

		next = TAILQ_NEXT(file, active);
		if (patient && may_pass(err))
			continue;
		if (err && !fs_open_frame_is_committed(frame))
			log_failure(fs, frame, "lost", err);
		if (!first)
			first = err;
		drop_from_list(fs, frame, NULL);
		destroy(fs, frame);
	}
	return first;
}

int fs_open_frame_fini(struct fs *fs)
{
	const struct timespec pause = {.tv_nsec = END_PAUSE_NS};
	time_t until = fs_clock_s() + END_S;
	int first = 0;

	while (!TAILQ_EMPTY(&fs->files.active)) {
		int err = end_all(fs, fs_clock_s() < until);

		if (!first)
			first = err;
		if (!TAILQ_EMPTY(&fs->files.active))
			nanosleep(&pause, NULL);
	}
	return first;
}

/*
 * Notes that @node has lost its last name; @deleted: the place of a sparse
 * frame, which the node deletes when it is freed.
 */
static void note_gone(struct fs *fs, struct fs_backed *node,
		      struct fs_unlinked *deleted)
{
	struct fs_open_frame *kept;

	fs_durable_forget(fs, node);
	pthread_mutex_lock(&fs->state_lock);
	node->retired = true;
	if (deleted)
		node->state.deleted = deleted;
	else
		node->state.unlinked = true;
	/* Changes that only waited for their commit are lost. */
	kept = node->state.frame;
	if (kept && kept->open.nrefs > 0)
		kept = NULL;
	if (kept)
		drop_from_list(fs, kept, NULL);
	pthread_mutex_unlock(&fs->state_lock);
	if (kept)
		destroy(fs, kept);
}

void fs_open_frame_unlinked(struct fs *fs, struct fs_backed *node)
{
	note_gone(fs, node, NULL);
}

int fs_open_frame_delete(struct fs *fs, int dirfd, const char *name,
			 const struct stat *what, struct fs_backed *node)
{
	struct fs_unlinked *deleted = NULL;
	int err = fs_unlinked_hide(fs, dirfd, name, what, &deleted);

	if (err)
		return err;
	if (node)
		note_gone(fs, node, deleted);
	else
		fs_unlinked_finish(fs, deleted);
	return 0;
}

static void tick(struct fs *fs, struct fs_file *file)
{
	struct fs_open_frame *frame = (struct fs_open_frame *)file;

	/*
	 * The library logs a failure, and the next tick tries again.  A frame
	 * that is being committed, or is locked, must not delay the others.
	 */
	if (commit_old(fs, frame) == -EAGAIN)
		return;
	/* A frame that cannot be read stays as it is. */
	(void)!fs_open_frame_refresh(fs, frame, NULL, 0);
}

static int sync_file(struct fs *fs, struct fs_file *file)
{
	return fs_open_frame_commit(fs, (struct fs_open_frame *)file,
				    B2F_COMMIT_DURABLE);
}

static void put(struct fs *fs, struct fs_file *file)
{
	fs_open_frame_put(fs, (struct fs_open_frame *)file);
}

const struct fs_file_ops fs_open_frame_ops = {
	.note_foreign = note_foreign,
	.note_commit = note_commit,
	.drop_refused = drop_refused,
	.sync = sync_file,
	.tick = tick,
	.put = put,
};
