/* SPDX-License-Identifier: BSD-3-Clause */
/* unlinked.c - hides and deletes sparse frames */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "b2frame/error.h"
#include "b2frame/names.h"
#include "dir.h"
#include "fs.h"
#include "programs/directory.h"
#include "unlinked.h"

#define HIDDEN ".bloscfs-deleted"

/* Seconds; a younger directory may be about to become a frame. */
#define AGE_S 60

/* Another mount may purge our directory before we have locked it. */
#define TRIES 3

bool fs_unlinked_is_hidden(const char *name)
{
	return strncmp(name, HIDDEN, sizeof(HIDDEN) - 1) == 0;
}

void fs_unlinked_init(struct fs_unlinked_dir *dir, int base_fd)
{
	unsigned int number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (unsigned int)time(NULL);
	pthread_mutex_init(&dir->lock, NULL);
	pthread_cond_init(&dir->gone, NULL);
	LIST_INIT(&dir->there);
	snprintf(dir->id, sizeof(dir->id), "%ld-%08x", (long)getpid(), number);
	dir->base_fd = fcntl(base_fd, F_DUPFD_CLOEXEC, 0);
	dir->fd = -1;
}

static int open_dir(int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Opens a directory for deleted frames, if this user made it.  The owner of the
 * parent may have put another file there.
 */
static int open_own(int dirfd, const char *name)
{
	int fd = open_dir(dirfd, name), err = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_uid != geteuid() || (st.st_mode & 0022))
		err = -EPERM;
	if (err)
		close(fd);
	return err ? err : fd;
}

void fs_unlinked_fini(struct fs_unlinked_dir *dir)
{
	int top;

	if (dir->fd >= 0) {
		top = open_own(dir->base_fd, HIDDEN);
		/* rmdir(2) refuses directories that are not empty. */
		if (top >= 0) {
			unlinkat(top, dir->id, AT_REMOVEDIR);
			close(top);
		}
		unlinkat(dir->base_fd, HIDDEN, AT_REMOVEDIR);
		close(dir->fd);
	}
	fs_dir_close(dir->base_fd);
	pthread_cond_destroy(&dir->gone);
	pthread_mutex_destroy(&dir->lock);
}

/*
 * Removes a file of a frame whose index is gone; the others are removed even if
 * that fails.
 */
static int remove_file(void *err, int dirfd, const struct dirent *d)
{
	enum b2f_part part = b2f_part_of(d->d_name);

	if (part != B2F_PART_NONE && part != B2F_PART_INDEX &&
	    unlinkat(dirfd, d->d_name, 0) && errno != ENOENT)
		*(int *)err = -errno;
	return 0;
}

/*
 * Makes the directory of a read-only frame writable, so that its files can be
 * deleted; it need not be readable.  A directory of another user keeps its
 * mode.
 */
static void make_writable(struct fs *fs, int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[FS_DIR_PATH_SIZE];
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid())
		(void)!fchmodat(fs->tree->proc_fd, fs_dir_number(fd, path),
				0700, 0);
	close(fd);
}

/*
 * Deletes the frame @name, even if it is half deleted; or a file that another
 * mount has just put in its place.
 */
static int remove_frame(struct fs *fs, int dirfd, const char *name)
{
	struct stat st;
	int err, fd;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(st.st_mode))
		return unlinkat(dirfd, name, 0) ? -errno : 0;
	make_writable(fs, dirfd, name);
	err = b2f_frame_remove(dirfd, name);
	if (err != -ENOENT)
		return err;
	fd = open_dir(dirfd, name);
	if (fd < 0)
		return fd;
	err = 0;
	(void)!b2f_directory_each(fd, ".", remove_file, &err);
	close(fd);
	if (!err && unlinkat(dirfd, name, AT_REMOVEDIR))
		err = -errno;
	return err;
}

static void log_kept(struct fs *fs, const char *name)
{
	fs_logger_write(fs->logger, B2F_LOG_WARNING,
			"%s: %s is kept: its inode number is not the one in "
			"its name (it is a copy, or another program renamed it "
			"to a name that was being deleted); delete it if it is "
			"not needed",
			fs->source.path, name);
}

/*
 * Does the hidden name @name contain the identity of @st?  If not, a program
 * renamed that file to the deleted one's name just then, or SOURCE is a copy,
 * and it stays.
 */
static bool is_meant(struct fs *fs, const char *name, const struct stat *st)
{
	const char *end = strrchr(name, '-');
	char number[24];

	/* A frame has no name of its own while it is being made. */
	if (S_ISDIR(st->st_mode) &&
	    strncmp(name, HIDDEN "-new-", sizeof(HIDDEN "-new-") - 1) == 0)
		return true;
	snprintf(number, sizeof(number), "-%llx",
		 (unsigned long long)st->st_ino);
	if (end && strcmp(end, number) == 0)
		return true;
	log_kept(fs, name);
	return false;
}

