/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files_single.c - changing a contiguous frame, which is one file
 *
 * The writer takes the file's stamp after each of its own changes, so that it
 * notices changes by another program: see b2f_store_own_stamp().  While several
 * threads write at once, the stamp is taken when the last one has ended.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/checked.h"
#include "store/files.h"
#include "store/files_extents.h"
#include "store/files_single.h"
#include "store/make.h"
#include "store/write.h"

/* A network filesystem may tell a larger block size than its disk has. */
#define BLOCK_MAX 4096

/*
 * A new file of up to this many bytes is written in one go, with its header;
 * the data of a longer one are on their way by then.
 */
#define RESERVED_MAX (UINT64_C(64) << 10)

/* State of a store from b2f_store_lock() on. */
struct b2f_files_writer {
	/* Open for writing; has the flock(2).  -1: not locked. */
	int fd;
	/*
	 * This process made the file, so the store's own descriptor is open for
	 * writing.
	 */
	bool is_made;
	pthread_mutex_t lock;
	/* Everything below: under the lock. */
	/* Changes under way. */
	unsigned int nchanges;
	/* The stamp after the last change. */
	struct b2f_frame_stamp own;
	/* The mtime of the committed state. */
	struct timespec mtime;
	/* @is_made, and only its first header was written. */
	bool is_fresh;
	/* Number of changes begun, except headers; and of those synced. */
	uint64_t nbegun, nsynced;
	/* Smallest size that can be freed. */
	uint64_t block;
};

static struct b2f_files_writer *writer_of(struct b2f_store *store)
{
	return b2f_files_of(store)->writer;
}

static int failed(const char *verb, struct b2f_why *why)
{
	return b2f_why_set(why, -errno, "%s: %s", verb, strerror(errno));
}

/* Other descriptors of a made file may stay open: its lock ends here. */
static void unlock(struct b2f_files_writer *w)
{
	if (!w || w->fd < 0)
		return;
	(void)!flock(w->fd, LOCK_UN);
	if (!w->is_made)
		close(w->fd);
	w->fd = -1;
}

void b2f_files_single_fini(struct b2f_files_writer *writer)
{
	if (!writer)
		return;
	unlock(writer);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

static int need_writer(struct b2f_files *files)
{
	struct b2f_files_writer *w = files->writer;

	if (w)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	w->fd = -1;
	files->writer = w;
	return 0;
}

/* Opens the store's file for writing, by /proc: its name may have changed. */
static int open_again(int fd)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return b2f_files_open_followed(AT_FDCWD, path, O_RDWR | O_NOATIME);
}

/* Begins to write to the file @fd, which is locked and has @st. */
static void begin(struct b2f_files_writer *w, int fd, const struct stat *st)
{
	w->fd = fd;
	w->own = b2f_frame_stamp_of(st);
	w->mtime = st->st_mtim;
	w->block = st->st_blksize > 0 && st->st_blksize < BLOCK_MAX
			   ? (uint64_t)st->st_blksize
			   : BLOCK_MAX;
	/* An earlier writer may have left unsynced data. */
	w->nbegun = w->nsynced + 1;
}

int b2f_files_single_make(struct b2f_store *store)
{
	int err = need_writer(b2f_files_of(store));

	if (!err)
		writer_of(store)->is_made = writer_of(store)->is_fresh = true;
	return err;
}

void b2f_files_single_begin(struct b2f_store *store, const struct stat *st)
{
	begin(writer_of(store), b2f_files_of(store)->fd, st);
}

static int single_lock(struct b2f_store *store, bool on, struct b2f_why *why)
{
	struct b2f_files *files = b2f_files_of(store);
	struct stat st;
	int fd, err;

	if (!on) {
		unlock(files->writer);
		return 0;
	}
	err = need_writer(files);
	if (err || files->writer->fd >= 0)
		return err;
	fd = files->writer->is_made ? files->fd : open_again(files->fd);
	if (fd < 0)
		return failed("open it for writing", why);
	err = b2f_files_lock(fd, why);
	if (!err && fstat(fd, &st))
		err = failed("stat", why);
	if (!err)
		begin(files->writer, fd, &st);
	else if (!files->writer->is_made)
		close(fd);
	return err;
}

