/* SPDX-License-Identifier: BSD-3-Clause */
/* file_writer.c - a file becomes one that can be written to; other writers */
#include <stdlib.h>

#include "base/checked.h"
#include "base/log.h"
#include "file/writer.h"

#define CHUNKSIZE_DEFAULT (1u << 20)

/* Times that another program may change a frame while it is being opened. */
#define TRIES 5

static struct b2f_writer *new_writer(const struct b2f_write_options *options,
				     bool is_empty)
{
	struct b2f_writer *w = calloc(1, sizeof(*w));
	pthread_rwlockattr_t attr;

	if (!w)
		return NULL;
	/* Readers that come while somebody waits for others to go must wait. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&w->gate, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&w->commit_lock, NULL);
	pthread_mutex_init(&w->write_lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->options = *options;
	w->durability = options->durability;
	if (!w->durability) {
		w->durability = &w->own;
		/* An empty frame is no loss. */
		if (is_empty)
			(void)b2f_durability_move(&w->own, B2F_DISK_DURABLE,
						  B2F_DISK_NEW);
	}
	return w;
}

static void free_writer(struct b2f_writer *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->write_lock);
	pthread_mutex_destroy(&w->commit_lock);
	pthread_rwlock_destroy(&w->gate);
	free(w);
}

void b2f_writer_wait_readers(struct b2f_writer *w)
{
	pthread_rwlock_wrlock(&w->gate);
	pthread_rwlock_unlock(&w->gate);
}

void b2f_writer_delete_dead(struct b2f_file *file, bool retired)
{
	struct b2f_writer *w = file->writer;
	struct b2f_edit *edit;
	bool begun, deleted;

	pthread_mutex_lock(&file->lock);
	edit = w->edit;
	/* An edit that is being replaced deletes for itself. */
	begun = edit && !w->closing && b2f_edit_begin_delete(edit, retired);
	w->ndeleting += begun;
	pthread_mutex_unlock(&file->lock);
	if (!begun)
		return;
	b2f_writer_wait_readers(w);
	deleted = b2f_edit_delete(edit);
	pthread_mutex_lock(&file->lock);
	b2f_edit_end_delete(edit, deleted);
	w->ndeleting--;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&file->lock);
}

void b2f_writer_end(struct b2f_file *file)
{
	struct b2f_writer *w = file->writer;
	struct b2f_edit *edit;
	struct b2f_dirty *d, *next;

	if (!w)
		return;
	pthread_mutex_lock(&file->lock);
	w->closing = true;
	while (w->nbusy || w->ndeleting)
		pthread_cond_wait(&w->changed, &file->lock);
	HASH_ITER(hh, w->dirty, d, next)
	b2f_dirty_remove(d);
	edit = w->edit;
	w->edit = NULL;
	pthread_mutex_unlock(&file->lock);
	if (!edit)
		return;
	/* Those who decode ahead may still be at it. */
	b2f_writer_wait_readers(w);
	b2f_edit_free(edit);
}

void b2f_writer_free(struct b2f_file *file)
{
	if (file->writer) {
		b2f_holes_close(file->runtime, file->writer);
		free_writer(file->writer);
	}
	file->writer = NULL;
}

uint32_t b2f_writer_chunksize(const struct b2f_writer *w)
{
	uint32_t size = w->options.chunksize;

	if (size == 0)
		size = CHUNKSIZE_DEFAULT;
	return (uint32_t)b2f_min_u64(size, B2F_CHUNK_NBYTES_MAX);
}

/* An empty frame may still choose how its chunks are made. */
static void choose_settings(struct b2f_writer *w, struct b2f_edit *edit)
{
	struct b2f_frame_header *h = &edit->header;
	uint32_t size = b2f_writer_chunksize(w);

	w->guess_typesize = w->options.guess_typesize && h->nbytes == 0 &&
			    h->typesize == 1 && edit->frame->meta.n == 0;
	if (h->chunksize > 0 || edit->frame->form.is_array)
		return;
	if (size > h->typesize)
		size -= size % h->typesize;
	h->chunksize = (int32_t)size;
}

/* Locks of other programs, if they use them or it was asked for. */
static enum b2f_edit_locking locking_of(const struct b2f_writer *w)
{
	if (w->options.no_locking)
		return B2F_EDIT_LOCKING_NEVER;
	return w->options.locking ? B2F_EDIT_LOCKING_ALWAYS
				  : B2F_EDIT_LOCKING_IF_THERE;
}

/* An edit of the frame as it is on disk, which may be a newer version. */
static int open_edit(struct b2f_file *file, const struct b2f_writer *w,
		     struct b2f_frame **frame, struct b2f_edit **out)
{
	struct b2f_edit *edit = NULL;
	struct b2f_frame *newer;
	int err = -ESTALE;

