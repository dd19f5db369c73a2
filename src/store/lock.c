/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c - the locks of C-Blosc2 */
#include "store/lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/error.h"
#include "programs/io.h"
#include "store/files.h"
#include "store/files_attr.h"
#include "store/place.h"

/* Offset of the generation: 8 bytes in native byte order. */
#define GENERATION_OFF 8
/* Zeros, then the generation; nothing follows. */
#define FILE_SIZE 16

/* How often a file that other programs delete is opened again. */
#define TRIES 100

/* Pause between two attempts to lock. */
#define PAUSE_NS 500000
#define NS_PER_MS 1000000

struct b2f_lock {
	struct b2f_store *store;
	/* The name of a contiguous frame; else empty. */
	struct b2f_place frame;
	/*
	 * Directory of the lock file, owned by the store or @frame; its name
	 * there.
	 */
	int dir;
	char *name;
	int fd;
	/* @fd is open for writing, so the lock can be taken for changes. */
	bool writable;
	/* Generation record of the frame changed under the lock; or NULL. */
	struct b2f_generation *generation;
};

static int failed(const char *what, struct b2f_why *why)
{
	return b2f_why_set(why, -errno, "%s %s: %s", what, B2F_LOCK_NAME,
			   strerror(errno));
}

static int not_plain(struct b2f_why *why)
{
	return b2f_why_set(why, B2F_ECORRUPT, "%s is no plain file",
			   B2F_LOCK_NAME);
}

static int open_there(const struct b2f_lock *lock, bool *writable)
{
	int fd = b2f_files_open(lock->dir, lock->name, O_RDWR);

	*writable = fd >= 0;
	if (fd < 0 && (errno == EACCES || errno == EROFS))
		fd = b2f_files_open(lock->dir, lock->name, O_RDONLY);
	return fd;
}

/* Gives the lock file @fd the permissions of the contiguous frame. */
static int permit_single(struct b2f_store *store, int fd,
			 struct b2f_why *why)
{
	struct stat st;

	if (fstat(b2f_files_of(store)->fd, &st))
		return failed("stat the file of", why);
	/* If the owner cannot be set, add no permissions. */
	if (fchown(fd, st.st_uid, st.st_gid) && fchown(fd, (uid_t)-1, st.st_gid))
		return 0;
	return fchmod(fd, st.st_mode & 0666) ? failed("chmod", why) : 0;
}

/*
 * The file gets its name when others may use it, where that is possible.
 * Returns -EEXIST if another program was faster.
 */
