/* SPDX-License-Identifier: BSD-3-Clause */
/* bucket_writer.c - frames in an object store that this mount writes to */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "b2frame/error.h"
#include "b2frame/patience.h"
#include "bucket_overlay.h"
#include "bucket_writer.h"
#include "wakeup.h"

struct fs_bucket_doomed {
	STAILQ_ENTRY(fs_bucket_doomed) next;
	struct b2f_remote_remains *remains;
	/* The node that may still read them, with a reference; or NULL. */
	struct fs_object *node;
	/* When other clients have stopped reading them. */
	time_t due_s;
};

void fs_bucket_doomed_add(struct fs *fs, struct b2f_remote_remains *remains,
			  struct fs_object *node, unsigned int keep_s)
{
	struct fs_bucket *r = fs->bucket;
	struct fs_bucket_doomed *d = remains ? malloc(sizeof(*d)) : NULL;

	if (!d) {
		/* A reader of the deleted chunks gets ESTALE. */
		b2f_remote_remains_free(remains);
		return;
	}
	*d = (struct fs_bucket_doomed){
		.remains = remains,
		.node = node,
		.due_s = fs_clock_s() + keep_s,
	};
	B2F_HOLD(&fs->state_lock);
	if (node)
		fs_node_ref(&node->head);
	STAILQ_INSERT_TAIL(&r->doomed, d, next);
	fs_wakeup_call(&fs->wakeup, false);
}

bool fs_bucket_doomed_hasten(struct fs *fs, const char *path)
{
	struct fs_bucket_doomed *d;
	bool any = false;
	B2F_HOLD(&fs->state_lock);

	STAILQ_FOREACH (d, &fs->bucket->doomed, next)
		if (d->node && strcmp(d->node->path, path) == 0) {
			d->due_s = 0;
			any = true;
		}
	return any;
}

/* Deletions after the end of the mount take no longer, s. */
#define LATE_S 20

static bool is_late(void *arg)
{
	const struct fs_bucket *r = arg;
	time_t late_s = atomic_load(&r->late_s);

	return late_s && fs_clock_s() >= late_s;
}

/* Returns the first entry that is due; or NULL.  Locked. */
static struct fs_bucket_doomed *find_due(struct fs_bucket *r)
{
	struct fs_bucket_doomed *d;

	STAILQ_FOREACH (d, &r->doomed, next)
		if (d->due_s <= fs_clock_s() &&
		    (!d->node || d->node->open.nrefs == 0))
			break;
	return d;
}

static struct fs_bucket_doomed *take_due(struct fs_bucket *r)
{
	B2F_HOLD(&r->volume.fs->state_lock);
	struct fs_bucket_doomed *d = find_due(r);

	if (d)
		STAILQ_REMOVE(&r->doomed, d, fs_bucket_doomed, next);
	return d;
}

static void *sweep(void *arg)
{
	struct fs_bucket *r = arg;
	struct fs_bucket_doomed *d;

	b2f_patience_set(is_late, r);
	while ((d = take_due(r))) {
		b2f_remote_remains_free(d->remains);
		if (d->node)
			fs_node_put(&d->node->head, 1);
		free(d);
	}
	return NULL;
}

bool fs_bucket_doomed_tick(struct fs *fs)
{
	struct fs_bucket *r = fs->bucket;
	bool more, due;

	if (!r)
		return false;
	pthread_mutex_lock(&fs->state_lock);
	more = !STAILQ_EMPTY(&r->doomed);
	due = find_due(r);
	pthread_mutex_unlock(&fs->state_lock);
	if (r->has_sweeper && pthread_tryjoin_np(r->sweeper, NULL) == 0)
		r->has_sweeper = false;
	if (due && !r->has_sweeper)
		r->has_sweeper =
			pthread_create(&r->sweeper, NULL, sweep, r) == 0;
	return more;
}

void fs_bucket_doomed_fini(struct fs *fs)
{
	struct fs_bucket *r = fs->bucket;
	struct fs_bucket_doomed *d;

	atomic_store(&r->late_s, fs_clock_s() + LATE_S);
	if (r->has_sweeper)
		pthread_join(r->sweeper, NULL);
	b2f_patience_set(is_late, r);
	while ((d = STAILQ_FIRST(&r->doomed))) {
		STAILQ_REMOVE_HEAD(&r->doomed, next);
		if (d->due_s > fs_clock_s() || is_late(r))
			b2f_remote_remains_leave(d->remains);
		else
			b2f_remote_remains_free(d->remains);
		/* The nodes that are left are freed together. */
		free(d);
	}
	b2f_patience_set(NULL, NULL);
}