static void purge_frame(struct fs *fs, int dirfd, const char *name)
{
	struct stat st;
	int err;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !is_meant(fs, name, &st))
		return;
	err = remove_frame(fs, dirfd, name);
	if (err && err != -ENOENT)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: a deleted frame is still in %s: %s",
				fs->source.path,
				fs_unlinked_is_hidden(name) ? name : HIDDEN,
				b2f_strerror(err));
}

static int purge_each(void *fs, int dirfd, const struct dirent *d)
{
	purge_frame(fs, dirfd, d->d_name);
	return 0;
}

/* Deletes the hidden directory of a mount that has ended. */
static int purge_own_dir(void *fs, int dirfd, const struct dirent *d)
{
	int fd = open_own(dirfd, d->d_name);

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		(void)!b2f_directory_each(fd, ".", purge_each, fs);
		unlinkat(dirfd, d->d_name, AT_REMOVEDIR);
	}
	close(fd);
	return 0;
}

void fs_unlinked_purge(struct fs *fs)
{
	int base = fs->deleted.base_fd, top = open_own(base, HIDDEN);

	fs_unlinked_purge_at(fs, base);
	if (top < 0)
		return;
	(void)!b2f_directory_each(top, ".", purge_own_dir, fs);
	close(top);
	unlinkat(base, HIDDEN, AT_REMOVEDIR);
}

/* Deletes the file of a frame that became a directory (form.h). */
static void purge_file(struct fs *fs, int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0 && is_meant(fs, name, &st))
		unlinkat(dirfd, name, 0);
	close(fd);
}

/* Deletes a frame that was hidden in its own directory. */
static void purge_hidden(struct fs *fs, int dirfd, const char *name)
{
	const char *id = name + sizeof(HIDDEN);
	int fd;

	if (!fs_unlinked_is_hidden(name) || name[sizeof(HIDDEN) - 1] != '-' ||
	    strncmp(id, fs->deleted.id, strlen(fs->deleted.id)) == 0)
		return;
	fd = open_dir(dirfd, name);
	if (fd == -ENOTDIR)
		purge_file(fs, dirfd, name);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		purge_frame(fs, dirfd, name);
	close(fd);
}

static int purge_hidden_each(void *fs, int dirfd, const struct dirent *d)
{
	purge_hidden(fs, dirfd, d->d_name);
	return 0;
}

void fs_unlinked_purge_at(struct fs *fs, int dirfd)
{
	(void)!b2f_directory_each(dirfd, ".", purge_hidden_each, fs);
}

void fs_unlinked_purge_found(struct fs *fs, int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    time(NULL) - st.st_ctim.tv_sec > AGE_S)
		purge_hidden(fs, dirfd, name);
}

