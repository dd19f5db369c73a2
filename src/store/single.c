/* SPDX-License-Identifier: BSD-3-Clause */
/* single.c - a new file that becomes a contiguous frame */
#include "store/single.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/files.h"

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

int b2f_single_finish(int fd, mode_t mode, struct b2f_why *why)
{
	if (fchmod(fd, mode & 07777))
		return b2f_why_set(why, -errno, "chmod: %s", strerror(errno));
	if (fsync(fd))
		return b2f_why_set(why, -errno, "fsync: %s", strerror(errno));
	return 0;
}

int b2f_single_remove(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, 0) ? -errno : 0;
}