/* How long a read waits until the kernel has dropped cached pages, ms. */
#define DROP_MS 200

static void log_failure(struct fs *fs, const struct fs_object *node,
			const char *what, int err)
{
	fs_logger_write(fs->logger, B2F_LOG_ERROR, "%s%s%s: changes are %s: %s",
			fs->source.path, *node->path ? "/" : "", node->path,
			what, b2f_strerror(err));
}

/* Puts the open @node into the list of active files.  Locked. */
static void enter_list(struct fs_bucket *r, struct fs_object *node)
{
	if (node->writing.is_listed)
		return;
	node->writing.is_listed = true;
	fs_node_ref(&node->head);
	node->open.nrefs++;
	TAILQ_INSERT_TAIL(&r->volume.fs->files.active, &node->open, active);
}

/* Is nothing of @node committed any more? */
static bool is_over(const struct fs_object *node)
{
	return atomic_load(&node->open.gone) ||
	       atomic_load(&node->writing.refused);
}

/*
 * Takes @node off the list if all is committed and no writer is left.  The
 * caller has its data open.
 */
static void leave_list(struct fs *fs, struct fs_object *node)
{
	struct fs_bucket_writing *w = &node->writing;
	struct fs_bucket *r = fs->bucket;
	uint64_t nbegun = atomic_load(&w->nbegun);
	struct b2f_frame *frame;
	bool leaves, mixed;

	if (!w->is_listed || node->open.nwriters ||
	    (!is_over(node) && b2f_file_is_dirty(node->open.data)))
		return;
	pthread_mutex_lock(&r->volume.fs->state_lock);
	/* If no writer came in between, it is still clean. */
	leaves = w->is_listed && node->open.nwriters == 0 &&
		 w->nbegun == nbegun && !w->drop;
	if (leaves) {
		TAILQ_REMOVE(&fs->files.active, &node->open, active);
		w->is_listed = false;
		b2f_file_stay(node->open.data);
	}
	mixed = w->mixed;
	pthread_mutex_unlock(&r->volume.fs->state_lock);
	if (!leaves)
		return;
	if (mixed)
		fs_bucket_node_retire(r, node);
	/* A new writer may refresh the file. */
	frame = b2f_file_frame_ref(node->open.data);
	fs_bucket_doomed_add(fs, b2f_remote_leftovers(frame), NULL,
			     b2f_remote_keep_s(r->place));
	b2f_frame_close(frame);
	fs_file_close(fs, &node->open);
	fs_node_put(&node->head, 1);
}

/* Has the ticker drop the kernel's pages of an older version.  Locked. */
static void mark_drop(struct fs *fs, struct fs_object *node)
{
	if (node->writing.is_listed)
		node->writing.drop = true;
	fs_wakeup_call(&fs->wakeup, true);
}

static void drop_cached(struct fs *fs, struct fs_handle *handle)
{
	B2F_HOLD(&fs->state_lock);

	mark_drop(fs, fs_object_of(handle->node));
}

/*
 * Waits until the kernel has dropped pages of an older version of the open
 * @node; not forever, because the kernel may wait for this very answer.
 * Returns whether it had to wait.
 */
static bool wait_dropped(struct fs *fs, struct fs_object *node)
{
	const struct fs_bucket_writing *w = &node->writing;
	const struct timespec until = b2f_monotonic_in_ms(DROP_MS);
	bool waits = fs->read_write, waited = false, foreign;

	while (waits) {
		/* They have to be noted before old pages can be dropped. */
		foreign = b2f_file_has_foreign(node->open.data);
		B2F_HOLD(&fs->state_lock);
		waits = w->is_listed && (foreign || w->drop || w->dropping);
		waited |= waits;
		if (waits &&
		    pthread_cond_clockwait(&fs->files.settled, &fs->state_lock,
					   CLOCK_MONOTONIC, &until))
			waits = false;
	}
	return waited;
}