	*frame = b2f_file_frame_ref(file);
	for (int i = 0; i < TRIES; i++) {
		err = b2f_edit_new(*frame, B2F_EDIT_FILE, locking_of(w),
				   w->durability, &edit);
		if (err != -ESTALE)
			break;
		err = b2f_frame_reopen(*frame, &newer);
		if (err)
			break;
		b2f_frame_close(*frame);
		*frame = newer;
		err = -ESTALE;
	}
	if (err) {
		b2f_frame_close(*frame);
		return err;
	}
	*out = edit;
	return 0;
}

void b2f_file_set_frame(struct b2f_file *file, struct b2f_frame *frame)
{
	if (file->frame == frame) {
		b2f_frame_close(frame);
		return;
	}
	b2f_frame_close(file->frame);
	file->frame = frame;
	file->version++;
	b2f_cache_drop_file(file->runtime->cache, file->cache_id);
	file->cache_id = b2f_cache_new_file(file->runtime->cache);
}

int b2f_file_allow_write(struct b2f_file *file,
			 const struct b2f_write_options *options)
{
	struct b2f_edit *edit = NULL;
	struct b2f_frame *frame;
	struct b2f_writer *w;
	int err = 0;

	pthread_mutex_lock(&file->allow_lock);
	if (b2f_file_is_writable(file))
		goto out;
	w = file->writer;
	if (!w)
		w = new_writer(options, b2f_file_size(file) == 0);
	if (!w) {
		err = -ENOMEM;
		goto out;
	}
	err = b2f_holes_open(file, w);
	if (!err)
		err = open_edit(file, w, &frame, &edit);
	if (err) {
		b2f_holes_close(file->runtime, w);
		if (w != file->writer)
			free_writer(w);
		goto out;
	}
	choose_settings(w, edit);
	pthread_mutex_lock(&file->lock);
	b2f_file_set_frame(file, frame);
	w->edit = edit;
	/* A commit mends it, though nothing is written. */
	if (frame->blank)
		b2f_writer_note(w);
	w->has_mtime = false;
	w->array_nbytes = b2f_frame_shown_nbytes(file->frame);
	w->hint = B2F_NPY_UNKNOWN;
	file->writer = w;
	pthread_mutex_unlock(&file->lock);
	b2f_file_forget_heads(file);
out:
	pthread_mutex_unlock(&file->allow_lock);
	return err;
}

bool b2f_file_is_writable(struct b2f_file *file)
{
	bool writable;

	pthread_mutex_lock(&file->lock);
	writable = file->writer && file->writer->edit;
	pthread_mutex_unlock(&file->lock);
	return writable;
}

/* Does the index on disk differ from the one that is known?  1, 0 or an errno.
 */
static int has_changed(struct b2f_file *file)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	struct b2f_file_now now;
	struct b2f_frame_stamp stamp;
	struct stat st;
	int err;

	b2f_file_now_get(file, &now);
	err = b2f_store_stat_index(frame->store, &st);
	b2f_frame_close(frame);
	if (err)
		return err;
	stamp = b2f_frame_stamp_of(&st);
	return !b2f_frame_stamp_equal(&stamp, &now.stamp);
}

/*
 * Takes the edit of a file away, to make one of the new version.  Locked; the
 * write_lock and the commit_lock are held.  Returns -EBUSY if it is dirty.
 */
static int take_edit(struct b2f_file *file, struct b2f_edit **out)
{
	struct b2f_writer *w = file->writer;

	if (w->dirty_since_ns || w->dirty)
		return -EBUSY;
	w->closing = true;
	while (w->nbusy || w->ndeleting)
		pthread_cond_wait(&w->changed, &file->lock);
	w->closing = false;
	*out = w->edit;
	w->edit = NULL;
	return 0;
}

/*
 * Continues with @newer, which it takes over; nothing is dirty.  @w is the
 * writer whose locks are held, NULL if there was none.
 */
static int continue_with(struct b2f_file *file, struct b2f_writer *w,
			 struct b2f_frame *newer)
{
	struct b2f_edit *old = NULL;
	int err = 0;

	pthread_mutex_lock(&file->lock);
	/* One that has come meanwhile has begun with what is on disk. */
	if (file->writer != w)
		err = -EBUSY;
	else if (w)
		err = take_edit(file, &old);
	/* At once: without the edit, the frame before is not what is shown. */
	if (!err)
		b2f_file_set_frame(file, newer);
	pthread_mutex_unlock(&file->lock);
	if (err) {
		b2f_frame_close(newer);
		return err;
	}
	b2f_file_forget_heads(file);
	if (!old)
		return 0;
	b2f_edit_free(old);
	/* If this fails, it can be read, and the next writer tries again. */
	err = b2f_file_allow_write(file, &w->options);
	(void)err;
	return 0;
}