static int make_file(const struct b2f_lock *lock, struct b2f_why *why)
{
	int fd, err;
	bool unnamed;

	fd = openat(lock->dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	unnamed = fd >= 0;
	if (!unnamed && b2f_files_has_no_tmpfile(errno))
		fd = openat(lock->dir, lock->name,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	if (fd < 0)
		return failed("create", why);
	if (b2f_store_is_sparse(lock->store))
		err = b2f_files_permit(lock->dir, fd, why);
	else
		err = permit_single(lock->store, fd, why);
	if (!err && unnamed)
		err = b2f_files_name_it(fd, lock->dir, lock->name, why);
	else if (err && !unnamed)
		(void)unlinkat(lock->dir, lock->name, 0);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Opens the file, or makes it.  Returns the descriptor or a negative errno. */
static int open_file(const struct b2f_lock *lock, bool create, bool *writable,
		     struct b2f_why *why)
{
	int fd = open_there(lock, writable);

	if (fd < 0 && errno == ENOENT && create) {
		fd = make_file(lock, why);
		*writable = fd >= 0;
		if (fd != -EEXIST)
			return fd;
		fd = open_there(lock, writable);
	}
	if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
		return not_plain(why);
	/* The name is too long to have a lock file. */
	if (fd < 0 && errno == ENAMETOOLONG && !create)
		errno = ENOENT;
	return fd >= 0 ? fd : failed("open", why);
}

/*
 * A user who may write to the directory can put any file there: do not write a
 * generation into a file of another kind.
 */
static int check_file(int fd, struct b2f_why *why)
{
	uint64_t zeros = 0;
	struct stat st;

	if (fstat(fd, &st))
		return failed("stat", why);
	if (!S_ISREG(st.st_mode))
		return not_plain(why);
	if (b2f_io_read(fd, &zeros, GENERATION_OFF, 0) < 0)
		return failed("read", why);
	if (st.st_size > FILE_SIZE || zeros)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "%s holds more than a generation",
				   B2F_LOCK_NAME);
	return 0;
}

static void end(struct b2f_lock *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	free(lock->name);
	b2f_place_fini(&lock->frame);
}

/* Opens the file that has the name now. */
static int reopen(struct b2f_lock *lock, bool create, struct b2f_why *why)
{
	bool writable = false;
	int fd, err;

	fd = open_file(lock, create, &writable, why);
	if (fd < 0)
		return fd;
	err = check_file(fd, why);
	if (err) {
		close(fd);
		return err;
	}
	if (lock->fd >= 0)
		close(lock->fd);
	lock->fd = fd;
	lock->writable = writable;
	return 0;
}

/*
 * Opens the lock file of a contiguous frame at @frame, and owns @frame on
 * success; otherwise nothing changes.
 */
static int take_place(struct b2f_lock *lock, const struct b2f_place *frame,
		      bool create, struct b2f_why *why)
{
	struct b2f_lock now = {.store = lock->store,
			       .frame = *frame,
			       .dir = frame->dir,
			       .fd = -1};
	int err;

	if (asprintf(&now.name, "%s%s", frame->name, B2F_LOCK_NAME) < 0)
		return -ENOMEM;
	err = reopen(&now, create, why);
	if (err) {
		free(now.name);
		return err;
	}
	end(lock);
	now.generation = lock->generation;
	*lock = now;
	return 0;
}

/*
 * A contiguous frame may have been renamed; other programs lock the file beside
 * its new name.  If the new name cannot be found, the old lock file stays.
 */
static int follow(struct b2f_lock *lock, struct b2f_why *why)
{
	int fd = b2f_files_of(lock->store)->fd, err;
	struct b2f_place now;

	if (b2f_store_is_sparse(lock->store) || b2f_place_has(&lock->frame, fd))
		return 0;
	err = b2f_place_find(&lock->frame, fd, &now);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = take_place(lock, &now, true, why);
	if (err)
		b2f_place_fini(&now);
	return err;
}

/* Is the frame unmoved, without a lock file beside it? */
static bool is_missing(const struct b2f_files *files)
{
	const struct b2f_place *there = &files->home;
	char *name = NULL;
	struct stat st;
	bool is;

	if (!b2f_place_has(there, files->fd) ||
	    asprintf(&name, "%s%s", there->name, B2F_LOCK_NAME) < 0)
		return false;
	is = fstatat(there->dir, name, &st,
		     AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
			     AT_STATX_DONT_SYNC) &&
	     errno == ENOENT;
	free(name);
	return is;
}

/* Opens the lock file beside the contiguous frame, wherever it is now. */
static int open_single(struct b2f_lock *lock, bool create, struct b2f_why *why)
{
	const struct b2f_files *files = b2f_files_of(lock->store);
	struct b2f_place frame, now;
	int err;

	if (!files->home.name || (!create && is_missing(files)))
		return b2f_why_set(why, -ENOENT, "no place for %s",
				   B2F_LOCK_NAME);
	err = b2f_place_init(&frame, files->home.dir, files->home.name);
	if (err)
		return err;
	err = b2f_place_has(&frame, files->fd)
		      ? -ENOENT
		      : b2f_place_find(&frame, files->fd, &now);
	if (!err) {
		b2f_place_fini(&frame);
		frame = now;
	}
	if (!err || err == -ENOENT)
		err = take_place(lock, &frame, create, why);
	if (err)
		b2f_place_fini(&frame);
	return err;
}

static int open_sparse(struct b2f_lock *lock, bool create, struct b2f_why *why)
{
	lock->dir = b2f_files_of(lock->store)->fd;
	lock->name = strdup(B2F_LOCK_NAME);
	return lock->name ? reopen(lock, create, why) : -ENOMEM;
}

bool b2f_lock_has_place(const struct b2f_store *store)
{
	return b2f_files_is_file(store);
}

int b2f_lock_open(struct b2f_store *store, bool create, struct b2f_lock **out,
		  struct b2f_why *why)
{
	struct b2f_lock *lock;
	int err;

	if (!b2f_files_is_file(store))
		return b2f_why_set(why, create ? B2F_EUNSUPPORTED : -ENOENT,
				   "no place for %s", B2F_LOCK_NAME);
	lock = calloc(1, sizeof(*lock));
	if (!lock)
		return -ENOMEM;
	lock->store = store;
	lock->generation = b2f_generation_ref(store->generation);
	lock->frame.dir = AT_FDCWD;
	lock->fd = -1;
	err = b2f_store_is_sparse(store) ? open_sparse(lock, create, why)
			    : open_single(lock, create, why);
	if (err)
		b2f_lock_close(lock);
	else
		*out = lock;
	return err;
}

void b2f_lock_close(struct b2f_lock *lock)
{
	if (!lock)
		return;
	end(lock);
	b2f_generation_unref(lock->generation);
	free(lock);
}

void b2f_lock_belong(struct b2f_lock *lock, struct b2f_generation *generation)
{
	b2f_generation_ref(generation);
	b2f_generation_unref(lock->generation);
	lock->generation = generation;
}

/*
 * Waits for the lock LOCK_EX or LOCK_SH (@how).  A blocking flock(2) could not
 * be interrupted.  Returns 0, or -1 with errno.
 */
static int wait_for(int fd, int how, uint64_t until_ns)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int ret;

	for (;;) {
		ret = flock(fd, how | LOCK_NB);
		if (ret && errno == EINTR)
			continue;
		if (!ret || errno != EWOULDBLOCK || b2f_monotonic_ns() >= until_ns)
			return ret;
		nanosleep(&pause, NULL);
	}
}

/* Locks the file that has the name; opens it again if it was deleted. */
static int lock_file(struct b2f_lock *lock, int how, uint32_t wait_ms,
		     struct b2f_why *why)
{
	uint64_t until_ns = b2f_monotonic_ns() + (uint64_t)wait_ms * NS_PER_MS;
	struct stat st;
	int err;

	for (int i = 0; i < TRIES; i++) {
		if (how == LOCK_EX && !lock->writable)
			return b2f_why_set(why, -EACCES,
					   "%s cannot be written to",
					   B2F_LOCK_NAME);
		if (wait_for(lock->fd, how, until_ns))
			return errno == EWOULDBLOCK
				       ? b2f_why_set(why, -EAGAIN,
						     "another program has "
						     "locked it (%s)",
						     B2F_LOCK_NAME)
				       : failed("lock", why);
		if (fstat(lock->fd, &st) || st.st_nlink > 0)
			return 0;
		err = reopen(lock, how == LOCK_EX, why);
		if (err) {
			b2f_lock_release(lock);
			return err;
		}
	}
	return b2f_why_set(why, -EBUSY, "another program keeps deleting %s",
			   B2F_LOCK_NAME);
}

int b2f_lock_look(const struct b2f_lock *lock, struct b2f_lock_state *out)
{
	uint64_t value = 0;
	ssize_t got =
		b2f_io_read(lock->fd, &value, sizeof(value), GENERATION_OFF);
	struct stat st;

	if (got < 0 || fstat(lock->fd, &st))
		return -errno;
	/* In a shorter file the generation is 0. */
	*out = (struct b2f_lock_state){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.generation = got == sizeof(value) ? value : 0,
	};
	return 0;
}

void b2f_lock_adopt(struct b2f_lock *lock)
{
	struct b2f_lock_state now;

	if (!lock->generation || b2f_lock_look(lock, &now))
		return;
	B2F_HOLD(&lock->generation->lock);
	lock->generation->known = now;
}

int b2f_lock_share(struct b2f_lock *lock, uint32_t wait_ms,
		   struct b2f_why *why)
{
	return lock_file(lock, LOCK_SH, wait_ms, why);
}

static int raise_file(const struct b2f_lock *lock, struct b2f_lock_state *state,
		      struct b2f_why *why)
{
	int err = b2f_lock_look(lock, state);

	if (err)
		return b2f_why_set(why, err, "read %s: %s", B2F_LOCK_NAME,
				   b2f_strerror(err));
	state->generation++;
	return b2f_files_write_fully(lock->fd, GENERATION_OFF,
				     &state->generation,
				     sizeof(state->generation), why);
}

/* Under the record's lock, so that its users see both changes or none. */
static int raise_both(const struct b2f_lock *lock, struct b2f_why *why)
{
	struct b2f_generation *g = lock->generation;
	struct b2f_lock_state before = {0}, state;
	int err;

	if (!g)
		return raise_file(lock, &state, why);
	B2F_HOLD(&g->lock);
	err = raise_file(lock, &state, why);
	before = state;
	before.generation--;
	if (!err && b2f_generation_is(g, &before))
		g->known = state;
	return err;
}

int b2f_lock_acquire(struct b2f_lock *lock, uint32_t wait_ms,
		     struct b2f_why *why)
{
	int err = follow(lock, why);

	if (!err)
		err = lock_file(lock, LOCK_EX, wait_ms, why);
	if (err)
		return err;
	err = raise_both(lock, why);
	if (err)
		b2f_lock_release(lock);
	return err;
}

int b2f_lock_out(struct b2f_store *store, uint32_t wait_ms,
		 struct b2f_lock **out, struct b2f_why *why)
{
	int err = b2f_lock_open(store, false, out, why);

	if (err)
		return err == -ENOENT ? 0 : err;
	return b2f_lock_acquire(*out, wait_ms, why);
}

void b2f_lock_release(struct b2f_lock *lock)
{
	(void)flock(lock->fd, LOCK_UN);
}