static struct fs_object *object_of(struct fs_file *file)
{
	return (struct fs_object *)((char *)file -
				    offsetof(struct fs_object, open));
}

/* Notes that the data include changes of other clients now. */
static void note_foreign(struct fs *fs, struct fs_file *file)
{
	struct fs_object *node = object_of(file);
	B2F_HOLD(&fs->state_lock);

	node->writing.mixed = true;
	node->has_mtime = false;
	mark_drop(fs, node);
}

/*
 * Gives @node the version of its open data; @before tells when it was changed
 * last.  Returns whether the version is another one.
 */
static bool move_on(struct fs *fs, struct fs_object *node,
		    const struct b2f_file_now *before)
{
	struct b2f_file_now now;
	bool moved;

	b2f_file_now_get(node->open.data, &now);
	B2F_HOLD(&fs->state_lock);
	moved = !b2f_frame_stamp_equal(&node->stamp, &now.stamp);
	if (moved) {
		node->stamp = now.stamp;
		node->checked_ms = fs_clock_ms();
	}
	node->sizes.nbytes = now.nbytes;
	node->sizes.cbytes = now.cbytes;
	if (before && before->has_mtime && !node->writing.own_mtime) {
		node->has_mtime = true;
		node->mtime = before->mtime;
	}
	/* The ticker does not track the pages of the view. */
	if (moved && atomic_load(&node->as_view.nlookups))
		mark_drop(fs, node);
	return moved;
}

static void note_change(struct fs *fs, struct fs_handle *handle)
{
	struct fs_object *node = fs_object_of(handle->node);

	atomic_store(&node->writing.own_mtime, false);
	/* The write may have merged commits of others. */
	(void)fs_file_take_foreign(fs, &node->open);
}

/* Notes that a new frame is on the server now. */
static void note_made(struct fs_bucket *r, struct fs_object *node)
{
	if (atomic_exchange(&node->writing.is_new, false))
		fs_bucket_overlay_settle(r, node->path);
}

/*
 * Drops the incomplete array that was written to the open node; if the server
 * does not answer, the next commit does it.
 */
static void revert(struct fs *fs, struct fs_handle *handle)
{
	struct fs_object *node = fs_object_of(handle->node);
	int err = b2f_file_revert(node->open.data);

	if (!err) {
		(void)fs_file_take_foreign(fs, &node->open);
		(void)move_on(fs, node, NULL);
		note_made(fs->bucket, node);
	}
	if (err)
		fs_file_put_off(&node->open);
	B2F_HOLD(&fs->state_lock);
	mark_drop(fs, node);
}

/*
 * The kernel has pages of the refused data, and programs may have read some of
 * them.  So the node keeps these data until its last close, and shows no other
 * data.
 */
static void keep_refused(struct fs *fs, struct fs_file *file)
{
	struct fs_object *node = object_of(file);

	atomic_store(&node->writing.refused, true);
	note_made(fs->bucket, node);
	log_failure(fs, node, "lost", -ESTALE);
}

static void note_commit(struct fs *fs, struct fs_file *file,
			const struct b2f_file_now *before, bool foreign,
			int err)
{
	struct fs_object *node = object_of(file);

	(void)foreign;
	(void)move_on(fs, node, err ? NULL : before);
	if (!err)
		note_made(fs->bucket, node);
	/* A lookup makes another node. */
	if (err == -ESTALE)
		fs_bucket_node_retire(fs->bucket, node);
}

int fs_bucket_writer_commit(struct fs *fs, struct fs_object *node)
{
	int err = fs_file_commit(fs, &node->open, B2F_COMMIT_DURABLE, true);

	/*
	 * Another commit of this mount may have given up because its caller was
	 * killed; this one tries again.
	 */
	if (err == -EINTR && !b2f_patience_is_over())
		err = fs_file_commit(fs, &node->open, B2F_COMMIT_DURABLE, true);
	return err;
}

/* Has a failed commit repeated later. */
static void put_off(struct fs *fs, struct fs_object *node, int err)
{
	/* A refused commit is logged when its changes are dropped. */
	if (!err || err == -EAGAIN || err == -ESTALE)
		return;
	if (b2f_file_is_dirty(node->open.data))
		log_failure(fs, node, "kept in memory", err);
	fs_file_put_off(&node->open);
}

