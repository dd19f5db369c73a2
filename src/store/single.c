/* SPDX-License-Identifier: BSD-3-Clause */
/* single.c - a new file that becomes a contiguous frame */
#include "store/single.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/files.h"
#include "store/files_single.h"

int b2f_single_create(int dirfd, const char *name, int *fd, struct b2f_why *why)
{
	*fd = openat(dirfd, name,
		     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0)
		return b2f_why_set(why, -errno, "%s", strerror(errno));
	return 0;
}

int b2f_single_write(int fd, uint64_t off, const void *buf, size_t n,
		     struct b2f_why *why)
{
	return b2f_files_write_fully(fd, off, buf, n, why);
}

/*
 * Writes @plan to the new file @made->fd, which is called @name unless it is
 * @unnamed.  The caller holds its lock, so that no writer changes the file
 * before its stamp is known.
 */
static int fill(int dirfd, const char *name, bool unnamed,
		const struct b2f_store_plan *plan, struct b2f_store_made *made)
{
	bool named = !unnamed;
	int err = b2f_files_write_fully(made->fd, 0, plan->index, plan->size,
					NULL);

	if (!err && unnamed) {
		err = b2f_files_name_it(made->fd, dirfd, name, NULL);
		named = !err;
	}
	if (!err && fstat(made->fd, &made->index))
		err = -errno;
	if (err && named)
		(void)unlinkat(dirfd, name, 0);
	made->dir = made->index;
	return err;
}

/*
 * Locks the new file @fd.  Another mount may have seen it empty, and write to
 * it already: then the file belongs to that mount.
 */
static int claim(int fd)
{
	int err = b2f_files_lock(fd, NULL);
	struct stat st;

	if (err)
		return err == -EBUSY ? -ESTALE : err;
	if (fstat(fd, &st))
		return -errno;
	return st.st_size ? -ESTALE : 0;
}

/* Returns a descriptor, or a negative errno. */
static int create(int dirfd, const char *name, mode_t mode)
{
	int fd = openat(dirfd, name,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			mode);
	int err;

	if (fd < 0)
		return -errno;
	err = claim(fd);
	if (err)
		close(fd);
	return err ? err : fd;
}

int b2f_single_spare(int dirfd, mode_t mode)
{
	const int flags = O_RDWR | O_TMPFILE | O_CLOEXEC;
	int fd = openat(dirfd, ".", flags | O_NOATIME, mode), err;

	/* Where the new file belongs to another user. */
	if (fd < 0 && errno == EPERM)
		fd = openat(dirfd, ".", flags, mode);
	if (fd < 0)
		return -errno;
	err = b2f_files_lock(fd, NULL);
	if (err)
		close(fd);
	return err ? err : fd;
}

/*
 * Like create(), for a file that gets its name when it is complete: a killed
 * maker leaves nothing, and no program sees half a file.
 */
static int create_unnamed(int dirfd, const struct b2f_store_plan *plan)
{
	int fd = plan->spare ? *plan->spare : -1;

	if (fd < 0)
		return b2f_single_spare(dirfd, plan->mode & 07777);
	*plan->spare = -1;
	return fd;
}

int b2f_single_make_open(int dirfd, const char *name,
			 const struct b2f_store_plan *plan,
			 struct b2f_store_made *out)
{
	struct b2f_store_made made = {.fd = -1};
	mode_t mode = plan->mode & 07777;
	bool unnamed = true;
	int err;

	/* Before anything is made that had to be undone. */
	made.store = b2f_files_new(-1, false);
	if (!made.store)
		return -ENOMEM;
	err = b2f_files_single_make(made.store);
	if (!err)
		err = b2f_store_set_home(made.store, dirfd, name);
	if (err)
		goto out;
	made.fd = create_unnamed(dirfd, plan);
	if (b2f_files_has_no_tmpfile(-made.fd)) {
		unnamed = false;
		made.fd = create(dirfd, name, mode);
	}
	if (made.fd < 0) {
		err = made.fd;
		goto out;
	}
	b2f_files_of(made.store)->fd = made.fd;
	/* If that was refused, it always will be. */
	b2f_files_of(made.store)->is_quiet = unnamed;
	err = fill(dirfd, name, unnamed, plan, &made);
	if (!err && plan->stays_locked)
		b2f_files_single_begin(made.store, &made.index);
	else
		(void)!flock(made.fd, LOCK_UN);
out:
	if (err)
		b2f_store_free(made.store);
	else
		*out = made;
	return err;
}

int b2f_single_finish(int fd, mode_t mode, struct b2f_why *why)
{
	if (fchmod(fd, mode & 07777))
		return b2f_why_set(why, -errno, "chmod: %s", strerror(errno));
	if (b2f_files_fsync(fd))
		return b2f_why_set(why, -errno, "fsync: %s", strerror(errno));
	return 0;
}

int b2f_single_remove(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, 0) ? -errno : 0;
}