/* Makes and locks the mount's own hidden directory.  Returns a descriptor. */
static int make_own_dir(const struct fs_unlinked_dir *dir)
{
	struct stat st;
	int top, fd;

	if (mkdirat(dir->base_fd, HIDDEN, 0700) && errno != EEXIST)
		return -errno;
	top = open_own(dir->base_fd, HIDDEN);
	if (top < 0) {
		/* On some filesystems other users could use the directory. */
		unlinkat(dir->base_fd, HIDDEN, AT_REMOVEDIR);
		return top;
	}
	if (mkdirat(top, dir->id, 0700) && errno != EEXIST) {
		fd = -errno;
		close(top);
		return fd;
	}
	fd = open_own(top, dir->id);
	close(top);
	if (fd < 0)
		return fd;
	/*
	 * Its lock shows that another mount is about to remove it; some
	 * filesystems have no locks.
	 */
	if ((flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
	    fstat(fd, &st) == 0 && st.st_nlink > 0)
		return fd;
	close(fd);
	return -ENOENT;
}

/*
 * Opens the mount's own hidden directory, anew if another program has removed
 * it, or returns a negative errno; gets an unused number.
 */
static int get_own_dir(struct fs_unlinked_dir *dir, unsigned long *number)
{
	struct stat st;
	int fd;

	/* I/O under the lock, but mostly a fstat(2). */
	B2F_HOLD(&dir->lock);
	if (dir->fd >= 0 && fstat(dir->fd, &st) == 0 && st.st_nlink == 0) {
		close(dir->fd);
		dir->fd = -1;
	}
	for (int i = 0; i < TRIES && dir->fd < 0 && !dir->has_failed; i++) {
		fd = make_own_dir(dir);
		dir->fd = fd >= 0 ? fd : -1;
		dir->has_failed = fd == -EPERM;
	}
	*number = ++dir->last;
	fd = dir->fd < 0 ? -EXDEV : fcntl(dir->fd, F_DUPFD_CLOEXEC, 0);
	if (fd == -1)
		fd = -errno;
	return fd;
}

/* Moves the frame to the mount's own hidden directory. */
static int hide_away(struct fs_unlinked_dir *dir, int dirfd, const char *name,
		     const struct stat *what, struct fs_unlinked *out)
{
	unsigned long number;
	int fd = get_own_dir(dir, &number);

	if (fd < 0)
		return fd;
	snprintf(out->name, sizeof(out->name), "%lu-%llx", number,
		 (unsigned long long)what->st_ino);
	out->dirfd = fd;
	return renameat(dirfd, name, fd, out->name) ? -errno : 0;
}

/* Notes that @deleted is hidden in the directory @deleted->dirfd. */
static void note_there(struct fs_unlinked_dir *dir, struct fs_unlinked *deleted)
{
	struct stat st;

	if (fstat(deleted->dirfd, &st))
		return;
	deleted->dev = st.st_dev;
	deleted->ino = st.st_ino;
	B2F_HOLD(&dir->lock);
	LIST_INSERT_HEAD(&dir->there, deleted, others);
}

/* Hides the frame under another name in its own directory. */
static int hide_there(struct fs_unlinked_dir *dir, int dirfd, const char *name,
		      const struct stat *what, struct fs_unlinked *out)
{
	unsigned long number;

	/* Its hidden name is never without a lock.  It need not be readable. */
	out->lock_fd = open_dir(dirfd, name);
	if (out->lock_fd < 0 && out->lock_fd != -EACCES)
		return out->lock_fd == -ENOTDIR ? -ESTALE : out->lock_fd;
	/* If the lock fails, a writer of this mount holds it already. */
	if (out->lock_fd >= 0)
		(void)!flock(out->lock_fd, LOCK_SH | LOCK_NB);
	pthread_mutex_lock(&dir->lock);
	number = ++dir->last;
	pthread_mutex_unlock(&dir->lock);
	snprintf(out->name, sizeof(out->name), HIDDEN "-%s-%lu-%llx", dir->id,
		 number, (unsigned long long)what->st_ino);
	fs_dir_close(out->dirfd);
	out->dirfd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	if (out->dirfd < 0)
		return -errno;
	if (renameat(dirfd, name, dirfd, out->name))
		return -errno;
	note_there(dir, out);
	return 0;
}

/* Returns a frame hidden in @st, rather not one being deleted; locked. */
static struct fs_unlinked *find_there(const struct fs_unlinked_dir *dir,
				      const struct stat *st)
{
	struct fs_unlinked *d, *found = NULL;

	LIST_FOREACH (d, &dir->there, others)
		if (d->dev == st->st_dev && d->ino == st->st_ino &&
		    (!found || found->is_going))
			found = d;
	return found;
}

/* Moves the hidden frame @d to the directory @fd; locked. */
static int move_up(struct fs_unlinked *d, int fd)
{
	struct stat st;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return -errno;
	if (fstat(copy, &st) ||
	    renameat2(d->dirfd, d->name, copy, d->name, RENAME_NOREPLACE)) {
		close(copy);
		return -EBUSY;
	}
	close(d->dirfd);
	d->dirfd = copy;
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	return 0;
}

void fs_unlinked_leave(struct fs *fs, int dirfd, int parent_fd)
{
	struct fs_unlinked_dir *dir = &fs->deleted;
	struct fs_unlinked *d;
	struct stat st;

	if (fstat(dirfd, &st))
		return;
	/* I/O under the lock, but only when a directory is deleted. */
	B2F_HOLD(&dir->lock);
	while ((d = find_there(dir, &st))) {
		if (d->is_going)
			pthread_cond_wait(&dir->gone, &dir->lock);
		else if (move_up(d, parent_fd))
			break;
	}
}

static void end_going(struct fs_unlinked_dir *dir, struct fs_unlinked *deleted)
{
	B2F_HOLD(&dir->lock);

	if (deleted->ino)
		LIST_REMOVE(deleted, others);
	pthread_cond_broadcast(&dir->gone);
}

static void free_deleted(struct fs_unlinked *deleted)
{
	fs_dir_close(deleted->dirfd);
	fs_dir_close(deleted->lock_fd);
	fs_dir_close(deleted->home_fd);
	free(deleted);
}

/*
 * Deletes the frame @what, which is @name: its index first, durably, then its
 * chunks.
 */
static int delete_there(struct fs *fs, int dirfd, const char *name,
			const struct stat *what)
{
	int fd = open_dir(dirfd, name), err = 0, left;

	if (fd < 0)
		return fd;
	if (!fs_dir_has(fd, ".", what))
		err = -ESTALE;
	/* ENOTEMPTY shows that this user may delete the directory. */
	if (!err && unlinkat(dirfd, name, AT_REMOVEDIR) && errno != ENOTEMPTY &&
	    errno != EEXIST)
		err = -errno;
	if (!err && unlinkat(fd, B2F_INDEX_NAME, 0) && errno != ENOENT)
		err = -errno;
	if (err)
		goto out;
	/* From now on the frame is gone. */
	if (fsync(fd) && errno != EINVAL)
		left = -errno;
	else
		left = fs_dir_has(dirfd, name, what)
			       ? remove_frame(fs, dirfd, name)
			       : -ENOENT;
	if (left && left != -ENOENT)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: %s was deleted, but files are left in it: "
				"%s",
				fs->source.path, name, b2f_strerror(left));
out:
	close(fd);
	return err;
}

