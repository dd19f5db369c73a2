/* SPDX-License-Identifier: BSD-3-Clause */
/* acl.c - the mode to show of a file with a POSIX ACL */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "acl.h"
#include "dir.h"

#define ACL "system.posix_acl_access"

/* Room for an ACL of 500 entries. */
#define ACL_BYTES 4004

/* Of Linux 6.13; <sys/syscall.h> may be older. */
#define SYS_GETXATTRAT 464

/* Its arguments. */
struct value {
	uint64_t bytes;
	uint32_t size;
	uint32_t flags;
};

/* The format: a version of 4 bytes, then entries (little endian). */
enum {
	HEADER = 4,
	ENTRY = 8,
	GROUP_OBJ = 0x04,
	USER = 0x02,
	GROUP = 0x08,
	MASK = 0x10,
	OTHER = 0x20,
};

/* rwx bits of each class. */
struct acl {
	unsigned int group_obj, mask, other;
	/* Bits that all named users or groups have; 7: none is named. */
	unsigned int users, groups;
};

static void add_entry(struct acl *acl, const uint8_t *entry)
{
	unsigned int bits = entry[2] & 7;

	switch (entry[0]) {
	case USER:
		acl->users &= bits & acl->mask;
		break;
	case GROUP_OBJ:
		acl->group_obj = bits & acl->mask;
		break;
	case GROUP:
		acl->groups &= bits & acl->mask;
		break;
	case OTHER:
		acl->other = bits;
		break;
	default:
		break;
	}
}

static unsigned int mask_of(const uint8_t *bytes, size_t size)
{
	for (size_t i = HEADER; i + ENTRY <= size; i += ENTRY)
		if (bytes[i] == MASK)
			return bytes[i + 2] & 7;
	return 7;
}

static mode_t narrow(const uint8_t *bytes, size_t size, mode_t mode)
{
	struct acl acl = {7, mask_of(bytes, size), 7, 7, 7};

	for (size_t i = HEADER; i + ENTRY <= size; i += ENTRY)
		add_entry(&acl, bytes + i);
	/* A named user may or may not belong to the owning group. */
	acl.group_obj &= acl.users;
	acl.other &= acl.users & acl.groups;
	return mode & (~(mode_t)0077 | acl.group_obj << 3 | acl.other);
}

/* Does @err mean that the file has no ACL? */
static bool is_none(int err)
{
	return err == ENODATA || err == EOPNOTSUPP || err == ENOSYS;
}

/* Returns the size of the ACL in @bytes, or -1 and errno; asks by /proc. */
static ssize_t get_by_proc(int dirfd, const char *name,
			   uint8_t bytes[ACL_BYTES])
{
	char path[64];

	if (!name) {
		fs_dir_path(dirfd, path);
		return getxattr(path, ACL, bytes, ACL_BYTES);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
	return lgetxattr(path, ACL, bytes, ACL_BYTES);
}

static ssize_t get_at(int dirfd, const char *name, int flags,
		      uint8_t bytes[ACL_BYTES])
{
	const struct value value = {.bytes = (uintptr_t)bytes,
				    .size = ACL_BYTES};

	return syscall(SYS_GETXATTRAT, dirfd, name, flags, ACL, &value,
		       sizeof(value));
}

/*
 * Returns the same of @name in the directory @fd, or of @fd itself, whose mode
 * is @mode, if @name is NULL.  A walk through /proc takes two or three times as
 * long, but is needed before Linux 6.13, if a filter of system calls refuses
 * the new one, and in a directory that may not be searched.
 */
static ssize_t get(int proc_fd, int fd, const char *name, mode_t mode,
		   uint8_t bytes[ACL_BYTES])
{
	char path[FS_DIR_PATH_SIZE];
	ssize_t n;

	if (name)
		n = get_at(fd, name, AT_SYMLINK_NOFOLLOW, bytes);
	else if (S_ISDIR(mode))
		n = get_at(fd, ".", 0, bytes);
	else
		n = get_at(proc_fd, fs_dir_number(fd, path), 0, bytes);
	if (n < 0 && errno != ENODATA && errno != EOPNOTSUPP)
		return get_by_proc(fd, name, bytes);
	return n;
}

mode_t fs_acl_narrow(int proc_fd, int fd, const char *name, mode_t mode)
{
	uint8_t bytes[ACL_BYTES];
	ssize_t size;

	if (S_ISLNK(mode) || !(mode & 0077))
		return mode;
	size = get(proc_fd, fd, name, mode, bytes);
	if (size < 0)
		return is_none(errno) ? mode : mode & ~(mode_t)0077;
	return narrow(bytes, (size_t)size, mode);
}

bool fs_acl_is_none(int proc_fd, int fd, const char *name)
{
	uint8_t bytes[ACL_BYTES];

	return get(proc_fd, fd, name, S_IFREG, bytes) < 0 && is_none(errno);
}