/* Adds a writer, unless the name leads to another node. */
static int add_writer(struct fs_bucket *r, struct fs_object *node)
{
	struct fs_bucket_writing *w = &node->writing;
	int err = 0;
	B2F_HOLD(&r->volume.fs->state_lock);

	fs_file_add_writer(r->volume.fs, &node->open);
	/* Programs that have a removed file open may still write to it. */
	if (!node->open.stays_s && !(node->open.gone && w->is_listed)) {
		node->open.nwriters--;
		err = -ESTALE;
	} else {
		enter_list(r, node);
		w->nbegun++;
	}
	return err;
}

static void end_writing(struct fs *fs, struct fs_object *node)
{
	bool last = atomic_fetch_sub(&node->open.nwriters, 1) == 1;

	if (last && b2f_file_is_dirty(node->open.data))
		put_off(fs, node, fs_bucket_writer_commit(fs, node));
	leave_list(fs, node);
}

int fs_bucket_writer_begin(struct fs *fs, struct fs_object *node)
{
	int err = add_writer(fs->bucket, node);

	if (err)
		return err;
	err = b2f_file_allow_write(node->open.data, &fs->config.write);
	/* A writer who is refused changes nothing of what others were told. */
	if (!err)
		atomic_store(&node->open.is_told, false);
	/* Another frame may have the name of a removed file. */
	if (!err && atomic_load(&node->open.gone))
		b2f_file_stay(node->open.data);
	if (err)
		end_writing(fs, node);
	/* The open may have merged commits of others. */
	else if (move_on(fs, node, NULL))
		note_foreign(fs, &node->open);
	fs_wakeup_call(&fs->wakeup, false);
	return err;
}

static bool is_due(struct fs *fs, const struct fs_object *node)
{
	uint64_t age_ns = fs->config.commit_ns;

	return fs_file_is_due(&node->open) &&
	       (atomic_load(&node->open.nwriters) == 0 ||
		(age_ns && b2f_file_dirty_ns(node->open.data) >= age_ns));
}

bool fs_bucket_writer_refresh(struct fs *fs, struct fs_object *node)
{
	bool foreign = false;

	/* Another file may be replacing @node: try later. */
	if (!fs_file_begin_commit(fs, &node->open, false))
		return false;
	/*
	 * A frame that cannot be read stays as it is, but a change that became
	 * visible before is told even then.
	 */
	(void)!b2f_file_refresh(node->open.data, 0, &foreign);
	if (foreign) {
		(void)move_on(fs, node, NULL);
		note_foreign(fs, &node->open);
	}
	fs_file_end_commit(fs, &node->open);
	return foreign;
}

static void catch_up(struct fs *fs, struct fs_handle *handle)
{
	struct fs_object *node = fs_object_of(handle->node);

	if (!atomic_exchange(&node->writing.outdated, false) ||
	    atomic_load(&node->open.gone))
		return;
	(void)fs_bucket_writer_refresh(fs, node);
	fs_bucket_node_restore(fs->bucket, node);
}

/*
 * Looks for commits of other clients.  If there is one, the name leads to
 * another node from now on, because programs may have read a part of this
 * version.
 */
static void look_for_others(struct fs *fs, struct fs_object *node)
{
	if (atomic_load(&node->open.nwriters) == 0 ||
	    atomic_load(&node->writing.outdated) ||
	    !fs_file_begin_commit(fs, &node->open, false))
		return;
	if (b2f_file_is_outdated(node->open.data) &&
	    !b2f_file_is_dirty(node->open.data)) {
		atomic_store(&node->writing.outdated, true);
		fs_bucket_node_retire(fs->bucket, node);
	}
	fs_file_end_commit(fs, &node->open);
}

static void tick(struct fs *fs, struct fs_file *file)
{
	struct fs_object *node = object_of(file);

	if (is_over(node))
		return;
	/* A read may have taken in a commit of others. */
	if (fs_file_take_foreign(fs, file))
		(void)move_on(fs, node, NULL);
	if (!b2f_file_is_dirty(file->data))
		look_for_others(fs, node);
	else if (is_due(fs, node))
		put_off(fs, node,
			fs_file_commit(fs, file, B2F_COMMIT_DURABLE, false));
}

