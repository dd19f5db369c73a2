/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record_disk.c - one file that notes what is written to it, for a test
 *
 *   record_disk IMAGE LOG DIR
 *
 * Shows IMAGE as DIR/disk, for a loop device, and stays in the foreground.
 * Every write and every flush is appended to LOG before it is answered:
 *
 *   u64 offset, u32 size, u32 kind (0: write, 1: flush), then the bytes
 *
 * in the machine's byte order.  The contents that a disk may have after a power
 * cut are then known: all writes up to the last flush, and any of those that
 * follow.
 */
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define DISK "/disk"

enum kind {
	KIND_WRITE = 0,
	KIND_FLUSH = 1,
};

struct entry {
	uint64_t off;
	uint32_t size;
	uint32_t kind;
};

struct recorder {
	int image_fd;
	int log_fd;
};

static struct recorder *recorder(void)
{
	return fuse_get_context()->private_data;
}

/* In one call: a reader of the log sees whole entries. */
static int note(enum kind kind, off_t off, const char *data, size_t size)
{
	struct entry entry = {(uint64_t)off, (uint32_t)size, kind};
	struct iovec parts[2] = {{&entry, sizeof(entry)},
				 {(void *)(uintptr_t)data, size}};
	ssize_t n = writev(recorder()->log_fd, parts, size ? 2 : 1);

	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(entry) + size ? 0 : -ENOSPC;
}

static int disk_getattr(const char *path, struct stat *st,
			struct fuse_file_info *fi)
{
	(void)fi;
	if (fstat(recorder()->image_fd, st))
		return -errno;
	if (strcmp(path, DISK) == 0)
		return 0;
	if (strcmp(path, "/") != 0)
		return -ENOENT;
	st->st_mode = S_IFDIR | 0700;
	st->st_nlink = 2;
	return 0;
}

/* The loop device has a cache of its own. */
static int disk_open(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	fi->direct_io = 1;
	return 0;
}

static int disk_read(const char *path, char *buf, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	ssize_t n = pread(recorder()->image_fd, buf, size, off);

	(void)path;
	(void)fi;
	return n < 0 ? -errno : (int)n;
}

static int disk_write(const char *path, const char *buf, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	ssize_t n = pwrite(recorder()->image_fd, buf, size, off);
	int err;

	(void)path;
	(void)fi;
	if (n < 0)
		return -errno;
	err = note(KIND_WRITE, off, buf, (size_t)n);
	return err ? err : (int)n;
}

static int disk_fsync(const char *path, int datasync, struct fuse_file_info *fi)
{
	(void)path;
	(void)datasync;
	(void)fi;
	return note(KIND_FLUSH, 0, NULL, 0);
}

static const struct fuse_operations operations = {
	.getattr = disk_getattr,
	.open = disk_open,
	.read = disk_read,
	.write = disk_write,
	.fsync = disk_fsync,
};

int main(int argc, char **argv)
{
	struct recorder rec;
	/* One thread, so that the log has the order of the answers. */
	char foreground[] = "-f", one_thread[] = "-s";
	char *args[] = {argv[0], foreground, one_thread, argv[argc - 1], NULL};

	if (argc != 4)
		return 2;
	rec.image_fd = open(argv[1], O_RDWR | O_CLOEXEC);
	rec.log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			  0600);
	if (rec.image_fd < 0 || rec.log_fd < 0) {
		perror("record_disk");
		return 1;
	}
	return fuse_main(4, args, &operations, &rec);
}