static void begin_change(struct b2f_files_writer *w, bool is_head)
{
	pthread_mutex_lock(&w->lock);
	w->nchanges++;
	w->nbegun += !is_head;
	pthread_mutex_unlock(&w->lock);
}

/*
 * With @restore, sets the mtime back to the committed state, which is older
 * than the last write.
 */
static void end_change(struct b2f_files_writer *w, bool restore)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat st;
	B2F_HOLD(&w->lock);

	times[1] = w->mtime;
	/* The mtime of another user's file cannot be set. */
	if (restore)
		(void)!futimens(w->fd, times);
	if (--w->nchanges == 0 && fstat(w->fd, &st) == 0)
		w->own = b2f_frame_stamp_of(&st);
}

static int single_create(struct b2f_store *store, int64_t id,
			 struct b2f_object *out, struct b2f_why *why)
{
	(void)why;
	(void)id;
	*out = (struct b2f_object){.store = store, .fd = writer_of(store)->fd};
	return 0;
}

static int single_write(const struct b2f_object *object, uint64_t off,
			const void *buf, size_t n, struct b2f_why *why)
{
	struct b2f_files_writer *w = writer_of(object->store);
	int err;

	begin_change(w, false);
	err = b2f_files_write_as_owner(w->fd, off, buf, n, why);
	end_change(w, false);
	return err;
}

/* The next sync makes the mtime durable, too. */
static int single_inherit(const struct b2f_object *object,
			  const struct timespec *mtime, struct b2f_why *why)
{
	struct b2f_files_writer *w = writer_of(object->store);

	(void)why;
	begin_change(w, false);
	pthread_mutex_lock(&w->lock);
	if (mtime)
		w->mtime = *mtime;
	pthread_mutex_unlock(&w->lock);
	end_change(w, true);
	return 0;
}

