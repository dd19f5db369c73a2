/* SPDX-License-Identifier: BSD-3-Clause */
/* files_io.c - names of files, and their bytes */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "b2frame/create.h"
#include "programs/io.h"
#include "store/files.h"

const char *b2f_files_name(int64_t id, char buf[B2F_CHUNK_NAME_SIZE])
{
	if (id == B2F_OBJECT_INDEX)
		return B2F_INDEX_NAME;
	if (id == B2F_OBJECT_NEW_INDEX)
		return B2F_FILES_NEW_INDEX;
	if (id & B2F_OBJECT_PENDING)
		snprintf(buf, B2F_CHUNK_NAME_SIZE, ".%08X.new",
			 (unsigned int)(id & ~B2F_OBJECT_PENDING));
	else
		b2f_chunk_name(id, buf);
	return buf;
}

int b2f_files_tries(int64_t id, int64_t out[B2F_FILES_TRIES])
{
	out[0] = id;
	if (id < 0 || !(id & B2F_OBJECT_PENDING))
		return 1;
	out[1] = id & ~B2F_OBJECT_PENDING;
	/* It may have got its hidden name back in between. */
	out[2] = id;
	return 3;
}

int b2f_files_open_followed(int dirfd, const char *name, int flags)
{
	int fd;

	flags |= O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	fd = openat(dirfd, name, flags);
	/* Only the owner of a file may open it with O_NOATIME. */
	if (fd < 0 && errno == EPERM && (flags & O_NOATIME))
		fd = openat(dirfd, name, flags & ~O_NOATIME);
	return fd;
}

int b2f_files_open(int dirfd, const char *name, int flags)
{
	return b2f_files_open_followed(dirfd, name, flags | O_NOFOLLOW);
}

int b2f_files_name_it(int fd, int dirfd, const char *name, struct b2f_why *why)
{
	char path[48];
	int err;

	/* Takes a capability, or a kernel of 2024; but no walk through /proc. */
	err = linkat(fd, "", dirfd, name, AT_EMPTY_PATH) ? errno : 0;
	if (err == ENOENT || err == EINVAL) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		err = linkat(AT_FDCWD, path, dirfd, name, AT_SYMLINK_FOLLOW)
			      ? errno
			      : 0;
	}
	return err ? b2f_why_set(why, -err, "create %s: %s", name,
				 strerror(err))
		   : 0;
}

ssize_t b2f_io_read(int fd, void *buf, size_t n, int64_t pos)
{
	char *at = buf;
	size_t done = 0;

	while (done < n) {
		ssize_t got = TEMP_FAILURE_RETRY(
			pos < 0 ? read(fd, at + done, n - done)
				: pread(fd, at + done, n - done,
					(off_t)pos + (off_t)done));

		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int b2f_io_write(int fd, const void *buf, size_t n, int64_t pos)
{
	const char *at = buf;
	size_t done = 0;

	while (done < n) {
		ssize_t put = TEMP_FAILURE_RETRY(
			pos < 0 ? write(fd, at + done, n - done)
				: pwrite(fd, at + done, n - done,
					 (off_t)pos + (off_t)done));

		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		done += (size_t)put;
	}
	return 0;
}

int b2f_io_rename(int dir, const char *from, int other, const char *to)
{
	if (renameat2(dir, from, other, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(dir, from, other, to, 0) == 0)
		return unlinkat(dir, from, 0) == 0 ? 0 : -errno;
	if (errno != EPERM && errno != ENOTSUP)
		return -errno;
	if (faccessat(other, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(dir, from, other, to) == 0 ? 0 : -errno;
}

char *b2f_io_text(const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

int b2f_files_read(const struct b2f_object *object, uint64_t off, void *buf,
		   size_t n, struct b2f_why *why)
{
	ssize_t got = off > INT64_MAX
			      ? -EINVAL
			      : b2f_io_read(object->fd, buf, n, (int64_t)off);

	if (got < 0)
		return b2f_why_set(why, (int)got, "read: %s",
				   strerror((int)-got));
	if ((size_t)got < n)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "the file ends at byte %llu",
				   (unsigned long long)off + (size_t)got);
	return 0;
}

/*
 * Has this thread of root's process act as the owner of @fd.  Returns whether
 * it does.
 */
static bool begin_as_owner(int fd)
{
	struct stat st;
	uid_t previous;

	/* After the process has changed its user, setfsuid() fails. */
	if (getauxval(AT_EUID) != 0)
		return false;
	/*
	 * Asked before each write: chmod(2) and chown(2) can come at any time.
	 */
	if (fstat(fd, &st) || st.st_uid == 0 ||
	    (st.st_mode & (S_ISUID | S_ISGID)))
		return false;
	previous = (uid_t)setfsuid(st.st_uid);
	/* A thread that acts for a user already keeps doing so. */
	if (previous != 0)
		setfsuid(previous);
	return previous == 0;
}

static void end_as(bool begun)
{
	if (begun)
		setfsuid(0);
}

int b2f_files_write_fully(int fd, uint64_t off, const void *buf, size_t n,
			  struct b2f_why *why)
{
	int err = off > INT64_MAX ? -EINVAL
				  : b2f_io_write(fd, buf, n, (int64_t)off);

	return err ? b2f_why_set(why, err, "write: %s", strerror(-err)) : 0;
}

int b2f_files_write_as_owner(int fd, uint64_t off, const void *buf, size_t n,
			     struct b2f_why *why)
{
	bool begun = begin_as_owner(fd);
	int err = b2f_files_write_fully(fd, off, buf, n, why);

	end_as(begun);
	return err;
}

int b2f_files_write_out(int fd, struct b2f_why *why)
{
	const unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE |
				   SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER;

	if (TEMP_FAILURE_RETRY(sync_file_range(fd, 0, 0, flags)) == 0)
		return 0;
	/* An error of an unsupported call says nothing about the data. */
	if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ||
	    errno == EPERM || errno == ESPIPE)
		return 0;
	return b2f_why_set(why, -errno, "write it out: %s", strerror(errno));
}

int b2f_files_fsync(int fd)
{
	return (int)TEMP_FAILURE_RETRY(fsync(fd));
}

int b2f_files_fdatasync(int fd)
{
	return (int)TEMP_FAILURE_RETRY(fdatasync(fd));
}

/* Filesystems without locks, or without this kind, go unlocked. */
static bool is_unsupported(int err)
{
	return err == EBADF || err == EINVAL || err == ENOLCK ||
	       err == ENOTSUP || err == ENOSYS;
}

int b2f_files_lock(int fd, struct b2f_why *why)
{
	long ret = TEMP_FAILURE_RETRY(flock(fd, LOCK_EX | LOCK_NB));

	if (ret && errno == EWOULDBLOCK)
		return b2f_why_set(why, -EBUSY,
				   "another process is writing to it");
	if (ret && !is_unsupported(errno))
		return b2f_why_set(why, -errno, "lock: %s", strerror(errno));
	return 0;
}

bool b2f_files_has_no_tmpfile(int err)
{
	return err == EOPNOTSUPP || err == EISDIR || err == EINVAL ||
	       err == ENOENT;
}