/*
 * Checks that @deleted is the file @what.  If another program exchanged them,
 * moves the wrong file back; if that fails, it stays hidden (is_meant()).
 */
static int check_moved(struct fs *fs, const struct fs_unlinked *deleted,
		       const struct stat *what)
{
	if (fs_dir_has(deleted->dirfd, deleted->name, what))
		return 0;
	if (renameat2(deleted->dirfd, deleted->name, deleted->home_fd,
		      deleted->home, RENAME_NOREPLACE))
		log_kept(fs, deleted->name);
	return -ESTALE;
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

int fs_unlinked_hide(struct fs *fs, int dirfd, const char *name,
		     const struct stat *what, struct fs_unlinked **out)
{
	struct fs_unlinked *deleted = calloc(1, sizeof(*deleted));
	int err;

	if (!deleted)
		return -ENOMEM;
	deleted->dirfd = deleted->lock_fd = -1;
	/* Without this descriptor it cannot be moved back. */
	deleted->home_fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	snprintf(deleted->home, sizeof(deleted->home), "%s", name);
	err = deleted->home_fd < 0
		      ? -errno
		      : hide_away(&fs->deleted, dirfd, name, what, deleted);
	/*
	 * The frame is on another filesystem, or only its owner may move it; or
	 * the hidden directory can take no more.
	 */
	if (err == -EXDEV || err == -EACCES || err == -EPERM ||
	    err == -EMLINK || is_full(err))
		err = hide_there(&fs->deleted, dirfd, name, what, deleted);
	if (err == -EXDEV || is_full(err)) {
		err = delete_there(fs, dirfd, name, what);
		deleted->has_gone = true;
	} else if (!err) {
		err = check_moved(fs, deleted, what);
		if (err)
			end_going(&fs->deleted, deleted);
	}
	if (err)
		free_deleted(deleted);
	else
		*out = deleted;
	return err;
}

/* Moves a directory back that contains other files. */
static void bring_back(struct fs *fs, const struct fs_unlinked *deleted)
{
	bool back = renameat2(deleted->dirfd, deleted->name, deleted->home_fd,
			      deleted->home, RENAME_NOREPLACE) == 0;

	fs_logger_write(fs->logger, B2F_LOG_WARNING,
			"%s: %s was deleted but for files that do not belong "
			"to a frame; they are in %s",
			fs->source.path, deleted->home,
			back ? "that directory" : HIDDEN);
}

void fs_unlinked_finish(struct fs *fs, struct fs_unlinked *deleted)
{
	int err;

	if (!deleted)
		return;
	if (deleted->has_gone) {
		free_deleted(deleted);
		return;
	}
	/* From now on it is not moved any more. */
	pthread_mutex_lock(&fs->deleted.lock);
	deleted->is_going = true;
	pthread_mutex_unlock(&fs->deleted.lock);
	err = remove_frame(fs, deleted->dirfd, deleted->name);
	if (err == -ENOTEMPTY)
		bring_back(fs, deleted);
	else if (err)
		fs_logger_write(fs->logger, B2F_LOG_WARNING,
				"%s: %s was deleted, but is still in %s: %s",
				fs->source.path, deleted->home, HIDDEN,
				b2f_strerror(err));
	end_going(&fs->deleted, deleted);
	free_deleted(deleted);
}

void fs_unlinked_delete(struct fs *fs, int dirfd, const char *name,
			const struct stat *what)
{
	struct fs_unlinked *deleted;

	/* A directory is moved away first, and checked again. */
	if (!S_ISDIR(what->st_mode))
		(void)!unlinkat(dirfd, name, 0);
	else if (fs_unlinked_hide(fs, dirfd, name, what, &deleted) == 0)
		fs_unlinked_finish(fs, deleted);
}