/* Changes of other threads under way count as not synced. */
static int sync_all(struct b2f_files_writer *w, struct b2f_why *why)
{
	uint64_t nbegun;

	pthread_mutex_lock(&w->lock);
	nbegun = w->nchanges ? w->nsynced : w->nbegun;
	pthread_mutex_unlock(&w->lock);
	if (b2f_files_fsync(w->fd))
		return failed("fsync", why);
	pthread_mutex_lock(&w->lock);
	w->nsynced = nbegun;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

/*
 * Brings the data of a new file, which has no place on the disk yet, there
 * before the header, or together with it.  The filesystem does the latter where
 * all has one place.  fsync will report an error.
 */
static void place_fresh(const struct b2f_files_writer *w)
{
	struct stat st;
	uint64_t size = fstat(w->fd, &st) ? UINT64_MAX : (uint64_t)st.st_size;

	if (size > w->block &&
	    (size > RESERVED_MAX || !b2f_files_reserve(w->fd, size)))
		(void)sync_file_range(w->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/*
 * Writes the data before the header that names them.  A new file without
 * extents on the disk needs no wait: the journal keeps extents and length
 * together, so a loss of power leaves the file empty or whole.  If it has
 * extents, the disk may have the first header, which the next one overwrites:
 * the data must be there before.
 */
static int write_out(struct b2f_files_writer *w, struct b2f_why *why)
{
	bool is_fresh;

	pthread_mutex_lock(&w->lock);
	is_fresh = w->is_fresh;
	pthread_mutex_unlock(&w->lock);
	if (!is_fresh)
		return b2f_files_write_out(w->fd, why);
	if (!b2f_files_is_delayed(w->fd))
		return sync_all(w, why);
	place_fresh(w);
	return 0;
}

/*
 * Begins to write the chunk @object.  The first block of a new file waits for
 * the header: otherwise it would have an extent, and write_out() would sync.
 */
static void write_soon(struct b2f_files_writer *w,
		       const struct b2f_object *object)
{
	uint64_t from = object->base, end = from + object->size;

	pthread_mutex_lock(&w->lock);
	if (w->is_fresh)
		from = b2f_max_u64(from, w->block);
	pthread_mutex_unlock(&w->lock);
	/* fsync will report an error. */
	if (from < end)
		(void)sync_file_range(w->fd, (off_t)from, (off_t)(end - from),
				      SYNC_FILE_RANGE_WRITE);
}

/*
 * A header overwrites bytes that have a place on the disk, so the length of the
 * file stays, and no journal has to be written.
 */
static int sync_head(struct b2f_files_writer *w, struct b2f_why *why)
{
	bool is_synced;

	pthread_mutex_lock(&w->lock);
	is_synced = w->nsynced == w->nbegun;
	pthread_mutex_unlock(&w->lock);
	if (!is_synced)
		return sync_all(w, why);
	return b2f_files_fdatasync(w->fd) ? failed("fdatasync", why) : 0;
}

static int single_settle(struct b2f_store *store,
			 const struct b2f_object *object, enum b2f_settle how,
			 struct b2f_why *why)
{
	struct b2f_files_writer *w = writer_of(store);

	if (!object)
		return sync_head(w, why);
	if (how == B2F_SETTLE_SOON) {
		write_soon(w, object);
		return 0;
	}
	return how == B2F_SETTLE_ORDER ? write_out(w, why) : sync_all(w, why);
}

static int single_install(struct b2f_store *store,
			  const struct b2f_install *what, struct b2f_why *why)
{
	struct b2f_files_writer *w = writer_of(store);
	int err;

	begin_change(w, true);
	err = b2f_files_write_as_owner(w->fd, 0, what->head, what->nhead,
				       why);
	pthread_mutex_lock(&w->lock);
	w->is_fresh = false;
	if (!err && what->mtime)
		w->mtime = *what->mtime;
	pthread_mutex_unlock(&w->lock);
	end_change(w, !err);
	return err;
}

/*
 * On failure the room stays taken, which does no harm.  Parts of blocks would
 * only be zeroed, so leave them.
 */
static void punch(struct b2f_files_writer *w, uint64_t off, uint64_t size)
{
	int ret;

	if (off / w->block + (off % w->block != 0) >= (off + size) / w->block)
		return;
	begin_change(w, false);
	ret = fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)off, (off_t)size);
	end_change(w, ret == 0);
}

static int single_remove(struct b2f_store *store, const uint64_t *ids, size_t n,
			 const struct b2f_range *range, struct b2f_why *why)
{
	struct b2f_files_writer *w = writer_of(store);
	int err = 0;

	(void)ids;
	(void)n;
	if (range->size != UINT64_MAX) {
		punch(w, range->off, range->size);
		return 0;
	}
	begin_change(w, false);
	if (ftruncate(w->fd, (off_t)range->off))
		err = failed("truncate", why);
	end_change(w, true);
	return err;
}

int b2f_files_single_stamp(struct b2f_store *store, enum b2f_stamp what,
			   struct b2f_frame_stamp *out)
{
	struct b2f_files_writer *w = writer_of(store);

	if (what != B2F_STAMP_OWN)
		return b2f_store_identify(store, B2F_OBJECT_INDEX, out);
	B2F_HOLD(&w->lock);
	*out = w->own;
	return 0;
}

static int single_has_changed(struct b2f_store *store)
{
	struct b2f_files_writer *w = writer_of(store);
	struct b2f_frame_stamp now;
	struct stat st;
	int ret = 0;
	B2F_HOLD(&w->lock);

	if (w->nchanges == 0 && fstat(w->fd, &st)) {
		ret = -errno;
	} else if (w->nchanges == 0) {
		now = b2f_frame_stamp_of(&st);
		ret = !b2f_frame_stamp_same_data(&now, &w->own, false);
	}
	return ret;
}

const struct b2f_store_write_ops b2f_files_single_write = {
	.lock = single_lock,
	.create = single_create,
	.write = single_write,
	.inherit = single_inherit,
	.settle = single_settle,
	.install = single_install,
	.remove = single_remove,
	.has_changed = single_has_changed,
};

void b2f_store_note_attributes(struct b2f_store *store,
			       const struct timespec *mtime)
{
	struct b2f_files_writer *w;
	struct stat st;

	if (store->ops->write != &b2f_files_single_write)
		return;
	w = writer_of(store);
	/* If this fails, the change counts as another program's. */
	if (!w || w->fd < 0 || fstat(w->fd, &st))
		return;
	B2F_HOLD(&w->lock);
	if (w->nchanges == 0)
		w->own = b2f_frame_stamp_of(&st);
	/* Not from @st if possible: encoders may have written since. */
	if (mtime)
		w->mtime = mtime->tv_nsec == UTIME_NOW ? st.st_mtim : *mtime;
}