static int sync_file(struct fs *fs, struct fs_file *file)
{
	struct fs_object *node = object_of(file);

	return is_over(node) ? 0 : fs_bucket_writer_commit(fs, node);
}

static void drop(struct fs *fs, struct fs_file *file)
{
	struct fs_object *node = object_of(file);
	struct fs_bucket_writing *w = &node->writing;
	bool drops;

	pthread_mutex_lock(&fs->state_lock);
	drops = w->dropping = w->drop;
	w->drop = false;
	pthread_mutex_unlock(&fs->state_lock);
	if (!drops)
		return;
	(void)fs_node_drop_cached(&node->head);
	if (atomic_load(&node->as_view.nlookups))
		(void)fs_node_drop_cached(&node->as_view);
	B2F_HOLD(&fs->state_lock);
	w->dropping = false;
	pthread_cond_broadcast(&fs->files.settled);
}

static void ref(struct fs_file *file)
{
	fs_node_ref(&object_of(file)->head);
}

static void put(struct fs *fs, struct fs_file *file)
{
	struct fs_object *node = object_of(file);

	leave_list(fs, node);
	fs_file_close(fs, &node->open);
	fs_node_put(&node->head, 1);
}

const struct fs_file_ops fs_bucket_writer_ops = {
	.note_foreign = note_foreign,
	.note_commit = note_commit,
	.drop_refused = keep_refused,
	.sync = sync_file,
	.tick = tick,
	.drop = drop,
	.ref = ref,
	.put = put,
};

static void close_file(struct fs *fs, struct fs_handle *handle)
{
	struct fs_object *node = fs_object_of(handle->node);

	if (handle->writes)
		end_writing(fs, node);
	if (handle->file)
		fs_file_close(fs, &node->open);
	fs_bucket_names_put(handle->names);
}

static ssize_t pread_plain(struct fs *fs, const struct fs_handle *handle,
			   void *buf, size_t size, uint64_t off)
{
	const struct fs_object *node = fs_object_of(handle->node);
	ssize_t n = 0;

	if (off < node->version.size)
		n = b2f_remote_read(fs->bucket->place, node->path,
				    &node->version, off, buf, size);
	if (n > 0)
		fs_stats_add(&fs->stats.nread_bytes, (uint64_t)n);
	return n;
}

static int check_read(struct fs *fs, const struct fs_handle *handle, ssize_t n)
{
	if (n == -ESTALE)
		fs_object_of(handle->node)->checked_ms = 0;
	if (n < 0 || !handle->file)
		return 0;
	return wait_dropped(fs, fs_object_of(handle->node)) ? -EAGAIN : 0;
}

/* The server acknowledges the index before this returns: durable. */
static int commit_handle(struct fs *fs, struct fs_handle *handle,
			 enum b2f_commit_how how)
{
	(void)how;
	return fs_bucket_writer_commit(fs, fs_object_of(handle->node));
}

const struct fs_data_ops fs_bucket_writer_handles = {
	.close = close_file,
	.pread = pread_plain,
	.check_read = check_read,
	.begin_change = catch_up,
	.end_change = note_change,
	.drop_cached = drop_cached,
	.commit = commit_handle,
	.revert = revert,
};

int fs_bucket_writer_fini(struct fs *fs)
{
	struct fs_file *file;
	size_t n = 0;
	int first = 0;

	TAILQ_FOREACH (file, &fs->files.active, active)
		n += !is_over(object_of(file)) &&
		     b2f_file_is_dirty(file->data);
	if (n)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: files that are not stored yet: %zu; "
				"another signal ends the mount, and loses "
				"their data",
				fs->source.path, n);
	while ((file = TAILQ_FIRST(&fs->files.active))) {
		struct b2f_file_now now;
		int err = 0;

		b2f_file_now_get(file->data, &now);
		if (!is_over(object_of(file)) && !now.half)
			err = b2f_file_commit(file->data, B2F_COMMIT_DURABLE);
		TAILQ_REMOVE(&fs->files.active, file, active);
		object_of(file)->writing.is_listed = false;
		if (err)
			log_failure(fs, object_of(file), "lost", err);
		if (!first)
			first = err;
	}
	return first;
}
