/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_grow.c - a small file that becomes a large one
 *
 * The frame is exchanged while nothing is dirty: so nothing has to be carried
 * over but what is on disk, and frame/enlarge.h has only one state to care for.
 */
#include "b2frame/file_grow.h"

#include "array/npy.h"

#include "base/checked.h"
#include "base/log_line.h"
#include "file/commit.h"
#include "file/reading.h"
#include "file/writer.h"
#include "frame/enlarge.h"

/* Times that another thread may write before it is left alone. */
#define TRIES 3

/* After a failure it is tried again when the file is so many times as large. */
#define AGAIN 4

/*
 * An array whose .npy header is longer may need a header of the frame that is
 * no single write: it is better off in a directory from the start.  So is an
 * empty one with more to say, as its trailer is a part of that write.
 */
#define NPY_HEADER_MAX 256
#define NPY_EMPTY_MAX  128
#define NPY_NDIM_MAX   8

static bool is_long(const struct b2f_npy *npy)
{
	if (npy->nbytes == 0)
		return npy->size > NPY_EMPTY_MAX || npy->ndim > NPY_NDIM_MAX;
	return npy->size > NPY_HEADER_MAX;
}

/* What the file will be, as far as this write tells. */
static uint64_t end_after(const void *buf, uint64_t size, uint64_t off)
{
	struct b2f_npy npy;
	uint64_t end = off + size;

	if (!buf || off || size > SIZE_MAX || b2f_npy_parse(buf, size, &npy))
		return end;
	end = is_long(&npy) ? UINT64_MAX
			    : b2f_max_u64(end, npy.size + npy.nbytes);
	b2f_npy_fini(&npy);
	return end;
}

bool b2f_file_outgrows(struct b2f_file *file, const void *buf, uint64_t size,
		       uint64_t off, uint64_t limit)
{
	struct b2f_writer *w;
	uint64_t now = 0, end;
	bool may;

	pthread_mutex_lock(&file->lock);
	w = file->writer;
	may = w && w->txn && w->txn->home->small && !file->frame->layout.is_array;
	if (may) {
		now = b2f_file_size_locked(file);
		limit = b2f_max_u64(limit, w->grow_above);
	}
	pthread_mutex_unlock(&file->lock);
	if (!may)
		return false;
	end = now ? off + size : end_after(buf, size, off);
	return b2f_max_u64(now, end) > limit;
}

/* The file goes on with @frame, which it takes over.  Nothing is dirty. */
static void continue_with(struct b2f_file *file, struct b2f_frame *frame)
{
	struct b2f_writer *w = file->writer;
	struct b2f_txn *old;

	pthread_mutex_lock(&file->lock);
	old = b2f_writer_take_txn(file);
	b2f_file_set_frame(file, frame);
	pthread_mutex_unlock(&file->lock);
	b2f_head_forget_all(file);
	b2f_writer_wait_readers(w);
	b2f_kept_drop(&file->runtime->kept, file);
	b2f_txn_free(old);
	/* If this fails, the file can still be read; a later writer retries. */
	(void)!b2f_file_allow_write(file, &w->options);
}

/* Exchanges the names, unless another program has just written to the file. */
static int exchange(struct b2f_writer *w, struct b2f_grown *grown,
		    struct b2f_why *why)
{
	int err = b2f_become_exchange(&grown->become, why);

	if (err || b2f_txn_has_changed(w->txn) == 0)
		return err;
	err = b2f_become_exchange_back(&grown->become, why);
	return err ? err
		   : b2f_why_set(why, -ESTALE, "another program has changed it");
}

/* The write_lock and the commit_lock are held, and nothing is dirty. */
static int grow(struct b2f_file *file, const struct b2f_grow *g,
		struct b2f_why *why)
{
	struct b2f_writer *w = file->writer;
	enum b2f_durable_state state = b2f_durability_get(w->durability);
	struct b2f_grown grown;
	int err, fd;

	if (state == B2F_DISK_FAILED || b2f_txn_has_changed(w->txn))
		return b2f_why_set(why, -EBUSY, "it has to be read anew");
	err = b2f_enlarge_begin(w->txn, g->dirfd, g->name, state != B2F_DISK_NEW,
			     &grown, why);
	if (err)
		return err;
	fd = b2f_store_dirfd(grown.frame->store);
	if (g->before)
		err = g->before(g->arg, fd, &grown.become.dir);
	if (!err) {
		err = exchange(w, &grown, why);
		if (err && g->after)
			g->after(g->arg, -1, false);
	}
	if (err) {
		if (grown.become.is_astray)
			b2f_log(file->frame->log, B2F_LOG_ERROR, "%s: %s",
				file->frame->label, why->text);
		b2f_enlarge_undo(&grown);
		return err;
	}
	b2f_become_settle(&grown.become);
	continue_with(file, grown.frame);
	if (g->after)
		g->after(g->arg, fd, grown.become.unsynced);
	/* Not before: a file without any name would be taken for a deleted one. */
	b2f_become_end(&grown.become);
	return 0;
}

static bool is_clean(struct b2f_file *file)
{
	bool clean;

	pthread_mutex_lock(&file->lock);
	clean = b2f_writer_is_clean(file->writer);
	pthread_mutex_unlock(&file->lock);
	return clean;
}

/* One try; -EAGAIN: it was written to again.  The commit_lock is held. */
static int try_grow(struct b2f_file *file, const struct b2f_grow *g,
		    struct b2f_why *why)
{
	struct b2f_writer *w = file->writer;
	int err = b2f_commit_now(file, B2F_COMMIT_VISIBLE);

	if (err)
		return err;
	pthread_mutex_lock(&w->write_lock);
	if (!w->txn || !w->txn->home->small)
		err = 0;
	else if (!is_clean(file))
		err = -EAGAIN;
	else
		err = grow(file, g, why);
	pthread_mutex_unlock(&w->write_lock);
	return err;
}

static void leave_alone(struct b2f_file *file, int err,
			const struct b2f_why *why)
{
	pthread_mutex_lock(&file->lock);
	file->writer->grow_above = b2f_file_size_locked(file) * AGAIN;
	if (err == -EINVAL || err == -EMLINK || err == -EPERM)
		file->writer->grow_above = UINT64_MAX;
	pthread_mutex_unlock(&file->lock);
	b2f_log(file->frame->log, B2F_LOG_DEBUG, "%s: stays one file: %s",
		file->frame->label, why->text[0] ? why->text : strerror(-err));
}

int b2f_file_grow(struct b2f_file *file, const struct b2f_grow *g)
{
	struct b2f_writer *w = b2f_writer_of(file);
	struct b2f_why why = {""};
	int err = -EAGAIN;

	if (!w)
		return -EBADF;
	pthread_mutex_lock(&w->commit_lock);
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = try_grow(file, g, &why);
	if (err)
		leave_alone(file, err, &why);
	pthread_mutex_unlock(&w->commit_lock);
	return err == -EAGAIN ? -EBUSY : err;
}