/* Continues with what is on disk, if that can be opened; else as before. */
static int refresh(struct b2f_file *file, struct b2f_writer *w, bool revert,
		   bool *changed)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file), *newer;
	int err = b2f_frame_reopen(frame, &newer);

	b2f_frame_close(frame);
	if (err)
		return err;
	/* Its bytes are not those of the array; the cause is logged. */
	if (newer->form.err) {
		err = newer->form.err;
		b2f_frame_close(newer);
		return err;
	}
	if (revert)
		b2f_file_discard(file);
	err = continue_with(file, w, newer);
	*changed = !err;
	return err == -EBUSY ? 0 : err;
}

/* With the locks of a writer, which may be NULL; tells if there is news. */
static int refresh_locked(struct b2f_file *file, struct b2f_writer *w,
			  bool revert)
{
	bool changed = false;
	int err;

	if (w)
		pthread_mutex_lock(&w->write_lock);
	err = revert ? 1 : has_changed(file);
	if (err > 0)
		err = refresh(file, w, revert, &changed);
	if (w)
		pthread_mutex_unlock(&w->write_lock);
	if (changed) {
		pthread_mutex_lock(&file->lock);
		file->has_news = true;
		pthread_mutex_unlock(&file->lock);
	}
	return err;
}

struct b2f_writer *b2f_writer_of(struct b2f_file *file)
{
	struct b2f_writer *w;

	pthread_mutex_lock(&file->lock);
	w = file->writer;
	pthread_mutex_unlock(&file->lock);
	return w;
}

bool b2f_file_take_news(struct b2f_file *file)
{
	bool news;

	pthread_mutex_lock(&file->lock);
	news = file->has_news;
	file->has_news = false;
	pthread_mutex_unlock(&file->lock);
	return news;
}

int b2f_file_refresh(struct b2f_file *file, bool *changed)
{
	struct b2f_writer *w = b2f_writer_of(file);
	int err;

	if (w)
		pthread_mutex_lock(&w->commit_lock);
	err = refresh_locked(file, w, false);
	if (w)
		pthread_mutex_unlock(&w->commit_lock);
	*changed = b2f_file_take_news(file);
	return err;
}

int b2f_file_revert(struct b2f_file *file)
{
	struct b2f_writer *w = b2f_writer_of(file);
	int err;

	if (!w)
		return 0;
	pthread_mutex_lock(&w->commit_lock);
	err = refresh_locked(file, w, true);
	pthread_mutex_unlock(&w->commit_lock);
	return err;
}

void b2f_file_catch_up(struct b2f_file *file)
{
	struct b2f_writer *w = b2f_writer_of(file);
	int err;

	if (w && pthread_mutex_trylock(&w->commit_lock))
		return;
	/* If it fails, so will what comes, and tell why. */
	err = refresh_locked(file, w, false);
	(void)err;
	if (w)
		pthread_mutex_unlock(&w->commit_lock);
}

/*
 * The writer with its commit_lock, or NULL as long as there is none; nobody
 * begins to write meanwhile.
 */
static struct b2f_writer *hold_writer(struct b2f_file *file)
{
	struct b2f_writer *w = b2f_writer_of(file), *now;

	for (;;) {
		if (w)
			pthread_mutex_lock(&w->commit_lock);
		pthread_mutex_lock(&file->allow_lock);
		now = b2f_writer_of(file);
		if (now == w)
			return w;
		pthread_mutex_unlock(&file->allow_lock);
		if (w)
			pthread_mutex_unlock(&w->commit_lock);
		w = now;
	}
}

static void release_writer(struct b2f_file *file, struct b2f_writer *w)
{
	pthread_mutex_unlock(&file->allow_lock);
	if (w)
		pthread_mutex_unlock(&w->commit_lock);
}

/* Makes what we did to the attributes of the index no news.  Locked. */
static void know_index(struct b2f_file *file, bool sets_mtime)
{
	struct b2f_writer *w = file->writer;
	struct b2f_frame_stamp *known, now;
	struct stat st;

	if (b2f_store_stat_index(file->frame->store, &st))
		return;
	known = w && w->edit ? &w->edit->stamp : &file->frame->stamp;
	now = b2f_frame_stamp_of(&st);
	if (b2f_frame_stamp_same_data(known, &now, sets_mtime))
		*known = now;
}

int b2f_file_with_index(struct b2f_file *file, bool sets_mtime,
			int (*fn)(void *arg, int dirfd), void *arg)
{
	struct b2f_frame *frame = b2f_file_frame_ref(file);
	struct b2f_writer *w;
	int err, changed, dirfd;

	/* Any version of it leads to that directory. */
	dirfd = b2f_store_dirfd(frame->store);
	if (dirfd < 0) {
		err = -EROFS;
		goto out;
	}
	w = hold_writer(file);
	/* If somebody else changed it before, that has to be found out. */
	changed = has_changed(file);
	err = fn(arg, dirfd);
	pthread_mutex_lock(&file->lock);
	if (changed == 0)
		know_index(file, sets_mtime);
	if (w && sets_mtime)
		w->has_mtime = false;
	pthread_mutex_unlock(&file->lock);
	release_writer(file, w);
out:
	b2f_frame_close(frame);
	return err;
}
